"""Hands messages to WhatsApp, each conversation's in order, and remembers what became of them.

Applies Meta's ticks to our messages: sent, delivered, read, failed; what failed in passing is sent again.

Says in every message to a company's people that it issues for practice, while it does.
"""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, assert_never

import structlog

from bot.delivery.mailing import Attachments, NotYet
from bot.ports import Messenger
from gateway.whatsapp import limits
from gateway.whatsapp.errors import (
    MEDIA_FAULTS,
    Ambiguous,
    Broken,
    Dropped,
    Failure,
    Halted,
    RetryLater,
    RetryPair,
    SendResult,
    Sent,
    WindowClosed,
    classify,
    code_of,
)
from gateway.whatsapp.limits import MensagemInvalida
from gateway.whatsapp.messages import (
    ComBotoes,
    DocumentoMidia,
    ImageMessage,
    ListMessage,
    ListRow,
    ListSection,
    Mensagem,
    ReplyButton,
    Template,
    Texto,
)
from persistence.conversations import snapshots
from persistence.crypto import NoMasterKeyError, UnreadableSecretError
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people.channels import chosen, environment_of, issued_in
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lanes, Lease
from persistence.queue.outbox import LostAnswer, Saida, Tick, number_of
from persistence.queue.ticks import apply
from persistence.rows import MisshapenMessageError, OutboxMessage, StatusRow, parse
from state_machine.catalogue.messages import saudacao
from state_machine.catalogue.questions import VER_OPCOES
from state_machine.catalogue.requests import sem_arquivo
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import EnviarArquivo, EnviarLink, EnviarMes
from state_machine.invoice.session import Mensagem as Resposta
from state_machine.protocol.channel import Ambiente, TipoDocumento
from telemetry.metrics import Metrics

DIED = "a worker died with it in hand"

log = structlog.get_logger(__name__)

CONCURRENCY = 20  # messages in flight per worker; Meta takes 80 a second per number
MAX_TRIES = 8  # with the back-off below: about ten minutes of trouble at Meta
DEATHS_COUNT_AFTER = timedelta(hours=1)  # age of a message: until then a death of ours is nothing that it did
BACKOFF_CAP = 120.0  # seconds
AMBIGUOUS_WAIT = 30.0  # seconds for the status webhook to say whether it left; above ``doubts.TICK_LAG``
DOUBT_WAIT = 5.0  # seconds between looks while its tick waits for us, or nobody's ticks arrive
DEAF_AT_MOST = timedelta(seconds=150)  # age of a message that goes out again although no tick of anybody arrives
SEND_WITHIN = outbox.LEASES.seconds / 3  # later than this after claiming, we ask whether it is still ours to send
HALTED_WAIT = 60.0  # seconds between probes while Meta refuses our token or account
NOT_READY_WAIT = 2.0  # seconds between looks for a PDF that the gateway is still rendering
CAPTION_AFTER = timedelta(seconds=outbox.FILES_IN_ORDER)  # then the result is told without the PDF
GIVE_UP_FILE_AFTER = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class InDoubt:
    """It may have left, and its tick may be on its way: not sent now."""

    motivo: str


