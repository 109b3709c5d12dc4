"""One row for each field of an invoice: how it is called, asked, checked, shown, read and stored.

To add a field: a member of ``Campo``, its attribute in ``Rascunho`` and in ``Resposta``
(``extractor/model/prompt.py``), a row here. If rules read it: a module in ``extractor/fields``, called by ``_extras``
in ``extractor/rules.py``; digits also need a ``Kind`` and a marker, else they are read as the amount. If it goes out:
its attribute in ``state_machine/documents.py``, filled by ``confirmed_of`` (``bot/conversation/effects.py``), the
payload, and ``refused`` with its path in ``gateway/plugnotas/outcome.py``. A row with ``column`` needs a migration.
Examples: ``tests/state_machine/made_sessions.py``, ``PALAVRA`` in ``tests/state_machine/catalogue/test_questions.py``,
``NOTHING`` in the tests of the model. What people may write: ``docs/extraction.md``, ``docs/usuarios.md``.
``test_field_table.py`` names what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final

from state_machine import goods
from state_machine.catalogue.texts import address as address_texts
from state_machine.invoice.fields import Campo, Motivo
from state_machine.services.codes import digits
from state_machine.values.address import LONGEST, EnderecoDito, read_address
from state_machine.values.documents import parse_documento
from state_machine.values.errors import ProsaError
from state_machine.values.money import centavos
from state_machine.values.text import as_latin, unfit

DESCRICAO_MAX = 2000  # characters; xDescServ of the national layout
NOME_MAX = 300  # characters; xNome of the national layout
DESCRICAO_MIN = 3  # characters; less than a word is a slip of the finger
EVENTO_MAX = 255  # characters; xNome of atvEvento
CNO_DIGITS = 12  # of a CNO, and of the CEI that it took the place of
SIM, NAO = "sim", "não"
INSCRICAO = "inscrição "  # begins the city's number of a property, where a building site has no CNO
INSCRICAO_MAX = 40  # characters, with that word
EMAIL_MAX = 80  # characters; the longest e-mail of the national layout
_NOMEADOS = 5  # characters that are named as having no place in an invoice; more would hide the point
_EMAIL = re.compile(
    r"[^@\s]{1,64}@[^@\s]{1,255}\.[^@\s.]{1,63}"
)  # shape only: whether somebody reads there, nobody can tell


class FieldKind(StrEnum):
    """What a value is: it decides how the value is written for people, masked for staff and grounded."""

    DOCUMENTO = "documento"
    DINHEIRO = "dinheiro"
    PROSA = "prosa"  # a text too long to be told twice in one sentence
    TEXTO = "texto"
    EMAIL = "email"
    MES = "mes"
    DIA = "dia"
    CODIGO = "codigo"  # of the national list of services
    ENDERECO = "endereco"
    LUGAR = "lugar"  # a city, or an address
    ITENS = "itens"
    MODELO = "modelo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the invoice; its order in ``FIELDS`` is the order of asking.

    ``check`` returns a normalised value (see ``Candidate``) as it will be issued and raises ``ValueError`` for what
    cannot be issued. All texts are pt-BR; ``words`` is a regular expression over folded text (no accents, lower case).
    """

    campo: Campo
    kind: FieldKind
    check: Callable[[str], str]
    required: bool = False
    critical: bool = False  # a wrong value is worse than a question: rules and model must agree on it
    read: bool = True  # readers find it in words; else the records and a choice of the person fill it
    asked_back: bool = True  # a doubt about it is asked; else a doubtful value is dropped
    shortest: int = 0  # characters; a shorter value is no answer
    of_customer: bool  # it says something of the customer: another document empties it
    article: str
    label: str  # in a list of changes
    name: str  # in a sentence, with its article
    staff_name: str  # on the staff's pages, with its article
    question: str
    example: str
    doubts: Mapping[Motivo, tuple[str, str]] = field(default_factory=dict)  # asked so, not as of any field
    summary: str | None = None  # begins its line; ``None``: the summary composes it with others
    refused: str | None = None  # the reason when an authority does not accept it; ``None``: none speaks of it
    prompt: str  # what a model is told to look for
    sample: str | None = None  # what stands for it in the prompt's first example
    words: str  # what people call it
    stems: str  # how those words begin, for a cheap first look
    column: str | None = None  # of ``session_snapshot``, by the specification's name; ``None``: only in the draft
    on_invoice: bool = True  # it stands on the invoice itself, which the law keeps
    of: Callable[[Any], Any] = field(init=False, repr=False, compare=False)  # what a draft holds of it

    def __post_init__(self) -> None:
        """Prepare the getter: looking a name up in an enum costs more than the value."""
        object.__setattr__(self, "of", attrgetter(self.campo.value))

    @property
    def short(self) -> str:
        """The label with its article: "o valor"."""
        return f"{self.article} {self.label}"

    @property
    def stored_as(self) -> str:
        """Its name in ``missing_fields`` and in the columns: the specification's."""
        return self.column or self.campo.value


