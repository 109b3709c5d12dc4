"""Somebody who wants one invoice: writes, reads the summary, taps, waits for the PDF; judges nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox.cnpj_register import CLOSED, companies

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from sandbox.meta import MetaSimulator
    from sandbox.meta_model import Bubble
    from storm.plan import Wish

PATIENCE = 240.0  # seconds for an answer in a storm; whoever waits longer is counted as stuck
ISSUER = "11222333000181"  # nobody invoices themselves
CONFIRM = "confirmar:"


def customers() -> list[str]:
    """Return the open companies of the simulated register, bare."""
    return [cnpj for cnpj, row in companies().items() if row["situacao_cadastral"] != CLOSED and cnpj != ISSUER]


def brl(valor: Decimal) -> str:
    """Return an amount as people write it: 1.234,56."""
    return f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))


class Person:
    """One conversation, through real signed webhooks on one side and Graph on the other."""

    def __init__(self, meta: MetaSimulator, wish: Wish) -> None:
        self._meta = meta
        self._wish = wish

    async def confirm(self) -> None:
        """Ask for the invoice, correct it if so minded, and tap Confirmar; raises ``TimeoutError``."""
        wish = self._wish
        said = wish.antes or wish.valor
        await self._meta.user_text(
            wish.who, f"faz uma nota de {brl(said)} pra {wish.tomador}, consultoria de marketing", name="Fulana"
        )
        summary = await self._summary()
        if wish.antes is not None:
            old = summary
            await self._meta.user_text(wish.who, f"na verdade o valor é {brl(wish.valor)}")
            summary = await self._summary(other_than=old)
            if wish.toca_antiga:
                await self._tap(old)
                await self._reply()
        for pause in wish.toques:
            await asyncio.sleep(pause)
            await self._tap(summary)

    async def receive(self) -> None:
        """Wait until PDF and XML are on the phone; raises ``TimeoutError``."""
        await self._file(".pdf")
        await self._file(".xml")

    async def _file(self, suffix: str) -> Bubble:
        return await self._see(lambda b: b.attachment is not None and b.attachment.filename.endswith(suffix))

    async def _tap(self, bubble: Bubble) -> None:
        button = next(button for button in bubble.buttons if button.id.startswith(CONFIRM))
        await self._meta.user_button(self._wish.who, button.id, button.title, bubble.id)

    async def _summary(self, *, other_than: Bubble | None = None) -> Bubble:
        old = {button.id for button in other_than.buttons} if other_than else set()
        return await self._see(lambda b: any(x.id.startswith(CONFIRM) and x.id not in old for x in b.buttons))

    async def _reply(self) -> None:
        """Read what the bot says to the outdated tap before tapping the right summary."""
        last = self._meta.bubbles(self._wish.who)[-1].id
        await self._meta.wait_for(self._wish.who, lambda b: b.side == "bot", PATIENCE, after=last)

    async def _see(self, fits: Callable[[Bubble], bool]) -> Bubble:
        return await self._meta.wait_for(self._wish.who, lambda b: b.side == "bot" and fits(b), PATIENCE)