class Delivery:
    """Empties the outbox; any number of replicas."""

    lease_seconds = outbox.LEASES.seconds
    concurrency = CONCURRENCY

    def __init__(
        self,
        database: Database,
        messenger: Messenger,
        attachments: Attachments,
        metrics: Metrics,
        address: Callable[[EnviarLink], str],
        mark: Callable[[Saida, Mensagem], Awaitable[Mensagem]],
    ) -> None:
        self._database = database
        self._messenger = messenger
        self._attachments = attachments
        self._metrics = metrics
        self._address = address
        self._mark = mark

    async def claim(self, limit: int) -> list[Saida]:
        """Take messages that are due."""
        return await outbox.claim(self._database, limit)

    async def renew(self, saida: Saida) -> bool:
        """Keep a message that takes long."""
        return await outbox.LEASES.keep(self._database, saida)

    async def work(self, saida: Saida) -> bool:
        """Send one message once, and settle what came of it; never raises. False: none waits behind it."""
        structlog.contextvars.bind_contextvars(correlacao=saida.correlacao, outbox_id=saida.id)  # of this task alone
        try:
            result = await self._attempt(saida)
            if result is None:
                log.warning("message_not_ours")  # frozen or slow: taken over, or its tick came
                return True
            if isinstance(result, Sent):
                return await self._sent(saida, result)
            await self._settle(saida, result)
        except Exception as error:
            # It may have left: its status webhook will tell, else it counts as interrupted when the lease runs out.
            log.exception("delivery_unsettled", error=type(error).__name__)
        return True

    async def _attempt(self, saida: Saida) -> SendResult | NotYet | InDoubt | None:
        if saida.era == "enviando":
            return Ambiguous(DIED)
        if saida.era == "incerto" and (doubt := await self._doubt(saida)):
            return doubt
        try:
            content = await self._content(parse(saida.mensagem))
            if isinstance(content, Mensagem):
                content = await self._mark(saida, content)
        except (MensagemInvalida, MisshapenMessageError) as error:
            return Broken(0, str(error))
        except Exception as error:
            log.exception("delivery_failed", error=type(error).__name__)
            return RetryLater(None, 0)
        if not isinstance(content, Mensagem):
            return content
        if time.monotonic() - saida.tomada_em > SEND_WITHIN and not await self.renew(saida):
            return None
        return await self._send(saida, content)

    async def _send(self, saida: Saida, content: Mensagem) -> SendResult:
        try:
            return await self._messenger.send(content, saida.endereco, str(saida.id), tentativa=saida.tentativas)
        except MensagemInvalida as error:
            return Broken(0, str(error))
        except Exception as error:
            log.exception("delivery_failed", error=type(error).__name__)
            return RetryLater(None, 0)  # the Cloud API client raises only before anything has left

    async def _doubt(self, saida: Saida) -> InDoubt | None:
        """Say why an earlier copy's tick may still come; ``None`` when its silence means that nothing had left."""
        async with self._database.alone() as connection:
            found = await outbox.ask(connection, saida.id)
        match found:
            case LostAnswer.TICK_WAITS:
                return InDoubt(found)
            case LostAnswer.NO_TICKS if saida.agora - saida.criado_em < DEAF_AT_MOST:
                return InDoubt(found)
            case _:
                return None

    async def _content(self, mensagem: OutboxMessage) -> Mensagem | NotYet | Failure:
        if isinstance(mensagem, EnviarArquivo):
            return await self._attachments.prepare(mensagem)
        if isinstance(mensagem, EnviarMes):
            return await self._attachments.month(mensagem)
        if isinstance(mensagem, EnviarLink):
            return self._with_address(mensagem)
        if mensagem.lista:
            rows = tuple(ListRow(linha.id, linha.titulo, linha.descricao) for linha in mensagem.lista)
            return ListMessage(mensagem.texto, VER_OPCOES, (ListSection(rows),))
        if not mensagem.botoes:
            return Texto(mensagem.texto)
        return ComBotoes(mensagem.texto, tuple(ReplyButton(botao.id, botao.titulo) for botao in mensagem.botoes))

    def _with_address(self, mensagem: EnviarLink) -> Mensagem | Failure:
        try:
            return Texto(f"{mensagem.texto}\n\n{self._address(mensagem)}")
        except (NoMasterKeyError, UnreadableSecretError) as error:  # sealed under a key that is gone: never again
            return Broken(0, type(error).__name__)

    async def _postpone(self, saida: Saida, later: NotYet) -> None:
        idade = saida.agora - saida.criado_em
        async with self._database.transaction() as connection:
            if idade > GIVE_UP_FILE_AFTER:
                await outbox.give_up(connection, saida, erro=later.motivo, codigo=None)
                await lost_file(connection, await outbox.failed_file(connection, outbox_id=saida.id), None)
                return
            legenda = saida.mensagem.get("legenda")
            if idade > CAPTION_AFTER and legenda:
                outbox.enqueue(
                    connection,
                    conversa=saida.conversa,
                    mensagem=Resposta(f"{legenda}\nO PDF chega em seguida."),
                    sessao_id=saida.sessao_id,
                    chave=f"legenda:{saida.id}",
                    correlacao=saida.correlacao,
                )
                await outbox.without_caption(connection, saida)
            seconds = NOT_READY_WAIT if idade < CAPTION_AFTER else HALTED_WAIT
            await outbox.again(connection, saida, seconds, erro=later.motivo, conta=False)

    async def _sent(self, saida: Saida, result: Sent) -> bool:
        async with self._database.alone() as connection:
            more = await outbox.sent(connection, saida, result.wamid)
        self._metrics.messages_out.labels(type(result).__name__).inc()
        log.info("message_sent", resultado=type(result).__name__)
        return more

    async def _settle(self, saida: Saida, result: Failure | Ambiguous | NotYet | InDoubt) -> None:
        if isinstance(result, NotYet):
            await self._postpone(saida, result)
            return
        if isinstance(result, InDoubt):
            async with self._database.transaction() as connection:
                await outbox.again(connection, saida, DOUBT_WAIT, erro=result.motivo, incerto=True, conta=False)
            log.info("message_in_doubt", motivo=result.motivo)
            return
        async with self._database.transaction() as connection:
            gave_up = await _settle(connection, saida, result)
            if gave_up and not isinstance(result, Ambiguous):
                lost = await outbox.failed_file(connection, outbox_id=saida.id)
                gave_up = not await lost_file(connection, lost, result)
        name = type(result).__name__
        self._metrics.messages_out.labels(name).inc()
        write = log.error if gave_up or isinstance(result, Halted) else log.warning
        write("message_given_up" if gave_up else "message_not_sent", resultado=name)


