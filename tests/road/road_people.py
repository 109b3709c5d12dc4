"""The road for tests: a house with its background work, the simulated world around it, and people with phones."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import aiohttp

from bot.orders.origins import ORIGINS
from bot.settings import Settings
from gateway.registry import REGISTRY
from operations.company import add_company
from proofs.connected import connected
from proofs.demo.world import COMPANY
from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.meta.model import bsuid
from proofs.sandbox.plugnotas.model import ISSUED
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig
from proofs.sandbox.world import WorldConfig
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from bot.house import House
    from bot.orders.origins import OriginRow
    from gateway.registry import ChannelRow
    from persistence.db.engine import Database
    from proofs.sandbox.meta.model import Bubble
    from proofs.sandbox.plugnotas.model import Note
    from proofs.sandbox.world import World

PADARIA = "12.345.678/0001-95"  # known to the simulated register
FULL = f"faz uma nota de 1500 pra {PADARIA}, consultoria de marketing"
QUICK = WorldConfig(
    meta=MetaConfig(status_delay=0.005),
    plugnotas=PlugNotasConfig(processing=0.05, rendering=0.0),
)

_lines = itertools.count(80_000_000)
_amounts = itertools.count(3001)
_IDLE = """
SELECT NOT EXISTS (SELECT FROM inbox WHERE estado = 0)
   AND NOT EXISTS (SELECT FROM outbox WHERE run_at IS NOT NULL)
   AND NOT EXISTS (SELECT FROM nfse_emissao
        WHERE proxima_acao_em IS NOT NULL AND NOT (coalesce(retida, '') = 'pessoa' AND proxima_acao_em > now()))
   AND NOT EXISTS (SELECT FROM cancelamento WHERE proxima_acao_em IS NOT NULL)
"""


def new_phone() -> str:
    """Return the wa_id of somebody who never wrote before."""
    return f"55119{next(_lines)}"


def unlike() -> str:
    """Return a request for an invoice that is equal to no other: while one is open, an equal one is asked about."""
    return FULL.replace("1500", str(next(_amounts)))


async def until(condition: Callable[[], Awaitable[Any]], timeout: float = PATIENCE) -> Any:  # noqa: ASYNC109 - test helper
    """Return the first true answer of ``condition``; raises ``TimeoutError``."""
    async with asyncio.timeout(timeout):
        while True:
            if answer := await condition():
                return answer
            await asyncio.sleep(0.01)


def _offers(bubble: Bubble) -> bool:
    return any(button.id.startswith("mandar_cliente:") for button in bubble.buttons)


@dataclass
class Person:
    """Somebody with a phone; remembers up to which of the bot's messages they have read."""

    world: World
    who: str  # wa_id, or the BSUID of somebody who hides the number
    read: str | None = None

    async def tell(self, text: str) -> str:
        """Write without waiting for an answer."""
        return await self.world.meta.user_text(self.who, text)

    async def say(self, text: str) -> Bubble:
        """Write, and return the answer."""
        await self.tell(text)
        return await self.expect()

    async def touch(self, title: str, of: Bubble | None = None) -> str:
        """Press a button, the newest of that title unless ``of`` names its message; waits for no answer."""
        shown = [of] if of else reversed(self.world.meta.bubbles(self.who))
        bubble, button = next((b, button) for b in shown for button in b.buttons if button.title == title)
        return await self.world.meta.user_button(self.who, button.id, button.title, bubble.id)

    async def press(self, title: str, of: Bubble | None = None) -> Bubble:
        """Press a button, and return the answer."""
        await self.touch(title, of)
        return await self.expect()

    async def expect(self, text: str = "", timeout: float = PATIENCE) -> Bubble:  # noqa: ASYNC109 - test helper
        """Return the bot's next message, which must have ``text`` in it; the offer behind a note is none."""
        after = self.read
        bubble = await self.world.meta.wait_for(
            self.who,
            lambda b: b.side == "bot" and b.id not in self._known(after) and not _offers(b),
            timeout,
            after=after,
        )
        self.read = bubble.id
        assert text in bubble.text, bubble.text
        return bubble

    def _known(self, after: str | None) -> set[str]:
        ids = [bubble.id for bubble in self.world.meta.bubbles(self.who)]
        return set(ids[: ids.index(after) + 1]) if after in ids else set()

    @property
    def answers(self) -> list[str]:
        """All that the bot said so far, without the offers behind notes."""
        said = [bubble for bubble in self.world.meta.bubbles(self.who) if bubble.side == "bot"]
        return [bubble.text for bubble in said if not _offers(bubble)]

    @property
    def offers(self) -> list[Bubble]:
        """What came behind the person's notes."""
        return [bubble for bubble in self.world.meta.bubbles(self.who) if _offers(bubble)]

    async def files(self, *, late: bool = False) -> tuple[bytes, bytes]:
        """Wait for the invoice's PDF and XML, and open both as a phone does. ``late``: a notice may come first."""
        pdf = await self.expect()
        if late and "ainda não teve resposta" in pdf.text:
            pdf = await self.expect()
        xml = await self.expect()
        if pdf.attachment is not None and pdf.attachment.mime != "application/pdf":
            pdf, xml = xml, pdf
        assert pdf.attachment is not None, pdf.text
        assert xml.attachment is not None, xml.text
        async with aiohttp.ClientSession() as session:
            async with session.get(pdf.attachment.url) as opened:
                paper = await opened.read()
            async with session.get(xml.attachment.url) as opened:
                return paper, await opened.read()

    async def issue(self, words: str | None = None) -> tuple[bytes, bytes]:
        """Have an invoice issued from one message (one like no other, if none is given) and one confirmation."""
        await self.say(words or unlike())
        await self.touch("Confirmar")
        return await self.files()


