"""The invoice under construction: takes every turn that no other subject took, and what becomes of what it issued.

Asks the extractor what a turn's words say, and keeps a model's reading, so that a retried turn replays it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

import structlog
from pydantic import TypeAdapter, ValidationError

from bot.budgets import Voice
from bot.conversation.inbound import Chegada, Edicao, Entrada, Outro, Palavras, joined
from bot.conversation.memory import ConversationMemory, as_address, with_delivery, with_place
from bot.conversation.session_events import as_fit, of_company, replanned
from bot.conversation.subject import Resources, RowHandler, Turn, as_cadastro, one_row
from bot.loops.jobs import Deadline
from bot.ports import Extractor
from bot.subjects.cancellation import open_question, with_question
from bot.subjects.invoice.acts import begun, said
from bot.subjects.invoice.clients import ClientFinder, MeiMeter
from bot.subjects.invoice.facts import (
    CLOCKS_APART,
    StaffOrders,
    as_amount,
    as_forgotten,
    as_goods,
    as_goods_edited,
    as_issued_by,
    as_renumbered,
    as_seen,
    as_service,
    as_stopped,
    as_unnumbered,
    as_usual,
    is_yes,
    may_have_issued,
    needs_right,
    orders_goods,
    priced,
)
from bot.subjects.invoice.plan import Plano, apart_from_proposal, decides, plan
from extractor.contract import Context, Extraction
from extractor.requests.products import as_order
from extractor.utterance import Utterance, corrections, understand
from persistence.api import approvals
from persistence.conversations import conversations, handoff, snapshots
from persistence.db.connection import Connection
from persistence.fiscal import attempts, history
from persistence.people import companies as people
from persistence.people import goods
from persistence.people.companies import Empresa
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.rows import DeadlineRow, EmissionRow, MisshapenRowError, OrderRow, ResumeRow
from state_machine.catalogue import messages
from state_machine.catalogue.questions import mostra_leituras, unica_leitura
from state_machine.invoice.choices import Costume
from state_machine.invoice.draft import VAZIO, Cadastro, Rascunho, sem_editada
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado, Sessao
from state_machine.machine.events import (
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Escolheu,
    Evento,
    Informou,
    MudouEmissor,
    NotaAutorizada,
    NotaRejeitada,
    PrazoVencido,
)
from state_machine.proposal import proposed_by
from state_machine.protocol.channel import TipoDocumento
from state_machine.services.codes import onde
from state_machine.values.local_time import SAO_PAULO, local_day

_EXTRACTION = TypeAdapter(Extraction)


class Reader:
    """Reads for one company what the people of a conversation write."""

    def __init__(self, extractor: Extractor, lanes: Lanes) -> None:
        self._extractor = extractor
        self._lanes = lanes

    async def all_words(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Utterance | None:
        """Return what the arrival's words say, ``None`` if it has none."""
        match chegada.entrada:
            case Palavras(texto):
                pass
            case Edicao(original, str(texto)):
                sessao = without(sessao, original)
            case _:
                return None
        texto = as_order(texto) if empresa.mercado else texto
        key = [row.id for row in chegada.rows]
        kept = _load(chegada.rows[-1].interpretacao, key)
        if kept:
            return Utterance(texto, kept)
        again = isinstance(chegada.entrada, Edicao)
        dita = await read(texto, sessao, empresa, agora, self._extractor, chegada.contato.conversa, again=again)
        if dita.dados.modelo_usado:
            stored = {"rows": key, "leitura": _EXTRACTION.dump_python(dita.dados, mode="json")}
            await self._lanes.store_interpretation(chegada.rows[-1].id, stored)
        return dita

    async def own_words(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Utterance | None:
        """Return what those words say that may decide, ``None`` where that is all of them, or none."""
        proprias = chegada.entrada.proprias if isinstance(chegada.entrada, Palavras) else None
        if not proprias:
            return None
        return await read(proprias, sessao, empresa, agora, self._extractor, chegada.contato.conversa)

    async def corrected(self, errado: str, sessao: Sessao, empresa: Empresa, agora: datetime) -> Informou | None:
        """Return what a complaint about an issued note says to a draft with its data (``sessao``), where it does.

        What stood there before was wrong: it is no second reading of what is right. A reading without doubts comes
        before one with some.
        """
        dito = None
        for words in corrections(errado):
            words = as_order(words) if empresa.mercado else words  # noqa: PLW2901
            leitura = (await read(words, sessao, empresa, agora, self._extractor, sessao.conversa, carried=True)).dados
            novos = tuple(c for c in leitura.candidates if c.valor != sessao.rascunho.validado(c.campo))
            if novos or leitura.doubts or leitura.clear:
                lido = Informou(novos, leitura.doubts, leitura.clear | {c.campo for c in novos})
                if novos and not leitura.doubts:
                    return lido
                dito = dito or lido
        return dito


async def as_it_stands(chegada: Chegada, memory: ConversationMemory) -> Chegada:
    """Leave out what arrived late and has been edited or deleted meanwhile: the notice of that overtook it."""
    if not isinstance(chegada.entrada, Palavras):
        return chegada
    arrived = {row.chave: row.recebido_em for row in chegada.rows}
    late = {e.mensagem for e in chegada.entrada.escritas if e.em and arrived[e.mensagem] - e.em > CLOCKS_APART}
    gone = {change.original for change in await memory.changes(late)} if late else set()
    left = [escrita for escrita in chegada.entrada.escritas if escrita.mensagem not in gone]
    if len(left) == len(chegada.entrada.escritas):
        return chegada
    return replace(chegada, entrada=joined(left) if left else Outro("revoke"))


async def read(
    texto: str,
    sessao: Sessao | None,
    empresa: Empresa,
    agora: datetime,
    extractor: Extractor,
    conversa: str = "",
    *,
    again: bool = False,
    carried: bool = False,
) -> Utterance:
    """Ask what the words say, in the light of what the conversation knows.

    ``again``: an edited order is no other. ``carried``: a button says of which note.
    """
    rascunho = sessao.rascunho if sessao else None
    conhecidos = {c: v for c in FIELDS if (v := rascunho.validado(c))} if rascunho else {}
    contexto = Context(
        hoje=local_day(empresa.municipio_ibge, agora),
        pendente=sessao.pendente if sessao else None,
        resumo_mostrado=sessao is not None and _awaits_yes(sessao),
        conhecidos=conhecidos,
        proprios=frozenset({empresa.cnpj}),
        conversa=conversa,
        retem=bool(empresa.servicos),
    )
    ordered = rascunho is not None and (rascunho.valor, rascunho.documento) != (VAZIO, VAZIO)
    drafting = begun(sessao) and not carried
    return await understand(texto, contexto, extractor, drafting=drafting, ordered=drafting and ordered and not again)


def _awaits_yes(sessao: Sessao) -> bool:
    """The summary does, also with two amounts, and so does the only reading of a field in doubt."""
    return sessao.estado is Estado.AGUARDANDO_CONFIRMACAO or mostra_leituras(sessao.rascunho)


def without(sessao: Sessao | None, mensagem: str | None) -> Sessao | None:
    """Return the session as it was before a message: the light in which that one is read again."""
    if sessao is None or mensagem is None:
        return sessao
    ditos = [campo for campo in FIELDS if sessao.rascunho.campo(campo).mensagem == mensagem]
    if not ditos:
        return sessao
    rascunho = sem_editada(sessao.rascunho, mensagem, ())
    pendente = ditos[0] if len(ditos) == 1 else None
    return replace(sessao, rascunho=rascunho, estado=Estado.DADOS_INCOMPLETOS, pendente=pendente)


def _load(kept: Any, rows: Sequence[int]) -> Extraction | None:
    """Return the kept reading if it is of exactly these rows; more may have arrived since."""
    if not isinstance(kept, dict) or kept.get("rows") != list(rows):
        return None
    try:
        return _EXTRACTION.validate_python(kept.get("leitura"))
    except ValidationError:  # as a release before kept it
        return None


_UNBORN: Final = "nova"  # id of a session that no row has yet

log = structlog.get_logger(__name__)


class Invoice:
    """The last subject: whatever is said is about the invoice at hand, or about a new one."""

    shows_reading = True
    actions = frozenset(
        {
            *("confirmar", "emitir", "corrigir", "cancelar", "refazer", "querer", "desistir"),
            *("usar", "outro", "pessoa", "esta", "outra"),
            *(
                "errado_cliente",
                "errado_valor",
                "errado_servico",
                "repetir",
                "substituir",
                "usar_costume",
                "mudar_costume",
            ),
        }
    )
    deadlines: tuple[Deadline, ...] = (
        Deadline(
            "expiry",
            "Put an event into the lane of every session whose deadline passed",
            snapshots.overdue,
            DeadlineRow,
        ),
    )

    def __init__(self, resources: Resources) -> None:
        self._r = resources
        self._reader = Reader(resources.extractor, resources.lanes)
        self._clients = ClientFinder(resources.database)
        self._mei = MeiMeter(resources.database, resources.customers, resources.limites_mei)

    def handlers(self) -> Sequence[RowHandler]:
        """News of its emission, its deadline, another subject's end, and what staff order for it."""
        return (
            one_row(EmissionRow, self._on_emission),
            one_row(DeadlineRow, self._on_deadline),
            one_row(ResumeRow, self._on_resumed),
            one_row(OrderRow, StaffOrders(self._r).on_order),
        )

    async def take(self, turn: Turn) -> Collection[int]:
        """Read, plan, decide, and commit all that follows at once; then remember the session in Redis."""
        return await replanned(turn.lease, partial(self._take, turn))

    async def _take(self, turn: Turn, attempt: int) -> Collection[int]:
        ativa = await self._active(turn, stored=attempt > 1)
        plano = await self._planned(turn, ativa)
        eventos = [await self._completed(evento, plano, turn) for evento in plano.eventos]
        if (apart := apart_from_proposal(plano, eventos)) is not plano:
            plano, eventos = apart, [await self._completed(evento, apart, turn) for evento in apart.eventos]
        voz = Voice.SPEAK if decides(turn.chegada.entrada, plano) else await turn.voice()
        agora = turn.clock.now()  # a model or the register may have taken their time
        eventos = await self._as_fit(eventos, plano, turn, agora)
        sessao = None
        async with self._r.committing(turn) as connection:
            if voz is Voice.SPEAK and plano.alvo is None and isinstance(turn.chegada.entrada, Palavras):
                await self._ask_again(connection, turn, plano, agora)
            if eventos:
                alvo = plano.alvo or await _new_session(connection, turn, plano, agora)
                if alvo.canal is None and turn.conversa.empresa is not None:
                    alvo = replace(alvo, canal=self._r.door.channel(turn.conversa.empresa))
                eventos, empresa = await self._with_records(connection, turn, alvo, eventos)
                correlacao, telefone = turn.chegada.correlacao, turn.conversa.telefone
                if plano.larga is not None:
                    heard = Voice.SILENT if plano.espera else Voice.SPEAK
                    await self._r.sessions.apply(
                        connection, plano.larga, (Cancelou(),), empresa, agora, correlacao, telefone=telefone, voz=heard
                    )
                if plano.larga is not None and plano.espera:
                    approvals.release(connection, plano.larga.sessao_id)
                sessao = await self._r.sessions.apply(
                    connection, alvo, eventos, empresa, agora, correlacao, telefone=telefone, voz=voz
                )
            self._answer(connection, turn, plano, voz, beside=sessao is not None)
            if plano.chama is not None:
                handoff.ask(connection, turn.lease.lane, plano.chama)
        if sessao is None or sessao.espera_usuario:  # nothing is to be issued
            self._r.ring_delivery()
        else:
            self._r.ring("emissions", "deliveries", "webhooks")
        if sessao is not None:
            await self._remember(sessao, plano)
        return turn.chegada.ids

    async def _active(self, turn: Turn, *, stored: bool) -> Sessao | None:
        """Return the session that waits for the user, from Redis if that has this very version of it.

        ``stored``: the snapshot is the truth, also while Redis can't be written.
        """
        conversa, ativa = turn.lease.lane, turn.conversa.ativa
        if not stored:
            if ativa is None:
                return None
            viva = await self._r.live.get(conversa)
            if viva and (viva.sessao_id, viva.versao) == ativa:
                return viva
        async with self._r.database.alone() as connection:
            return await snapshots.active(connection, conversa)

    async def _planned(self, turn: Turn, ativa: Sessao | None) -> Plano:
        """Return what the messages mean; nothing, to an open invoice whose user may issue for nobody any more."""
        empresa, agora = turn.conversa.empresa, turn.clock.now()
        if empresa is None:
            return Plano((MudouEmissor(None),) if ativa else (), ativa)
        mails = self._r.emails is not None
        memory = ConversationMemory(self._r.database, turn.lease.lane, empresa, ativa, self._mei.of, mails=mails)
        chegada = await as_it_stands(turn.chegada, memory)
        dita = await self._reader.all_words(chegada, ativa, empresa, agora)
        proprias = await self._reader.own_words(chegada, ativa, empresa, agora)
        if isinstance(chegada.entrada, Palavras) and dita is not None:
            dito = said(chegada.entrada, dita, proprias)
            escolha = as_service(dito, ativa, chegada.entrada, empresa.servicos)
            escolha = escolha or await as_address(dito, ativa, chegada.entrada, self._r.cep_register)
            escolha = escolha or await as_amount(self._r.database, ativa, chegada.entrada)
            if escolha is not None:
                return Plano((escolha,), ativa)
            if ativa is None and empresa.mercado:
                async with self._r.database.alone() as connection:
                    produtos = await goods.of_company(connection, empresa.id)
                if (pedido := orders_goods(dita, chegada.entrada, produtos)) is not None:
                    return Plano((Abriu(), pedido))
        plano = await plan(chegada.entrada, dita, memory, agora, proprias)
        if turn.conversa.cancelando and isinstance(chegada.entrada, Palavras):
            falta = await open_question(self._r.database, turn.lease.lane)
            plano = with_question(plano, falta) if falta else plano
        if plano.errado is None:
            return plano
        antiga = Sessao(_UNBORN, turn.lease.lane, empresa.id, empresa.razao_social, rascunho=plano.rascunho)
        correcao = await self._reader.corrected(plano.errado, antiga, empresa, agora)
        if correcao is None and (plano.eventos or not empresa.mercado):
            return plano
        return replace(plano, eventos=(*plano.eventos, correcao or Informou()))

    async def _completed(self, evento: Evento, plano: Plano, turn: Turn) -> Evento:
        """Add what the company's own records and the public register say of the client."""
        entrada, empresa = turn.chegada.entrada, turn.conversa.empresa
        if empresa and isinstance(entrada, Palavras):
            evento = await self._clients.answered(evento, plano.alvo, entrada, empresa.id)
        if empresa and empresa.mercado:
            evento = await self._of_goods(evento, plano, entrada, empresa)
        match evento:
            case Informou():
                return await self._looked_up(evento, plano, empresa)
            case Editou(dito=Informou() as dito):
                return replace(evento, dito=await self._looked_up(dito, plano, empresa))
            case Abriu(base=Rascunho() as base, igual_a=str()):
                cadastro = await self._cadastro(base.validado(Campo.DOCUMENTO))
                return replace(evento, base=replace(base, cadastro=cadastro))
            case Escolheu(campo=Campo.DOCUMENTO, valor=str(documento)):
                return await self._chosen(evento, documento, empresa)
            case Escolheu() if empresa and _has_places(empresa):
                stands = plano.rascunho.validado(Campo.DOCUMENTO)
                return replace(evento, costume=await self._usual(empresa, stands) if stands else None)
            case Confirmou(revisao=None) if oferta := unica_leitura(plano.rascunho):
                campo, valor = oferta
                return await self._chosen(evento, valor, empresa) if campo is Campo.DOCUMENTO else evento
            case _:
                return evento

    async def _of_goods(self, evento: Evento, plano: Plano, entrada: Entrada, empresa: Empresa) -> Evento:
        """Read words, and edited ones, by the company's products."""
        if plano.errado is not None and isinstance(evento, Informou):
            entrada = Palavras(plano.errado, None, ())  # a button carries them
        if plano.apart or (not isinstance(evento, Editou) and not isinstance(entrada, Palavras)):
            return evento
        async with self._r.database.alone() as connection:
            produtos = await goods.of_company(connection, empresa.id)
        if isinstance(evento, Editou):
            return as_goods_edited(evento, plano.rascunho, produtos)
        if not isinstance(entrada, Palavras):
            return evento
        if entrada.proprias is None and (custa := priced(plano.rascunho, entrada.texto)) is not None:
            return replace(custa, escritas=entrada.escritas)
        pendente = plano.alvo.pendente if plano.alvo else None
        return as_goods(evento, plano.rascunho, pendente, entrada, produtos)

    async def _as_fit(self, eventos: list[Evento], plano: Plano, turn: Turn, agora: datetime) -> list[Evento]:
        empresa = turn.conversa.empresa
        if empresa is None or not eventos:
            return eventos
        alvo = plano.alvo or Sessao(_UNBORN, turn.lease.lane, empresa.id, empresa.razao_social)
        alvo = of_company(alvo, empresa)
        return await as_fit(self._r.door, self._r.database, alvo, eventos, empresa, agora)

    async def _chosen(self, evento: Escolheu | Confirmou, documento: str, empresa: Empresa | None) -> Evento:
        costume = await self._usual(empresa, documento) if empresa else None
        return replace(evento, cadastro=await self._cadastro(documento), costume=costume)

    async def _looked_up(self, dito: Informou, plano: Plano, empresa: Empresa | None) -> Informou:
        if empresa:
            dito = await self._clients.named(dito, plano.rascunho, empresa.id)
        documentos = [c.valor for c in dito.candidates if c.campo is Campo.DOCUMENTO]
        dito = replace(dito, cadastro=await self._cadastro(documentos[-1])) if documentos else dito
        if empresa is None:
            return dito
        dito = await as_usual(self._r.database, empresa.id, dito)
        documento = documentos[-1] if documentos else plano.rascunho.validado(Campo.DOCUMENTO)
        dito = await with_place(dito, plano.rascunho, empresa.servicos, self._r.cep_register)
        if empresa.comercio and empresa.comercio.endereco:
            uf = empresa.comercio.endereco.estado
            dito = await with_delivery(dito, plano.rascunho, uf, self._r.cep_register)
        faltam = {*plano.rascunho.faltam} - {c.campo for c in dito.candidates} - {Campo.DOCUMENTO}
        national = documentos and empresa.servicos  # of its last note stands where it was done, and who paid the ISS
        asks = documento and (faltam or national or (_has_places(empresa) and plano.rascunho.local == VAZIO))
        return replace(dito, costume=await self._usual(empresa, documento)) if documento and asks else dito

    async def _usual(self, empresa: Empresa, documento: str) -> Costume | None:
        async with self._r.database.alone() as connection:
            usual = await history.usual(connection, empresa.id, documento)
            if empresa.servicos:
                usual = await history.with_place(connection, empresa.id, documento, usual)
        return usual

    async def _cadastro(self, documento: str | None) -> Cadastro | None:
        found = await self._r.customers.find(documento) if documento else None
        return as_cadastro(found) if found else None

    async def _with_records(
        self, connection: Connection, turn: Turn, alvo: Sessao, eventos: list[Evento]
    ) -> tuple[list[Evento], Empresa | None]:
        """Return the events with what only the records know, and the company for which the person may issue now."""
        empresa = turn.conversa.empresa
        if needs_right(alvo, eventos):
            empresa = await conversations.issuer(connection, turn.chegada.contato)
        eventos = as_issued_by(alvo, empresa, self._r.door.channel(empresa) if empresa else None, eventos)
        eventos = [await as_seen(connection, alvo, evento, self._r.repeat) for evento in eventos]
        tipo = TipoDocumento.of(alvo.rascunho.validado(Campo.MODELO))
        if empresa and is_yes(alvo, eventos) and not await self._r.door.may_number(connection, empresa, tipo):
            log.error("numbering_blocked", sessao_id=alvo.sessao_id)
            eventos = as_unnumbered(eventos)
        elif empresa and is_yes(alvo, eventos) and await may_have_issued(connection, self._r.door, empresa, alvo):
            eventos = as_forgotten(eventos)
        return [await as_stopped(connection, alvo, empresa, evento) for evento in eventos], empresa

    async def _ask_again(self, connection: Connection, turn: Turn, plano: Plano, agora: datetime) -> None:
        """Ask whether the invoice that waits for its person's word is still wanted, once a day that they write.

        The question asked before may not have been delivered; unless the answer is this question.
        """
        conversa, waits = turn.lease.lane, await attempts.asked_about(connection, turn.lease.lane)
        sessao = await snapshots.load(connection, conversa, waits[1]) if waits is not None else None
        if waits is None or sessao is None or plano.resposta == messages.ainda_quer(sessao):
            return
        outbox.enqueue(
            connection,
            conversa=conversa,
            mensagem=messages.ainda_quer(sessao),
            sessao_id=sessao.sessao_id,
            chave=f"ainda_quer:{waits[0]}:{agora.astimezone(SAO_PAULO):%Y-%m-%d}",
            correlacao=turn.chegada.correlacao,
        )

    def _answer(self, connection: Connection, turn: Turn, plano: Plano, voz: Voice, *, beside: bool) -> None:
        """Say what the plan says, unless a session's decision has (``beside``), and send the document asked for."""
        conversa, correlacao = turn.lease.lane, turn.chegada.correlacao
        if plano.resposta and not beside and voz is not Voice.SILENT:
            mensagem = plano.resposta if voz is Voice.SPEAK else messages.devagar()
            outbox.enqueue(connection, conversa=conversa, mensagem=mensagem, correlacao=correlacao)
        for arquivo in plano.arquivos if voz is Voice.SPEAK else ():
            key = f"pedido:{turn.chegada.ids[-1]}:{arquivo.formato}"  # of this very request: asked again, sent again
            outbox.enqueue(
                connection, conversa=conversa, mensagem=arquivo, chave=key, bloqueia=False, correlacao=correlacao
            )

    async def _remember(self, sessao: Sessao, plano: Plano) -> None:
        if sessao.espera_usuario:
            await self._r.live.put(of_company(sessao, None))  # read anew with each turn
        elif plano.alvo is None or plano.alvo.espera_usuario:
            await self._r.live.drop(sessao.conversa)

    async def _on_emission(self, lease: Lease, row: InboxRow, news: EmissionRow) -> None:
        if news.aviso == "renumera":
            await replanned(lease, lambda _: self._renumber(lease, row, news))
            return
        evento = _event(news)
        if isinstance(evento, NotaAutorizada):
            hoje = row.recebido_em.astimezone(SAO_PAULO).date()
            avisos = (
                messages.nota_anulada(news.anulada) if news.anulada else None,
                await self._mei.after(evento.emissao_id, hoje),
            )
            evento = replace(evento, aviso="\n\n".join(filter(None, avisos)) or None)
        await self._r.sessions.on_row(lease, row, news.sessao_id, evento)

    async def _renumber(self, lease: Lease, row: InboxRow, news: EmissionRow) -> None:
        async with self._r.database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, news.sessao_id)
            if sessao is not None:
                empresa, _ = await people.get_company(connection, sessao.empresa_id)
                evento = await as_renumbered(connection, self._r.door, sessao, empresa, news.emissao_id)
                await self._r.sessions.apply_one(connection, sessao, evento, row.correlacao)
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring()

    async def _on_deadline(self, lease: Lease, row: InboxRow, prazo: DeadlineRow) -> None:
        await self._r.sessions.on_row(lease, row, prazo.sessao_id, PrazoVencido())

    async def _on_resumed(self, lease: Lease, row: InboxRow, resumed: ResumeRow) -> None:
        await self._r.sessions.on_row(lease, row, resumed.sessao_id, Conversou())


