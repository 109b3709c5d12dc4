"""What the models see of a message: for each word its neighbourhood, for the act the words of the whole."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from extractor.learned.words import Word

NEAR: Final = (-4, -3, -2, -1, 1, 2, 3, 4)
EDGE: Final = ("<>",) * max(NEAR)  # what stands before and after a message
LEFT, RIGHT = 9, 7  # words before and after a number that are seen without their place
READ_FOR_ACT: Final = 120  # words
TOGETHER: Final = 2  # words from one number to the next that may be parts of one
SHORT: Final = 4  # words: such a message is seen as a whole too


def role_features(words: Sequence[Word], situacao: str) -> list[list[str]]:
    """Return the features of each word, for its role."""
    shapes = [word.shape for word in words]
    kinds = [word.kind for word in words]
    numbers = [at for at, kind in enumerate(kinds) if kind in "DN"]
    groups = 1 + sum(after - before > TOGETHER for before, after in pairwise(numbers))
    whole = [
        f"situacao={situacao}",
        f"grupos={min(groups, 4)}",
        f"situacao+grupos={situacao}{min(groups, 4)}",
        f"primeira={words[0].text}",
        f"ultima={words[-1].text}",
        f"pergunta={'?' in shapes}",
    ]
    edged = [*EDGE, *shapes, *EDGE]
    found, line, seen = [], words[0].text, 0
    for at, word in enumerate(words):
        if at and words[at - 1].text == "\n":
            line = word.text
        features = [*_own(word, kinds[at]), *_around(edged, at + len(EDGE))]
        if kinds[at] in "DN":
            seen += 1
            features += [*whole, f"linha={line}", f"ordem={min(seen, 6)}"]
            features += [f"antes:{shapes[i]}" for i in range(max(0, at - LEFT), at) if kinds[i] == "w"]
            features += [
                f"depois:{shapes[i]}" for i in range(at + 1, min(len(words), at + 1 + RIGHT)) if kinds[i] == "w"
            ]
        found.append(features)
    return found


def _own(word: Word, kind: str) -> Iterator[str]:
    yield f"forma={word.shape}"
    yield f"tipo={kind}"
    if kind == "w":
        yield f"comeca={word.text[:3]}"
        yield f"acaba={word.text[-3:]}"
    elif kind == "D":
        digits = [c for c in word.text if c.isdigit()]
        yield f"digitos={len(digits)}"
        if digits[-2:] == ["0", "0"]:
            yield "redondo"


def _around(shapes: Sequence[str], at: int) -> Iterator[str]:
    """Tell the neighbours of the word at ``at``; ``shapes`` has the ``EDGE`` at both ends."""
    before, own, after = shapes[at - 1], shapes[at], shapes[at + 1]
    for offset in NEAR:
        yield f"{offset}:{shapes[at + offset]}"
    yield f"-1|0:{before}|{own}"
    yield f"0|1:{own}|{after}"
    yield f"-2|-1:{shapes[at - 2]}|{before}"
    yield f"1|2:{after}|{shapes[at + 2]}"


def act_features(words: Sequence[Word], situacao: str) -> list[str]:
    """Return the features of the whole message, for its act."""
    shapes = [word.shape for word in words[:READ_FOR_ACT]]
    amount = sum(word.kind == "D" for word in words)
    found = {
        f"situacao={situacao}",
        f"palavras={min(len(words), 12)}",
        f"numeros={min(amount, 3)}",
        f"primeira={shapes[0]}",
        f"primeiras={' '.join(shapes[:2])}",
        f"tres={' '.join(shapes[:3])}",
        f"ultima={shapes[-1]}",
        f"ultimas={' '.join(shapes[-2:])}",
    }
    if len(shapes) <= SHORT:
        found.add(f"tudo={' '.join(shapes)}")
    for at, shape in enumerate(shapes):
        found |= {shape, f"{situacao}:{shape}"}
        found.add(f"2:{' '.join(shapes[at : at + 2])}")
        found.add(f"3:{' '.join(shapes[at : at + 3])}")
        found.add(f"salta:{shape} {shapes[at + 2] if at + 2 < len(shapes) else '<>'}")
        found |= {f"raiz:{shape[:n]}" for n in (4, 5) if len(shape) > n}
    return sorted(found)