class TextoNaoCabe(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """A text that no invoice can carry as it is; its own text says in pt-BR what of it, within a sentence."""

    code = "texto_nao_cabe"


def nome_limpo(texto: str) -> str:
    """Return a name as an invoice carries it. Raises ``TextoNaoCabe``."""
    return _inteiro(texto, NOME_MAX)


def _documento(texto: str) -> str:
    return parse_documento(texto).numero


def _valor(texto: str) -> str:
    return str(centavos(texto))


def _descricao(texto: str) -> str:
    return _inteiro(texto, DESCRICAO_MAX)


def _inteiro(texto: str, maximo: int) -> str:
    """Return the text as it is shown, signed and printed: whole, spelt in the alphabet of the fiscal layouts."""
    limpo = as_latin(texto)
    if fora := unfit(limpo):
        nomes = ", ".join(f"“{c}”" if c.isprintable() else f"U+{ord(c):04X}" for c in fora[:_NOMEADOS])
        raise TextoNaoCabe(f"a nota não aceita {nomes}{' e outros' if len(fora) > _NOMEADOS else ''}")
    if len(limpo) > maximo:
        raise TextoNaoCabe(f"são {len(limpo)} caracteres, e na nota cabem {maximo}")
    return limpo


def _email(texto: str) -> str:
    if len(texto) > EMAIL_MAX or not _EMAIL.fullmatch(texto) or as_latin(texto) != texto or unfit(texto):
        raise ValueError("no e-mail address")
    return texto


def _mes(texto: str) -> str:
    return date.fromisoformat(f"{texto}-01").isoformat()[:7]


def _codigo(texto: str) -> str:
    return digits(texto)


def _endereco(texto: str) -> str:
    endereco = read_address(_inteiro(texto, LONGEST))
    if endereco.faltam or not endereco.codigo_cidade:
        raise ValueError("no whole address")
    return str(endereco)


def _lugar(texto: str) -> str:
    """Return a city with its code, or a whole address."""
    dito = read_address(_inteiro(texto, LONGEST))
    if not dito.codigo_cidade or (dito.logradouro and dito.faltam):
        raise ValueError("no place")
    so_cidade = EnderecoDito(cidade=dito.cidade, estado=dito.estado, codigo_cidade=dito.codigo_cidade)
    return str(dito if dito.logradouro else so_cidade)


def _obra(texto: str) -> str:
    if texto.startswith(INSCRICAO):
        return _inteiro(texto, INSCRICAO_MAX)
    numero = re.sub(r"[^0-9]", "", texto)
    if len(numero) != CNO_DIGITS:
        raise ValueError("no CNO or CEI")
    return numero


def _evento(texto: str) -> str:
    return _inteiro(texto, EVENTO_MAX)


def _sim(texto: str) -> str:
    if texto not in {SIM, NAO}:
        raise ValueError("it is said or not")
    return texto


def _dia(texto: str) -> str:
    return date.fromisoformat(texto).isoformat()


def _itens(texto: str) -> str:
    return goods.dump(goods.load(texto))


def _modelo(texto: str) -> str:
    if texto not in goods.NOMES:
        raise ValueError("no model")
    return texto


_ROWS: Final = (
    Field(
        campo=Campo.DOCUMENTO,
        kind=FieldKind.DOCUMENTO,
        check=_documento,
        of_customer=False,
        required=True,
        critical=True,
        article="o",
        label="cliente",
        name="o CNPJ ou CPF do cliente",
        staff_name="o CNPJ ou CPF do cliente",
        question="Qual é o CNPJ ou CPF do cliente?",
        example="Pode copiar e colar o CNPJ ou CPF, com ou sem pontos.",
        refused="o CNPJ ou CPF do cliente não foi aceito",
        prompt="CNPJ ou CPF do cliente, nunca o de quem emite, nem chave Pix. Documentos aparecem como [DOC1], [DOC2].",
        sample="[DOC1]",
        words=r"cnpj|cpf|documento|cliente|tomador|destinatari[oa]",
        stems="cnp cpf doc cli tom des",
        column="cnpj",  # the specification calls the document by its commonest kind
    ),
    Field(
        campo=Campo.VALOR,
        kind=FieldKind.DINHEIRO,
        check=_valor,
        of_customer=False,
        required=True,
        critical=True,
        article="o",
        label="valor",
        name="o valor",
        staff_name="o valor",
        question="Qual é o valor da nota?",
        example="Por exemplo: _valor R$ 1.500,00_.",
        refused="o valor do serviço não foi aceito",
        prompt=(
            "quanto vale esta nota: o preço final; o bruto, salvo se a nota é do líquido; a parte, se a nota é dela; "
            'o recebido, nunca o saldo. null se é preço de unidade sem total, mudança ("soma 180"), moeda estrangeira '
            "ou de nota já emitida."
        ),
        sample="<VALOR>",
        words=r"valor|preco|quantia|total|amount|value|price",
        stems="val pre qua tot amo pri",
        column="valor",
    ),
    Field(
        campo=Campo.DESCRICAO,
        kind=FieldKind.PROSA,
        check=_descricao,
        of_customer=False,
        required=True,
        shortest=DESCRICAO_MIN,
        article="o",
        label="serviço",
        name="o serviço prestado",
        staff_name="o serviço",
        question="Qual serviço foi prestado? Escreve como deve sair na nota.",
        example="Por exemplo: _serviço: consultoria de marketing_.",
        refused="a descrição do serviço não foi aceita",
        prompt=(
            "o que foi feito, com quantidade, tamanho e lugar, sem saudação, valor, documento ou nome do cliente; numa "
            "correção, só o trecho novo."
        ),
        sample="<SERVIÇO>",
        words=r"descricao|servico|discriminacao|texto|description",
        stems="des ser dis tex",
        column="descricao",
    ),
    Field(
        campo=Campo.NOME,
        kind=FieldKind.TEXTO,
        check=nome_limpo,
        of_customer=True,
        asked_back=False,  # the summary says when there is none, and blocks nothing
        shortest=1,
        article="o",
        label="nome do cliente",
        name="o nome do cliente",
        staff_name="o nome do cliente",
        question="Qual é o nome do cliente?",
        example="Por exemplo: _o nome é Maria Souza_.",
        refused="o nome do cliente não foi aceito",
        prompt="nome ou razão social de quem paga, sem título; não o paciente ou aluno.",
        sample="<NOME>",
        words=r"nome|razao social|name",
        stems="nom raz nam",
    ),
    Field(
        campo=Campo.EMAIL,
        kind=FieldKind.EMAIL,
        check=_email,
        of_customer=True,
        article="o",
        label="e-mail",
        name="o e-mail do cliente",
        staff_name="o e-mail",
        question="Qual é o e-mail do cliente?",
        example="Por exemplo: _financeiro@cliente.com.br_.",
        summary="E-mail",
        refused="o e-mail do cliente não foi aceito",
        prompt="e-mail do cliente, como [EMAIL1].",
        words=r"e-?mail",
        stems="e ema",
        on_invoice=False,  # it only says where the gateway sends the note
    ),
    Field(
        campo=Campo.COMPETENCIA,
        kind=FieldKind.MES,
        check=_mes,
        of_customer=False,
        article="a",
        label="competência",
        name="o mês de competência",
        staff_name="a competência",
        question="Qual é o mês de competência? Por exemplo: 10/2026.",
        example="Por exemplo: _competência 10/2026_.",
        summary="Competência",
        refused="o mês da prestação não foi aceito",
        prompt="o mês do serviço; null se vários.",
        words=r"competencia|mes",
        stems="com mes",
    ),
    Field(
        campo=Campo.DATA,
        kind=FieldKind.DIA,
        check=_dia,
        of_customer=False,
        article="a",
        label="data",
        name="a data do serviço",
        staff_name="a data",
        question="Qual é a data do serviço? Por exemplo: 15/10/2026.",
        example="Por exemplo: _15/10/2026_.",
        summary="Data do serviço",
        prompt="o dia do serviço, não o do comprovante; null se vários.",
        words=r"data|dia|date",
        stems="dat dia",
    ),
    Field(
        campo=Campo.CODIGO,
        kind=FieldKind.CODIGO,
        check=_codigo,
        of_customer=False,
        read=False,
        article="o",
        label="código do serviço",
        name="o código do serviço",
        staff_name="o código do serviço",
        question="Qual é o código do serviço, entre os da sua empresa?",
        example="Por exemplo: _o serviço é o 2_.",
        summary="Código do serviço",
        prompt="código nacional do serviço.",
        words=r"codigo d[oe] servico|codigo nacional",
        stems="cod",
    ),
    Field(
        campo=Campo.ENDERECO,
        kind=FieldKind.ENDERECO,
        check=_endereco,
        of_customer=True,
        read=False,  # few notes need one: it is asked for where an authority refused a note without
        article="o",
        label="endereço do cliente",
        name="o endereço do cliente",
        staff_name="o endereço do cliente",
        question=address_texts.PERGUNTA,
        example=address_texts.EXEMPLO,
        doubts=address_texts.DUVIDAS,
        summary="Endereço do cliente",
        refused="o endereço do cliente falta ou não foi aceito",
        prompt="endereço do cliente.",
        words=r"endereco d[oe] (?:cliente|tomador)",
        stems="end",
        on_invoice=False,  # the note itself keeps it, as with the customer's entry; the draft need not
    ),
    Field(
        campo=Campo.LOCAL,
        kind=FieldKind.LUGAR,
        check=_lugar,
        of_customer=True,
        read=False,  # few codes ask for it: the records offer it, and words that are an address answer
        article="o",
        label="local",
        name="o local do serviço",
        staff_name="o local do serviço",
        question="Em que cidade foi o serviço?",
        example="Por exemplo: _Campinas/SP_.",
        doubts=address_texts.DUVIDAS_DO_LOCAL,
        summary="Local",
        prompt="onde o serviço foi feito.",
        words=r"local(?: d[aoe] (?:servico|obra|evento))?|endereco d[ao] (?:obra|evento)|lugar",
        stems="loc end lug",
    ),
    Field(
        campo=Campo.OBRA,
        kind=FieldKind.TEXTO,
        check=_obra,
        of_customer=True,
        read=False,
        article="o",
        label="CNO da obra",
        name="o CNO da obra",
        staff_name="o CNO da obra",
        question="Qual é o CNO da obra?",
        example="Por exemplo: _CNO 12.345.67890/12_.",
        summary="Obra",
        prompt="CNO ou CEI da obra.",
        words=r"cno|cei|obra",
        stems="cno cei obr",
    ),
    Field(
        campo=Campo.EVENTO,
        kind=FieldKind.TEXTO,
        check=_evento,
        of_customer=True,
        read=False,
        article="o",
        label="evento",
        name="o nome do evento",
        staff_name="o nome do evento",
        question="Qual é o nome do evento?",
        example="Por exemplo: _evento: casamento da Ana_.",
        summary="Evento",
        prompt="nome do evento.",
        words=r"evento|nome do evento",
        stems="eve nom",
    ),
    Field(
        campo=Campo.FIM,
        kind=FieldKind.DIA,
        check=_dia,
        of_customer=False,
        read=False,
        article="o",
        label="último dia",
        name="o último dia do evento",
        staff_name="o último dia do evento",
        question="Qual é o último dia do evento? Por exemplo: 15/10/2026.",
        example="Por exemplo: _15/10/2026_.",
        summary="Até",
        prompt="último dia do evento.",
        words=r"ultimo dia",
        stems="ult",
    ),
    Field(
        campo=Campo.ITENS,
        kind=FieldKind.ITENS,
        check=_itens,
        of_customer=False,
        read=False,  # the company's own products tell them
        article="o",
        label="produto",
        name="o produto",
        staff_name="o produto",
        question="Quais são os produtos, e quantos de cada?",
        example="Por exemplo: _3 bolos de pote e 2 brigadeiros_.",
        doubts={
            Motivo.AMBIGUO: (
                (
                    "Não fechei um produto.{li} Me manda quantos são e o nome como está no cadastro: "
                    "_2 brigadeiros a 4,50_. O resto está guardado."
                ),
                "Ainda não fechei este produto.{li} {exemplo}",
            ),
            Motivo.INCOMPLETO: ("{detalhe} O resto está guardado.", "Ainda preciso saber:{detalhe} {exemplo}"),
        },
        prompt="produtos vendidos.",
        words=r"produtos?|itens",
        stems="pro ite",
    ),
    Field(
        campo=Campo.MODELO,
        kind=FieldKind.MODELO,
        check=_modelo,
        of_customer=True,
        read=False,
        article="o",
        label="tipo de nota",
        name="se foi entregue em mãos",
        staff_name="o tipo de nota",
        question="Foi entregue em mãos?",
        example="Responde _sim_ ou _não_.",
        prompt="tipo da nota de produto.",
        words=r"tipo d[ae] nota",
        stems="tip",
    ),
    Field(
        campo=Campo.RETIDO,
        kind=FieldKind.TEXTO,
        check=_sim,
        of_customer=True,
        read=False,
        article="o",
        label="ISS retido",
        name="se o cliente retém o ISS",
        staff_name="se o cliente retém o ISS",
        question="O cliente retém o ISS?",
        example="Por exemplo: _sem retenção_.",
        doubts={
            Motivo.RECUSADO: (
                "A nota não saiu com o ISS retido.{detalhe} Para ela sair sem retenção, escreve _sem retenção_.",
                "Ainda preciso saber do ISS retido. {exemplo}",
            ),
        },
        summary="ISS retido",
        prompt="se o cliente retém o ISS.",
        words=r"iss retido|retencao (?:do|de) iss",
        stems="iss ret",
    ),
)
FIELDS: Final[dict[Campo, Field]] = {row.campo: row for row in _ROWS}


def obrigatorios() -> tuple[Campo, ...]:
    """Return the fields without which nothing is issued, in the order in which they are asked."""
    return tuple(campo for campo, row in FIELDS.items() if row.required)


def field_named(name: str) -> Field | None:
    """Return the field of this name, ours or the specification's; ``None`` when another version named it."""
    return next((row for row in FIELDS.values() if name in {row.campo.value, row.stored_as}), None)
