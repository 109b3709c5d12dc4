"""Whole conversations: message, summary, tap, authorised note, PDF and XML; how many a second, in how many words."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

import asyncpg

from proofs.bench.figure import Figure, at_least, at_most, percentile
from proofs.bench.load.channels import NACIONAL, PLUGNOTAS
from proofs.bench.load.town import open_town, person
from proofs.storm.person import brl, customers

if TYPE_CHECKING:
    from proofs.bench.load.channels import Channel
    from proofs.bench.load.line import Phone
    from proofs.bench.load.town import Town
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "conversations"
AT_ONCE = 120  # people talking at the same time: each waits some seconds for city and files
MOST_PER_SECOND = 100  # no machine of ours does more: so many phone numbers are registered
WORKERS = 2
CHANNELS = (PLUGNOTAS, NACIONAL)


@dataclass(frozen=True, slots=True)
class Ran:
    """``done`` conversations in the counted ``seconds``; ``begun`` and ``notes`` over the whole run.

    ``duplicates`` are notes with a number beyond one per confirmation, ``messages`` what each person was told,
    ``taken`` the seconds of whole conversations, ``answered`` those from the first message to its summary.
    """

    done: int
    seconds: float
    begun: int
    notes: int
    duplicates: int
    taken: tuple[float, ...]
    answered: tuple[float, ...]
    messages: tuple[int, ...]
    cpu: dict[str, float]
    stored: float  # bytes that the database grew by, per note

    def cost(self, *prefixes: str) -> float:
        """CPU milliseconds per conversation of the roles that begin so."""
        spent = sum(value for role, value in self.cpu.items() if role.startswith(prefixes))
        return spent / max(1, self.done) * 1000


async def measure(place: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``RuntimeError`` for a duplicate or a missing note."""
    crowd = kept_busy(plan.people)  # fewer than usual are through sooner
    sides = {
        one.name: partial(talk, place, plan.seconds, crowd, channel=replace(one, warm=one.warm * plan.people / AT_ONCE))
        for one in CHANNELS
    }
    ran = await plan.in_turns(sides)
    return _by_gateway(checked(ran[PLUGNOTAS.name])) + _direct(checked(ran[NACIONAL.name]))


def _by_gateway(runs: list[Ran]) -> list[Figure]:
    """Return the figures of PlugNotas."""
    parts = {role: round(runs[-1].cost(role), 2) for role in runs[-1].cpu}
    told = tuple(sum(ran.messages) / max(1, len(ran.messages)) for ran in runs)
    return [
        Figure(row=ROW, name="conversas até a nota autorizada", unit="/s",
               ours=tuple(ran.done / ran.seconds for ran in runs), reach=at_least(40),
               note=f"{sum(ran.notes for ran in runs)} notas, 0 em dobro, pelo livro do gateway"),
        Figure(row=ROW, name="CPU nossa por conversa (web + workers)", unit="ms",
               ours=tuple(ran.cost("web", "worker") for ran in runs), parts=parts),
        Figure(row=ROW, name="da primeira mensagem a PDF e XML, p50", unit="s",
               ours=tuple(percentile(list(ran.taken), 0.5) for ran in runs),
               note="com as esperas da prefeitura e do PDF simulados"),
        Figure(row=ROW, name="banco por nota emitida", unit="KB", ours=tuple(ran.stored / 1000 for ran in runs),
               note="com PDF e XML do simulador"),
        Figure(row=ROW, name="mensagens enviadas por nota emitida", unit="", ours=told, reach=at_most(3)),
    ]  # fmt: skip


def _direct(runs: list[Ran]) -> list[Figure]:
    """Return those of the national channel, which signs, and draws its PDF itself."""
    parts = {role: round(runs[-1].cost(role), 2) for role in runs[-1].cpu}
    return [
        Figure(row=ROW, name="nacional: conversas até a nota autorizada, com PDF nosso", unit="/s",
               ours=tuple(ran.done / ran.seconds for ran in runs), reach=at_least(10),
               note=f"{sum(ran.notes for ran in runs)} notas, 0 em dobro, pelo livro da SEFIN"),
        Figure(row=ROW, name="nacional: CPU nossa por conversa (web + workers, com quem assina e desenha)", unit="ms",
               ours=tuple(ran.cost("web", "worker") for ran in runs), parts=parts),
        Figure(row=ROW, name="nacional: da primeira mensagem a PDF e XML, p50", unit="s",
               ours=tuple(percentile(list(ran.taken), 0.5) for ran in runs)),
    ]  # fmt: skip


