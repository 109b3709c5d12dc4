"""A name has one language: English for mechanism and files, the glossary's Portuguese, or a name fixed outside.

``python proofs/scripts/words.py`` names each new word and says to which list it belongs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proofs.scripts import words

if TYPE_CHECKING:
    from pathlib import Path


def of_no_list(used: dict[str, str]) -> dict[str, str]:
    """The words that neither of the lists has, with a module of each."""
    return {
        word: path for word, path in used.items() if word not in words.english() | words.portuguese() | words.outside()
    }


def test_every_word_of_a_public_name_is_english_or_in_the_glossary():
    """A new Portuguese word needs a row in docs/glossario.md, a new English one
    ``python proofs/scripts/words.py WORD``.
    """
    assert of_no_list(words.name_words()) == {}


def test_files_and_folders_have_english_names():
    """The glossary's words stand for what an accountant says; the file that holds them is named in English."""
    english = words.english() | words.outside()
    assert {word: path for word, path in words.file_words().items() if word not in english} == {}


def test_no_word_is_in_two_lists_or_in_a_list_without_need():
    """The English list is sorted, names only what the tree uses, and takes no word of the glossary."""
    listed = words.ENGLISH.read_text("utf-8").split()
    used = {**words.name_words(), **words.file_words()}
    assert listed == sorted(set(listed))
    assert sorted(words.english() & (words.portuguese() | words.outside())) == []
    assert sorted((words.english() | words.outside()) - used.keys()) == []


def test_a_module_in_portuguese_is_refused(tmp_path: Path):
    """``rascunhos_velhos.py`` fails twice: for its name, and for a word inside that the glossary does not have."""
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "rascunhos_velhos.py").write_text("class RascunhosVelhos:\n    velhos: int\n", "utf-8")
    english = words.english() | words.outside()
    assert {word for word in words.file_words(tmp_path) if word not in english} == {"rascunhos", "velhos"}
    assert of_no_list(words.name_words(tmp_path)) == {"velhos": "bot/rascunhos_velhos.py"}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("id_integracao", ["id", "integracao"]),
        ("NFSeEmissao", ["nf", "se", "emissao"]),
        ("IdDPS", ["id", "dps"]),
        ("HttpConnection2", ["http", "connection"]),
        ("__init__", ["init"]),
    ],
)
def test_names_are_split_into_words(name: str, parts: list[str]):
    """Underscores, capitals and digits end a word; a run of capitals is one."""
    assert words.words(name) == parts
