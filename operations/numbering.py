"""``prosa numeracao``: shows each sequence of RPS numbers with its gaps, explains one, blocks or frees a sequence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from operations.protocol import CommandRefusedError
from persistence.fiscal.numbers import numbering
from persistence.fiscal.numbers.numbering import NumeroOcupadoError

if TYPE_CHECKING:
    from persistence.db.engine import Database

_RANGE = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")


async def report(database: Database) -> list[str]:
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


async def explain(database: Database, sequencia_id: int | None, numeros: str, motivo: str) -> list[str]:
    """Store why no note will ever come of these numbers; refused while one may."""
    found = _RANGE.fullmatch(numeros.strip())
    if found is None or sequencia_id is None or not motivo.strip():
        raise CommandRefusedError("Diga --explicar 12 ou 12-14, --sequencia e --motivo; nada mudou.")
    de, ate = int(found[1]), int(found[2] or found[1])
    try:
        async with database.transaction() as connection:
            conhecidas = {c.id: c.sequencia for c in await numbering.sequences(connection)}
            if sequencia_id not in conhecidas:
                raise CommandRefusedError(f"Não há sequência {sequencia_id}; nada mudou.")
            await numbering.void(connection, conhecidas[sequencia_id], range(de, ate + 1), motivo.strip())
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
