"""Lists the words of which public names of the product are made, and keeps the list of the English ones.

Without arguments it prints each word that no list has, with a file that uses it; the status is then 1. With words as
arguments it adds these to ``tests/repository/names/words.txt``, as English, and drops what no name uses any more. A
Portuguese word belongs into a list of ``docs/glossario.md``, a name of the specification or of an outside protocol
into ``tests/repository/names/outside_words.toml``.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = (
    *(
        "bot",
        "extractor",
        "gateway",
        "operations",
        "persistence",
        "state_machine",
        "telemetry",
        "webhooks",
    ),
)
ENGLISH = ROOT / "tests/repository/names/words.txt"
OUTSIDE = ROOT / "tests/repository/names/outside_words.toml"
GLOSSARY = ROOT / "docs/glossario.md"
_MIGRATIONS = "persistence/migrations/versions"  # named by number and subject, and never imported
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(name: str) -> list[str]:
    """Return the words of a snake_case or CamelCase name in lower case, digits left out: ``NFSeEmissao`` has three."""
    return [word.lower() for word in _WORD.findall(name)]


def modules(root: Path = ROOT) -> Iterator[Path]:
    """Yield the product's modules, as paths relative to ``root``."""
    for package in PRODUCT:
        for path in sorted((root / package).rglob("*.py")):
            if not path.relative_to(root).as_posix().startswith(_MIGRATIONS):
                yield path.relative_to(root)


def file_words(root: Path = ROOT) -> dict[str, str]:
    """Return the words of folder and module names, each with a module that has it."""
    return {word: path.as_posix() for path in modules(root) for word in words("_".join(path.with_suffix("").parts))}


def name_words(root: Path = ROOT) -> dict[str, str]:
    """Return the words of public classes, functions, methods and fields, each with a module that has it."""
    return {
        word: path.as_posix()
        for path in modules(root)
        for name in _names(ast.parse((root / path).read_text("utf-8")).body)
        for word in words(name)
    }


def _names(body: list[ast.stmt], *, inside_class: bool = False) -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
                yield from _names(node.body, inside_class=True)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if not name.startswith("_"):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)) if inside_class and not name.startswith("_"):
                yield name
            case _:
                pass


def english() -> set[str]:
    """Return the English words that names use."""
    return set(ENGLISH.read_text("utf-8").split())


def outside() -> set[str]:
    """Return the words of names that are fixed outside the product."""
    return {word for names in tomllib.loads(OUTSIDE.read_text("utf-8")).values() for word in names}


def portuguese() -> set[str]:
    """Return the words of the glossary's Portuguese lists, from before the colon of each line."""
    page = GLOSSARY.read_text("utf-8").partition("## English in the code")[0]
    cells = [line.partition(": ")[0] for line in page.splitlines() if line.startswith("- ")]
    return {word for cell in cells for code in re.findall(r"`([^`]+)`", cell) for word in words(code)}


def main(added: list[str]) -> int:
    """Add ``added`` to the English words, or print what is in no list; returns the exit status."""
    used = {**name_words(), **file_words()}
    if added:
        kept = (english() | {word.lower() for word in added}) & used.keys()
        ENGLISH.write_text("".join(f"{word}\n" for word in sorted(kept)), "utf-8")
        return 0
    unknown = sorted(used.keys() - english() - outside() - portuguese())
    for word in unknown:
        print(f"{word}: {used[word]}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
