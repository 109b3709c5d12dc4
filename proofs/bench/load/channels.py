"""The two roads to a note in a measurement: what the simulators are told, who issues, and whose book counts."""

from __future__ import annotations

import base64
import secrets
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from operations.certificate import keep_certificate
from persistence.crypto import KEY_BYTES, Vault, parse_keys
from proofs.demo.world import COMPANY, NATIONAL_COMPANY, SENHA
from proofs.sandbox.nacional.authority import Authority

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from operations.company import CompanyForm
    from persistence.db.engine import Database

PROCESSING: Final = 0.05  # seconds that the simulated city or SEFIN takes for a note
_MASTER_KEY: Final = base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()  # of this run alone


@dataclass(frozen=True, slots=True)
class Channel:
    """One road; ``urls`` and ``addresses`` are those that ``python -m proofs.sandbox`` prints.

    ``settings`` gives the product's environment beside what every run has, ``ready`` what the company needs beside its
    registration, ``notes`` reads the ``kinds`` of facts of the ``simulator`` as (numbered notes, notes too many).
    """

    name: str
    company: CompanyForm
    simulator: str
    words: Sequence[str]
    kinds: Sequence[str]
    settings: Callable[[Mapping[str, Any]], dict[str, str]]
    ready: Callable[[Database, Mapping[str, Any]], Awaitable[None]]
    notes: Callable[[Sequence[dict[str, Any]]], tuple[int, int]]
    warm: float = 3.0  # seconds before anything is counted: until the first wave of people is through


async def _nothing(_database: Database, _urls: Mapping[str, Any]) -> None:
    """PlugNotas keeps the certificate itself."""


async def _certify(database: Database, urls: Mapping[str, Any]) -> None:
    authority, company = Authority(Path(urls["nacional_ca_file"]).parent), NATIONAL_COMPANY
    file = authority.pfx_for(company.cnpj, SENHA, company.razao_social)
    await keep_certificate(database, Vault(parse_keys(_MASTER_KEY)), cnpj=company.cnpj, arquivo=file, senha=SENHA)


def _at_the_authority(urls: Mapping[str, Any]) -> dict[str, str]:
    return {
        "PROSA_FISCAL_ENVIRONMENT": "homologacao",  # the simulated authority's
        "PROSA_MASTER_KEY": _MASTER_KEY,
        "PROSA_NACIONAL_SEFIN_URL": urls["nacional_sefin"],
        "PROSA_NACIONAL_ADN_URL": urls["nacional_adn"],
        "PROSA_NACIONAL_CA_FILE": urls["nacional_ca_file"],
    }


def gateway_notes(records: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Return how many notes got a number at PlugNotas, and how many of them were one too many for their key."""
    keys: dict[str, str] = {}
    numbered: Counter[str] = Counter()
    for record in records:
        if record["kind"] == "note.created":
            keys[record["id"]] = record["payload"]["idIntegracao"]
        elif record.get("numero"):
            numbered[keys[record["id"]]] += 1
    return _counted(numbered)


def authority_notes(records: Sequence[dict[str, Any]]) -> tuple[int, int]:
    """Return the same of SEFIN: a note is one too many for the reference that its DPS carries."""
    return _counted(Counter(record["c_int_contrib"] for record in records))


def _counted(numbered: Counter[str]) -> tuple[int, int]:
    return sum(numbered.values()), sum(count - 1 for count in numbered.values())


PLUGNOTAS: Final = Channel(
    "plugnotas", COMPANY, "plugnotas", (), ("note.created", "note.settled"),
    lambda urls: {"PROSA_PLUGNOTAS_URL": urls["plugnotas"]}, _nothing, gateway_notes,
)  # fmt: skip
NACIONAL: Final = Channel(
    "nacional", NATIONAL_COMPANY, "sefin", ("--nacional",), ("nfse.issued",),
    _at_the_authority, _certify, authority_notes, warm=15.0,
)  # fmt: skip
