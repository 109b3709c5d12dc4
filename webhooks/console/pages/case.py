"""One case on one page: the sentence, the path, the timeline, the facts; each look is written into the audit."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any
from uuid import UUID

from aiohttp import web

from persistence.access.accounts import Staff
from persistence.audit import records as audit
from persistence.staff import case as staff_case
from persistence.staff.case import CaseTimeline, Caso
from persistence.staff.queue import pulse
from state_machine.invoice.session import Estado
from state_machine.protocol.emission import StatusEmissao
from webhooks.console.access.visit import Visita
from webhooks.console.actions.commands import POR_NOME, TEXTO_MAX, available, issued, main_of
from webhooks.console.pages import conflict as orders
from webhooks.console.pages.conflict import conflict
from webhooks.console.pages.snapshot import line
from webhooks.console.pages.why import SituacaoDaSessao, por_que
from webhooks.console.render import labels
from webhooks.console.render.format import Olhar

REVEAL_SECONDS = 60  # then the page masks itself again


async def show(visita: Visita) -> web.StreamResponse:
    """One session, or the order of another origin that has this id, masked."""
    return await _page(visita, visita.request.match_info["sessao_id"], Olhar())


async def reveal(visita: Visita) -> web.StreamResponse:
    """The same page unmasked for a minute, for a reason that the audit keeps."""
    sessao_id = visita.request.match_info["sessao_id"]
    motivo = await visita.campo("motivo")
    if not motivo:
        raise web.HTTPUnprocessableEntity
    async with visita.deps.database.transaction() as connection:
        caso = await staff_case.session(connection, visita.staff.alcance, sessao_id)
        if caso is None:
            raise web.HTTPNotFound
        await audit.write(
            connection,
            staff_id=visita.staff.id,
            quem=visita.staff.nome,
            acao="mostrou dados",
            alvo=sessao_id,
            empresa_id=caso.sessao.empresa_id,
            motivo=motivo,
        )
    response = await _page(visita, sessao_id, Olhar(revelado=True))
    response.headers["Refresh"] = f"{REVEAL_SECONDS}; url={visita.request.path.removesuffix('/mostrar')}"
    return response


async def contact(visita: Visita) -> web.StreamResponse:
    """A conversation without looking at one session: somebody we don't know, or all of somebody's sessions."""
    alcance = visita.staff.alcance
    try:
        codigo = UUID(visita.request.match_info["codigo"])
    except ValueError:
        raise web.HTTPNotFound from None
    seen = await pulse(visita.deps.database)
    async with visita.deps.database.transaction() as connection:
        conversa = await staff_case.contact(connection, alcance, codigo)
        if conversa is None:
            raise web.HTTPNotFound
        sessoes = await staff_case.sessions_of(connection, alcance, conversa.conversa)
        registro = await staff_case.record(connection, alcance, conversa.conversa)
    olhar = Olhar()
    return visita.pagina(
        "contato.html",
        pulso=seen,
        conversa=conversa,
        sessoes=sessoes,
        linha=await asyncio.to_thread(line, registro, olhar),  # masking much takes a while, and others are served
        olhar=olhar,
    )


async def _page(visita: Visita, sessao_id: str, olhar: Olhar) -> web.Response:
    seen = await pulse(visita.deps.database)
    async with visita.deps.database.transaction() as connection:
        caso = await staff_case.session(connection, visita.staff.alcance, sessao_id)
        if caso is None:
            return await orders.orders_page(connection, visita, sessao_id, olhar, seen)
        registro = await staff_case.record(connection, visita.staff.alcance, caso.sessao.conversa, caso)
    acoes = available(caso, visita.staff)
    return visita.pagina(
        "sessao.html",
        conflito=conflict(caso.emissoes[0] if caso.emissoes else None, olhar),
        documento=issued(caso),
        consultas=_asked(registro, caso),
        sem_aviso=_untold(visita, registro, caso),
        pulso=seen,
        caso=caso,
        s=caso.sessao,
        emissao=caso.emissoes[0] if caso.emissoes else None,
        frase=por_que(situation(caso, registro)),
        caminho_estados=path(registro, caso.sessao.estado, caso.sessao.nota, caso.sessao.substituta),
        linha=await asyncio.to_thread(line, registro, olhar),  # masking much takes a while, and others are served
        acoes=acoes,
        principal=main_of(caso, acoes),
        olhar=olhar,
        motivos=labels.MOTIVOS,
        segundos=REVEAL_SECONDS,
        feito=_done(visita.request.query.get("feito", ""), caso, visita.staff),
        minha=caso.sessao.atendente_id == visita.staff.id,
        chave=lambda: secrets.token_urlsafe(16),
        texto_max=TEXTO_MAX,
    )


def _asked(registro: CaseTimeline, caso: Caso) -> int:
    """Count the questions about the newest attempt; the row's own figure is the rung of a ladder."""
    key = caso.emissoes[0].id_integracao if caso.emissoes else None
    return sum(row.operacao == "find" and row.id_integracao == key for row in registro.tentativas)


