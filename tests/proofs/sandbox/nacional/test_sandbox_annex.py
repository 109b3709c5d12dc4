"""The simulated SEFIN executes the sheet of rules: how many of them, and why not the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from proofs.sandbox.nacional.annex import annex
from proofs.sandbox.nacional.errors import Erro
from proofs.sandbox.nacional.register import City, Place, Taxpayer, is_city
from proofs.sandbox.nacional.rules import judge
from proofs.sandbox.nacional.table import RULES
from state_machine.protocol.channel import Ambiente
from tests.proofs.sandbox.nacional.nacional_company import ANA, PADARIA, invoice, unsigned

CITY = "3550308"
OF_THE_SIGNATURE = {"E0714", "E0715", "E0716", "E0717", "E0718"}  # of ``signer`` and ``broken``, tested there
OTHER_ISSUER = (
    "E0122 E0129 E0125 E0142 E0194 E0212 E0222 E0224 E0228 E0231 E0232 E0229 E0236 E0254 E0272 E0280 E0284 E0287 E0289 "
    "E0290 E0288 E0291 E0320 E0331 E0420 E0423 E0650 E0652 E0672 E0673"
)
EXCEPTIONS = {
    **dict.fromkeys(OTHER_ISSUER.split(), "needs an issuer who is not the provider: E9996 refuses every such DPS"),
    "E0074": "waits for its module, as the sheet itself says: there is no such event",
}


def of_the_note(code: str) -> bool:
    """Whether a rule is of the NFS-e, which SEFIN makes itself, and not of the DPS inside."""
    return "DPS/" not in annex().caminhos[code]


def test_every_rule_of_the_sheet_is_executed_or_has_its_reason() -> None:
    """All of them: no rule of a DPS is forgotten, no exception is executed after all."""
    told = {code for code in annex().mensagens if not of_the_note(code)}
    executed = (set(RULES) & set(annex().mensagens)) | OF_THE_SIGNATURE
    assert not executed & set(EXCEPTIONS)
    assert executed | set(EXCEPTIONS) == told
    assert (len(annex().mensagens), len(told), len(executed)) == (309, 275, 244)


def test_the_messages_are_the_authoritys() -> None:
    """A refusal speaks in the words of the sheet."""
    for code in set(RULES) | OF_THE_SIGNATURE:
        assert Erro(code).descricao != "Rejeição sem descrição."


def place(**changes) -> Place:
    """SEFIN now, in homologation."""
    return replace(Place(Ambiente.HOMOLOGACAO, "2", datetime.now(UTC)), **changes)


def test_an_ordinary_invoice_breaks_no_rule() -> None:
    """What the product makes passes the whole table."""
    assert judge(unsigned(invoice()), place()) == []


REGISTERS = [
    ("E0082", {"taxpayers": {ANA: Taxpayer(exists=False)}}),
    ("E0084", {"taxpayers": {ANA: Taxpayer(municipio="4106902")}}),
    ("E0160", {"taxpayers": {ANA: Taxpayer(regime="1")}}),
    ("E0190", {"closed": frozenset({PADARIA})}),
    ("E0310", {"cities": {CITY: City(services=frozenset())}}),
    ("E0540", {"cities": {CITY: City(free=frozenset({"010101"}))}}),
]


@pytest.mark.parametrize(("code", "changes"), REGISTERS, ids=[code for code, _ in REGISTERS])
def test_a_rule_looks_into_the_register(code: str, changes: dict[str, Any]) -> None:
    """The same document is refused where the registers say another thing."""
    assert judge(unsigned(invoice()), place(**changes)) == [code]


def test_the_check_digit_of_a_city() -> None:
    """Most codes have one; nine have another digit."""
    assert all(map(is_city, ("3550308", "3304557", "3106200", "5208707", "3515186", "4106902", "2201919")))
    assert not any(map(is_city, ("3550309", "9999999", "355030")))
