"""No text that a stranger may send costs a pattern, a mask or a reading more than a moment of CPU."""

from __future__ import annotations

import random
from datetime import date

import pytest
from adversaries import LENGTH, PACKAGES, RUNS, calls, cpu_ms, fill, patterns, texts
from nightly import size

from bot.observability import _masked
from console import masks
from extractor.contract import Context
from extractor.rules import extract
from gateway.scrub import scrub
from state_machine.fields import Campo

BOUND_MS = 20.0  # of CPU for 4,096 characters
SEED = 20261123
MOST = size(12, 200)  # words of a pattern that are tried, of each kind
# Patterns made at run time: (where, why nobody's text can make them slow).
MADE = {
    "extractor/description.py:_swap": "one escaped word of 3 to 41 characters between two borders",
    "extractor/grounding.py:_literally": "escaped words of a text that holds 1,500 characters at most",
    "persistence/person.py:_apply": "names of our own parameters over our own statements",
}


@pytest.mark.timeout(600)  # some 350 patterns, a few hundred texts each
@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_takes_more_than_twenty_milliseconds_for_4096_characters(package):
    """Every pattern of the tree, wherever it is held, reads any text of 4,096 characters in 20 ms of CPU."""
    slow = []
    for where, pattern in patterns(package).items():
        rng = random.Random(f"{SEED} {where}")
        for text in texts(pattern, rng, MOST):
            subject = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")[:LENGTH]
            took = cpu_ms(lambda: [pattern.sub(_nothing, subject), pattern.fullmatch(subject)], BOUND_MS)  # noqa: B023
            if took > BOUND_MS:
                slow.append(f"{took:.0f} ms: {where} on {text[:40]!r}… {text[-3:]!r}")
                break
    assert not slow, "\n".join(slow)


def _nothing(match):
    return match[0][:0]
