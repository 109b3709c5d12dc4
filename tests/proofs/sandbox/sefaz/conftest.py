"""SEFAZ and a shop before it."""

from __future__ import annotations

import pytest

from proofs.sandbox.nacional.authority import Authority
from tests.proofs.sandbox.sefaz.sefaz_shop import opened


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    """One authority for all: its keys cost more than the tests."""
    return Authority(tmp_path_factory.mktemp("sefaz"))


@pytest.fixture
async def shop(authority):
    """The shop before a SEFAZ of usual configuration."""
    async with opened(authority) as one:
        yield one