async def _settle(connection: Connection, saida: Saida, result: Failure | Ambiguous) -> bool:
    """Store what followed; true when the message will not be tried again."""
    more = saida.tentativas < MAX_TRIES
    match result:
        case Ambiguous(why) if why == DIED and saida.agora - saida.criado_em < DEATHS_COUNT_AFTER:
            await outbox.again(connection, saida, AMBIGUOUS_WAIT, erro=why, incerto=True, conta=False)
            return False
        case Halted(code):
            await outbox.again(connection, saida, HALTED_WAIT, erro="halted", codigo=code, conta=False)
            return False
        case RetryLater(after, code) if more:
            seconds = backoff(saida.tentativas) if after is None else after
            await outbox.again(connection, saida, seconds, erro="retry", codigo=code or None)
            return False
        case RetryPair(after) if more:
            await outbox.again(connection, saida, after, erro="pair rate", codigo=131056)
            return False
        case Ambiguous(why) if more:
            await outbox.again(connection, saida, AMBIGUOUS_WAIT, erro=why, incerto=True)
            return False
        case Dropped(code, why) | Broken(code, why):
            await outbox.give_up(connection, saida, erro=why, codigo=code)
        case WindowClosed():
            await outbox.give_up(connection, saida, erro="24 h window closed", codigo=131047)
        case RetryLater() | RetryPair() | Ambiguous():
            await outbox.give_up(connection, saida, erro="too many tries", codigo=None)
        case _:
            assert_never(result)
    return True


async def lost_file(connection: Connection, lost: Any | None, failure: Failure | None) -> bool:
    """Follow up a document that failed for good: after a fault of the media it goes once more, and this is true.

    Else a text tells its news, and how to get it; nothing, to whom no message of ours gets through.
    """
    if lost is None or isinstance(failure, Dropped | WindowClosed):
        return False
    media = isinstance(failure, Broken) and failure.code in MEDIA_FAULTS
    if media and await outbox.file_again(connection, lost.id, backoff(1)):
        return True
    arquivo = parse(lost.mensagem)
    if isinstance(arquivo, EnviarArquivo) and lost.numero is not None:
        outbox.enqueue(
            connection,
            conversa=lost.conversa,
            mensagem=Resposta(sem_arquivo(arquivo, lost.numero)),
            sessao_id=lost.sessao_id,
            chave=f"nao_chegou:{lost.id}",
            correlacao=lost.correlacao,
        )
    return False


def backoff(tentativas: int) -> float:
    """Return the seconds before try number ``tentativas + 1``, with jitter."""
    delay = min(2.0**tentativas, BACKOFF_CAP)
    return float(delay * random.uniform(0.5, 1.0))  # noqa: S311 - jitter


FAILED = "failed"  # Meta's word
FALHOU = "falhou"  # ours


class Ticks:
    """Handler of status webhooks."""

    def __init__(self, database: Database, lanes: Lanes, metrics: Metrics) -> None:
        self._database = database
        self._lanes = lanes
        self._metrics = metrics

    async def on_status(self, lease: Lease, rows: Sequence[InboxRow]) -> Collection[int]:
        """Apply them in order; what a later one already said stays."""
        ids = [row.id for row in rows]
        told = [StatusRow.of(row.payload).status for row in rows]
        if any(status.get("status") == FAILED for status in told):
            async with self._database.transaction() as connection:
                for status in told:
                    await self._one(connection, status)
                await self._lanes.done(connection, lease, ids)
            return ids
        known = [tick for status in told if (tick := Tick.of(status))]
        ours = await apply(self._database, lease, ids, known)
        if others := len({tick.wamid for tick in known}) - ours:
            log.info("status_of_unknown_message", rows=others)
        return ids

    async def _one(self, connection: Connection, status: dict[str, Any]) -> None:
        failed, tick = status.get("status") == FAILED, Tick.of(status)
        if tick is None and not failed:
            return
        wamid = str(status.get("id"))
        error = next((e for e in status.get("errors") or () if isinstance(e, dict)), {})
        code = code_of(error)
        known = await outbox.tick(
            connection,
            outbox_id=number_of(status),
            wamid=wamid,
            status=tick.status if tick else FALHOU,
            codigo=code if code >= 0 else None,
            erro=str(error.get("title") or "") or None,
        )
        if not known:
            log.info("status_of_unknown_message", rows=1)
        elif failed:
            await self._failed(connection, wamid, error)

    async def _failed(self, connection: Connection, wamid: str, error: dict[str, Any]) -> None:
        failure = classify(error)
        retried = False
        if isinstance(failure, RetryLater | RetryPair):
            retried = await outbox.retry_failed(connection, wamid, failure.after or backoff(1), MAX_TRIES)
        if not retried:
            retried = await lost_file(connection, await outbox.failed_file(connection, wamid=wamid), failure)
        self._metrics.messages_undelivered.labels(type(failure).__name__).inc()
        write = log.warning if retried else log.error
        write("message_undelivered", resultado=type(failure).__name__, code=code_of(error))


