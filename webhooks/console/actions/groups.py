"""Tries a whole group of failures again: first says what would happen to each, then orders just that.

Marks a group of failures as resolved, or takes that back.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from urllib.parse import urlencode

import sqlalchemy as sa
from aiohttp import web

from persistence.access.accounts import Staff
from persistence.audit import records as audit
from persistence.db.connection import Connection
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Operation, Replay, Started
from persistence.queue.inbox import Arrival
from persistence.rows import OrderRow, StaffRow
from persistence.staff import groups as staff_groups
from persistence.staff.dashboard import DAYS
from persistence.staff.groups import Grupo, members, resolution
from state_machine.invoice.session import Estado
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.pages.figures import days_of
from webhooks.console.render import labels, masks
from webhooks.console.render.format import SAO_PAULO
from webhooks.console.render.labels import cidade

NAMED_BY: Final = ("codigo", "status", "cidade", "dias")
OLD: Final = timedelta(days=1)  # its person may have had the note made elsewhere meanwhile
AT_ONCE: Final = 200  # orders of one press; one transaction of some 100 ms, and few enough to look through


@dataclass(frozen=True, slots=True)
class PlanoDaEmissao:
    """What one press would do to one emission; ``faz`` is ``None`` where nothing safe can be done, and why."""

    emissao: Any
    faz: Literal["reprocessar", "consultar"] | None
    frase: str

    @property
    def idade(self) -> float:
        """Seconds since the person confirmed it, nearly: since its emission was made."""
        return float((self.emissao.agora - self.emissao.criado_em).total_seconds())

    @property
    def antiga(self) -> bool:
        """Whether what would go out is older than a day, or of another month than this one in Brazil."""
        hoje, competencia = self.emissao.agora.astimezone(SAO_PAULO).date(), self.emissao.competencia
        of_this_month = (competencia.year, competencia.month) == (hoje.year, hoje.month)
        return self.faz == "reprocessar" and (self.idade > OLD.total_seconds() or not of_this_month)


async def show(visita: Visita) -> web.StreamResponse:
    """The rehearsal: every open member of the group with what would happen to it."""
    return await _page(visita, group_of(visita.request.query))


async def _page(visita: Visita, grupo: Grupo, *, erro: str | None = None, motivo: str = "") -> web.Response:
    async with visita.deps.database.transaction() as connection:
        seen = (await connection.execute(sa.select(sa.func.now()))).scalar_one()
        rows = await members(connection, visita.staff.alcance, grupo, AT_ONCE + 1)
        resolved = await resolution(connection, visita.staff.alcance, grupo)
    planos = [plan(row) for row in rows[:AT_ONCE]]
    return visita.pagina(
        "grupo.html",
        status=422 if erro else 200,
        erro=erro,
        dito=motivo,
        antigas=sum(plano.antiga for plano in planos),
        grupo=grupo,
        dias=grupo.desde.days,
        motivo=labels.motivo,
        cidade=cidade,
        planos=planos,
        fazem=sum(plano.faz is not None for plano in planos),
        mais=len(rows) > AT_ONCE,
        resolvido=resolved,
        visto=seen.isoformat(),
        feito=visita.request.query.get("feito", ""),
        chave=secrets.token_urlsafe(16),
    )


async def act(visita: Visita) -> web.StreamResponse:
    """Order it: one command for each, with its own key and its own row in the audit, in one commit."""
    posted = {name: await visita.campo(name) for name in NAMED_BY}
    chave, motivo, quem = await visita.campo("chave", 100), await visita.campo("motivo"), visita.staff
    antigas = await visita.campo("antigas", 10)
    grupo = group_of(posted)
    if not chave:
        raise web.HTTPUnprocessableEntity
    if not motivo:
        return await _page(visita, grupo, erro="Falta dizer por quê.")
    operation = Operation.named(chave, "console:grupo", f"staff:{quem.id}", "grupo", {"motivo": motivo, **posted})
    try:
        feitos = await _ordered(visita, grupo, operation, motivo, antigas)
    except _OldOnesError:
        erro = "Nada foi pedido: confirme antes as que têm mais de um dia ou são de outro mês."
        return await _page(visita, grupo, erro=erro, motivo=motivo)
    return see_other(address({**posted, "feito": feitos}))


class _OldOnesError(Exception):
    """Some of what would go out is old, and nobody has said that it shall."""


async def _ordered(visita: Visita, grupo: Grupo, operation: Operation, motivo: str, antigas: str) -> int:
    """Order it in one commit; returns how many. ``antigas``: how many old ones somebody saw and wants."""
    quem = visita.staff
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        match begun:
            case Started():
                planos = [plan(row) for row in await members(connection, quem.alcance, grupo, AT_ONCE)]
                velhas = sum(plano.antiga for plano in planos)
                if velhas and antigas != str(velhas):
                    raise _OldOnesError
                feitos = await _order(connection, visita, planos, motivo, operation.key)
                await idempotency.succeed(connection, begun, {"feitos": feitos})
            case Replay(result):
                feitos = int((result or {}).get("feitos", 0))
            case _:
                raise web.HTTPConflict
    return feitos


def plan(row: Any) -> PlanoDaEmissao:
    """Decide what is safe: a refusal that was our fault is tried anew, an open outcome is only asked about."""
    if row.conversa is None:
        return PlanoDaEmissao(row, None, "não veio de uma conversa: quem pediu recebeu a notícia")
    if row.status != StatusEmissao.REJEITADO:
        return PlanoDaEmissao(row, "consultar", "pergunta agora ao gateway; não emite outra nota")
    if not row.ultima:
        return PlanoDaEmissao(row, None, "já tem uma tentativa mais nova")
    if row.estado != Estado.REJEITADO:
        return PlanoDaEmissao(row, None, "a conversa já seguiu adiante")
    if row.retomada:
        return PlanoDaEmissao(row, None, "a pessoa já retomou estes dados em outra nota, e seriam duas")
    if row.pendente is not None:
        return PlanoDaEmissao(row, None, "quem corrige é a pessoa, pelo botão Corrigir nota")
    return PlanoDaEmissao(row, "reprocessar", "tenta de novo, depois de perguntar por todas as tentativas anteriores")


async def _order(connection: Connection, visita: Visita, planos: list[PlanoDaEmissao], motivo: str, chave: str) -> int:
    quem, arrivals = visita.staff, []
    for plano in planos:
        if plano.faz is None:
            continue
        e, correlacao = plano.emissao, f"equipe-{secrets.token_hex(4)}"
        arrivals.append(_arrival(plano, quem, motivo, chave, correlacao))
        await audit.write(
            connection,
            staff_id=quem.id,
            quem=quem.nome,
            acao=plano.faz,
            alvo=e.sessao_id,
            empresa_id=e.empresa_id,
            motivo=motivo,
            detalhe={"em_grupo": True},
            correlacao=correlacao,
        )
    if arrivals:
        await visita.deps.inbox.put_in(connection, arrivals)
    return len(arrivals)


def _arrival(plano: PlanoDaEmissao, quem: Staff, motivo: str, chave: str, correlacao: str) -> Arrival:
    """Return the very row that the single action would put: an attempt is made anew once, whoever asks."""
    e = plano.emissao
    if plano.faz == "reprocessar":
        ordem, key = OrderRow("reprocessar", e.sessao_id, e.id_integracao), f"reprocessar:{e.id_integracao}"
        return Arrival.of(ordem, chave=key, lane=e.conversa, correlacao=correlacao)
    pedido = StaffRow("consultar", quem.id, quem.nome, sessao_id=e.sessao_id, motivo=motivo)
    return Arrival.of(pedido, chave=f"equipe:{chave}:{e.id}", lane=e.conversa, correlacao=correlacao)


def address(fields: Mapping[str, object]) -> str:
    """Return where a group's page is."""
    return f"/console/falhas/grupo?{urlencode(fields)}"


