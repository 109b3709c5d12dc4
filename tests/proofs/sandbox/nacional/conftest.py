"""SEFIN, ADN and a company before them."""

from __future__ import annotations

import pytest

from proofs.sandbox.nacional.adn import AdnSimulator
from proofs.sandbox.nacional.authority import Authority
from tests.proofs.sandbox.nacional.nacional_company import opened


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    """One authority for all: its keys cost more than the tests."""
    return Authority(tmp_path_factory.mktemp("nacional"))


@pytest.fixture
async def ana(authority):
    """Ana before a SEFIN of usual configuration."""
    async with opened(authority) as company:
        yield company


@pytest.fixture
async def adn(authority, ana):
    """The ADN over Ana's SEFIN."""
    async with AdnSimulator(ana.sefin) as simulator:
        yield simulator
