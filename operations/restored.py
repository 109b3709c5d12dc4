"""``prosa restaurado``: what is done to a restored database before requests are taken again."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from operations.beyond import ABSENCES, FARTHEST, listed, settle, walk
from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.batches import records as batches
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
_STOPPED = "Nenhum número mudou, e nada numerado aqui sai até este comando terminar bem."
_ONLY = "Só as empresas que faltavam da última vez. Se outra cópia foi posta no lugar: prosa restaurado --tudo."
_HELD = "As outras seguem. Destas nada numerado aqui é confirmado nem enviado, porque ninguém disse o que já saiu:"
_AGAIN = "Resolva (certificado, rede ou --rps) e rode de novo: só estas serão perguntadas."
MOST_SKIPPED = FARTHEST  # a note's own number typed in a number's place is far more


async def restore(
    database: Database,
    ultimos: Sequence[str],
    channels: Channels | None = None,
    absences: int = ABSENCES,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    *,
    tudo: bool = False,
) -> list[str]:
    """Have open emissions asked for, move the RPS sequences on, note it in the audit; returns lines for a terminal.

    The history is in doubt before anybody is asked, and stays so where this does not end. ``ultimos`` are words as
    ``3:550``: the last number of sequence 3 that the gateway knows. Each sequence needs one, but for those that are
    looked for at the authority over ``channels``, after ``wait`` (seconds) for what it may take late. A company whose
    numbers nobody tells is held, and the others go on; within a day the next run takes only what is held, unless
    ``tudo``. Raises ``CommandRefusedError``: held companies are named there, or the words are wrong.
    """
    matches = {word: _LAST.fullmatch(word.strip()) for word in ultimos}
    given = {int(match[1]): int(match[2]) for match in matches.values() if match}
    async with database.transaction() as connection:
        left = {} if tudo else await restored.left(connection)
        since = min(left.values()) if left else await history.in_doubt_for(connection)
        if not left:
            await history.suspect(connection)
    walks: list[Walk] = []
    untold: dict[int, str] = {}
    if channels is not None and all(matches.values()):
        await settle(database, channels, wait, since)
        walks, untold = await walk(database, channels, absences, left or None)
    compared = channels is None or await listed(database, channels)
    walked = {each.known: each for each in walks if each.known is not None}
    async with database.transaction() as connection:
        here = await numbering.sequences(connection)
        known = {each.id: each for each in here if not left or each.sequencia.empresa_id in left}
        if not all(matches.values()) or given.keys() - known.keys():
            raise CommandRefusedError(_ask_for([each for n, each in known.items() if n not in walked]))
        last = {
            n: max(given.get(n, 0), walked[n].last if n in walked else 0) for n in known if n in given or n in walked
        }
        far = [n for n, ultimo in last.items() if ultimo - known[n].ultimo > MOST_SKIPPED]
        if far:
            raise CommandRefusedError(_too_far([known[number] for number in far]))
        for n in known.keys() - last.keys():
            untold.setdefault(known[n].sequencia.empresa_id, _untold(known[n]))
        skipped = {number: await restored.move_past(connection, number, ultimo) for number, ultimo in last.items()}
        for each in walks:
            skipped |= await _keep(connection, each)
        abertas = await restored.ask_for_open(connection, left or None)
        await restored.hold(connection, untold)
        listas = [] if left else await batches.doubt(connection)
        if not left:
            await history.accept(connection)
        vistas = sum(len(each.seen) for each in walks)
        detalhe = {
            "emissoes": len(abertas),
            "pulados": {str(number): count for number, count in skipped.items()},
            "vistas": vistas,
            "paradas": list(untold),
            "lotes": [each.id for each in listas],
        }
        await audit.write(connection, staff_id=None, quem=_WHO, acao="restaurado", detalhe=detalhe)
    lines = [
        *([_ONLY] * bool(left)),
        f"Emissões em aberto, que serão perguntadas antes de qualquer envio: {len(abertas)}.",
        *(f"  {reference}" for reference in abertas),
        *(each.said for each in walks),
        *(_listed(each) for each in listas),
        *(["Quem confirmar de novo uma nota achada recebe a que já saiu."] * (vistas > 0)),
        *(f"Sequência {number}: {skipped[number]} números pulados." for number in given),
    ]
    if untold:
        held = [f"  {each}" for each in untold.values()]
        raise CommandRefusedError("\n".join((*lines, _HELD, *held, _AGAIN)))
    return [
        *lines,
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


def _listed(lista: Any) -> str:
    return f"Lote {lista.id} ({lista.nome_arquivo}) espera outro sim: {lista.quantas} e-mails talvez já tenham saído."


def _untold(known: numbering.Conhecida) -> str:
    where = f"série {known.sequencia.serie}, aqui até {known.ultimo}"
    return f"{known.razao_social}: falta --rps {known.id}:ÚLTIMO, o último RPS que o gateway conhece ({where})"


def _too_far(known: list[numbering.Conhecida]) -> str:
    named = "; ".join(f"sequência {each.id}, aqui até {each.ultimo}" for each in known)
    return (
        f"Isso pularia mais de {MOST_SKIPPED} números ({named}). O número pedido é o do RPS, não o da nota. {_STOPPED}"
    )


def _ask_for(known: list[numbering.Conhecida]) -> str:
    if not known:
        return f"Nenhuma sequência precisa de --rps, ou o que foi dado não é dela: rode sem. {_STOPPED}"
    return "\n".join((f"Não entendi o que veio em --rps. {_STOPPED}", *(f"  {_untold(each)}" for each in known)))
