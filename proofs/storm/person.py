"""Somebody who wants one invoice: writes, reads the summary, confirms, waits for the PDF."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from proofs.sandbox.cnpj_register import CLOSED, companies
from proofs.storm.channels.table import CHANNELS
from proofs.storm.crowd import CONSUMERS, GOODS, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from proofs.sandbox.meta.meta import MetaSimulator
    from proofs.sandbox.meta.model import Bubble
    from proofs.storm.crowd import Wish
    from proofs.storm.erp import Erp

PATIENCE = 600.0  # seconds for an answer in a storm; whoever waits longer is counted as stuck
LONG_PATIENCE = 1500.0  # seconds for files: on a busy machine a message in doubt waits for minutes, and then comes
CONFIRM = "confirmar:"
TAKE = "usar:"
ASKS = 8  # times that somebody asks again after a loss
SHORT_PATIENCE = 40.0  # seconds between them
EQUAL = "Você já pediu uma nota igual"
REASON, CANCEL = "cancelar_erro:", "cancelar_sim:"  # buttons: why, and the last word
REPLACE = "substituir:"
REFUSAL = "não foi aceita"
REPLACES = "Substitui a nota"  # in a summary
NAMELESS = "o nome do cliente"  # in a question: on a channel that issues nothing without it
HANDED = "em mãos?"  # in a question: of a person who buys goods
HOMELESS = re.compile("o endereço do cliente|serviço de CEP")  # likewise, and where its CEP was not answered
LATER = 20.0  # seconds before somebody says the address again
NUMBER = re.compile(r"NF[SC]?-e (\d+) autorizada")


def customers() -> list[str]:
    """Return the open companies of the simulated register, bare; nobody invoices themselves.

    One with a number in its name is left out: a typed name with a CPF in it is not read yet, and the register, which
    would know it, is not always there.
    """
    mine = {issuer.cnpj for channel in CHANNELS.values() for issuer in channel.issuers}
    return [
        cnpj
        for cnpj, row in companies().items()
        if row["situacao_cadastral"] != CLOSED and cnpj not in mine and not any(map(str.isdigit, row["razao_social"]))
    ]


def closed_customers() -> list[str]:
    """Return the companies to which the simulated authority issues nothing, bare."""
    return [cnpj for cnpj, row in companies().items() if row["situacao_cadastral"] == CLOSED]


def brl(valor: Decimal) -> str:
    """Return an amount as people write it: 1.234,56."""
    return f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))


def address(row: Mapping[str, Any]) -> str:
    """Return a company's address in the register as people write one."""
    street = f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}".strip()
    parts = street, row["numero"], row["complemento"], row["bairro"], f"{row['municipio']}/{row['uf']}", row["cep"]
    return ", ".join(part for part in parts if part)


def order(wish: Wish) -> str:
    """Return the first message, with everything that this person says at once."""
    if wish.itens:
        said = wish.dito.format(itens=items(wish), nome=name_of(wish.tomador), doc=wish.tomador)
        return f"{said}, email {wish.email}" if wish.email else said
    extras = (("data do serviço", wish.data), ("competência", wish.competencia), ("email", wish.email))
    said = "".join(f", {name} {value}" for name, value in extras if value)
    to = wish.recusado or wish.tomador
    return f"faz uma nota de {brl(wish.antes or wish.trocado or wish.valor)} pra {to}, {wish.servico}{said}"


def items(wish: Wish) -> str:
    """Return the goods as people say them, one mug too many where they correct themselves."""
    first, second = wish.itens
    more = 1 if wish.antes is not None else 0
    return f"{first + more} {GOODS[0].varios} e {second} {GOODS[1].varios}"


