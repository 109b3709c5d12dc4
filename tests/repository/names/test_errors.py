"""Every error of the product has one base and a code of its own."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter

from proofs.scripts.words import PRODUCT
from state_machine.values.errors import ProsaError


def _modules():
    """Import every module of the product; migrations run under Alembic alone, and ``__main__`` is a program."""
    for name in PRODUCT:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if ".migrations" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _errors(base: type[BaseException]) -> set[type[BaseException]]:
    found = set()
    for kind in type.__subclasses__(base):
        found |= {kind} | _errors(kind)
    return {kind for kind in found if kind.__module__.partition(".")[0] in PRODUCT}


def test_every_error_has_the_base_and_a_code_of_its_own():
    """Whoever catches ``ProsaError`` catches all of ours; a code names one kind. Private ones stay in their module."""
    _modules()
    ours = {kind for kind in _errors(BaseException) if not kind.__name__.startswith("_")} - {ProsaError}
    assert [kind.__qualname__ for kind in ours if not issubclass(kind, ProsaError)] == []
    assert [kind.__qualname__ for kind in ours if not re.fullmatch("[a-z_]+", vars(kind).get("code", ""))] == []
    codes = Counter(vars(kind)["code"] for kind in ours)
    assert [code for code, times in codes.items() if times > 1] == []
    assert len(ours) > 30
