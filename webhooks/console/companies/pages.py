"""Companies: the list with what each asks for, and one whole, where what is wrong with it can be mended."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web

from operations.month import MonthError
from persistence.audit import records as audit
from persistence.people import channels, services
from persistence.staff import companies as staff_companies
from persistence.staff.companies import OUTSIDE, TROUBLE
from persistence.staff.queue import needing_eyes_by_company, pulse
from state_machine.services.codes import APURACOES_IBSCBS, Servico, dotted
from webhooks.console.access.visit import Visita
from webhooks.console.pages.queue import PAGE, page, whole
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar
from webhooks.console.render.labels import cidade
from webhooks.month import asked

PRODUCTS: Final = 50  # of a company on its page
NAME: Final = 100  # characters of a company's name that are looked for
AMBIENTES: Final = {"producao": ("produção", "good"), "homologacao": ("homologação", "busy")}
DE_FORA: Final = {
    "autorizada": ("vale", "good"),
    "cancelada": ("cancelada", "off"),
    "substituida": ("substituída", "off"),
}
REGIMES: Final = {
    "mei": "MEI",
    "simples": "Simples Nacional",
    "simples-pendente": "Simples, opção pendente",
    "normal": "regime normal",
}


async def listed(visita: Visita) -> web.StreamResponse:
    """One page of them by name, each with its channel, certificate, people, and what needs eyes."""
    query = visita.request.query
    seen = await pulse(visita.deps.database)
    nome, before = query.get("nome", "").strip()[:NAME], whole(query.get("antes"))
    async with visita.deps.database.transaction() as connection:
        rows = await staff_companies.page(connection, visita.staff.alcance, nome, before, PAGE + 1)
        lista = page(rows, query, "id")
        counts = await needing_eyes_by_company(connection, [row.id for row in lista.linhas])
    return visita.pagina(
        "empresas.html",
        pulso=seen,
        lista=lista,
        nome=nome,
        nome_max=NAME,
        abertas=counts,
        canal=channel,
        certificado=labels.certificado,
        cidade=cidade,
        primeira=before is None,
        falta=lambda e: lacks(visita, e, services.read(e.codigo_servico, e.servicos)),
    )


async def show(visita: Visita) -> web.StreamResponse:
    """One company whole."""
    return await company_page(visita)


async def company_page(
    visita: Visita, *, status: int = 200, feito: Sequence[str] = (), erro: str | None = None
) -> web.Response:
    """Render the page of the address's company, with what a change did or why it was refused. Raises 404."""
    empresa_id = whole(visita.request.match_info["numero"]) or 0
    async with visita.deps.database.transaction() as connection:
        found = await staff_companies.one(connection, visita.staff.alcance, empresa_id)
    if found is None:
        raise web.HTTPNotFound
    return visita.pagina(
        "empresa.html",
        status=status,
        feito=feito,
        erro=erro,
        e=found.linha,
        servicos=found.servicos,
        pessoas=found.pessoas,
        mes=found.mes,
        meses=(found.mes, found.mes.anterior),
        emitidas=found.emitidas,
        abertas=found.abertas[:TROUBLE],
        mais=len(found.abertas) > TROUBLE,
        de_fora=found.de_fora[:OUTSIDE],
        mais_de_fora=len(found.de_fora) > OUTSIDE,
        series=found.series,
        produtos=found.produtos,
        produtos_max=PRODUCTS,
        causas=labels.CAUSAS,
        causa=labels.causa,
        canal=channel(found.linha.canal),
        canais={name: labels.CANAIS.get(name, name) for name in visita.deps.channels},
        prazos=[
            f"{labels.CANAIS.get(name, name)}: {said}."
            for name, row in visita.deps.channels.items()
            if (said := row.term())
        ],
        ambientes=AMBIENTES,
        campo_max=NAME,
        certificado=labels.certificado,
        cidade=cidade,
        codigo=dotted,
        regimes=REGIMES,
        apuracoes=APURACOES_IBSCBS,
        falta=lacks(visita, found.linha, found.servicos),
        situacoes=DE_FORA,
        olhar=Olhar(),
        chave=lambda: secrets.token_urlsafe(16),
    )


async def month(visita: Visita) -> web.StreamResponse:
    """``GET /console/empresas/{numero}/fechamento/{mes}.{formato}``, audited: it tells whom the notes are for."""
    quem, months = visita.staff, visita.deps.months
    empresa_id = whole(visita.request.match_info["numero"]) or 0
    async with visita.deps.database.transaction() as connection:
        if await staff_companies.one(connection, quem.alcance, empresa_id) is None:
            raise web.HTTPNotFound
        try:
            periodo, formato = asked(visita.request)
        except MonthError:
            raise web.HTTPNotFound from None
        await audit.write(
            connection,
            staff_id=quem.id,
            quem=quem.nome,
            acao="exportou",
            alvo=f"{periodo}, {formato}",
            empresa_id=empresa_id,
        )
    try:
        return await months.send(visita.request, await months.read(empresa_id, periodo), formato)
    except MonthError as error:
        raise web.HTTPUnprocessableEntity(text=str(error)) from None


def lacks(visita: Visita, company: Any, servicos: Sequence[Servico]) -> str | None:
    """Say what the notes of a company (its row) will lack on its channel, although they are accepted."""
    row = visita.deps.channels.get((company.canal or "").partition("/")[0])
    return row.left_out(company, servicos) if row else None


def channel(stored: str | None) -> tuple[str, tuple[str, str]]:
    """Return what a company's channel and its environment are called, the latter with its tone."""
    canal = channels.read(stored)
    ambiente = AMBIENTES[canal.ambiente] if canal.ambiente else ("ambiente padrão", "off")
    return labels.CANAIS.get(canal.nome, canal.nome), ambiente
