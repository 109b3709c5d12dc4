"""What staff may do to the emission protocol from a terminal: let a company go on, order a new attempt.

``prosa numeracao``: shows each sequence of RPS numbers with its gaps, explains one, blocks or frees a sequence.

``prosa idempotencia``: lists operations of which nobody knows how they ended, or all of one process.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa

from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE, Author
from persistence.conversations import snapshots
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import attempts, numbering, suspension
from persistence.fiscal.numbering import NumeroOcupadoError
from persistence.idempotency import records as idempotency
from persistence.idempotency.records import Registro
from persistence.queue.inbox import Arrival, Inbox
from persistence.rows import OrderRow
from persistence.tables import empresa
from state_machine.invoice.session import Estado
from state_machine.protocol.emission import EM_CURSO, StatusEmissao
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

_ABERTAS = EM_CURSO | {StatusEmissao.ERRO}


class CommandRefusedError(ProsaError, ValueError):
    """The command makes no sense now; nothing was changed."""

    code = "command_refused"


async def release(database: Database, cnpj: str) -> list[str]:
    """Do ``release_of`` for the company with a CNPJ as typed."""
    try:
        numero = CNPJ(cnpj).numero
    except DocumentoInvalido as error:
        raise CommandRefusedError(f"{cnpj} não é um CNPJ válido; nada mudou.") from error
    async with database.transaction() as connection:
        statement = sa.select(empresa.c.id, empresa.c.razao_social, empresa.c.envio_suspenso)
        row = (await connection.execute(statement.where(empresa.c.cnpj == numero))).one_or_none()
        if row is None:
            raise CommandRefusedError(f"Nenhuma empresa com o CNPJ {cnpj}; nada mudou.")
        return await release_of(connection, row)


async def release_of(connection: Connection, company: Any, author: Author = COMMAND_LINE) -> list[str]:
    """Let a company's submissions go on, audited; its waiting emissions are due at once."""
    if company.envio_suspenso is None:
        return [f"Os envios de {company.razao_social} não estão parados; nada mudou."]
    waiting = await suspension.lift(connection, company.id)
    await audit.write_by(connection, author, "liberou os envios", company.id, {"esperavam": waiting})
    said = f"{company.razao_social} volta a enviar agora (estava parada por {company.envio_suspenso})"
    return [f"{said}; {waiting} na fila."]


async def stopped(database: Database) -> list[str]:
    """Say which companies are stopped, one line each."""
    async with database.transaction() as connection:
        rows = await suspension.suspended(connection)
    return [
        f"PARADA: {row.razao_social} ({row.cnpj}), {row.envio_suspenso} desde {row.suspenso_em:%d/%m/%Y %H:%M} UTC, "
        f"{row.esperando} na fila. Depois de corrigir: prosa empresa liberar {row.cnpj}"
        for row in rows
    ]


async def reprocess(database: Database, id_integracao: str) -> list[str]:
    """Put the order to try a refused attempt's revision again into its conversation's lane."""
    inbox = Inbox(database, 0.0)
    async with database.transaction() as connection:
        row = await attempts.named(connection, id_integracao)
        if row is None:
            raise CommandRefusedError(f"Nenhuma emissão com a referência {id_integracao}; nada mudou.")
        refusal = _refusal(row, repaired=await snapshots.repaired(connection, row.sessao_id))
        if refusal:
            raise CommandRefusedError(f"{id_integracao}: {refusal}; nada mudou.")
        order = Arrival.of(
            OrderRow("reprocessar", row.sessao_id, id_integracao),
            chave=f"reprocessar:{id_integracao}",
            lane=row.conversa,
            correlacao=row.correlacao or id_integracao,
        )
        new = await inbox.put_in(connection, [order])
    if not new:
        return [f"{id_integracao}: já tinha sido pedido; cada tentativa se refaz uma vez só."]
    first = "Antes de enviar, a Prosa pergunta ao gateway por todas as tentativas anteriores"
    return [f"{id_integracao}: pedido registrado. {first}; se alguma estiver autorizada, fica valendo ela."]


async def send_stored(database: Database, id_integracao: str) -> list[str]:
    """Put the order to send the stored bytes again into the conversation's lane; only what nobody accepted may go."""
    inbox = Inbox(database, 0.0)
    async with database.transaction() as connection:
        row = await attempts.named(connection, id_integracao)
        if row is None:
            raise CommandRefusedError(f"Nenhuma emissão com a referência {id_integracao}; nada mudou.")
        if not attempts.is_certainly_nobodys(row):
            why = f"está {row.status}, e o gateway pode ter recebido um dos envios" if row.status in _ABERTAS else ""
            why = why or f"está {row.status}"
            raise CommandRefusedError(
                f"{id_integracao}: {why}; só se envia o que certamente ninguém aceitou. Nada mudou."
            )
        order = Arrival.of(
            OrderRow("enviar", row.sessao_id, id_integracao),
            chave=f"enviar:{id_integracao}:{row.versao}",
            lane=row.conversa,
            correlacao=row.correlacao or id_integracao,
        )
        new = await inbox.put_in(connection, [order])
    if not new:
        return [f"{id_integracao}: já tinha sido pedido e ainda não andou."]
    return [f"{id_integracao}: pedido registrado. Os mesmos dados saem de novo, com a mesma referência."]


