"""A note for its customer, a month for the accountant: mails that the button under their question lets go, once."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from functools import partial
from secrets import randbelow
from typing import Any, Final

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Toque
from bot.conversation.subject import Resources, RowHandler, Turn
from bot.delivery.mailing import asked_for
from bot.delivery.sender import AVISO
from bot.loops.jobs import Deadline
from bot.subjects.invoice.acts import QUESTIONS
from bot.subjects.invoice.clients import LONGEST_ID
from bot.subjects.invoice.facts import environment
from extractor.requests.requests import as_number
from operations.month import month_named
from persistence.audit import records as audit
from persistence.batches import records
from persistence.conversations import conversations
from persistence.db.connection import Connection
from persistence.fiscal import history, notes
from persistence.fiscal.notes import Quais
from persistence.people import clients
from persistence.people.companies import Empresa
from persistence.queue import outbox
from state_machine.catalogue import messages
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.requests import LISTADAS, Carried, NotaListada
from state_machine.invoice.session import Mensagem
from state_machine.mailing.delivery import TipoLote
from state_machine.mailing.reading import ASSUNTO, MENSAGEM, REVISAO, MailedNote, normalised, words
from state_machine.protocol.channel import Ambiente
from state_machine.values.local_time import SAO_PAULO, MesOuAno

QUEM: Final = "WhatsApp"  # in the audit, which has no person's data

log = structlog.get_logger(__name__)


class NoteMail:
    """Takes the button under a new note, and those of the question, which the invoice's subject asks, too."""

    shows_reading = True
    actions: frozenset[str] = frozenset({"mandar_cliente", "mandar_email", "mandar_mes", "nao_mandar"})
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """None: a mail's own progress is no row of a conversation."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Make a list of one mail, agreed to already; its sender carries it as it carries any list."""
        toque = turn.chegada.entrada
        if not isinstance(toque, Toque) or toque.acao not in self.actions:
            return None
        voz = await turn.voice(owed="botao")
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            chave: str | None = None
            sessao: str | None = None
            said: tuple[Mensagem, ...] = (messages.sem_empresa(),)
            if toque.acao == "nao_mandar":
                said = (pedidos.mail_dropped(),)
            elif empresa is not None and toque.acao == "mandar_cliente":
                said, sessao = await self._for_customer(connection, turn.lease.lane, empresa, toque)
            elif empresa is not None:
                month = toque.acao == "mandar_mes"
                agreed = (
                    self._month(connection, empresa, toque) if month else self._note(connection, turn, empresa, toque)
                )
                chave, answer = await agreed
                said = (answer,)
            if chave is not None or voz is not Voice.SILENT:
                said = (messages.devagar(),) if chave is None and voz is Voice.NOTICE else said
                say = partial(outbox.enqueue, connection, conversa=turn.lease.lane, correlacao=turn.chegada.correlacao)
                for each in said:
                    say(mensagem=each, sessao_id=sessao, chave=chave)
        self._r.ring()
        log.info("note_mail_answered", agreed=chave is not None)
        return turn.chegada.ids

    async def _for_customer(
        self, connection: Connection, lane: str, empresa: Empresa, toque: Toque
    ) -> tuple[tuple[Mensagem, ...], str | None]:
        """Return words to forward, alone in their message, and the question whether a mail goes where one can.

        The note's session is returned beside: the mark of practice follows it, and not where its company issues now.
        """
        nota = await _asked_about(connection, lane, empresa, toque)
        if nota is None or nota.numero is None:
            return (messages.nada_a_confirmar(),), None
        if nota.cancelada:
            return (pedidos.cliente_de_cancelada(nota),), None
        kept = await notes.document(connection, nota.emissao_id, "pdf")
        words_of_it = pedidos.para_o_cliente(nota, kept.chave, self._r.door.page(kept))
        email = await clients.email_of(connection, empresa.id, nota.documento) if self._r.emails is not None else None
        try:
            address = normalised(email or "")
        except ValueError:  # none, or what is no address
            return (words_of_it,), nota.sessao
        return (words_of_it, pedidos.ask_to_mail(nota, address, randbelow(QUESTIONS))), nota.sessao

    async def _month(self, connection: Connection, empresa: Empresa, toque: Toque) -> tuple[str | None, Mensagem]:
        """Let the company's month go to the address that it has still."""
        whose, _, month = toque.sessao_id.partition(".")
        email = empresa.email_contador
        if toque.revisao is None or whose != str(empresa.id) or email is None or email != toque.escolha:
            return None, messages.nada_a_confirmar()
        periodo = month_named(month)
        said = {ASSUNTO: f"Fechamento de {periodo}", MENSAGEM: f"Olá!\n\nSegue o fechamento de {periodo}, em planilha."}
        content = {"empresa_id": empresa.id, "mes": month, "numero": str(periodo)}
        nome = f"fechamento {month} pelo WhatsApp"
        carried = pedidos.carried_month(str(periodo))
        issued = await history.closing(connection, empresa.id, periodo, 1)  # goods may be in earnest, services not yet
        there = empresa.canal.ambiente or environment(self._r.door.channel(empresa))
        ambiente = next((row.ambiente for row in issued if row.ambiente), there)
        practice, question = ambiente == Ambiente.HOMOLOGACAO, f"{month}:{toque.revisao}"
        return await self._goes(connection, empresa, carried, nome, question, email, said, [content], practice=practice)

    async def _note(
        self, connection: Connection, turn: Turn, empresa: Empresa, toque: Toque
    ) -> tuple[str | None, Mensagem]:
        """Let the note that was asked about go, while it stands."""
        lane = turn.lease.lane
        nota = await _asked_about(connection, lane, empresa, toque) if toque.revisao is not None else None
        if nota is None or nota.numero is None:
            return None, messages.nada_a_confirmar()
        if nota.cancelada:
            return None, pedidos.mensagem(pedidos.email_de_cancelada(nota), em_aberto=False)
        said = words(_month_of(nota), [MailedNote(nota.emissao_id, nota.numero, nota.valor)], None)
        content = {"emissao_id": nota.emissao_id, "numero": nota.numero, "tipo": nota.tipo}
        carried, nome = pedidos.carried_note(nota.numero), f"nota {nota.numero} pelo WhatsApp"
        question = f"{nota.emissao_id}:{toque.revisao}"
        email = normalised(toque.escolha)
        kept = await notes.document(connection, nota.emissao_id, "pdf")
        practice = (kept.canal.ambiente or environment(self._r.door.channel(empresa))) == Ambiente.HOMOLOGACAO
        return await self._goes(connection, empresa, carried, nome, question, email, said, [content], practice=practice)

    async def _goes(
        self,
        connection: Connection,
        empresa: Empresa,
        carried: Carried,
        nome: str,
        question: str,
        email: str,
        said: dict[str, str],
        notas: list[dict[str, Any]],
        *,
        practice: bool,
    ) -> tuple[str | None, Mensagem]:
        """Let one mail go; returns the key of the answer where it goes from now on, and what to say."""
        if self._r.emails is None:
            return None, pedidos.mail_without_server(carried)
        sha256 = hashlib.sha256(f"{question}:{email}".encode()).hexdigest()
        values = {
            "empresa_id": empresa.id,
            "tipo": TipoLote.ENVIO,
            "nome_arquivo": nome,
            "sha256": sha256,
            "revisao": sha256[:REVISAO],
            "usuario": QUEM,
        }
        known = await records.by_file(connection, empresa.id, nome, sha256)
        day = await records.of_a_day(connection, empresa.id, records.HANDED_OVER)
        if known is None and 0 < self._r.emails <= day.quantos:
            return None, pedidos.mail_limit()
        if practice:
            said = {ASSUNTO: f"{AVISO}. {said[ASSUNTO]}", MENSAGEM: f"{AVISO}.\n\n{said[MENSAGEM]}"}
        lote, new = await records.single(connection, values, {"email": email, "dados": said, "notas": notas})
        if lote is None or not new:
            return None, pedidos.email_ja_pedido(carried, email)
        await audit.write(
            connection,
            staff_id=None,
            quem=QUEM,
            acao="confirmou lote",
            alvo=f"lote {lote.id}",
            empresa_id=empresa.id,
        )
        return asked_for(lote.id), pedidos.email_a_caminho(carried, email)


async def _asked_about(connection: Connection, lane: str, empresa: Empresa, toque: Toque) -> NotaListada | None:
    """Return the note of a button, while the company issues where that one was issued."""
    which = toque.sessao_id
    if not which.isdecimal() or len(which) > LONGEST_ID:
        return None
    for nota in await notes.listed(connection, lane, empresa.id, 1, Quais(emissao_id=int(which))):
        quais = Quais(numero=as_number(nota.numero or ""))
        counted = await notes.listed(connection, lane, empresa.id, LISTADAS, quais)
        return next((same for same in counted if same.emissao_id == nota.emissao_id), None)
    return None


def _month_of(nota: NotaListada) -> MesOuAno:
    day = nota.competencia or nota.em.astimezone(SAO_PAULO)
    return MesOuAno(day.year, day.month)