class Person:
    """One conversation, through real signed webhooks on one side and Graph on the other."""

    def __init__(self, meta: MetaSimulator, wish: Wish, erp: Erp) -> None:
        self._meta = meta
        self._erp = erp
        self._wish = wish
        self._word = ""  # the message that said yes
        self._taken: set[str] = set()  # buttons of questions that were answered, and questions without buttons
        self._first: str | None = None  # number of the note whose place another one takes
        self._waits = 0.0  # seconds before the customer's address is said
        self._asked_again = False  # with another customer, after the first was refused

    async def confirm(self) -> None:
        """Ask for the invoice, correct it if so minded, and confirm it; raises ``TimeoutError``."""
        wish = self._wish
        if wish.proposta:
            await self._say("oi")
            await self._erp.propose(wish)
        else:
            await self._say(order(wish))
        summary = await self._summary()
        if wish.antes is not None:
            old = summary
            right = (
                f"são {wish.itens[0]} {GOODS[0].varios}" if wish.itens else f"na verdade o valor é {brl(wish.valor)}"
            )
            await self._say(right)
            summary = await self._summary(other_than=old, shows=f"R$ {brl(wish.valor)}")
            if wish.toca_antiga:
                await self._tap(old, CONFIRM)
                await self._reply()
        if wish.recusado is not None:
            await self._tap(summary, CONFIRM)
            await self._see(lambda b: REFUSAL in b.text, LONG_PATIENCE)
            self._asked_again = True
            await self._say(f"o cliente é {wish.tomador}")
            summary = await self._summary(other_than=summary, session=True)
        if wish.palavra is not None:
            self._word = await self._say(wish.palavra)
            return
        for pause in wish.toques:
            await asyncio.sleep(pause)
            await self._tap(summary, CONFIRM)

    async def again(self) -> None:
        """Ask again after a loss, until the files come: tap the last summary if it is right, else say everything anew.

        Where an equal invoice is known already, it is left at that. Raises ``TimeoutError``.
        """
        self._word, tapped = "", set[str]()
        for _ in range(ASKS):
            if self._has_files():
                return
            seen = [b for b in self._meta.bubbles(self._wish.who) if b.side == "bot"]
            shown = next((b for b in reversed(seen) if any(x.id.startswith(CONFIRM) for x in b.buttons)), None)
            if shown is not None and EQUAL in shown.text and shown.id not in tapped:
                return
            if shown is not None and shown.id not in tapped and f"R$ {brl(self._wish.valor)}" in shown.text:
                tapped.add(shown.id)
                said = await self._tap(shown, CONFIRM)
            else:
                self._asked_again = True
                wish = replace(self._wish, antes=None, recusado=None, trocado=None)
                said = await self._say(order(wish))
            with suppress(TimeoutError):
                await self._meta.wait_for(self._wish.who, _goes_on, SHORT_PATIENCE, after=said)
        raise TimeoutError

    def _has_files(self) -> bool:
        return any(b.attachment is not None for b in self._meta.bubbles(self._wish.who) if b.side == "bot")

    async def finish(self) -> None:
        """Do what is left to do after the confirmation, which takes long in bad weather; raises ``TimeoutError``."""
        if self._word:
            await self._confirm_again(self._word)
        if self._wish.cancela:
            await self._cancel()
        if self._wish.trocado is not None:
            await self._replace()

    async def receive(self) -> None:
        """Wait until PDF and XML are on the phone, and the word of a cancellation; raises ``TimeoutError``."""
        await self._shown()
        await self._file(".xml")
        if self._first is not None:
            await self._file(".pdf", other_than=self._first)
            await self._file(".xml", other_than=self._first)
        if self._wish.cancela:
            await self._see(lambda b: b.attachment is None and "cancelada" in b.text)

    async def _confirm_again(self, word: str) -> None:
        """Tap when the summary is shown once more after a word, because its tick was not in the house yet."""
        answer = await self._meta.wait_for(self._wish.who, lambda b: b.side == "bot", LONG_PATIENCE, after=word)
        if any(button.id.startswith(CONFIRM) for button in answer.buttons):
            await self._tap(answer, CONFIRM)

    async def _replace(self) -> None:
        """Complain about the amount of the note, and confirm the one that takes its place."""
        await self._file(".pdf")
        await self._file(".xml")
        told = await self._see(lambda b: NUMBER.search(b.text) is not None)
        self._first = NUMBER.findall(told.text)[0]
        await self._say(f"corrige a nota {self._first}, o valor era {brl(self._wish.valor)}")
        await self._tap(await self._with_button(REPLACE), REPLACE)
        await self._tap(await self._see(lambda b: REPLACES in b.text and _confirms(b)), CONFIRM)

    async def _cancel(self) -> None:
        """Have the note cancelled: by its number, a reason and the last word."""
        await self._shown()
        told = await self._see(lambda b: NUMBER.search(b.text) is not None)  # its caption, or a text before it
        await self._say(f"cancela a nota {NUMBER.findall(told.text)[0]}")
        await self._tap(await self._with_button(REASON), REASON)
        await self._tap(await self._with_button(CANCEL), CANCEL)

    async def _shown(self) -> None:
        """Wait for the PDF, or for the page's address where there is none."""
        if CHANNELS[self._wish.emitente.canal].reader.page is None:
            await self._file(".pdf")
        else:
            await self._see(lambda b: "verificacao=" in b.text, LONG_PATIENCE)

    async def _file(self, suffix: str, *, other_than: str = "") -> Bubble:
        """Return a document; of another note's than that of a number, where one is given."""

        def fits(b: Bubble) -> bool:
            name = b.attachment.filename if b.attachment is not None else ""
            return name.endswith(suffix) and not name.endswith(f"e-{other_than}{suffix}")

        return await self._see(fits, LONG_PATIENCE)

    async def _say(self, text: str) -> str:
        return await self._meta.user_text(self._wish.who, text, name="Fulana")

    async def _tap(self, bubble: Bubble, prefix: str) -> str:
        button = next(button for button in bubble.buttons if button.id.startswith(prefix))
        return await self._meta.user_button(self._wish.who, button.id, button.title, bubble.id)

    async def _with_button(self, prefix: str) -> Bubble:
        return await self._see(lambda b: any(button.id.startswith(prefix) for button in b.buttons))

    async def _summary(self, *, other_than: Bubble | None = None, session: bool = False, shows: str = "") -> Bubble:
        """Return a summary; one of another session where ``session``, else of another revision than ``other_than``.

        Only one that ``shows`` what was corrected is read on: a database that forgot shows the former amount anew.
        """

        def name(button_id: str) -> str:
            return button_id.rpartition(":")[0] if session else button_id

        old = {name(button.id) for button in other_than.buttons} if other_than else set()

        def fits(b: Bubble) -> bool:
            new = any(x.id.startswith(CONFIRM) and name(x.id) not in old for x in b.buttons) and shows in b.text
            asks = (NAMELESS in b.text or HOMELESS.search(b.text) is not None) and not new and b.id not in self._taken
            asks = asks and not any(x.id.startswith(CONFIRM) for x in b.buttons)
            return new or asks or any(x.id.startswith(TAKE) and x.id not in self._taken for x in b.buttons)

        while True:
            shown = await self._see(fits)
            if any(button.id.startswith(CONFIRM) for button in shown.buttons):
                return shown
            if NAMELESS in shown.text or HOMELESS.search(shown.text):
                await self._tell(shown)
            else:
                await self._take(shown)

    async def _tell(self, question: Bubble) -> None:
        """Say the customer's name or address, which the register did not; but to the last question alone."""
        self._taken.add(question.id)
        if [b.id for b in self._meta.bubbles(self._wish.who) if b.side == "bot"][-1] != question.id:
            return
        customer = self._wish.tomador if self._asked_again else self._wish.recusado or self._wish.tomador
        if NAMELESS in question.text:
            await self._say(name_of(customer))
            return
        if customer in CONSUMERS:
            return
        row = companies()[customer]
        await asyncio.sleep(self._waits)
        self._waits = LATER
        await self._say(address(row))

    async def _take(self, question: Bubble) -> None:
        """Say yes to a doubtful amount where it is the one that was said, and that the goods were handed over."""
        said = {
            brl(amount) for amount in (self._wish.valor, self._wish.antes, self._wish.trocado) if amount is not None
        }
        self._taken |= {button.id for button in question.buttons}
        if any(f"R$ {amount}, é isso?" in question.text for amount in said) or HANDED in question.text:
            await self._tap(question, TAKE)

    async def _reply(self) -> None:
        """Read what the bot says to the outdated tap before tapping the right summary."""
        last = self._meta.bubbles(self._wish.who)[-1].id
        await self._meta.wait_for(self._wish.who, lambda b: b.side == "bot", PATIENCE, after=last)

    async def _see(self, fits: Callable[[Bubble], bool], patience: float = PATIENCE) -> Bubble:
        return await self._meta.wait_for(self._wish.who, lambda b: b.side == "bot" and fits(b), patience)


def _confirms(b: Bubble) -> bool:
    return any(button.id.startswith(CONFIRM) for button in b.buttons)


def _goes_on(b: Bubble) -> bool:
    """Say whether somebody who asked again has something to do, or all that they wanted."""
    return b.side == "bot" and (b.attachment is not None or any(x.id.startswith(CONFIRM) for x in b.buttons))