GREETING: Final = saudacao().texto.partition(".")[0]
AVISO: Final = "Homologação: nota sem valor fiscal"
KNOWN_FOR: Final = 60.0  # seconds for which a company's environment is believed, in what is about no session
MOST: Final = 10_000  # conversations remembered


class Homologation:
    """Marks what may be taken for a note, of companies that issue in homologation: amounts, files, the greeting.

    ``usual`` is where a company without a word issues.

    Somebody of no company has no notes, and no mark.
    """

    def __init__(self, database: Database, usual: Ambiente, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._usual = usual
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, bool]] = OrderedDict()  # by conversation: until when, whether

    async def mark(self, saida: Saida, mensagem: Mensagem) -> Mensagem:
        """Return the message as it must be sent: one about a session as its document is issued, others as services."""
        if not may_mislead(mensagem):
            return mensagem
        if saida.canal is not None:
            return with_mark(mensagem) if await self._of_session(saida, saida.canal) else mensagem
        conversa = saida.conversa
        until, practice = self._known.get(conversa, (0.0, False))
        if until <= self._clock():
            practice = await self._asked(conversa)
            self._known[conversa] = (self._clock() + KNOWN_FOR, practice)
            self._known.move_to_end(conversa)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return with_mark(mensagem) if practice else mensagem

    async def _of_session(self, saida: Saida, services: str) -> bool:
        """Tell whether what a session is about is practice; ``services`` is where its company issues services."""
        if saida.modelo is None:
            return services.endswith(f"/{Ambiente.HOMOLOGACAO}")
        async with self._database.alone() as connection:
            sessao = await snapshots.load(connection, saida.conversa, saida.sessao_id or "")
            tipo = TipoDocumento.of(sessao.rascunho.validado(Campo.MODELO) if sessao else None)
            if sessao is None or tipo is TipoDocumento.SERVICO:
                return services.endswith(f"/{Ambiente.HOMOLOGACAO}")
            canal = await issued_in(connection, sessao.sessao_id) or await chosen(connection, sessao.empresa_id, tipo)
        return (canal.ambiente or self._usual) is Ambiente.HOMOLOGACAO

    async def _asked(self, conversa: str) -> bool:
        async with self._database.alone() as connection:
            found = await environment_of(connection, conversa)
        return found is not None and (found.ambiente or self._usual) is Ambiente.HOMOLOGACAO


def may_mislead(mensagem: Mensagem) -> bool:
    """Tell whether a message may be taken for a note, or for word of one: a file, an amount, what we are at all."""
    match mensagem:
        case Texto(body) | ComBotoes(body) | ListMessage(body):
            return "R$" in body or body.startswith(GREETING)
        case DocumentoMidia() | ImageMessage():
            return True
        case Template():
            return False
        case _:
            assert_never(mensagem)


def with_mark(mensagem: Mensagem) -> Mensagem:
    """Return the message with the words; in one without room for them they take the place of its last characters."""
    match mensagem:
        case Texto(body):
            return Texto(_under(body, limits.TEXT_BODY))
        case ComBotoes() | ListMessage():
            return replace(mensagem, footer=AVISO)
        case DocumentoMidia(caption=caption) | ImageMessage(caption=caption):
            return replace(mensagem, caption=_under(caption, limits.CAPTION) if caption else AVISO)
        case Template():
            return mensagem  # its words are Meta's to approve
        case _:
            assert_never(mensagem)


def _under(text: str, most: int) -> str:
    under = f"\n\n_{AVISO}._"
    return text[: most - len(under)] + under