@dataclass
class Scene:
    """A world, the database of whatever house stands in it, and what tests ask of both."""

    world: World
    database: Database

    async def person(self, who: str | None = None, *, known: bool = True) -> Person:
        """Return somebody new, who may issue for the demo's company if ``known``."""
        who = who or new_phone()
        if known:
            await add_company(self.database, replace(COMPANY, usuarios=(who,)))
        return Person(self.world, who)

    def conversation(self, person: Person) -> str:
        """Return the key of the person's conversation."""
        user = person.who if "." in person.who else bsuid(person.who)
        return f"{self.world.config.meta.account.phone_number_id}:{user}"

    async def sessions(self, person: Person) -> list[Any]:
        """Return the person's session snapshots, oldest first."""
        return list(
            await self.database.pool.fetch(
                "SELECT * FROM session_snapshot WHERE conversa = $1 ORDER BY id", self.conversation(person)
            )
        )

    async def session(self, person: Person) -> Any:
        """Return the newest snapshot."""
        return (await self.sessions(person))[-1]

    async def reached(self, person: Person, estado: str) -> Any:
        """Wait until the newest session is in ``estado`` and return its snapshot."""

        async def there() -> Any:
            sessions = await self.sessions(person)
            return sessions[-1] if sessions and sessions[-1]["estado"] == estado else None

        return await until(there)

    async def notes(self, person: Person) -> list[Note]:
        """Return the notes that the authority issued for this person: the gateway's own book is the judge."""
        ours = {row["sessao_id"] for row in await self.sessions(person)}
        book = self.world.plugnotas.notes.values()
        return [n for n in book if n.situacao == ISSUED and n.id_integracao.rsplit("-r", 1)[0] in ours]

    async def settled(self, timeout: float = PATIENCE) -> None:  # noqa: ASYNC109 - test helper
        """Wait until nothing is under way any more, inside and outside."""
        async with asyncio.timeout(timeout):
            while True:
                while self.world.meta.working or self.world.meta.courier.pending:  # ticks are made one after another
                    await self.world.meta.ended()
                    await self.world.meta.courier.drained(timeout)
                await self.world.plugnotas.courier.drained(timeout)
                if await self.database.pool.fetchval(_IDLE):
                    return
                await asyncio.sleep(0.01)


@dataclass
class Road(Scene):
    """A scene with the house in this very process."""

    house: House
    address: str


@asynccontextmanager
async def open_road(
    database_url: str,
    redis_url: str,
    *,
    config: WorldConfig = QUICK,
    between: Callable[[World], Awaitable[dict[str, Any]]] | None = None,
    registry: Mapping[str, ChannelRow] = REGISTRY,
    origins: Mapping[str, OriginRow] = ORIGINS,
    **changes: Any,
) -> AsyncIterator[Road]:
    """Open a world and a house in it, with all background work running, connected over real HTTP.

    ``between`` puts something between both, and returns the settings that lead through it; ``registry`` and
    ``origins`` have the channels and the origins that the house knows.
    """
    around = connected(
        Settings(),
        database_url,
        redis_url,
        config,
        between=between,
        registry=registry,
        origins=origins,
        changes=changes,
    )
    async with around as opened:
        yield Road(opened.world, opened.house.database, opened.house, opened.address)
