"""Trains the models from labelled messages; the same data give the same weights."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pycrfsuite

from extractor.learned.evidence import evidence
from extractor.learned.reader import ACTS, CERTAINTY, RIGHT, ROLES, WRONG, LearnedReader, act_features, role_features
from extractor.rules import read_turn
from proofs.reading.corpus import digest, messages, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proofs.reading.corpus import Labelled

MANIFEST: Final = "manifesto.json"
# L1 keeps few weights, L2 keeps them small; all were chosen by holding authors out of the training part.
FOR_ROLES: Final = {"c1": 0.1, "c2": 0.5, "max_iterations": 80, "feature.minfreq": 2}
FOR_ACTS: Final = {"c1": 0.1, "c2": 0.3, "max_iterations": 100, "feature.minfreq": 2}
FOR_CERTAINTY: Final = {"c1": 0.1, "c2": 1.0, "max_iterations": 100}
FOLDS: Final = 4


def train(files: Sequence[Path], folder: Path) -> dict[str, Any]:
    """Write the models and their manifest into ``folder``; returns the manifest.

    How sure an amount is, is learned from readings of authors whom the other two models have not seen.
    """
    folder.mkdir(parents=True, exist_ok=True)
    labelled = list(messages(files))
    certainty = _trainer(FOR_CERTAINTY)
    for message, reader in _unseen(labelled):
        learned, rules = reader.read(message.texto, message.situacao), read_turn(message.texto, message.contexto)
        for found in evidence(rules, learned, message.contexto):
            certainty.append([list(found.features)], [RIGHT if found.valor in message.valores else WRONG])
    certainty.train(str(folder / CERTAINTY))
    train_readers(labelled, folder)
    manifest = {
        "dados": digest(files),
        "autores": [file.stem for file in files],
        "mensagens": len(labelled),
        "pesos": {name: digest([folder / name]) for name in (ROLES, ACTS, CERTAINTY)},
    }
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return manifest


def train_readers(labelled: Sequence[Labelled], folder: Path) -> None:
    """Write the models of roles and acts into ``folder``."""
    roles, acts = _trainer(FOR_ROLES), _trainer(FOR_ACTS)
    for message in labelled:
        words = words_of(message)
        if words:
            roles.append(role_features(words, message.situacao), message.tags(words))
            acts.append([act_features(words, message.situacao)], [message.ato])
    roles.train(str(folder / ROLES))
    acts.train(str(folder / ACTS))


def _unseen(labelled: Sequence[Labelled]) -> Iterator[tuple[Labelled, LearnedReader]]:
    """Return each message with a reader that learned from other authors only."""
    authors = sorted({message.autor for message in labelled})
    for fold in range(FOLDS):
        held = set(authors[fold::FOLDS])
        with tempfile.TemporaryDirectory() as folder:
            train_readers([message for message in labelled if message.autor not in held], Path(folder))
            reader = LearnedReader(Path(folder))
            yield from ((message, reader) for message in labelled if message.autor in held)


def _trainer(parameters: dict[str, float]) -> pycrfsuite.Trainer:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params(parameters)
    return trainer
