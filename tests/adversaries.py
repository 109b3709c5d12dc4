"""Finds every pattern of the product and makes the texts that cost it most; it judges nothing."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined, unused-ignore]  # typeshed leaves the parser out, a stub of others may not
from re import _parser as parser  # type: ignore[attr-defined, unused-ignore]  # typeshed leaves the parser out, a stub of others may not
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

PACKAGES = (
    "bot", "webhooks", "operations", "extractor", "persistence", "gateway", "telemetry",
    "state_machine", "proofs",
)  # fmt: skip
HOME = Path(__file__).parents[1]
LENGTH = 4096  # characters: the longest text that WhatsApp carries
CALLS = frozenset({"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"})
RUNS = (
    "a", "A", "é", "1", "١", " ", "\n", "\t", "-", "/", "(", ".", ",", "@", "_", "%", "$", '"', "*", "#", "⁗", "…",
    "︙", "⩴", "x1", "a1", "1 ", "a ", "a.", "1.", "1,", "1/", "1-", "-1", "a-", "a@", "@a", "a@a.",
    "a 1 % - a.", ", ", "; ",
    "- ", ": ", "<|", "11 ", "oi ", "  a", "a  ", "\n ", "D B ", "N D", "N ", "V\n", "F\n", "k", "ha", "rs",
)  # fmt: skip
ENDS = ("!", "a", "1", " ", "-", "\n", "N", "$")
OF_A_CATEGORY = {op.CATEGORY_DIGIT: "1", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a"}


def fill(piece: str, end: str = "") -> str:
    """Repeat a piece up to the full length, and end in ``end``."""
    return (piece * (LENGTH // len(piece) + 1))[: LENGTH - len(end)] + end


_ORDERS: Final = "nota de R$ 1.500,00 pra 11.222.333/0001-81, consultoria de marketing " * 10
_TOKENS: Final = re.compile(r"\d+(?:[.,]\d+)*|[a-z]+|\S")
REFERENCE_MS: Final = 0.65  # what ``_reference`` took on a machine with nothing else to do


def cpu_ms(work: Callable[[], object], enough: float, tries: int = 9) -> float:
    """Return what ``work`` takes of this thread's CPU, in milliseconds of the machine that the bounds were set on.

    The best of so many tries, unless it is cheap. What looks dear is held against a fixed piece of work done right
    beside it, so that a slow or busy machine, which slows both, is not judged.
    """
    best = float("inf")
    for _ in range(tries):
        took = _cpu(work)
        if took > enough:
            took *= REFERENCE_MS / max(REFERENCE_MS, _cpu(_reference))
        best = min(best, took)
        if best <= enough:
            break
    return best


def _cpu(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000


def _reference() -> None:
    for _ in range(20):
        for match in _TOKENS.finditer(_ORDERS):
            match[0].lower().partition("a")


def texts(pattern: re.Pattern[Any], rng: random.Random, most: int) -> Iterator[str]:
    """Yield texts of 4,096 characters: runs of one kind, the pattern's own words in a row, and mixtures of both."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    words = sorted(_words(parser.parse(source, flags)))
    yield from map(fill, RUNS)
    for piece in ("a", "1", " ", "\n", "-"):
        yield from (fill(piece, end) for end in ENDS)
    chosen = rng.sample(words, min(most, len(words)))
    for word in chosen:
        yield fill(word)
        yield fill(f"{word} ")
        for piece in (" ", "a", "1", "-", "\n", "."):
            yield (word + fill(piece))[:LENGTH]
    pool = [*words, *RUNS]
    for _ in range(most * 2):
        yield fill("".join(rng.choice(pool) for _ in range(rng.randint(2, 5))))


def _words(tree: Any) -> set[str]:
    """Return the runs of characters that a pattern spells out, and one character of each of its sets."""
    found: set[str] = set()
    run = ""
    for kind, value in tree:
        if kind is op.LITERAL:
            run += chr(value)
            continue
        if kind is op.IN:
            some = [_member(*member) for member in value]
            found.update(some)
            run += some[0]
            continue
        found.add(run)
        run = ""
        for inner in _inside(kind, value):
            found |= _words(inner)
    found.add(run)
    return found - {""}


def _member(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return chr(value)
    return chr(value[0]) if kind is op.RANGE else OF_A_CATEGORY.get(value, "-")


def _inside(kind: Any, value: Any) -> list[Any]:
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.ATOMIC_GROUP:
        return [value]
    nested = kind in {op.SUBPATTERN, op.ASSERT, op.ASSERT_NOT, op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}
    return [value[-1]] if nested else []


def patterns(package: str) -> dict[str, re.Pattern[Any]]:
    """Return every pattern of a package by where it is: in modules, classes, containers, and calls with a literal."""
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any]]] = {}
    for name in modules(package):
        for attribute, value in vars(importlib.import_module(name)).items():
            for pattern in _held(value, set()):
                found.setdefault((pattern.pattern, pattern.flags), (f"{name}.{attribute}", pattern))
    for where, literal, _ in calls(package):
        if literal is not None:
            pattern = re.compile(literal)
            found.setdefault((pattern.pattern, pattern.flags), (where, pattern))
    return {f"{where} {pattern.pattern!r:.60}": pattern for where, pattern in found.values()}


def modules(package: str) -> Iterator[str]:
    """Yield the names of a package's modules; migrations and entry points run when they are imported."""
    yield package
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if ".migrations." not in module.name and not module.name.endswith(".__main__"):
            yield module.name


def _held(value: Any, seen: set[int]) -> Iterator[re.Pattern[Any]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for item in [*value.keys(), *value.values()]:
            yield from _held(item, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _held(item, seen)
    elif (value if isinstance(value, type) else type(value)).__module__.partition(".")[0] in PACKAGES:
        fields = [*getattr(value, "__dict__", {}).values()]
        kinds = [] if isinstance(value, type) else type(value).__mro__
        fields += [getattr(value, slot, None) for kind in kinds for slot in vars(kind).get("__slots__", ())]
        for item in fields:
            yield from _held(item, seen)


def calls(package: str) -> Iterator[tuple[str, Any, str]]:
    """Yield each call of ``re`` inside a function: where, its pattern if that is a literal, and its source."""
    for path in sorted((HOME / package).rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                match node:
                    case ast.Call(ast.Attribute(ast.Name("re"), name), [first, *_]) if name in CALLS:
                        where = f"{path.relative_to(HOME)}:{function.name}"
                        yield where, first.value if isinstance(first, ast.Constant) else None, ast.unparse(first)
