"""SEFAZ: shops that sell goods by NF-e and by NFC-e, over one authority that loses answers and finds notes late."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from operations.goods import add
from proofs.sandbox.faults import Fault
from proofs.sandbox.sefaz.rules import SefazConfig
from proofs.storm.channels.channel import Channel
from proofs.storm.channels.nacional import MASTER_KEY, YEAR, certify
from proofs.storm.crowd import GOODS, Issuer
from proofs.storm.judge.readers.goods import reader
from state_machine.documents import Endereco

if TYPE_CHECKING:
    from persistence.db.engine import Database
    from proofs.sandbox.world import World, WorldConfig

SAO_PAULO: Final = Endereco("RUA DAS FEIRAS", "10", "CENTRO", "3550308", "São Paulo", "SP", "01310000")
CURITIBA: Final = Endereco("RUA DAS LOJAS", "20", "CENTRO", "4106902", "Curitiba", "PR", "80010000")
SHOPS: Final = {
    "nfe": (
        Issuer(
            "99000090000188",
            "PENHA PRESENTES FICTÍCIA LTDA",
            "32000000",
            "3550308",
            "simples",
            "140101",
            canal="nfe",
            mercado=("nfe",),
            inscricao_estadual="110042490114",
            serie_nfe=7,
            primeiro_nfe=100,
            endereco=SAO_PAULO,
        ),
        Issuer(
            "99000091000122",
            "BATEL BRINDES FICTÍCIA",
            "32000018",
            "4106902",
            "mei",
            "140101",
            canal="nfe",
            mercado=("nfe", "nfce"),
            inscricao_estadual="9012345600",
            serie_nfe=8,
            primeiro_nfe=1,
            endereco=CURITIBA,
        ),
    ),
    "nfce": (
        Issuer(
            "99000092000177",
            "LAPA LEMBRANÇAS FICTÍCIA LTDA",
            "32000026",
            "3550308",
            "simples",
            "140101",
            canal="nfce",
            mercado=("nfe", "nfce"),
            inscricao_estadual="110042490114",
            serie_nfce=17,
            primeiro_nfce=1,
            endereco=SAO_PAULO,
        ),
        Issuer(
            "99000093000111",
            "PORTÃO CANECAS FICTÍCIA",
            "32000034",
            "4106902",
            "mei",
            "140101",
            canal="nfce",
            mercado=("nfce",),
            inscricao_estadual="9012345600",
            serie_nfce=18,
            primeiro_nfce=300,
            endereco=CURITIBA,
        ),
    ),
}
BEFORE: Final = {
    Fault.DROP_BEFORE: 2,
    Fault.TOO_MANY: 1,
    Fault.ERROR_500: 2,
    Fault.UNAVAILABLE: 1,
    Fault.MAINTENANCE: 1,
    Fault.UNCATALOGUED: 1,
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
    Fault.QUEUED: 1,
    Fault.RECEIPT: 1,
    Fault.UNCATALOGUED_ACCEPTED: 1,
}
LATE: Final = 8.0  # seconds
SECONDS: Final = {
    Fault.TOO_MANY: 2.0,
    Fault.UNAVAILABLE: 2.0,
    Fault.SLOW: 2.0,
    Fault.ACCEPT_LATE: LATE,
    Fault.QUEUED: LATE,
    Fault.RECEIPT: LATE,
    Fault.HANG: 8.0,
    Fault.READ_LAG: 20.0,
}
CHANCES: Final = {Fault.NO_NUMBER: 0.02, Fault.READ_LAG: 0.2}
# How old a send is at its first absence, and how far the second lies from it: past a frozen worker's 22 s and ``LATE``.
ABSENCES: Final = (34.0, 4.0)
# Seconds. A key's eight questions an hour outlast the storm: three tell a sending's absence, as few as in earnest.
LADDER: Final = (8.0, 30.0, 30.0, 60.0, 120.0, 240.0)
PROCESSING: Final = 0.1  # seconds


async def _ready(database: Database, world: World, canal: str) -> None:
    for issuer in SHOPS[canal]:
        await certify(database, world, issuer, YEAR)
        for each in GOODS:
            told = {"codigo": each.codigo, "texto": each.texto, "ncm": each.ncm, "preco": f"{each.preco:.2f}"}
            told |= {"cfop": "5102", "csosn": "102", "unidade": "UN"}
            await add(database, issuer.cnpj, {**told, "preco": told["preco"].replace(".", ",")})


def _settings(world: World) -> dict[str, str]:
    return {
        "PROSA_SEFAZ_URL": world.urls.sefaz_url or "",
        "PROSA_SEFAZ_CA_FILE": str(world.authority.ca_file),
        "PROSA_SEFAZ_ABSENCE_SECONDS": ",".join(f"{seconds:g}" for seconds in ABSENCES),
        "PROSA_SEFAZ_LADDER": ",".join(f"{seconds:g}" for seconds in LADDER),
        "PROSA_MASTER_KEY": MASTER_KEY,
    }


def _opens(config: WorldConfig) -> WorldConfig:
    return replace(config, sefaz=SefazConfig(processing=PROCESSING))


def _channel(name: str, modelo: str) -> Channel:
    """Return the row of one model; both have the same authority, and each reads its own notes in the one book."""
    return Channel(
        name=name,
        label=f"SEFAZ, modelo {modelo}",
        issuers=SHOPS[name],
        before=BEFORE,
        after=AFTER,
        seconds=SECONDS,
        reader=reader(name, modelo),
        opens=_opens,
        simulator=lambda world: world.sefaz,
        settings=_settings,
        ready=partial(_ready, canal=name),
        certify=certify,
        busy=lambda world: world.sefaz.working or bool(world.sefaz.waiting),  # it still takes what came late
        chances=CHANCES,
    )


NFE: Final = _channel("nfe", "55")
NFCE: Final = _channel("nfce", "65")