async def _new_session(connection: Connection, turn: Turn, plano: Plano, agora: datetime) -> Sessao:
    """A session of today; its id is ``ddmmaa-`` and 8 random hex digits, unique in the database.

    One that takes up another's data begins as that one's company's, so that a change of company is seen.
    """
    conversa, empresa = turn.lease.lane, turn.conversa.empresa
    assert empresa is not None  # noqa: S101 - ``_planned`` opens none for nobody
    sessao_id = f"{agora.astimezone(SAO_PAULO):%d%m%y}-{secrets.token_hex(4)}"
    nova = Sessao(
        sessao_id, conversa, empresa.id, empresa.razao_social, origem=plano.origem, empresa_versao=empresa.versao
    )
    antiga = await snapshots.load(connection, conversa, plano.origem) if plano.origem else None
    if antiga is not None and proposed_by(antiga.rascunho):
        nova = replace(nova, canal=antiga.canal)
    if antiga is None or antiga.empresa_id == empresa.id:
        return nova
    return replace(nova, empresa_id=antiga.empresa_id, emitente=antiga.emitente)


def _event(news: EmissionRow) -> Evento:
    match news:
        case EmissionRow(aviso="autorizada", numero=str(numero)):
            return NotaAutorizada(numero, news.emissao_id, news.outras)
        case EmissionRow(aviso="rejeitada", motivo=motivo, campo=campo):
            return NotaRejeitada(motivo or "o motivo não veio", Campo(campo) if campo else None, news.troca)
        case EmissionRow(aviso="falhou", motivo=motivo):
            return EmissaoFalhou(motivo or "")
        case EmissionRow(aviso="demorou"):
            return EmissaoDemorou(news.motivo, news.incerta)
        case EmissionRow(aviso="ainda_quer", outras=outras):
            return EmissaoParada(next(iter(outras), None))
        case _:
            raise MisshapenRowError(f"news of an emission: {news.aviso}")


def _has_places(empresa: Empresa) -> bool:
    """Tell whether one of the company's codes asks where the work was done."""
    return any(onde(servico.codigo) for servico in empresa.servicos)
