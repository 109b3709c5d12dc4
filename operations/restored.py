"""``prosa restaurado``: what is done to a restored database before requests are taken again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from operations.protocol import CommandRefusedError
from persistence.audit import records as audit
from persistence.fiscal import numbering, restored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.db.engine import Database

_LAST = re.compile(r"(\d{1,9}):(\d{1,15})")
_WHO = "linha de comando"
MOST_SKIPPED = 100_000  # a company issues fewer between two copies; a note's own number typed in its place is far more


async def restore(database: Database, ultimos: Sequence[str]) -> list[str]:
    """Have open emissions asked for, move the RPS sequences on, note it in the audit; returns lines for a terminal.

    ``ultimos`` are words as ``3:550``: the last number of sequence 3 that the gateway knows. Each sequence needs one.
    Raises ``CommandRefusedError``, and nothing has changed.
    """
    matches = {word: _LAST.fullmatch(word.strip()) for word in ultimos}
    given = {int(match[1]): int(match[2]) for match in matches.values() if match}
    async with database.transaction() as connection:
        known = {each.id: each for each in await numbering.sequences(connection)}
        if not all(matches.values()) or given.keys() != known.keys():
            raise CommandRefusedError(_ask_for(list(known.values())))
        far = [n for n, ultimo in given.items() if ultimo - known[n].ultimo > MOST_SKIPPED]
        if far:
            raise CommandRefusedError(_too_far([known[number] for number in far]))
        skipped = {number: await restored.move_past(connection, number, ultimo) for number, ultimo in given.items()}
        references = await restored.ask_for_open(connection)
        detalhe = {"emissoes": len(references), "pulados": {str(number): count for number, count in skipped.items()}}
        await audit.write(connection, staff_id=None, quem=_WHO, acao="restaurado", detalhe=detalhe)
    return [
        f"Emissões em aberto, que serão perguntadas antes de qualquer envio: {len(references)}.",
        *(f"  {reference}" for reference in references),
        *(f"Sequência {number}: {count} números pulados." for number, count in skipped.items()),
        "Agora: prosa conferir --dias N, do dia da cópia até hoje, e só depois abra as portas.",
    ]


def _too_far(known: list[numbering.Conhecida]) -> str:
    named = "; ".join(f"sequência {each.id}, aqui até {each.ultimo}" for each in known)
    return (
        f"Isso pularia mais de {MOST_SKIPPED} números ({named}). O número pedido é o do RPS, não o da nota: "
        "confira no painel do gateway. Nada mudou."
    )


def _ask_for(known: list[numbering.Conhecida]) -> str:
    if not known:
        return "Nenhuma empresa numera pela Prosa: rode sem --rps. Nada mudou."
    lines = [
        f"  --rps {each.id}:ÚLTIMO · {each.razao_social}, série {each.sequencia.serie}, aqui até {each.ultimo}"
        for each in known
    ]
    return "\n".join(
        ("Diga o último RPS que o gateway conhece de cada sequência, como no painel dele. Nada mudou.", *lines)
    )
