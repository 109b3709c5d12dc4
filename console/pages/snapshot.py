"""The snapshot beside any earlier revision, the words that were confirmed, the payloads as trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from console.pages.timeline import shown
from console.pages.why import MOTIVOS, nome_do_campo
from console.render.format import Olhar
from persistence.fiscal.emissions import stored_bytes
from persistence.staff import case as staff_case
from state_machine.invoice.field_table import FIELDS

if TYPE_CHECKING:
    from console.access.visit import Visita
    from state_machine.invoice.fields import Campo


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