def _untold(visita: Visita, registro: CaseTimeline, caso: Caso) -> str | None:
    """Return what is said of the newest attempt where its channel tells of changes and told nothing, but was asked."""
    emissao: Any = caso.emissoes[0] if caso.emissoes else None
    row = visita.deps.channels.get(emissao.canal) if emissao else None
    if row is None or not row.natureza.webhook or emissao.webhook_payload is not None or not _asked(registro, caso):
        return None
    return "nenhum do gateway: a Prosa perguntou por si"


def _done(acao: str, caso: Caso, quem: Staff) -> str:
    """Return what an action that was just taken says; the address only names it."""
    match acao, caso.sessao.atendente_id:
        case "assumir", quem.id:
            return "A conversa é sua e a Prosa está em silêncio. Escreva abaixo da linha do tempo."
        case "devolver", None:
            return "A Prosa voltou a atender."
        case "escrever", _:  # it stands in the timeline, with its ticks
            return ""
        case _:
            return POR_NOME[acao].feito if acao in POR_NOME else ""


def situation(caso: Caso, registro: CaseTimeline) -> SituacaoDaSessao:
    """Gather what the sentence needs."""
    s = caso.sessao
    emissao: Any = caso.emissoes[0] if caso.emissoes else None
    campos = ((nome, lido) for nome, lido in s.rascunho.items() if isinstance(lido, dict))
    duvidas = tuple((nome, lido["motivo"]) for nome, lido in campos if lido.get("motivo"))
    last = registro.saidas[0] if registro.saidas else None
    return SituacaoDaSessao(
        estado=Estado(s.estado),
        idade=(s.agora - s.updated_at).total_seconds(),
        faltam=tuple(s.missing_fields),
        duvidas=duvidas,
        status=StatusEmissao(emissao.status) if emissao else None,
        envios=emissao.envios if emissao else 0,
        ausente=bool(emissao and emissao.ausente_desde),
        numero=emissao.numero if emissao else None,
        nota=emissao.nota_status if emissao else None,
        substituta=emissao.substituta if emissao else None,
        motivo=_reason(registro) or labels.motivo(emissao.erro_mensagem if emissao else None),
        nossa=s.pendente is None,
        troca_recusada=caso.troca_recusada,
        anulada=labels.anulada(emissao.erro_mensagem if emissao else None),
        suspensa=s.envio_suspenso,
        atendente=s.atendente,
        pediu=s.pessoa_motivo,
        nao_entregue=(labels.motivo(last.erro) or "sem detalhe")
        if last is not None and last.status == "falhou"
        else None,
    )


def _reason(registro: CaseTimeline) -> str | None:
    """Return what the authority said when it refused, in the words that the person read."""
    said = (row.detalhe.get("motivo") for row in registro.passos if row.detalhe and row.evento == "NotaRejeitada")
    return next(said, None)


def path(registro: CaseTimeline, estado: str, nota: str | None = None, substituta: str | None = None) -> list[str]:
    """Return what the states are called that a session went through, then a note that counts no more; now last."""
    walked = [row for row in reversed(registro.passos) if row.de != row.para or row.evento == "Abriu"]
    states = [row.para for row in walked]
    if walked and walked[0].de != states[0]:
        states.insert(0, walked[0].de)
    states = states if states and states[-1] == estado else [*states, estado]
    names, now = [labels.estado(state)[0] for state in states], labels.situacao(estado, nota, substituta)[0]
    return names if names[-1] == now else [*names, now]
