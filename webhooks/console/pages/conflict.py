"""What was confirmed beside what the gateway has under the same key, field by field, and what is safe.

One order of another origin than a conversation on one page: the sentence, the facts, the calls.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from aiohttp import web

from persistence.db.connection import Connection
from persistence.fiscal.emissions import confirmed
from persistence.staff import case as staff_orders
from state_machine.documents import divergencia
from state_machine.invoice.session import Estado
from state_machine.protocol.emission import Nota, Situacao, StatusEmissao
from state_machine.values.documents import DocumentoInvalido, formata_documento
from webhooks.console.access.visit import Visita
from webhooks.console.pages.snapshot import line
from webhooks.console.pages.why import CREDENCIAL, Frase, SituacaoDaSessao, por_que
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar, brl

# Fields as people call them, in the order in which they are looked at.
_NOMES: Final = {
    "prestador": "Emitente",
    "tomador": "Cliente",
    "valor": "Valor",
    "codigo_servico": "Código do serviço",
    "competencia": "Competência",
    "descricao": "Serviço",
}
_SITUACOES: Final = {
    Situacao.PROCESSANDO: "em processamento",
    Situacao.AUTORIZADA: "autorizada",
    Situacao.REJEITADA: "recusada",
    Situacao.CANCELADA: "cancelada",
}


@dataclass(frozen=True, slots=True)
class CampoComparado:
    """One field on both sides, as people write it; ``gateway`` is ``None`` where the gateway shows nothing."""

    nome: str
    confirmado: str
    gateway: str | None
    difere: bool


@dataclass(frozen=True, slots=True)
class Conflito:
    """Both sides of one key; ``campos`` is empty when the gateway described no note. Each rule is a sentence."""

    referencia: str
    situacao: str | None
    numero: str | None
    campos: tuple[CampoComparado, ...]
    seguro: tuple[str, ...]
    perigoso: tuple[str, ...]

    @property
    def diferentes(self) -> int:
        """How many fields differ."""
        return sum(campo.difere for campo in self.campos)


def conflict(emissao: Any | None, olhar: Olhar) -> Conflito | None:
    """Return both sides of an emission that ended in conflict; ``None`` for any other."""
    if emissao is None or emissao.status != StatusEmissao.CONFLITO:
        return None
    nota = _note(emissao.leitura_gateway) or _note(emissao.resposta_gateway)  # the latter: of older releases
    campos = tuple(_field(nome, emissao, nota, olhar) for nome in _NOMES) if nota else ()
    return Conflito(
        emissao.id_integracao,
        _SITUACOES.get(nota.situacao) if nota else None,
        nota.numero if nota else None,
        campos,
        _safe(nota),
        (
            "Pedir à pessoa que mande a nota de novo antes de saber o que é a do gateway: podem ficar duas valendo.",
            "Mudar dados no banco para que os dois lados fiquem iguais.",
        ),
    )


def _safe(nota: Nota | None) -> tuple[str, ...]:
    """Say what staff may do, in order."""
    look = (
        "Consultar no gateway: só pergunta. Se o gateway passar a mostrar o que foi confirmado, a Prosa adota a nota."
    )
    if nota is None:
        return (look, "Abrir a referência no painel do gateway e ver se há uma nota.", "Avisar quem opera.")
    if nota.situacao is Situacao.CANCELADA:
        return (
            "Perguntar à empresa quem cancelou a nota fora da Prosa: lá ela não vale mais.",
            "Se a pessoa ainda quer a nota: encerrar esta, e ela pede uma nova.",
        )
    return (
        look,
        "Abrir a nota no painel do gateway e perguntar à empresa se outro programa a emitiu com esta referência.",
        "Se a nota de lá está errada: cancelá-la no painel do gateway, encerrar esta, e só então a pessoa pede outra.",
        "Se a nota de lá está certa: avisar a pessoa do número dela, e encerrar esta.",
    )


def _field(nome: str, emissao: Any, nota: Nota, olhar: Olhar) -> CampoComparado:
    deles = getattr(nota, nome)
    nossos = {
        "prestador": emissao.prestador_cnpj,
        "tomador": emissao.tomador_documento,
        "valor": emissao.valor_servico,
        "codigo_servico": emissao.codigo_servico,
        "competencia": emissao.competencia.isoformat(),
        "descricao": emissao.descricao_servico,
    }
    return CampoComparado(
        _NOMES[nome],
        _shown(nome, nossos[nome], olhar),
        None if deles is None else _shown(nome, deles, olhar),
        _differs(nome, emissao, deles),
    )


def _differs(nome: str, emissao: Any, deles: Any) -> bool:
    """Compare one field as the adoption does, so that the page never disagrees with what was decided."""
    if deles is None:
        return False
    confirmado = confirmed(emissao)
    only = Nota("", emissao.id_integracao, Situacao.AUTORIZADA, **{nome: deles})
    return divergencia(confirmado, confirmado.impressao, only) is not None


def _shown(nome: str, valor: Any, olhar: Olhar) -> str:
    match nome:
        case "valor":
            return brl(valor)
        case "prestador":  # the company itself is no secret to who may see the case
            return _document(str(valor))
        case "tomador":
            return _document(str(valor)) if olhar.revelado else olhar.documento(str(valor))
        case "competencia":
            year, _, rest = str(valor).partition("-")
            return f"{rest[:2]}/{year}" if rest else str(valor)
        case _:
            return olhar.texto(str(valor))


def _document(numero: str) -> str:
    """Format a document; what the gateway tells may be none."""
    try:
        return formata_documento(numero)
    except DocumentoInvalido:
        return numero


def _note(stored: Any) -> Nota | None:
    """Read the stored answer; what an older release wrote otherwise is no note."""
    stored = stored.get("nota") if isinstance(stored, dict) else None
    if not isinstance(stored, dict) or stored.get("situacao") not in set(Situacao):
        return None
    said = {nome: stored[nome] for nome in _NOMES if isinstance(stored.get(nome), str)}
    try:
        valor = Decimal(said.pop("valor")) if "valor" in said else None
    except InvalidOperation:
        valor = None
    numero = stored.get("numero")
    situacao = Situacao(stored["situacao"])
    return Nota("", "", situacao, valor=valor, numero=None if numero is None else str(numero), **said)


_SEM_CONVERSA: Final = "Quem pediu foi {origem}, e é lá que a notícia chega; aqui não há conversa."
# Where a session stands whose emission stands so; it is with the authority otherwise.
_ESTADOS: Final = {
    StatusEmissao.CONCLUIDO: Estado.APROVADO,
    StatusEmissao.REJEITADO: Estado.REJEITADO,
    StatusEmissao.CONFLITO: Estado.ERRO,
    StatusEmissao.ERRO: Estado.ERRO,
    StatusEmissao.DISPENSADO: Estado.CANCELADO_USUARIO,
}


async def orders_page(connection: Connection, visita: Visita, pedido: str, olhar: Olhar, seen: str) -> web.Response:
    """Show the order with this id of its origin; raises 404 where there is none, or none for this person."""
    emissoes = await staff_orders.attempts(connection, visita.staff.alcance, pedido)
    if not emissoes:
        raise web.HTTPNotFound
    registro = await staff_orders.record_of_orders(connection, emissoes)
    return visita.pagina(
        "pedido.html",
        pulso=seen,
        e=emissoes[0],
        origem=visita.deps.origem(emissoes[0].origem),
        frase=_sentence(emissoes[0], visita.deps.origem(emissoes[0].origem)),
        conflito=conflict(emissoes[0], olhar),
        linha=line(registro, olhar),
        olhar=olhar,
    )


def _sentence(emissao: Any, origem: str) -> Frase:
    """Say in one sentence how an order stands, and that its origin hears of it."""
    status = StatusEmissao(emissao.status)
    frase = por_que(
        SituacaoDaSessao(
            estado=_ESTADOS.get(status, Estado.PROCESSANDO),
            idade=(emissao.agora - (emissao.processado_em or emissao.criado_em)).total_seconds(),
            status=status,
            envios=emissao.envios,
            ausente=emissao.ausente_desde is not None,
            numero=emissao.numero,
            nota=emissao.nota_status,
            substituta=emissao.substituta,
            motivo=labels.motivo(emissao.erro_mensagem),
            suspensa=emissao.envio_suspenso,
        )
    )
    told = _SEM_CONVERSA.format(origem=origem)
    return Frase(frase.texto, f"{CREDENCIAL} {told}" if frase.conselho == CREDENCIAL else told, frase.tom)
