"""The gateway: its two companies, its faults, its webhooks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from proofs.sandbox.faults import Fault
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig
from proofs.storm.channels.channel import Channel
from proofs.storm.crowd import Issuer
from proofs.storm.judge.readers.plugnotas import READER

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from proofs.sandbox.world import World, WorldConfig

ISSUERS: Final = (  # two, one of which numbers its RPS itself: nothing of one may appear in a note of the other
    Issuer("11222333000181", "ANA DESIGN ME", "12345678", "3550308", "mei", "170101"),
    Issuer(
        "99000001000101",
        "OFICINA QUASE NOVA FICTÍCIA LTDA",
        "445566",
        "3106200",
        "simples",
        "140101",
        cnae="4520001",
        aliquota="2.5",
        serie_rps="7",
        primeiro_rps=501,
    ),
)
BEFORE: Final = {Fault.DROP_BEFORE: 1, Fault.TOO_MANY: 2, Fault.ERROR_500: 2, Fault.HTML: 1, Fault.SLOW: 1}
AFTER: Final = {
    Fault.LOSE_ANSWER: 3,
    Fault.ERROR_500_ACCEPTED: 2,
    Fault.ACCEPT_LATE: 2,
    Fault.TRUNCATED: 1,
    Fault.HTML_ACCEPTED: 1,
    Fault.HANG: 1,
    Fault.OTHER_REFERENCE: 1,
    Fault.BAD_REQUEST_ACCEPTED: 1,
}
SECONDS: Final = {Fault.TOO_MANY: 2.0, Fault.SLOW: 2.0, Fault.ACCEPT_LATE: 4.0, Fault.HANG: 8.0}  # 8 s: past our wait
NO_NUMBER: Final = 0.02  # of the summaries of a note
WEBHOOKS: Final = {
    Fault.NO_WEBHOOK: 0.15,
    Fault.WEBHOOK_DUPLICATED: 0.25,
    Fault.WEBHOOK_LATE: 0.15,
    Fault.WEBHOOK_SHUFFLED: 0.25,
}


async def _ready(_database: Database, _world: World) -> None:
    """The gateway keeps the certificate itself."""


def _opens(config: WorldConfig) -> WorldConfig:
    return replace(config, plugnotas=PlugNotasConfig(processing=0.3, rendering=0.1))


def _last_number(world: World, cnpj: str, serie: str) -> int:
    given = (note.payload.get("rps") or {} for note in world.plugnotas.notes.values() if note.prestador == cnpj)
    return max((int(rps["numero"]) for rps in given if rps.get("serie") == serie and "numero" in rps), default=0)


PLUGNOTAS: Final = Channel(
    name="plugnotas",
    label="gateway",
    issuers=ISSUERS,
    before=BEFORE,
    after=AFTER,
    seconds=SECONDS,
    reader=READER,
    opens=_opens,
    simulator=lambda world: world.plugnotas,
    settings=lambda _world: {},
    ready=_ready,
    last_number=_last_number,
    busy=lambda world: bool(world.plugnotas.courier.pending),
    chances={Fault.NO_NUMBER: NO_NUMBER},
    webhooks=WEBHOOKS,
)
