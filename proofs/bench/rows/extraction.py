"""Reading: what CPU one message takes by the rules, and by both readers, over the labelled corpus of the tests."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from extractor.rules import RulesExtractor
from extractor.two_readers import TwoReaders
from proofs.bench.figure import Figure, at_most, percentile
from proofs.bench.machine.child import ROOT
from proofs.reading.evaluate import evaluate

if TYPE_CHECKING:
    from extractor.contract import Context, Extraction, Extractor
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "extraction"
CORPUS = ROOT / "tests" / "corpus" / "dev.jsonl"


class _Clocked:
    """An extractor whose CPU is counted, which other work on the machine does not change."""

    def __init__(self, inside: Extractor) -> None:
        self._inside = inside
        self.spent: list[float] = []  # ms

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        began = time.thread_time()
        read = await self._inside.extract(texto, contexto)
        self.spent.append((time.thread_time() - began) * 1000)
        return read


async def measure(_: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures: none in an installation without the tests' corpus."""
    if not CORPUS.exists():
        plan.step("extraction ficou de fora: esta instalação não tem o corpus")
        return []
    await evaluate(CORPUS, TwoReaders())  # warm: patterns are compiled at their first use

    async def read(extractor: Extractor) -> list[float]:
        clocked = _Clocked(extractor)
        await evaluate(CORPUS, clocked)
        return clocked.spent

    sides = {"pelas regras": partial(read, RulesExtractor()), "pelos dois leitores": partial(read, TwoReaders())}
    return [
        Figure(row=ROW, name=f"CPU de uma mensagem {side}, {name}", unit="ms",
               ours=tuple(percentile(taken, share) for taken in rounds), reach=bound,
               note=f"{len(rounds[0])} mensagens")
        for side, rounds in (await plan.in_turns(sides)).items()
        for name, share, bound in (("p50", 0.5, None), ("p99", 0.99, at_most(8)))
    ]  # fmt: skip
