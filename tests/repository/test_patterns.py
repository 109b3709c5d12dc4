"""No text that a stranger may send costs a pattern, a mask or a reading more than a moment of CPU."""

from __future__ import annotations

import random
from datetime import date
from typing import Any

import pytest

from extractor.contract import Context
from extractor.requests.cancellation import request
from extractor.requests.requests import read_request
from extractor.rules import extract
from gateway.http.wire import mask
from state_machine.invoice.fields import Campo
from telemetry.logs import _masked
from tests.adversaries import LENGTH, PACKAGES, RUNS, calls, cpu_ms, fill, patterns, texts
from tests.nightly import size
from webhooks.console.render import masks

BOUND_MS = 20.0  # of CPU for 4,096 characters
WHOLE_MS = 30.0  # of all patterns of a reading or a mask
SEED = 20261123
# A quarter of a text goes first: what takes 0.3 ms there takes 19 ms for the whole even where the cost is cubic.
QUARTER, CHEAP_MS = LENGTH // 4, size(0.3, 0.0)
MOST = size(4, 200)  # words of a pattern that are tried, of each kind
# Patterns made at run time: (where, why nobody's text can make them slow).
MADE = {
    "extractor/fields/description.py:_swap": "one escaped word of 3 to 41 characters between two borders",
    "extractor/fields/description.py:_counted": "an escaped word of the message behind a number",
    "extractor/fields/description.py:_removed": "escaped words of at most 120 characters between two borders",
    "extractor/model/grounding.py:_text": "escaped words of a text that holds 1,500 characters at most",
    "extractor/text/folding.py:__init__": "held by whoever makes a ``Cued``, and measured there",
    "extractor/amounts/roles.py:group": "likewise, in the groups of two modules",
    "state_machine/goods.py:_like": "held in ``_FORMAS``: shapes of one code each, of at most 60 characters",
    "webhooks/api/items.py:_shaped": "a number of at most 14 characters",
    "persistence/people/person.py:statement": "names of our own parameters over our own statements",
}


@pytest.mark.timeout(900)  # at night; an ordinary run takes seconds
@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_takes_more_than_twenty_milliseconds_for_4096_characters(package):
    """Every pattern of the tree, wherever it is held, reads any text of 4,096 characters in 20 ms of CPU."""
    slow = []
    for where, pattern in patterns(package).items():
        rng = random.Random(f"{SEED} {where}")  # noqa: S311 - a seed makes the texts the same in each run
        for text in texts(pattern, rng, MOST):
            subject: Any = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")[:LENGTH]
            begin = subject[:QUARTER] + subject[-3:]
            if cpu_ms(lambda: pattern.sub(_nothing, begin), CHEAP_MS, 1) <= CHEAP_MS:  # noqa: B023
                continue
            took = cpu_ms(lambda: [pattern.sub(_nothing, subject), pattern.fullmatch(subject)], BOUND_MS)  # noqa: B023
            if took > BOUND_MS:
                slow.append(f"{took:.0f} ms: {where} on {text[:40]!r}… {text[-3:]!r}")
                break
    assert not slow, "\n".join(slow)


def _nothing(match):
    return match[0][:0]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_pattern_made_at_run_time_is_known_by_name(package):
    """Only those of ``MADE`` are made of something else than a literal, so that all others are measured."""
    made = {where for where, literal, _ in calls(package) if literal is None}
    assert made == {where for where in MADE if where.startswith(f"{package}/")}


WORDS = (
    "nota ", "total ", "parcela ", "1500 ", "12.345.678/0001-95 ", "pra ", "cnpj ", "dia 10/11 ", "de ", "cancela ",
    "mil ", "reais ", "vinte e ", "uma nota pra 1 ", "rua a, 1 ", "1/1 ", "a@b.co ", "sim ", "nao ",
    "em vez de a por b ",
    "onze ", "fiz ", "nome: a ", "cliente a ", "11 98765-4321 ", "3x de 100 ", "5 horas a 10 ", "٢", "😀",
    "e\u0301", "ﷺ",
)  # fmt: skip
KNOWN = {Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"}
FRESH = Context(date(2026, 11, 23))
SHOWN = Context(date(2026, 11, 23), Campo.DESCRICAO, resumo_mostrado=True, conhecidos=KNOWN)
WHOLE = {
    "masks.text": masks.text,
    "masks.tree": lambda text: masks.tree({"nome": text, text: [text]}),
    "masks.person": masks.person,
    "masks.phone": masks.phone,
    "masks.document": masks.document,
    "observability": _masked,
    "gateway.http.wire": mask,
    "a reading": lambda text: extract(text, FRESH),
    "a reading of an answer": lambda text: extract(text, SHOWN),
    "a request": read_request,
    "a cancellation": lambda text: request(f"cancela {text}"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_no_mask_and_no_reading_takes_longer_than_its_bound(name):
    """A mask takes 30 ms of a quiet machine at most, and so does all that the rules do with one message."""
    took = {piece: cpu_ms(lambda: WHOLE[name](fill(piece)), WHOLE_MS) for piece in (*RUNS, *WORDS)}  # noqa: B023
    slow = {piece: round(ms) for piece, ms in took.items() if ms > WHOLE_MS}
    assert not slow
