"""Gives every amount of a turn the roles that the words around it name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from extractor.amounts.patterns import OUTCOMES
from extractor.amounts.role import SEVERAL, Role
from extractor.amounts.shares import SHARES
from extractor.amounts.words import SESSION_WORD, UNIT_WORD
from extractor.text.marks import Kind
from extractor.words.lists import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extractor.text.marks import Mark, Skeleton

GROUPS: Final = OUTCOMES + SHARES
# Words that may follow a price; any other word after a bare number is what is being counted.
AFTER_PRICE: Final = words("after_price")
COUNTABLE_LIMIT: Final = 100  # "3 visitas", "20 cadeiras"; from here on a number before a singular noun is a price
COUNTED: Final = re.compile(
    rf"(?:{UNIT_WORD}|{SESSION_WORD}|mega|gigas?|graus|panfletos|cartoes|folhetos|convites|"
    rf"camisetas|salgad\w+|docinhos|doces|"
    r"copias|impressoes|folhas|adesivos|brindes|convidados|participantes|anos|minutos|segundos|caixas|pacotes|lentes|"
    r"watts|volts|litros|toneladas|sacos|sacas|hectares|seguidores|palavras|caracteres|views|cliques|leads|amperes|"
    r"btus|parcelas|vezes|x|prestac\w+|notas|nota|nfs)\b"
)
SINGULAR_SESSION: Final = re.compile(r"(?:diaria|visita|aula|sessao|consulta|foto|video|licenca|procedimento)")
SMALLEST_PRICE: Final = 10
FOLLOWING: Final = re.compile(r"\s{1,9}+([a-z]+)")
SINGULAR_IN_S: Final = words("singular_in_s")


def roles_of(skeleton: Skeleton) -> dict[Mark, set[Role]]:
    """Return every amount of the turn with the roles it plays."""
    line = skeleton.line
    roles: dict[Mark, set[Role]] = {m: set() for m in skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER}}
    if not roles:
        return roles
    for mark, role in _named(skeleton, _cues(skeleton, several=len(roles) > 1)):
        if mark in roles:
            roles[mark].add(role)
    for mark, played in roles.items():
        if mark.kind is Kind.NUMBER and not played & {Role.LABELLED, Role.TOTAL}:
            pos = skeleton.position(mark)
            counted = _counted(line, pos, mark)
            if counted is not None:
                played.add(counted)
            if counted is Role.QUANTITY and line[pos + 1 : pos + 2] == " ":
                played.discard(Role.UNIT)  # "festa de 15 anos": what is counted has no price of its own
    return roles


def _cues(skeleton: Skeleton, *, several: bool) -> set[str]:
    """Return everything in the turn that a group of patterns may ask for: words, the letters of marks, a sign."""
    said = {*skeleton.stems, *(m.kind for m in skeleton.marks)}
    if several:
        said.add(SEVERAL)
    if "+" in skeleton.line:
        said.add("+")
    return said


def _named(skeleton: Skeleton, said: set[str]) -> Iterator[tuple[Mark, Role]]:
    """Yield the amounts that a pattern speaks of: its group "a", or, where that is empty, the amount it ends in."""
    line, where = skeleton.line, skeleton.where
    for each in GROUPS:
        if each.cues and each.cues.isdisjoint(said):
            continue
        for role, pattern in each.patterns:
            match = pattern.search(line)
            while match:
                mark = where.get(match.start("a") if match["a"] is not None else match.end() - 1)
                if mark is not None:
                    yield mark, role
                match = pattern.search(line, match.start() + 1)


def _priced(mark: Mark, word: str) -> bool:
    """Say whether "400 aula" is a price: a count of hundreds would stand before a plural."""
    return SINGULAR_SESSION.fullmatch(word) is not None and mark.amount is not None and mark.amount >= COUNTABLE_LIMIT


def _counted(line: str, pos: int, mark: Mark) -> Role | None:
    """Tell a count from a price by the word that follows a bare number."""
    counted = COUNTED.match(line, pos + 1 + (line[pos + 1 : pos + 2] == " "))
    if line[pos + 1 : pos + 2] == "x" or (counted and not _priced(mark, counted[0])):
        return Role.QUANTITY
    match = FOLLOWING.match(line, pos + 1)
    if match is None or match[1] in AFTER_PRICE or mark.amount is None:
        return None
    if mark.amount != mark.amount.to_integral_value():
        return None
    plural = match[1].endswith("s") and match[1] not in SINGULAR_IN_S and len(match[1]) > 3  # noqa: PLR2004 - "pos", "mes"
    if mark.amount < COUNTABLE_LIMIT:
        return Role.QUANTITY if plural or mark.amount < SMALLEST_PRICE else Role.STRAY
    return Role.PLURAL if plural else None
