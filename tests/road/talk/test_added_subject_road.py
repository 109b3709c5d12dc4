"""A subject is a module and a row of the table: one that only this test knows talks beside the product's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pytest
import pytest_asyncio

import bot.wiring.handlers
from bot.conversation.inbound import Palavras
from bot.conversation.subject import one_row
from persistence.queue import outbox
from persistence.queue.inbox import Arrival
from persistence.rows import RowKind
from state_machine.invoice.session import Mensagem
from tests.road.road_people import FULL, open_road

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Sequence

    from bot.conversation.subject import Resources, RowHandler, Turn
    from bot.loops.jobs import Deadline
    from persistence.queue.lanes import InboxRow, Lease
    from tests.road.road_people import Road


@dataclass(frozen=True, slots=True)
class RiddleRow(RowKind):
    """The riddle's answer, a row of its own."""

    tipo: ClassVar[str] = "adivinha"
    resposta: str


class Riddles:
    """Asks a riddle whoever wants one, and tells its answer by a row in the conversation's lane."""

    shows_reading = True
    actions: frozenset[str] = frozenset()
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """The answer."""
        return (one_row(RiddleRow, self._on_answer),)

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Take a wish for a riddle, and nothing else."""
        chegada, lane = turn.chegada, turn.lease.lane
        if not isinstance(chegada.entrada, Palavras) or "adivinha" not in chegada.entrada.texto:
            return None
        answer = Arrival.of(
            RiddleRow("o buraco"), chave=f"adivinha:{chegada.wamid}", lane=lane, correlacao=chegada.correlacao
        )
        async with self._r.committing(turn) as connection:
            outbox.enqueue(connection, conversa=lane, mensagem=Mensagem("O que quanto mais se tira, mais cresce?"))
            await self._r.inbox.put_in(connection, [answer])
        self._r.ring_delivery()
        return chegada.ids

    async def _on_answer(self, lease: Lease, row: InboxRow, riddle: RiddleRow) -> None:
        async with self._r.database.transaction() as connection:
            outbox.enqueue(connection, conversa=lease.lane, mensagem=Mensagem(f"É {riddle.resposta}."))
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring_delivery()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def road(database_url: str, redis_url: str) -> AsyncIterator[Road]:
    """A road on which the riddles come before the invoice."""
    with pytest.MonkeyPatch.context() as patched:
        *before, invoice = bot.wiring.handlers.SUBJECTS
        patched.setattr(bot.wiring.handlers, "SUBJECTS", (*before, Riddles, invoice))
        async with open_road(database_url, redis_url) as opened:
            yield opened


async def test_a_subject_takes_its_turn_and_its_row(road: Road) -> None:
    """What is said to it is answered by it, and its own kind of row comes back to it."""
    ana = await road.person()
    assert (await ana.say("conta uma adivinha")).text == "O que quanto mais se tira, mais cresce?"
    await ana.expect("É o buraco.")
    assert await road.sessions(ana) == []
    row = await road.database.pool.fetchrow("SELECT payload, estado FROM inbox WHERE tipo = 'adivinha'")
    assert row is not None
    assert (row["payload"], row["estado"]) == ({"resposta": "o buraco"}, 1)


async def test_the_other_subjects_go_on_beside_it(road: Road) -> None:
    """Words that it does not want are an invoice's, before and after; the draft lies where it was."""
    ana = await road.person()
    await ana.say(FULL)
    await ana.say("conta uma adivinha")
    await ana.expect("É o buraco.")
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_stranger_is_the_strangers(road: Road) -> None:
    """Who comes before it in the table has the first word."""
    rui = await road.person(known=False)
    assert "adivinha" not in (await rui.say("conta uma adivinha")).text
    assert len(rui.answers) == 1


def test_a_kind_of_row_has_one_handler() -> None:
    """Two subjects that want the same kind are refused before anything opens."""

    class Greedy(Riddles):
        def __init__(self) -> None:
            """Need nothing."""

    with pytest.raises(ValueError, match="adivinha"):
        bot.wiring.handlers.handlers_of((Greedy(), Greedy()), ())
