"""What staff may do to the emission protocol from a terminal: let a company go on, order a new attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from persistence.audit import records as audit
from persistence.audit.records import COMMAND_LINE
from persistence.conversations import snapshots
from persistence.fiscal import attempts, suspension
from persistence.queue.arrival import Arrival
from persistence.queue.inbox import Inbox
from persistence.rows.inbox_rows import OrderRow
from persistence.tables import empresa
from state_machine.machine.states import Estado
from state_machine.protocol.emission import EM_CURSO, StatusEmissao
from state_machine.values.documents import CNPJ, DocumentoInvalido
from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from persistence.audit.records import Author
    from persistence.db.connection import Connection
    from persistence.db.engine import Database


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
