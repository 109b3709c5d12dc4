"""What is found of the numbers beyond a restored copy, and what is said of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from gateway.paulistana.adapter import NATUREZA
from operations import restored
from operations.restored import ABSENCES, Walk
from persistence.fiscal.numbering import Sequencia
from proofs.demo.world import COMPANY
from state_machine.protocol.emission import Absent, CannotTell, Found

if TYPE_CHECKING:
    from gateway.port import FiscalGateway
    from persistence.people.companies import Empresa

SERIES = Sequencia(1, "3550308", "900")
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
OLD = (NOW - timedelta(hours=30)).isoformat()


class _Authority:
    """It has notes under some numbers, each issued at a moment, and does not tell of others."""

    def __init__(self, notes: dict[int, str], silent: int = 0) -> None:
        self.notes, self.silent, self.asked = notes, silent, 0

    def key_for(self, numero: int) -> int:
        return numero

    async def find(self, numero: int) -> Any:
        self.asked += 1
        if numero == self.silent:
            return CannotTell("HTTP 503")
        issued = self.notes.get(numero)
        return Found(cast("Any", SimpleNamespace(referencia=f"r{numero}", data_emissao=issued))) if issued else Absent()


async def _seen(
    authority: _Authority, lista: dict[int, str | None] | None, monkeypatch: pytest.MonkeyPatch
) -> set[int]:
    monkeypatch.setattr(restored, "_under", lambda _begun, numero, _today: numero)
    begun = _walk(known=1, first=11)
    listed = None if lista is None else {("3550308", "900", numero): said for numero, said in lista.items()}
    walked = await restored._walked(cast("FiscalGateway", authority), begun, ABSENCES, listed, NOW)
    return set(walked.seen)


def _walk(*, known: int | None, first: int) -> Walk:
    # Of a company only its name is said.
    return Walk(known=known, empresa=cast("Empresa", COMPANY), sequencia=SERIES, first=first, seen={})


async def test_a_note_behind_a_row_of_refusals_is_found_by_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 became a note, 13 to 33 were refused, 34 became one; the list's numbers are not asked for again."""
    authority = _Authority({12: OLD, 34: OLD})
    assert await _seen(authority, {12: "r12", 34: "r34"}, monkeypatch) == {12, 34}
    assert authority.asked == len(range(11, 35)) - 2 + ABSENCES


async def test_what_is_too_young_for_the_list_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between what the list has, and behind it."""
    young = (NOW - timedelta(hours=1)).isoformat()
    assert await _seen(_Authority({13: young, 21: young}), {12: "r12", 20: None}, monkeypatch) == {12, 13, 20, 21}
    assert await _seen(_Authority({12: young}), {}, monkeypatch) == {12}
    assert await _seen(_Authority({12: OLD}), None, monkeypatch) == {12}


async def test_a_list_that_lacks_what_it_should_have_is_believed_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note of yesterday that it does not show: others may stand behind twenty numbers without one."""
    with pytest.raises(restored._UntoldError, match="número 12: há uma nota"):
        await _seen(_Authority({12: OLD}), {}, monkeypatch)


async def test_who_does_not_tell_is_named_with_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a series in which somebody else counts far away is not walked for days."""
    with pytest.raises(restored._UntoldError, match=r"série 900, número 15 \(HTTP 503\)"):
        await _seen(_Authority({}, silent=15), {}, monkeypatch)
    with pytest.raises(restored._UntoldError, match="não acaba"):
        await _seen(_Authority({}), {12 + restored.FARTHEST: None}, monkeypatch)


def test_what_left_before_the_doubt_is_waited_for() -> None:
    """A city that may hold a request for minutes is asked when that is over, and the absences are."""
    city = SimpleNamespace(of=lambda _canal: SimpleNamespace(natureza=NATUREZA))
    row = SimpleNamespace(canal="paulistana", ambiente="producao")
    assert restored._settles(cast("Any", city), row) >= NATUREZA.absence_age + NATUREZA.absence_spacing


def test_a_note_of_another_program_is_named() -> None:
    """A note without our reference under a number of our series: the operator is told to choose another series."""
    walk = _walk(known=None, first=7)
    assert walk.said.endswith("série 900: a autoridade não tem nota depois da cópia.")
    walk.seen.update({7: "211126-07f40961-r1-1"})
    assert walk.said.endswith("tem 1 depois da cópia, até o número 7.")
    walk.seen.update({9: None})
    assert "tem 2 depois da cópia, até o número 9; 1 sem referência da Prosa: outro programa usa" in walk.said
