"""Says what each list of words is worth: the evaluation without it against the one with all of them.

Usage: ``python proofs/scripts/list_worth.py PART... [--only NAME...]``; a part is a file of cases or a folder of
authors' files. For every list of ``extractor/words`` the two readers read all of it in a process in which that list is
empty.
Printed are the readings that change, and the change of wrong certain amounts, right services and right acts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from extractor.words.lists import known

HEADS = ("readings", "wrong", "services", "acts")


def measure(parts: list[Path], without: str | None) -> tuple[list[str], tuple[int, int, int]] | None:
    """Return every reading, and the counts of what is wrong and of right services and acts; ``None``: it can't read."""
    if without is not None:
        known()[without].clear()
    from extractor.two_readers import TwoReaders  # noqa: PLC0415
    from extractor.utterance import Utterance  # noqa: PLC0415
    from proofs.reading.authors import evaluate_authors  # noqa: PLC0415 - imported modules have their lists
    from proofs.reading.evaluate import evaluate  # noqa: PLC0415

    readings: list[str] = []

    class Kept(TwoReaders):
        async def extract(self, texto: str, contexto: Any) -> Any:
            read = await super().extract(texto, contexto)
            said = Utterance(texto, read)
            readings.append(repr((read, said.ato, said.pedido, said.instrucao)))
            return read

    def counts(part: Path) -> tuple[int, int, int]:
        if part.is_dir():
            whole = asyncio.run(evaluate_authors(sorted(part.glob("*.jsonl")), Kept())).whole
            return whole.wrong, whole.descricao, whole.ato
        report = asyncio.run(evaluate(part, Kept()))
        return len(report.critical_wrong), report.correct["descricao"], report.correct["intent"]

    try:
        wrong, services, acts = zip(*map(counts, parts), strict=True)
    except KeyError:  # a pattern finds a word of which only this list says what it means
        return None
    return readings, (sum(wrong), sum(services), sum(acts))


def main() -> int:
    """Print a line for each list; the status is 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", type=Path)
    parser.add_argument("--only", nargs="+", choices=sorted(known()), default=sorted(known()))
    asked = parser.parse_args()
    os.environ["PYTHONHASHSEED"] = "0"  # sets are written alike in every process
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        results = pool.map(partial(measure, asked.parts), (None, *asked.only))
        readings, counts = next(results) or ([], (0, 0, 0))
        print("| list | words |", " | ".join(HEADS), "|\n|---|---|---|---|---|---|")
        print(f"| with all | {sum(map(len, known().values()))} | {len(readings)} |", " | ".join(map(str, counts)), "|")
        for name, result in zip(asked.only, results, strict=True):
            without, after = result or ([""] * len(readings), counts)
            changed = sum(a != b for a, b in zip(readings, without, strict=True))
            lost = " | ".join(f"{b - a:+d}" if result else "-" for a, b in zip(counts, after, strict=True))
            print(f"| {name} | {len(known()[name])} | {changed} | {lost} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