def _refusal(row: Any, *, repaired: bool) -> str | None:
    """Say why this attempt can't be made anew."""
    if row.status != StatusEmissao.REJEITADO or row.estado != Estado.REJEITADO:
        return f"a emissão está {row.status} e a sessão {row.estado}, e só se refaz o que foi recusado"
    if repaired:
        return "a pessoa já retomou esta nota em outra sessão, e seriam duas"
    if row.pendente is not None:
        return f"a prefeitura recusou o campo {row.pendente}: quem corrige é a pessoa, pelo botão Corrigir nota"
    return None


_MOST_AT_ONCE = 10_000  # numbers of one explanation
_RANGE = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")


async def numbering_report(database: Database) -> list[str]:
    """Return lines for a terminal: a sequence, then its gaps, those without an explanation first."""
    lines: list[str] = []
    async with database.transaction() as connection:
        for conhecida in await numbering.sequences(connection):
            s = conhecida.sequencia
            lines.append(
                f"{conhecida.id} · {conhecida.razao_social} · município {s.municipio} · série {s.serie} · {s.ambiente}"
                f" · {conhecida.primeiro} a {conhecida.ultimo}"
            )
            if conhecida.bloqueado is not None:
                lines.append(f"    BLOQUEADA: {conhecida.bloqueado} (prosa numeracao --desbloquear libera)")
            buracos = await numbering.gaps(connection, s)
            lines += [f"    BURACO {_text(buraco)}: sem nota e sem explicação" for buraco in buracos]
            explicados = await numbering.explained(connection, s)
            lines += [f"    {_text(faixa)}: sem nota, explicado: {motivo}" for faixa, motivo in explicados]
            if not buracos and not explicados:
                lines.append("    sem buracos")
    return lines or ["Nenhuma sequência: o gateway numera (prosa empresa add … --serie-rps muda isso)."]


def number_range(texto: str) -> range | None:
    """Read "12" or "12-14" as typed; ``None`` for anything else."""
    found = _RANGE.fullmatch(texto.strip())
    made = range(int(found[1]), int(found[2] or found[1]) + 1) if found else range(0)
    return made if 0 < len(made) <= _MOST_AT_ONCE else None


async def explain(database: Database, sequencia_id: int | None, numeros: str, motivo: str) -> list[str]:
    """Store why no note will ever come of these numbers; refused while one may."""
    found = number_range(numeros)
    if found is None or sequencia_id is None or not motivo.strip():
        raise CommandRefusedError("Diga --explicar 12 ou 12-14, --sequencia e --motivo; nada mudou.")
    try:
        async with database.transaction() as connection:
            conhecidas = {c.id: c.sequencia for c in await numbering.sequences(connection)}
            if sequencia_id not in conhecidas:
                raise CommandRefusedError(f"Não há sequência {sequencia_id}; nada mudou.")
            await numbering.void(connection, conhecidas[sequencia_id], found, motivo.strip())
    except NumeroOcupadoError as error:
        raise CommandRefusedError(
            f"{numeros}: algum deles tem nota, pode vir a ter, ou nunca foi dado; nada mudou."
        ) from error
    return [f"{numeros}: explicado."]


async def block(database: Database, sequencia_id: int | None, motivo: str | None) -> list[str]:
    """Stop a sequence with its reason, or let it go on where ``motivo`` is ``None``."""
    if sequencia_id is None or (motivo is not None and not motivo.strip()):
        raise CommandRefusedError("Diga --sequencia e, para bloquear, --motivo; nada mudou.")
    async with database.transaction() as connection:
        if not await numbering.block(connection, sequencia_id, motivo.strip() if motivo is not None else None):
            raise CommandRefusedError(f"Não há sequência {sequencia_id}; nada mudou.")
    if motivo is None:
        return [f"Sequência {sequencia_id} liberada: as próximas notas voltam a receber números."]
    return [f"Sequência {sequencia_id} bloqueada: nenhuma nota recebe número dela até --desbloquear."]


def _text(faixa: range) -> str:
    return str(faixa.start) if len(faixa) == 1 else f"{faixa.start} a {faixa.stop - 1}"


SHOWN = 100  # open ones: more than a person reads, and the last line says that there are more
_ENDED = {"SUCCESS": "concluída", "FAILED": "certamente não aconteceu"}


async def idempotency_report(database: Database, processo: str | None) -> list[str]:
    """Return a line for each record: the open ones, or those of the process (a ``sessao_id``, say) that is named."""
    async with database.transaction() as connection:
        if processo is not None:
            found = await idempotency.of_process(connection, processo)
            return [_line(registro) for registro in found] or [
                f"Nenhuma operação do processo {processo}: não houve, ou terminou há mais de um dia e foi esquecida."
            ]
        found = await idempotency.open_records(connection, SHOWN + 1)
    lines = [_line(registro) for registro in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append("Há mais operações abertas, mais novas que estas.")
    return lines or ["Nenhuma operação aberta: de todas se sabe como terminaram."]


def _line(registro: Registro) -> str:
    desde = registro.created_at.astimezone(SAO_PAULO)
    tentativas = f" · {registro.retry_count} novas tentativas" if registro.retry_count else ""
    motivo = f": {registro.error_message}" if registro.error_message else ""
    return (
        f"{registro.operation_name} · {registro.process_instance_id} · {registro.activity_id}"
        f" · desde {desde:%d/%m %H:%M:%S} · {_standing(registro)}{motivo}{tentativas}"
    )


def _standing(registro: Registro) -> str:
    if registro.em_maos:
        return "em andamento"
    return _ENDED.get(registro.status, "sem resposta: a Prosa pergunta antes de repetir")
