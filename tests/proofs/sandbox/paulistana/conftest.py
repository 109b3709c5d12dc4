"""The city and a company before it."""

from __future__ import annotations

import pytest

from proofs.sandbox.nacional.authority import Authority
from tests.proofs.sandbox.paulistana.paulistana_company import opened


@pytest.fixture(scope="session")
def authority(tmp_path_factory) -> Authority:
    """One authority for all: its keys cost more than the tests."""
    return Authority(tmp_path_factory.mktemp("nacional"))


@pytest.fixture
async def ana(authority):
    """Ana before a city of usual configuration."""
    async with opened(authority) as company:
        yield company
