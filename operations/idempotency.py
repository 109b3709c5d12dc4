"""``prosa idempotencia``: lists operations of which nobody knows how they ended, or all of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from persistence.idempotency import records as idempotency
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from persistence.idempotency.records import Registro

SHOWN = 100  # open ones: more than a person reads, and the last line says that there are more
_ENDED = {"SUCCESS": "concluída", "FAILED": "certamente não aconteceu"}


async def report(database: Database, processo: str | None) -> list[str]:
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
