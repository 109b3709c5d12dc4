"""The snapshot beside any earlier revision, the words that were confirmed, the payloads as trees.

Puts what happened in one conversation into one line, oldest first, in the staff's words.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import orjson
from aiohttp import web

from persistence.fiscal.emissions import stored_bytes
from persistence.staff import case as staff_case
from persistence.staff.case import CaseTimeline
from state_machine.invoice.field_table import FIELDS, FieldKind, field_named
from state_machine.invoice.fields import Campo
from webhooks.console.access.visit import Visita
from webhooks.console.pages.why import MOTIVOS, nome_do_campo
from webhooks.console.render import labels
from webhooks.console.render.format import SAO_PAULO, Olhar, brl

Tipo = Literal["in", "out", "staff", "step", "gate", "note"]

HANDOVERS: Final = {
    "assumir": "assumiu a conversa",
    "devolver": "devolveu a conversa para a Prosa",
    "encerrar": "encerrou",
}
_ORDEM: Final = {"in": 0, "step": 1, "gate": 2, "out": 3, "staff": 3, "note": 4}  # within one moment: cause first


@dataclass(frozen=True, slots=True)
class Leitura:
    """What was read of one field beside what the rules accepted; ``trecho`` is the user's own words."""

    campo: str
    trecho: str
    lido: str
    aceito: str | None
    motivo: str | None
    origem: str


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One entry of the line."""

    tipo: Tipo
    em: datetime
    titulo: str
    texto: str = ""
    botoes: tuple[str, ...] = ()
    tique: tuple[str, str] | None = None
    leituras: tuple[Leitura, ...] = ()
    detalhe: str = ""
    ruim: bool = False
    corpos: tuple[tuple[str, str], ...] = ()
    outbox_id: int | None = None
    numero: int = 0
    para: str = ""  # what the state is called that a step led to

    @property
    def da_maquina(self) -> bool:
        """Whether nobody said it: what was decided, and the calls to the gateway."""
        return self.tipo in {"step", "gate"}

    @property
    def dia(self) -> str:
        """The day in Brazil, sortable."""
        return self.em.astimezone(SAO_PAULO).date().isoformat()


def line(registro: CaseTimeline, olhar: Olhar) -> list[TimelineItem]:
    """Return all entries, the oldest first."""
    items = [
        *(_said(row, olhar) for row in registro.entradas),
        *(_sent(row, olhar) for row in registro.saidas),
        *(_step(row, olhar) for row in registro.passos),
        *(_attempt(row, olhar) for row in registro.tentativas),
        *(
            TimelineItem("note", row.em, f"Anotação de {row.quem}", olhar.texto(row.texto), numero=row.id)
            for row in registro.notas
        ),
        *(
            TimelineItem(
                "note", row.em, f"{row.quem} {HANDOVERS[row.acao]}", olhar.texto(row.motivo or ""), numero=row.id
            )
            for row in registro.handovers
        ),
    ]
    return sorted(items, key=lambda item: (item.em, _ORDEM[item.tipo], item.numero))


def _said(row: Any, olhar: Olhar) -> TimelineItem:
    message = row.payload.get("mensagem") or {}
    aside = " · parada" if row.estado == 2 else " · ainda não lida" if row.estado == 0 else ""  # noqa: PLR2004
    titulo = f"Pessoa{aside}"
    return TimelineItem("in", row.recebido_em, titulo, olhar.texto(words(message)), ruim=row.estado == 2, numero=row.id)  # noqa: PLR2004 - quarantined


def words(message: dict[str, Any]) -> str:
    """Return what a stored WhatsApp message says: its words, its button, or what it is."""
    tipo = str(message.get("type"))
    content = message.get(tipo)
    if not isinstance(content, dict):
        return labels.midia(tipo)
    reply = content.get("button_reply") or content.get("list_reply") or {}
    if isinstance(reply, dict) and reply.get("title"):
        return f"tocou em *{reply['title']}*"
    text = content.get("body") or content.get("caption") or content.get("text")
    return text if isinstance(text, str) and tipo == "text" else f"{labels.midia(tipo)} {text or ''}".strip()


def _sent(row: Any, olhar: Olhar) -> TimelineItem:
    m = row.mensagem
    match m.get("tipo"):
        case "arquivo":
            texto = f"{m.get('nome', '')}\n{m.get('legenda') or ''}".strip()
        case "mes":  # made as it leaves: its sums are those of that moment
            picture = m.get("formato") == "png"
            dito = (
                "As barras do mês, por dia e por cliente."
                if picture
                else "O mês em planilha, com as somas e o link do ZIP."
            )
            texto = f"fechamento-{m.get('mes')}.{'png' if picture else 'xlsx'}\n{dito}"
        case _:
            texto = str(m.get("texto", ""))
    de = m.get("de")
    texto = texto.removeprefix(f"*{de}, da equipe:*\n")  # the title says who
    erro = labels.motivo(row.erro) or "sem detalhe"
    detalhe = f"{erro} ({row.erro_codigo})" if row.erro_codigo else erro
    return TimelineItem(
        "staff" if de else "out",
        row.criado_em,
        f"{de}, da equipe" if de else "Prosa",
        olhar.texto(texto),
        tuple(
            olhar.texto(str(opcao.get("titulo", ""))) for opcao in (*(m.get("botoes") or ()), *(m.get("lista") or ()))
        ),
        labels.TIQUES.get(row.status, (row.status, "")),
        detalhe=detalhe if row.status == "falhou" else "",
        ruim=row.status == "falhou",
        outbox_id=row.id,
        numero=row.id,
    )


def _step(row: Any, olhar: Olhar) -> TimelineItem:
    de, para = labels.estado(row.de)[0], labels.estado(row.para)[0]
    moved = f"{de} → {para}" if row.de != row.para else f"continua: {para}"
    why = labels.MOTIVOS.get(row.snapshot_reason, row.snapshot_reason)
    reason = f" · {why}" if row.de != row.para and why != para else ""
    detalhe = row.detalhe or {}
    texto = olhar.texto(labels.da_equipe(detalhe.get("motivo") or ""))
    titulo = f"{labels.evento(row.evento)} · {moved}{reason} · versão {row.revisao}"
    return TimelineItem("step", row.em, titulo, texto, leituras=readings(detalhe, olhar), numero=row.id, para=para)


def readings(detalhe: dict[str, Any], olhar: Olhar) -> tuple[Leitura, ...]:
    """Return what a turn read, field by field, beside what stood in the draft after it."""
    depois = detalhe.get("rascunho") or {}
    found = []
    for lido in (*detalhe.get("lido", ()), *detalhe.get("duvidas", ())):
        campo = str(lido.get("campo"))
        estado = depois.get(campo) or {}
        aceito = estado.get("valor") if estado.get("status") == "validated" else None
        motivo = estado.get("motivo") or lido.get("motivo")
        found.append(
            Leitura(
                nome_do_campo(campo),
                olhar.texto(lido.get("trecho")),
                shown(campo, lido.get("valor"), olhar),
                shown(campo, aceito, olhar) or None,
                MOTIVOS.get(motivo, motivo) if motivo and not aceito else None,
                str(lido.get("origem") or "regras"),
            )
        )
    return tuple(found)


def shown(campo: str, valor: str | None, olhar: Olhar) -> str:
    """Return a normalised value as people write it."""
    row = field_named(campo)
    match row and row.kind:
        case _ if not valor:
            return ""
        case FieldKind.DOCUMENTO:
            return olhar.documento(valor)
        case FieldKind.DINHEIRO:
            return brl(valor)
        case _:
            return olhar.texto(valor)


def _attempt(row: Any, olhar: Olhar) -> TimelineItem:
    resultado, ruim = labels.resultado(row.resultado)
    http = f" · HTTP {row.http_status}" if row.http_status else ""
    titulo = f"Gateway: {labels.operacao(row.operacao)} · {resultado}{http} · {row.latencia_ms} ms"
    bodies = (("o que foi", row.pedido), ("o que voltou", row.resposta))
    corpos = tuple((rotulo, olhar.texto(corpo)) for rotulo, corpo in bodies if corpo)
    return TimelineItem(
        "gate", row.em, titulo, olhar.texto(labels.motivo(row.detalhe)), ruim=ruim, corpos=corpos, numero=row.id
    )


@dataclass(frozen=True, slots=True)
class Linha:
    """One field in two revisions; each side is (value, status, words, reader, reason)."""

    campo: str
    antes: Lado
    depois: Lado

    @property
    def mudou(self) -> bool:
        """Whether the two differ."""
        return self.antes != self.depois


@dataclass(frozen=True, slots=True)
class Lado:
    """What one revision says of a field: its value, how far it is trusted, and the evidence."""

    valor: str
    status: str
    escrito: str
    origem: str
    motivo: str


_STATUS = {"null": "vazio", "extracted": "lido", "validated": "aceito", "invalid": "em dúvida"}


async def show(visita: Visita) -> web.StreamResponse:
    """The page; ``?de=`` and ``?para=`` choose the revisions."""
    sessao_id, query = visita.request.match_info["sessao_id"], visita.request.query
    async with visita.deps.database.transaction() as connection:
        caso = await staff_case.session(connection, visita.staff.alcance, sessao_id)
        if caso is None:
            raise web.HTTPNotFound
        revisoes = await staff_case.revisions(connection, sessao_id)
        resumos = await staff_case.summaries(connection, sessao_id)
        sim = await staff_case.confirmation(connection, sessao_id)
    s = caso.sessao
    drafts = {row.revisao: row.rascunho for row in revisoes} | {s.revisao: s.rascunho}
    para = _chosen(query.get("para"), drafts, s.revisao)
    earlier = [revisao for revisao in drafts if revisao < para]
    de = _chosen(query.get("de"), drafts, max(earlier, default=para))
    olhar = Olhar()
    return visita.pagina(
        "snapshot.html",
        s=s,
        revisoes=sorted(drafts),
        quando={row.revisao: row.em for row in revisoes},
        de=de,
        para=para,
        linhas=compare(drafts[de], drafts[para], olhar),
        confirmado=_confirmed(resumos, sim, olhar),
        sim=sim,
        payloads=[(titulo, olhar.arvore(valor)) for titulo, valor in _payloads(caso.emissoes)],
        olhar=olhar,
    )


def compare(antes: dict[str, Any], depois: dict[str, Any], olhar: Olhar) -> list[Linha]:
    """Return every field that either draft says something of, in the order in which fields are asked."""
    rows = [Linha(nome_do_campo(campo), _side(antes, campo, olhar), _side(depois, campo, olhar)) for campo in FIELDS]
    return [row for row in rows if row.antes.status != "vazio" or row.depois.status != "vazio"]


def _side(rascunho: dict[str, Any], campo: Campo, olhar: Olhar) -> Lado:
    lido = rascunho.get(campo) or {}
    motivo = lido.get("motivo") or ""
    return Lado(
        shown(campo, lido.get("valor"), olhar),
        _STATUS.get(str(lido.get("status", "null")), "vazio"),
        olhar.texto(lido.get("escrito")),
        str(lido.get("origem") or ""),
        MOTIVOS.get(motivo, motivo),
    )


def _confirmed(resumos: list[Any], sim: Any | None, olhar: Olhar) -> str | None:
    """Return the very text that the yes answered."""
    if sim is None:
        return None
    shown = [row.texto for row in resumos if row.resumo_de == sim.revisao]
    return olhar.texto(shown[-1]) if shown else None


def _payloads(emissoes: list[Any]) -> list[tuple[str, Any]]:
    found = []
    for emissao in emissoes:
        nome = emissao.id_integracao
        found.append((f"Enviado ao gateway · {nome}", _json(stored_bytes(emissao))))
        if emissao.resposta_gateway is not None:
            found.append((f"Última resposta do gateway · {nome}", emissao.resposta_gateway))
        if emissao.webhook_payload is not None:
            found.append((f"Último aviso do gateway · {nome}", emissao.webhook_payload))
    return found


def _json(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


def _chosen(text: str | None, drafts: dict[int, Any], default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and int(text) in drafts else default
