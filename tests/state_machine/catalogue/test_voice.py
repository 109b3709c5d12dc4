"""All texts to people speak with one voice, and no text takes SEFIN Nacional for a city."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SPEAK = ("state_machine/catalogue", "state_machine/invoice", "gateway/refusals/plain.py")
# What is the city's own whoever issues: its deadline, its register, its wish for a name.
OF_THE_CITY = ("só a prefeitura resolve", "direto com a prefeitura", "algumas prefeituras recusam")
# "toca", "me manda", "escreve": never the other form of the same words.
OTHER_VOICE = re.compile(r"(?i)\b(?:abra|clique|insira|digite|escreva|toque|mande|envie|aguarde|informe|confira)\b")


def texts() -> list[str]:
    """Return every string of the modules that speak to people, without their docstrings."""
    found = []
    for place in map(ROOT.joinpath, SPEAK):
        for path in [place] if place.is_file() else sorted(place.glob("*.py")):
            tree = ast.parse(path.read_text())
            docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            found += [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
            ]
    return found


def test_who_answers_is_named_by_no_text() -> None:
    """On the national channel no city answers: what is true of both channels names neither."""
    wrong = [text for text in texts() if "prefeitura" in text and not any(said in text for said in OF_THE_CITY)]
    assert not wrong


def test_one_voice_speaks() -> None:
    """Nobody reads "toca" in one bubble and "abra" in the next."""
    assert not [text for text in texts() if OTHER_VOICE.search(text) and "\\b" not in text]
