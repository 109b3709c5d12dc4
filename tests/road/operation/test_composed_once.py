"""Statements are composed once, at import: composing and compiling one costs more than running it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persistence.db import connection as module

if TYPE_CHECKING:
    import pytest

    from tests.road.road_people import Person, Road


async def _issue_and_cancel(road: Road, person: Person) -> None:
    await person.issue()
    await road.settled()
    [note] = await road.notes(person)
    await person.say("minhas notas")
    await person.say(f"cancela a nota {note.numero}")
    await person.say("valor errado, vou emitir outra")
    await person.press("Cancelar a nota")
    await person.expect("cancelada")
    await road.settled()


async def test_a_second_conversation_compiles_nothing_again(road: Road, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invoice, the list of them and a cancellation: whatever the first person's took is ready for the second's."""
    first, second = await road.person(), await road.person()
    compiled: list[str] = []
    compile_ = module._compile

    def counted(statement: Any, columns: Any) -> Any:
        made = compile_(statement, columns)
        compiled.append(made.sql)
        return made

    monkeypatch.setattr(module, "_compile", counted)
    await _issue_and_cancel(road, first)
    before = set(compiled)
    compiled.clear()
    await _issue_and_cancel(road, second)
    assert [sql for sql in compiled if sql in before] == []  # a job of the clock's may come for the first time only now
