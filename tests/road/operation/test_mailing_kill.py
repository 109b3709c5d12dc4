"""kill -9 of workers while they send mails to a server that goes wrong: every row ends, no copy is uncounted."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest

from persistence.batches import work
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.nacional.authority import Authority
from tests.made_batches import confirmed
from tests.nightly import size
from tests.patience import PATIENCE
from tests.road.road_people import until
from tests.road.road_stage import Stage, open_stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

ENTRIES = size(100, 10_000)  # of two lists together
KILLS = size(1, 50)
LONGEST = 15 * PATIENCE  # for all of them
# Of fifty commands of a kind. A 4xx is repeated until it goes: whoever fails here was not lost by chance.
FAULTS = {
    "rcpt": {"451 later": 4, "550 nobody": 1},
    "end": {"452 full": 2, Mailbox.LOSE: 2, Mailbox.FORGET: 2},
}
DECK = 50


def weather(dice: random.Random, struck: Counter[str]) -> Callable[[str], str | None]:
    """Return what goes wrong at each command: every fault in its share of each deck, at a place given by chance."""
    decks: dict[str, list[str]] = defaultdict(list)

    def fault(command: str) -> str | None:
        if command not in FAULTS:
            return None
        deck = decks[command]
        if not deck:
            deck += [answer for answer, count in FAULTS[command].items() for _ in range(count)]
            deck += [""] * (DECK - len(deck))
            dice.shuffle(deck)
        answer = deck.pop()
        struck.update([answer] if answer else [])
        return answer or None

    return fault


@pytest.fixture
async def stage(database_url: str, redis_url: str, tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_stage(database_url, redis_url, tmp_path) as opened:
        yield opened


async def leases_end(stage: Stage) -> None:
    """Let 31 seconds pass for the dead, and for the living as if frozen; the sweep sets free what they held."""
    silent = "UPDATE lotes SET last_attempt = last_attempt - interval '31 s' WHERE status = 'PROCESSING'"
    await stage.database.pool.execute(silent)
    async with stage.database.transaction() as connection:
        await work.recover(connection)


@pytest.mark.timeout(900)  # two processes, ended and started anew
async def test_workers_killed_in_the_middle_settle_every_row(stage: Stage, tmp_path: Path) -> None:
    """Two lists, two workers, one killed each time, over STARTTLS: rows end, each second copy is a counted one."""
    pool, struck, authority = stage.database.pool, Counter[str](), Authority(tmp_path / "authority")
    box = Mailbox(accounts={"ana": "segredo"}, starttls=authority.server_context())
    box.weather = weather(random.Random(20261125), struck)  # noqa: S311 - repeatable on purpose
    for name in ("a", "b"):
        emails = (f"{name}{number}@test.com.br" for number in range(ENTRIES // 2))
        await confirmed(stage.database, f"{name}.csv", *emails)
    async with box.listening() as port:
        settings = {
            "PROSA_SMTP_URL": f"smtp://ana:segredo@127.0.0.1:{port}",
            "PROSA_SMTP_CA_FILE": str(authority.ca_file),
            "PROSA_SMTP_FROM": "notas@ana.com.br",
            "PROSA_PUBLIC_URL": "https://prosa.exemplo.com.br",
            "PROSA_SMTP_LADDER": ",".join(["0.1"] * 30),
            "PROSA_SMTP_UNKNOWN_SECONDS": "0.1",
            "PROSA_SMTP_DOMAIN_PER_MINUTE": "0",
        }
        workers = [await stage.start("worker", **settings) for _ in range(2)]
        for kill in range(KILLS):
            here = ENTRIES * (kill + 1) // (2 * KILLS)  # the last of them at half of the mails

            async def reached(here: int = here) -> bool:
                return len(box.kept) >= here

            await until(reached, LONGEST)
            await workers[kill % 2].kill()
            await leases_end(stage)
            workers[kill % 2] = await stage.start("worker", **settings)
        ended = "SELECT bool_and(estado = 'concluido') FROM lotes"
        await until(lambda: pool.fetchval(ended), LONGEST)
        await stage.clear()
    rows = await pool.fetch("SELECT email, estado, incertas, external_id FROM lote_linhas")
    copies = defaultdict(list)
    for kept in box.kept:
        copies[kept.to].append(kept.message["Message-ID"])
    assert all(kept.secret for kept in box.kept)
    assert len(rows) == ENTRIES
    assert {row["estado"] for row in rows} == {"DONE", "FAILED"}
    for row in rows:
        came = copies.pop(row["email"], [])
        assert set(came) <= {row["external_id"]}
        assert len(came) <= min(2, 1 + row["incertas"])
        assert came or row["estado"] == "FAILED"
    assert not copies
    assert struck.keys() == {answer for answers in FAULTS.values() for answer in answers}
    second = len(box.kept) - len({kept.to for kept in box.kept})
    uncertain = sum(row["incertas"] for row in rows)
    failed = sum(row["estado"] == "FAILED" for row in rows)
    print(f"{ENTRIES=} {KILLS=} {second=} {uncertain=} {failed=} {struck=}")  # noqa: T201 - the figures of a proof
