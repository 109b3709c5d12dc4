"""What the command says of operations: those without an answer, or all of one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from operations import protocol
from operations.protocol import idempotency_report
from persistence.db.engine import Database
from persistence.idempotency.records import Operation, Started, begin, fail, renew, succeed
from tests.owner import as_owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

SESSION = "211126-07f40961"


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    await as_owner(database.pool, "TRUNCATE idempotency_records")
    yield database
    await database.close()


async def begun(database: Database, step: str, end: str) -> None:
    async with database.transaction() as connection:
        started = await begin(connection, Operation.of("emitir_nfse", SESSION, step, 1))
        assert isinstance(started, Started)
        if end == "lost":
            await renew(connection, started, 0)
        elif end == "refused":
            await fail(connection, started, "E9902: inscrição inválida")
        elif end == "done":
            await succeed(connection, started, {})


async def test_what_has_no_answer_is_listed(database: Database) -> None:
    """Nothing at first; then the one that was lost, with what happens next, and none of the others."""
    assert await idempotency_report(database, None) == ["Nenhuma operação aberta: de todas se sabe como terminaram."]
    for step in ("lost", "refused", "done", "held"):
        await begun(database, step, step)
    [line] = await idempotency_report(database, None)
    assert line.startswith(f"emitir_nfse · {SESSION} · lost · desde ")
    assert line.endswith("sem resposta: a Prosa pergunta antes de repetir")


async def test_a_process_is_told_whole(database: Database) -> None:
    """Each of its operations with what became of it; of an unknown process, why there may be none."""
    for step in ("lost", "refused", "done", "held"):
        await begun(database, step, step)
    said = [line.rpartition(" · ")[2] for line in await idempotency_report(database, SESSION)]
    assert said == [
        "sem resposta: a Prosa pergunta antes de repetir",
        "certamente não aconteceu: E9902: inscrição inválida",
        "concluída",
        "em andamento",
    ]
    assert "esquecida" in (await idempotency_report(database, "outra"))[0]


async def test_a_long_list_says_that_there_are_more(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest are shown."""
    monkeypatch.setattr(protocol, "SHOWN", 2)
    for step in ("1", "2", "3"):
        await begun(database, step, "lost")
    lines = await idempotency_report(database, None)
    assert [line.split(" · ")[2] for line in lines[:2]] == ["1", "2"]
    assert lines[2:] == ["Há mais operações abertas, mais novas que estas."]
