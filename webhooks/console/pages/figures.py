"""The pages of counts: groups of failures, the dashboard, the health of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import get_args

from aiohttp import web

from persistence import outside
from persistence.audit import records as audit
from persistence.fiscal import suspension
from persistence.people import certificates
from persistence.staff import dashboard as kept
from persistence.staff import figures as staff_figures
from persistence.staff.dashboard import DAYS
from persistence.staff.queue import pulse
from state_machine.protocol.channel import Ambiente, Leiaute
from state_machine.protocol.emission import COM_PESSOAS, StatusEmissao
from webhooks.console.access.visit import Visita, see_other
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar, duration, number
from webhooks.console.render.labels import cidade
from webhooks.console.render.model_spend import bars, columns, line, spend

LOST_TOO_LONG = 3600  # seconds: the ladder of questions asks hourly from here on
LAG_TOO_LONG = 10  # seconds that a conversation waits for a worker
OPEN_SHOWN = 20  # operations without an answer: enough to look into, and a command lists all


async def failures(visita: Visita) -> web.StreamResponse:
    """Same code, status and city is one group."""
    days, seen = days_of(visita.request.query), await pulse(visita.deps.database)
    async with visita.deps.database.transaction() as connection:
        groups = await staff_figures.failure_groups(connection, visita.staff.alcance, timedelta(days=days))
    return visita.pagina(
        "falhas.html",
        pulso=seen,
        grupos=groups,
        dias=days,
        opcoes=DAYS,
        motivo=labels.motivo,
        cidade=cidade,
        olhar=Olhar(),
    )


async def dashboard(visita: Visita) -> web.StreamResponse:
    """From the first word to the invoice, in numbers."""
    days, seen = days_of(visita.request.query), await pulse(visita.deps.database)
    async with visita.deps.database.transaction() as connection:
        week, before = await staff_figures.by_period(connection, visita.staff.alcance)
        hours = await staff_figures.per_hour(connection, visita.staff.alcance)
        painel = await kept.read(connection, visita.staff.alcance, days)
        every = visita.staff.alcance.todas  # a question to the model is no company's
        asked = await outside.model_use_per_day(connection, days) if every else []
    way, per_day, refusals = painel.caminho, painel.por_dia, painel.recusas
    funnel = [
        ("abriram uma nota", way.abertas),
        ("deram todos os dados", way.completas),
        ("confirmaram", way.confirmadas),
        ("tiveram a nota autorizada", way.autorizadas + way.canceladas + way.substituidas),
        *(
            (said, n)
            for said, n in (("cancelaram depois", way.canceladas), ("substituíram depois", way.substituidas))
            if n
        ),
    ]
    refusals = [(Olhar().texto(labels.motivo(said) or said), n) for said, n in refusals]
    return visita.pagina(
        "painel.html",
        pulso=seen,
        semana=week,
        antes=before,
        por_hora=hours,
        grafico_horas=line(hours),
        dias=days,
        opcoes=DAYS,
        contado_em=painel.contado_em,
        modelo=spend(asked, visita.deps.preco) if every else None,
        caminho_nota=way,
        funil=funnel,
        por_dia=per_day,
        recusas=refusals,
        grafico_funil=bars(funnel, de=way.abertas or None),
        grafico_dias=columns(per_day),
        grafico_recusas=bars(refusals),
    )


async def health(visita: Visita) -> web.StreamResponse:
    """What waits, for how long, and what the gateway answered in the last hour."""
    alcance, seen = visita.staff.alcance, await pulse(visita.deps.database)
    counts = await visita.deps.backlog.pending()
    async with visita.deps.database.transaction() as connection:
        waiting = await staff_figures.emissions_waiting(connection, alcance)
        lately = await staff_figures.gateway_lately(connection, alcance)
        held = await staff_figures.held(connection, alcance)
        unknown = await staff_figures.open_operations(connection, alcance, OPEN_SHOWN)
        answered = await staff_figures.last_answer(connection)
        circuits = await outside.live_breakers(connection)
        ending = await certificates.expiring(connection, alcance)
        undated = await certificates.undated(connection, alcance)
        suspended = await staff_figures.suspended(connection, alcance)
        layouts = await suspension.layouts(connection)
    lost = max((row.idade for row in waiting if row.status == StatusEmissao.DESCONHECIDO), default=0.0)
    paused = {labels.DESTINOS.get(row.destino, row.destino) for row in circuits if row.aberto}
    stuck = [(row.quantas, labels.emissao(row.status)[0]) for row in waiting if row.status in COM_PESSOAS]
    said = [
        (any(row.parado_em for row in layouts), "a SEFIN recusa o leiaute em vigor"),
        (len(suspended), f"{_many(len(suspended), 'empresa', 'empresas')} com credencial recusada"),
        *((n, f"{_many(n, 'nota', 'notas')} na situação “{status}”") for n, status in stuck),
        (lost > LOST_TOO_LONG, f"a resposta de uma nota se perdeu há {duration(lost)}"),
        (counts.lag_seconds > LAG_TOO_LONG, f"uma conversa espera há {duration(counts.lag_seconds)}"),
        (counts.quarantined, _many(counts.quarantined, "mensagem parada", "mensagens paradas")),
        (
            counts.outbox_failed,
            _many(counts.outbox_failed, "mensagem não chegou", "mensagens não chegaram") + " em 24 h",
        ),
        (paused, f"em pausa: {', '.join(sorted(paused))}"),
        (not circuits, "nenhum processo deu notícia nos últimos dois minutos"),
        (unknown, f"{_many(len(unknown), 'operação', 'operações')} sem resposta"),
        (ending, f"{_many(len(ending), 'certificado vencido', 'certificados vencidos')} ou perto disso"),
    ]
    return visita.pagina(
        "saude.html",
        pulso=seen,
        c=counts,
        emissoes=waiting,
        chamadas=lately,
        suspensas=suspended,
        retidas=held,
        leiautes=layouts,
        abertas=unknown,
        disjuntores=circuits,
        certificados=[(row, labels.certificado(row.dias)) for row in ending],
        sem_data=undated,
        resposta=answered,
        errado=[words for wrong, words in said if wrong],
        pausadas=bool(paused),
        retencao=labels.RETIDAS,
        destinos=labels.DESTINOS,
        operacao=labels.operacao,
        resultado=labels.resultado,
    )


def _many(count: int, one: str, many: str) -> str:
    return f"{number(count)} {one if count == 1 else many}"


async def choose_layout(visita: Visita) -> web.StreamResponse:
    """Have the national channel issue in one of its two layouts in an environment, audited; and show the page."""
    escolha, motivo = await visita.campo("leiaute", 10), await visita.campo("motivo")
    ambiente = await visita.campo("ambiente", 20)
    if escolha not in get_args(Leiaute) or ambiente not in {each.value for each in Ambiente} or not motivo:
        raise web.HTTPUnprocessableEntity
    async with visita.deps.database.transaction() as connection:
        await suspension.choose_layout(connection, Ambiente(ambiente), escolha, visita.staff.nome)
        await audit.write(
            connection,
            staff_id=visita.staff.id,
            quem=visita.staff.nome,
            acao="escolheu o leiaute",
            motivo=motivo,
            detalhe={"ambiente": ambiente, "leiaute": escolha},
        )
    return see_other("/console/saude")


def days_of(fields: Mapping[str, str], otherwise: int = 30) -> int:
    """Return the period that was chosen."""
    asked = fields.get("dias", "")
    return int(asked) if asked in {str(days) for days in DAYS} else otherwise
