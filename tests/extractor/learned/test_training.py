from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from extractor.learned.reader import ACTS, CERTAINTY, ROLES, WEIGHTS, LearnedReader, Rotulo
from proofs.reading.corpus import digest, messages
from proofs.reading.training import MANIFEST, train

AUTHORS = Path(__file__).parents[2] / "corpus" / "authors"
TRAIN = sorted((AUTHORS / "train").glob("*.jsonl"))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The first messages of four authors, one file each."""
    folder = tmp_path_factory.mktemp("few")
    for file in TRAIN[:4]:
        (folder / file.name).write_bytes(b"\n".join(file.read_bytes().splitlines()[:25]) + b"\n")
    return sorted(folder.glob("*.jsonl"))


def test_the_weights_are_those_of_the_data() -> None:
    """Whoever changes the training part, or a file of weights, must train again: `prosa treinar`."""
    manifest = orjson.loads((WEIGHTS / MANIFEST).read_bytes())
    assert manifest["dados"] == digest(TRAIN)
    assert manifest["pesos"] == {name: digest([WEIGHTS / name]) for name in (ROLES, ACTS, CERTAINTY)}


def test_the_same_data_give_the_same_weights(few: list[Path], tmp_path: Path) -> None:
    """Two runs on one machine write the same bytes."""
    assert train(few, tmp_path / "a") == train(few, tmp_path / "b")


def test_what_was_learned_is_read(few: list[Path], tmp_path: Path) -> None:
    """Most totals of the very messages that it learned from are seen as totals again."""
    train(few, tmp_path)
    reader = LearnedReader(tmp_path)
    due = seen = 0
    for message in messages(few):
        said = message.snippets(Rotulo.TOTAL)
        found = [message.texto[m.start : m.end] for m in reader.read(message.texto, message.situacao).of(Rotulo.TOTAL)]
        due += len(said)
        seen += sum(each in found for each in said)
    assert due > 20
    assert seen >= 0.9 * due


def test_the_weights_are_small() -> None:
    """They are part of every installation: at most 10 MB."""
    assert sum((WEIGHTS / name).stat().st_size for name in (ROLES, ACTS, CERTAINTY)) <= 10_000_000