def group_of(fields: Mapping[str, str]) -> Grupo:
    """Return the group that a page's address or form names; raises 404."""
    status = fields.get("status", "")
    if status not in set(StatusEmissao) or not fields.get("codigo"):
        raise web.HTTPNotFound
    return Grupo(fields["codigo"], status, fields.get("cidade", ""), timedelta(days=days_of(fields, DAYS[1])))


_DOES: Final = {"resolver": "resolver grupo", "reabrir": "reabrir grupo"}


async def resolve_group(visita: Visita) -> web.StreamResponse:
    """Resolve or reopen, with a row in the audit for each company and the idempotency record, in one commit."""
    posted = {name: await visita.campo(name) for name in NAMED_BY}
    faz, visto = await visita.campo("faz", 10), await visita.campo("visto", 40)
    chave, motivo, quem = await visita.campo("chave", 100), await visita.campo("motivo"), visita.staff
    grupo = group_of(posted)
    if not chave or not motivo or faz not in _DOES:
        raise web.HTTPUnprocessableEntity
    said = {"motivo": motivo, "faz": faz, "visto": visto, **posted}
    operation = Operation.named(chave, f"console:{_DOES[faz]}", f"staff:{quem.id}", "grupo", said)
    async with visita.deps.database.transaction() as connection:
        begun = await idempotency.begin(connection, operation)
        if isinstance(begun, Started):
            if faz == "resolver":
                touched = await staff_groups.resolve(connection, quem.alcance, grupo, quem.nome, motivo, _moment(visto))
            else:
                touched = await staff_groups.reopen(connection, quem.alcance, grupo)
            if not touched:
                raise web.HTTPConflict(text="late")
            await _audited(connection, visita, _DOES[faz], grupo, motivo, touched)
            await idempotency.succeed(connection, begun, {"empresas": len(touched)})
        elif not isinstance(begun, Replay):
            raise web.HTTPConflict
    return see_other(address(posted))


async def _audited(
    connection: Connection, visita: Visita, acao: str, grupo: Grupo, motivo: str, empresas: list[int]
) -> None:
    detalhe = {"codigo": masks.text(grupo.codigo), "status": grupo.status, "cidade": grupo.municipio}
    for empresa_id in sorted(empresas):
        await audit.write(
            connection,
            staff_id=visita.staff.id,
            quem=visita.staff.nome,
            acao=acao,
            alvo=f"{grupo.status} em {grupo.municipio}",
            empresa_id=empresa_id,
            motivo=motivo,
            detalhe=detalhe,
        )


def _moment(text: str) -> datetime:
    """Read when the page was made: what failed since was not seen, and brings the group back. Raises 422."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise web.HTTPUnprocessableEntity from None
    if moment.tzinfo is None:
        raise web.HTTPUnprocessableEntity
    return moment
