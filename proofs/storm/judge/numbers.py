"""Follows every series that Prosa numbers: each number serves one confirmation, and each gap has its refusal."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from proofs.storm.crowd import Issuer
    from proofs.storm.judge.books import House
    from proofs.storm.judge.note import Note

Series = tuple[str, str]  # the issuer's document, the series
Numbered = tuple[str, str, int]  # and a number of it


def misnumbered(
    notes: Iterable[Note],
    issuers: Iterable[Issuer],
    house: House,
    forgotten: Collection[Numbered] = (),
    *,
    skips: bool = False,
) -> Iterator[str]:
    """Name numbers given twice, numbers outside their series, and gaps that nobody explains.

    Of ``forgotten`` numbers the house may say what it likes; ``skips``: it lists those that it passed over, too.
    """
    series = numbered(notes)
    firsts = {(issuer.cnpj, serie): first for issuer in issuers for serie, first in issuer.series.items()}
    listed: defaultdict[Series, set[int]] = defaultdict(set)
    for cnpj, serie, numero in house.gaps:
        listed[cnpj, serie].add(numero)
    for name in sorted(series.keys() | listed.keys()):
        given, first = series.get(name, {}), firsts.get(name, 1)
        where = f"série {name[1]} de {name[0]}"
        excused = {numero for cnpj, serie, numero in forgotten if (cnpj, serie) == name}
        yield from _twice({n: notes for n, notes in given.items() if n not in excused}, where)
        yield from (f"{where}: o número {n} vem antes do primeiro, {first}" for n in sorted(given) if n < first)
        free = refused_numbers(given)
        # A number that came to nobody's note, and of which the authority's book knows no refusal.
        absent = set(range(first, max(given, default=first - 1) + 1)) - given.keys()
        passed = listed[name] if skips else set()
        for n in sorted(absent - passed):
            yield f"{where}: o número {n} falta sem explicação ({house.served.get((*name, n), 'nunca dado')})"
        free, listed_here = free - excused, listed[name] - excused
        yield from (f"{where}: a lista de lacunas não tem o número {n}" for n in sorted(free - listed_here))
        yield from (f"{where}: a lista de lacunas tem o número {n}" for n in sorted(listed_here - free - absent))


def numbered(notes: Iterable[Note]) -> dict[Series, dict[int, list[Note]]]:
    """Return every series with its numbers, and all attempts that had each of them."""
    found: defaultdict[Series, defaultdict[int, list[Note]]] = defaultdict(lambda: defaultdict(list))
    for note in notes:
        if note.rps is not None:
            found[note.prestador, note.rps[0]][note.rps[1]].append(note)
    return {name: dict(given) for name, given in found.items()}


def refused_numbers(given: Mapping[int, Sequence[Note]]) -> set[int]:
    """Return the numbers of which the authority refused every attempt: the gaps of a series."""
    return {number for number, notes in given.items() if all(note.refused for note in notes)}


def _twice(given: Mapping[int, Sequence[Note]], where: str) -> Iterator[str]:
    """A number may come again only in what repairs the attempt that was refused with it."""
    for number, notes in given.items():
        for before, note in itertools.pairwise(notes):
            if not before.refused or before.key != note.key:
                yield f"{where}: o número {number} de {before.reference} foi também o de {note.reference}"
