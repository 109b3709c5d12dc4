"""SEFIN Nacional: three companies with a certificate each, and an authority that also takes an order 40 s late."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from operations.certificate import keep_certificate
from persistence.crypto import KEY_BYTES, Vault, parse_keys
from proofs.sandbox.faults import Fault
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.storm.channels.channel import Channel
from proofs.storm.crowd import Issuer
from proofs.storm.judge.readers.nacional import READER

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from proofs.sandbox.world import World, WorldConfig

ISSUERS: Final = (
    Issuer(
        "99000011000139",
        "CERRADO SOFTWARE FICTÍCIO LTDA",
        "87654321",
        "5208707",
        "simples",
        "010101",
        serie_rps="900",
        primeiro_rps=1,
        tributos_sn="6",
        canal="nacional",
    ),
    Issuer(
        "99000034000143",
        "MARIA DE EXEMPLO DA SILVA 00000000191",
        "7788",
        "3303302",
        "mei",
        "170101",
        serie_rps="901",
        primeiro_rps=41,
        canal="nacional",
    ),
    Issuer(
        "99000057000158",
        "PAMPA SISTEMAS FICTÍCIA LTDA",
        "99887",
        "4314902",
        "normal",
        "010101",
        serie_rps="902",
        primeiro_rps=7,
        tributos_federal="13.45",
        tributos_estadual="0",
        tributos_municipal="2",
        canal="nacional",
    ),
)
BEFORE: Final = {
    Fault.DROP_BEFORE: 1,
    Fault.TOO_MANY: 2,
    Fault.ERROR_500: 2,
    Fault.UNAVAILABLE: 1,
    Fault.MAINTENANCE: 1,
    Fault.NO_CRL: 1,
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
}
LATE: Final = 40.0  # seconds after the connection was cut; our last look for a lost order comes after 42
SECONDS: Final = {
    Fault.TOO_MANY: 2.0,
    Fault.UNAVAILABLE: 2.0,
    Fault.SLOW: 2.0,
    Fault.ACCEPT_LATE: LATE,
    Fault.HANG: 8.0,  # past our wait
}
PROCESSING: Final = 0.2  # seconds
SENHA: Final = "tempestade"
DAY: Final = 86_400.0
YEAR: Final = 365 * DAY
MASTER_KEY: Final = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()  # of this run alone


async def _ready(database: Database, world: World) -> None:
    for issuer in ISSUERS:
        await certify(database, world, issuer, YEAR)


async def certify(database: Database, world: World, issuer: Issuer, seconds: float) -> None:
    """Keep a new A1 file of a company that is good for so many ``seconds``."""
    file = world.authority.pfx_for(issuer.cnpj, SENHA, issuer.razao_social, days=seconds / DAY)
    cofre, roots = Vault(parse_keys(MASTER_KEY)), world.authority.ca_file.read_bytes()
    await keep_certificate(database, cofre, cnpj=issuer.cnpj, arquivo=file, senha=SENHA, raizes=roots)


def _settings(world: World) -> dict[str, str]:
    urls = world.urls
    told = {
        "PROSA_NACIONAL_SEFIN_URL": urls.nacional_sefin,
        "PROSA_NACIONAL_ADN_URL": urls.nacional_adn,
        "PROSA_NACIONAL_CA_FILE": urls.nacional_ca_file,
    }
    return {
        "PROSA_FISCAL_ENVIRONMENT": "homologacao",  # the simulated authority's
        "PROSA_MASTER_KEY": MASTER_KEY,
        **{name: value for name, value in told.items() if value is not None},
    }


def _opens(config: WorldConfig) -> WorldConfig:
    return replace(config, nacional=NacionalConfig(processing=PROCESSING))


NACIONAL: Final = Channel(
    name="nacional",
    label="SEFIN",
    issuers=ISSUERS,
    before=BEFORE,
    after=AFTER,
    seconds=SECONDS,
    reader=READER,
    opens=_opens,
    simulator=lambda world: world.sefin,
    settings=_settings,
    ready=_ready,
    certify=certify,
    busy=lambda world: world.sefin.working,  # it still takes what came late
)
