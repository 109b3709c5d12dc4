"""What a storm needs to know of a fiscal channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from persistence.db.engine import Database
    from proofs.sandbox.faults import Fault
    from proofs.sandbox.server import Simulator
    from proofs.sandbox.world import World, WorldConfig
    from proofs.storm.crowd import Issuer
    from proofs.storm.judge.note import Reader
    from state_machine.protocol.channel import Ambiente


class Certify(Protocol):
    """Keeps a new certificate of a company."""

    async def __call__(self, database: Database, world: World, issuer: Issuer, seconds: float) -> None:
        """Keep one that is good for so many ``seconds``."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel. ``label`` is its authority's name where a person reads it.

    ``before`` and ``after`` divide the share of faulty calls, by weight: those strike any call before anything is
    taken, these orders that are taken all the same. ``chances`` are faults with a chance of their own, ``webhooks``
    those of its webhooks; ``seconds`` is how long a fault lasts.

    ``opens`` changes the simulated world so that it has the channel. ``settings`` are the product's, beside those of
    every storm; ``ready`` gives the companies what they need beside their registration. ``busy`` says whether
    something there is still on its way. ``certify`` keeps a new certificate of one company that is good for so many
    seconds, where the channel signs with one. ``last_number`` is what an operator reads there of a company's series,
    where the numbers are ours and nobody can ask for them. ``ambiente`` is that of its companies, whatever the other
    channels' is; ``None``: the installation's.
    """

    name: str
    label: str
    issuers: tuple[Issuer, ...]
    before: Mapping[Fault, int]
    after: Mapping[Fault, int]
    seconds: Mapping[Fault, float]
    reader: Reader
    opens: Callable[[WorldConfig], WorldConfig]
    simulator: Callable[[World], Simulator]
    settings: Callable[[World], dict[str, str]]
    ready: Callable[[Database, World], Awaitable[None]]
    busy: Callable[[World], bool]
    certify: Certify | None = None
    last_number: Callable[[World, str, str], int] | None = None
    ambiente: Ambiente | None = None
    chances: Mapping[Fault, float] = field(default_factory=dict)
    webhooks: Mapping[Fault, float] = field(default_factory=dict)
