"""The city of São Paulo: two companies with a certificate each, whose RPS cancels the note of one sent before it.

It has no test host: its companies issue in producao beside those of a national channel in homologação.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from proofs.sandbox.faults import Fault
from proofs.sandbox.paulistana.rules import PaulistanaConfig
from proofs.storm.channels.channel import Channel
from proofs.storm.channels.nacional import MASTER_KEY, YEAR, certify
from proofs.storm.crowd import Issuer
from proofs.storm.judge.readers.paulistana import READER
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from proofs.sandbox.world import World, WorldConfig

ISSUERS: Final = (
    Issuer(
        "99000080000142",
        "PINHEIROS CONSULTORIA FICTÍCIA LTDA",
        "31000000",
        "3550308",
        "normal",
        "02658",
        aliquota="5",
        serie_rps="PROSA",
        primeiro_rps=1,
        nbs="118054000",
        ind_op="100301",
        class_trib="000001",
        canal="paulistana",
    ),
    Issuer(
        "99000083000186",
        "MOOCA ENGENHARIA FICTÍCIA LTDA",
        "31000018",
        "3550308",
        "normal",
        "01520",
        aliquota="2.9",
        serie_rps="PR2",
        primeiro_rps=77,
        nbs="114032100",
        ind_op="020101",
        class_trib="000001",
        canal="paulistana",
    ),
)
BEFORE: Final = {
    Fault.DROP_BEFORE: 2,
    Fault.TOO_MANY: 1,
    Fault.ERROR_500: 2,
    Fault.UNAVAILABLE: 1,
    Fault.HTML: 1,
    Fault.SLOW: 1,
}
AFTER: Final = {
    Fault.LOSE_ANSWER: 3,
    Fault.ERROR_500_ACCEPTED: 2,
    Fault.ACCEPT_LATE: 2,
    Fault.TRUNCATED: 1,
    Fault.HTML_ACCEPTED: 1,
    Fault.HANG: 1,
    Fault.OTHER_REFERENCE: 1,
    Fault.WRONG_ROOT: 1,
}
LATE: Final = 8.0  # seconds after the connection was cut, in the city's front end
SECONDS: Final = {
    Fault.TOO_MANY: 2.0,
    Fault.UNAVAILABLE: 2.0,
    Fault.SLOW: 2.0,
    Fault.ACCEPT_LATE: LATE,
    Fault.HANG: 8.0,
    Fault.READ_LAG: 20.0,
}
CHANCES: Final = {Fault.NO_NUMBER: 0.02, Fault.READ_LAG: 0.2}
# How old a send is at its first absence, and how far the second lies from it: past a frozen worker's 22 s and ``LATE``,
# as 210 and 60 s are past the 90 s of a real sending.
ABSENCES: Final = (34.0, 4.0)
PROCESSING: Final = 0.2  # seconds


async def _ready(database: Database, world: World) -> None:
    for issuer in ISSUERS:
        await certify(database, world, issuer, YEAR)


def _settings(world: World) -> dict[str, str]:
    urls = world.urls
    told = {"PROSA_PAULISTANA_URL": urls.paulistana, "PROSA_PAULISTANA_CA_FILE": str(world.authority.ca_file)}
    return {
        "PROSA_PAULISTANA_ABSENCE_SECONDS": ",".join(f"{seconds:g}" for seconds in ABSENCES),
        "PROSA_MASTER_KEY": MASTER_KEY,
        **{name: value for name, value in told.items() if value is not None},
    }


def _opens(config: WorldConfig) -> WorldConfig:
    return replace(config, paulistana=PaulistanaConfig(processing=PROCESSING, late=LATE))


PAULISTANA: Final = Channel(
    name="paulistana",
    label="São Paulo",
    issuers=ISSUERS,
    before=BEFORE,
    after=AFTER,
    seconds=SECONDS,
    reader=READER,
    opens=_opens,
    simulator=lambda world: world.paulistana,
    settings=_settings,
    ready=_ready,
    certify=certify,
    ambiente=Ambiente.PRODUCAO,
    busy=lambda world: world.paulistana.working,  # it still takes what came late
    chances=CHANCES,
)