def checked(runs: list[Ran]) -> list[Ran]:
    """Return ``runs``; raises ``RuntimeError`` for a duplicate or a missing note."""
    for ran in runs:
        if ran.duplicates or ran.notes != ran.begun:
            raise RuntimeError(f"{ran.begun} confirmadas, {ran.notes} notas, {ran.duplicates} em dobro")
    return runs


Crowd = Callable[[Callable[[], Awaitable[None]], float], Awaitable[None]]
"""Calls the first argument, one whole conversation, again and again until ``perf_counter`` reaches the second."""


def kept_busy(at_once: int) -> Crowd:
    """So many people at a time, each beginning anew when done: what the product can do."""

    async def crowd(one: Callable[[], Awaitable[None]], end: float) -> None:
        async def walk() -> None:
            while time.perf_counter() < end:
                await one()

        await asyncio.gather(*(walk() for _ in range(at_once)))

    return crowd


async def talk(
    place: Place,
    seconds: float,
    crowd: Crowd,
    *,
    channel: Channel = PLUGNOTAS,
    most_per_second: float = MOST_PER_SECOND,
) -> Ran:
    """Let ``crowd`` talk until the channel is warm and ``seconds`` more, then let everybody finish."""
    warm = channel.warm
    people = int((warm + seconds) * most_per_second) + AT_ONCE
    others = [document for document in customers() if document != channel.company.cnpj]
    tomadores = itertools.cycle(others)
    numbers = itertools.count()
    async with open_town(place, people=people, workers=WORKERS, channel=channel) as town:
        size = await _size(town.database_url)
        begun = time.perf_counter()
        end = begun + warm + seconds
        finished: list[tuple[float, float, float]] = []
        used: list[int] = []
        through = asyncio.Event()

        async def one() -> None:
            number = next(numbers)
            used.append(number)
            started = time.perf_counter()
            answered = await converse(town, person(number), number, next(tomadores))
            ended = time.perf_counter()
            finished.append((ended, ended - started, answered - started))
            if ended > begun + warm:
                through.set()

        async def meter() -> tuple[dict[str, float], float]:
            await asyncio.sleep(begun + warm - time.perf_counter())
            town.meter.start()
            await asyncio.sleep(end - time.perf_counter())
            await through.wait()  # on a slow machine the first one ends the count
            return town.meter.read(), time.perf_counter()

        metered = asyncio.create_task(meter())
        await crowd(one, end)
        cpu, until = await metered
        told = tuple(len(town.line.phone(person(number)).messages) for number in used)
        numbered, doubles = await town.notes()
        grown = await _size(town.database_url) - size
    counted = [(taken, answered) for at, taken, answered in finished if begun + warm < at <= until]
    return Ran(
        done=len(counted),
        seconds=until - begun - warm,
        begun=len(used),
        notes=numbered,
        duplicates=doubles,
        taken=tuple(taken for taken, _ in counted),
        answered=tuple(answered for _, answered in counted),
        messages=told,
        cpu=cpu,
        stored=grown / max(1, numbered),
    )


async def _size(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await connection.close()


async def converse(town: Town, who: str, number: int, tomador: str) -> float:
    """One conversation; returns when its summary came. Raises ``TimeoutError`` when it stands still."""
    phone = town.line.phone(who)
    valor = brl(Decimal(100_000 + number * 7) / 100)
    await town.line.text(who, f"faz uma nota de {valor} pra {tomador}, consultoria de marketing")
    answered, summary = await phone.hear(0)
    buttons = [button["reply"] for button in summary["interactive"]["action"]["buttons"]]
    await town.line.tap(who, next(button for button in buttons if button["id"].startswith("confirmar:")))
    await _files(phone)
    return answered


async def _files(phone: Phone) -> None:
    missing = {".pdf", ".xml"}
    for place in itertools.count(1):
        _, message = await phone.hear(place)
        name = str(message.get("document", {}).get("filename", ""))
        missing.discard(name[-4:])
        if not missing:
            return
