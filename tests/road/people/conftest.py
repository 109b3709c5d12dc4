from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gateway.plugnotas.adapter import NATUREZA, PlugNotas

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def signed_here() -> Iterator[None]:
    """Have the companies of a road sign with certificates that are kept here, on the gateway that it has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PlugNotas, "natureza", replace(NATUREZA, holds_certificate=False))
        yield
