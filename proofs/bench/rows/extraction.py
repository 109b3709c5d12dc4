"""Reading by rules: how long one message takes, over the labelled corpus of the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from extractor.evaluation.evaluate import evaluate
from extractor.two_readers import TwoReaders
from proofs.bench.figure import Figure, at_most, percentile
from proofs.bench.machine.child import ROOT

if TYPE_CHECKING:
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "extraction"
CORPUS = ROOT / "tests" / "corpus" / "dev.jsonl"


async def measure(_: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures: none in an installation without the tests' corpus."""
    if not CORPUS.exists():
        plan.step("extraction ficou de fora: esta instalação não tem o corpus")
        return []
    await evaluate(CORPUS, TwoReaders())  # warm: patterns are compiled at their first use

    async def read() -> list[float]:
        return (await evaluate(CORPUS, TwoReaders())).latencies

    rounds = (await plan.in_turns({"regras": read}))["regras"]
    return [
        Figure(row=ROW, name=f"uma mensagem pelas regras, {name}", unit="ms",
               ours=tuple(percentile(taken, share) for taken in rounds), reach=bound,
               note=f"{len(rounds[0])} mensagens")
        for name, share, bound in (("p50", 0.5, None), ("p95", 0.95, at_most(5)))
    ]  # fmt: skip
