"""``prosa restaurado``: what is done to a restored database before requests are taken again."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from operations.beyond import ABSENCES, FARTHEST, listed, settle, walk
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.fiscal.numbers import numbering, restored
from persistence.witness import references
from persistence.witness import row as history

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from gateway.registry import Channels
    from operations.beyond import Walk
    from persistence.db.connection import Connection
    from persistence.db.engine import Database

_LAST = re.compile(r"(\d{1,9}):(\d{1,15})")
_WHO = "linha de comando"
MOST_SKIPPED = FARTHEST  # a note's own number typed in a number's place is far more


async def restore(
    database: Database,
    ultimos: Sequence[str],
    channels: Channels | None = None,
    absences: int = ABSENCES,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> list[str]:
    """Have open emissions asked for, move the RPS sequences on, note it in the audit; returns lines for a terminal.

    ``ultimos`` are words as ``3:550``: the last number of sequence 3 that the gateway knows. Each sequence needs one,
    but for those that are walked at the authority over ``channels``, after ``wait`` (seconds) for what it may take
    late. Raises ``CommandRefusedError``, and nothing has changed.
    """
    matches = {word: _LAST.fullmatch(word.strip()) for word in ultimos}
    given = {int(match[1]): int(match[2]) for match in matches.values() if match}
    if channels is not None and all(matches.values()):
        await settle(database, channels, wait)
    walks = await walk(database, channels, absences) if channels is not None else []
    compared = channels is None or await listed(database, channels)
    walked = {each.known: each for each in walks if each.known is not None}
    async with database.transaction() as connection:
        known = {each.id: each for each in await numbering.sequences(connection)}
        if not all(matches.values()) or given.keys() | walked.keys() != known.keys():
            raise CommandRefusedError(_ask_for([each for n, each in known.items() if n not in walked]))
        last = {n: max(given.get(n, 0), walked[n].last if n in walked else 0) for n in known}
        far = [n for n, ultimo in last.items() if ultimo - known[n].ultimo > MOST_SKIPPED]
        if far:
            raise CommandRefusedError(_too_far([known[number] for number in far]))
        skipped = {number: await restored.move_past(connection, number, ultimo) for number, ultimo in last.items()}
        for each in walks:
            skipped |= await _keep(connection, each)
        abertas = await restored.ask_for_open(connection)
        await history.accept(connection)
        vistas = sum(len(each.seen) for each in walks)
        detalhe = {
            "emissoes": len(abertas),
            "pulados": {str(number): count for number, count in skipped.items()},
            "vistas": vistas,
        }
        await audit.write(connection, staff_id=None, quem=_WHO, acao="restaurado", detalhe=detalhe)
    return [
        f"Emissões em aberto, que serão perguntadas antes de qualquer envio: {len(abertas)}.",
        *(f"  {reference}" for reference in abertas),
        *(each.said for each in walks),
        *(["Quem confirmar de novo uma nota achada recebe a que já saiu."] * (vistas > 0)),
        *(f"Sequência {number}: {skipped[number]} números pulados." for number in given),
        "Agora: prosa conferir --dias N, do dia da cópia até hoje, e só depois abra as portas."
        if compared
        else "Agora pode abrir as portas: a numeração segue depois da última nota achada.",
    ]


async def _keep(connection: Connection, seen: Walk) -> dict[int, int]:
    """Store what was seen; returns what a sequence skips that the copy does not know."""
    for numero, referencia in seen.seen.items():
        await references.keep(connection, seen.sequencia, numero, referencia)
    if seen.known is not None or not seen.seen:
        return {}
    begun = await references.begin(connection, seen.sequencia, seen.first, restored.MOTIVO)
    if begun is None:  # somebody confirmed meanwhile
        raise CommandRefusedError("Uma empresa começou a numerar enquanto eu perguntava. Nada mudou: rode de novo.")
    return {begun: 1 + await restored.move_past(connection, begun, seen.last)}


def _too_far(known: list[numbering.Conhecida]) -> str:
    named = "; ".join(f"sequência {each.id}, aqui até {each.ultimo}" for each in known)
    return (
        f"Isso pularia mais de {MOST_SKIPPED} números ({named}). O número pedido é o do RPS, não o da nota. Nada mudou."
    )


def _ask_for(known: list[numbering.Conhecida]) -> str:
    if not known:
        return "Nenhuma sequência precisa de --rps, ou o que foi dado não é dela: rode sem. Nada mudou."
    lines = [
        f"  --rps {each.id}:ÚLTIMO · {each.razao_social}, série {each.sequencia.serie}, aqui até {each.ultimo}"
        for each in known
    ]
    return "\n".join(("Diga o último RPS que o gateway conhece de cada sequência. Nada mudou.", *lines))
