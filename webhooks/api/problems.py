"""What is refused, as problem documents (RFC 9457): a stable ``codigo``, and for each field what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from aiohttp import web
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from state_machine.values.errors import ProsaError

CONTENT_TYPE: Final = "application/problem+json"
KIND: Final = "urn:prosa:problema:"  # what ``type`` begins with
MOST: Final = 20  # fields that one answer tells of
RETRY: Final = MappingProxyType({"Retry-After": "1"})

# By ``codigo``: the status, and what happened. They stay: callers decide by them.
PROBLEMAS: Final[Mapping[str, tuple[int, str]]] = {
    "chave_obrigatoria": (400, "Falta o cabeçalho Idempotency-Key"),
    "chave_invalida": (400, "O cabeçalho Idempotency-Key não serve"),
    "json_invalido": (400, "O corpo não é JSON"),
    "pedido_invalido": (400, "O pedido não faz sentido"),
    "empresa_obrigatoria": (400, "Diga por qual empresa"),
    "empresa_invalida": (400, "O cabeçalho Prosa-Empresa não é um CNPJ"),
    "nao_autenticado": (401, "Falta uma chave da API que valha"),
    "nao_encontrado": (404, "Não encontrado"),
    "metodo_nao_permitido": (405, "Isso não se faz neste endereço"),
    "corpo_incompleto": (408, "O corpo não chegou inteiro"),
    "em_andamento": (409, "O mesmo pedido está em andamento"),
    "email_em_uso": (409, "A empresa já tem um cliente com este e-mail"),
    "versao_desatualizada": (409, "A proposta mudou desde que você a leu"),
    "estado_invalido": (409, "A proposta já foi enviada"),
    "escopo_insuficiente": (403, "A chave não pode fazer isto"),
    "sem_aprovador": (409, "Ninguém pode aprovar pelo WhatsApp agora"),
    "ambiente_mudou": (409, "A chave é de outro ambiente"),
    "conteudo_repetido": (409, "O mesmo conteúdo já chegou com outro nome"),
    "texto_diferente": (409, "O mesmo arquivo já foi decidido com outro texto"),
    "revisao_diferente": (409, "O lote não espera por este sim"),
    "sem_servidor_de_email": (409, "Esta instalação não envia e-mails"),
    "sem_chave_mestra": (409, "Esta instalação não guarda segredos"),
    "webhooks_demais": (409, "A empresa já tem todos os webhooks que pode"),
    "produto_recusado": (409, "A empresa não pode ter este produto"),
    "sem_documento": (409, "Este documento da nota não se pode dar agora"),
    "corpo_grande": (413, "O corpo é grande demais"),
    "arquivo_grande": (413, "O arquivo é grande demais"),
    "tipo_de_corpo": (415, "O corpo é de um tipo que não serve aqui"),
    "tipo_de_arquivo": (415, "O arquivo não é uma lista"),
    "conteudo_nao_e_csv": (415, "O conteúdo não é o que o nome diz"),
    "corpo_invalido": (422, "Há campos que não servem"),
    "ainda_nao": (422, "Isto ainda não se faz"),
    "nome_de_arquivo": (422, "O nome do arquivo não serve"),
    "linhas_demais": (422, "A lista tem linhas demais"),
    "lista_vazia": (422, "A lista está vazia"),
    "sem_coluna_email": (422, "A lista não tem endereços"),
    "colunas_iguais": (422, "A lista tem colunas de mesmo nome"),
    "colunas_demais": (422, "A lista tem colunas demais"),
    "csv_invalido": (422, "A lista não pôde ser lida"),
    "chave_reutilizada": (422, "Esta chave já serviu para outro corpo"),
    "pedidos_demais": (429, "A empresa fez pedidos demais"),
    "lista_em_leitura": (429, "Outra lista da empresa está sendo lida"),
    "listas_demais": (429, "A empresa já mandou as listas de um dia"),
    "emails_demais": (429, "A empresa já mandou os e-mails de um dia"),
    "erro_interno": (500, "Algo deu errado aqui"),
    "indisponivel": (503, "Tente de novo em instantes"),
}
# By what pydantic calls it: what a caller reads of a field. What is not listed has its own words.
_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("obrigatorio", "é obrigatório"),
    "extra_forbidden": ("desconhecido", "não existe"),
    "string_type": ("tipo", "é um texto"),
    "int_type": ("tipo", "é um número inteiro"),
    "model_type": ("tipo", "é um objeto JSON"),
    "string_too_short": ("curto", "é curto demais"),
    "string_too_long": ("longo", "é longo demais"),
    "greater_than_equal": ("limite", "é menor do que pode ser"),
    "less_than_equal": ("limite", "é maior do que pode ser"),
}
_ANY: Final = ("invalido", "não serve")


class Erro(BaseModel):
    """What is wrong with one field: its JSON pointer (RFC 6901), a stable word, and a sentence for people."""

    ponteiro: str
    codigo: str
    mensagem: str


class Problema(BaseModel):
    """A problem document (RFC 9457); callers decide by ``codigo``."""

    type: str
    title: str
    status: int
    detail: str
    codigo: str
    correlacao: str
    erros: list[Erro] | None = None


class ProblemError(ProsaError):
    """A request was refused; nothing was done. ``codigo`` is one of ``PROBLEMAS``."""

    code = "problem"

    def __init__(
        self,
        codigo: str,
        detalhe: str,
        *,
        erros: Sequence[Mapping[str, str]] = (),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(codigo)
        self.codigo = codigo
        self.detalhe = detalhe
        self.erros = erros
        self.headers = headers


def document(error: ProblemError, correlacao: str) -> web.Response:
    """Return the problem document that the caller gets."""
    status, title = PROBLEMAS[error.codigo]
    said = Problema(
        type=f"{KIND}{error.codigo}",
        title=title,
        status=status,
        detail=error.detalhe,
        codigo=error.codigo,
        correlacao=correlacao,
        erros=[Erro.model_validate(each) for each in error.erros] or None,
    )
    body = said.model_dump_json(exclude_none=True)
    return web.Response(body=body, status=status, content_type=CONTENT_TYPE, headers=error.headers)


def invalid(error: ValidationError) -> ProblemError:
    """Return the problem of a body whose fields are wrong: a JSON pointer and a reason for each."""
    found = error.errors(include_url=False, include_input=False)
    erros = [field(each["loc"], *_worded(each)) for each in found[:MOST]]
    return ProblemError("corpo_invalido", "Nada foi guardado. Corrija os campos de erros e repita.", erros=erros)


def field(loc: Sequence[str | int], codigo: str, mensagem: str) -> dict[str, str]:
    """Return what is wrong with one field."""
    return {"ponteiro": pointer(loc), "codigo": codigo, "mensagem": mensagem}


def pointer(loc: Sequence[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) of a place in the body; the whole body's is empty."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in loc)


def _worded(error: ErrorDetails) -> tuple[str, str]:
    kind = error["type"]
    if kind.endswith(("_invalido", "_invalida")):
        return kind, error["msg"]
    if kind in {"enum", "literal_error"}:
        return _ANY[0], "serve um destes: " + error["ctx"]["expected"].replace("'", "").replace(" or ", " ou ")
    return _FIELDS.get(kind, _ANY)
