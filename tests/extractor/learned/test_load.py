"""What the readers load into a process, in memory against the product that was imported; never in time."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from extractor.learned.reader import ACTS, CERTAINTY, ROLES, WEIGHTS
from tests import children

ROOT = Path(__file__).parents[3]
# Bytes of this process alone, and how often weights and table were loaded: with the product imported, after the first
# turn and search, after many more.
READS = """
import asyncio, datetime, json, psutil
import bot.house
from extractor.contract import Context
from extractor.learned.reader import learned_reader
from extractor.two_readers import TwoReaders
from state_machine.services.codes import table
from state_machine.services.search import search

def mine():
    loads = [learned_reader.cache_info().misses, table.cache_info().misses]
    memory = psutil.Process().memory_full_info()
    return memory.uss + memory.swap, loads

def read(number):
    texto = f"nota de {number}.500 pra 11.222.333/0001-81, consultoria {number}"
    return asyncio.run(TwoReaders().extract(texto, Context(datetime.date(2026, 11, 26))))

seen = [mine()]
for turns in (1, 50):
    for number in range(turns):
        assert read(number + 1).candidates
        assert search("consultoria em informática")
    seen.append(mine())
print(json.dumps(seen))
"""


def test_the_weights_and_the_word_lists_are_loaded_once_and_by_the_first_turn() -> None:
    """Importing the product loads no weights, the first turn one copy of them, later turns no further one."""
    done = children.run([sys.executable, "-c", READS], cwd=ROOT, capture_output=True, text=True, check=True)
    (product, *_), (first, *_), (later, *_) = seen = json.loads(done.stdout)
    assert [loads for _, loads in seen] == [[0, 0], [1, 1], [1, 1]]
    weights = sum((WEIGHTS / name).stat().st_size for name in (ROLES, ACTS, CERTAINTY))
    assert weights / 2 <= first - product <= 1.6 * weights
    assert first - product <= product / 4
    assert later - first <= weights / 4
