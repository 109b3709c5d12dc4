"""Reads the labelled messages that the second reader learns from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson

from extractor.contract import Ato, Context
from extractor.learned.evidence import ASKED, RESUMO, situation
from extractor.learned.reader import Rotulo, cut
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from extractor.learned.reader import Word

TODAY: Final = date(2026, 11, 23)
A_CUSTOMER: Final = "11222333000181"
DRAFT: Final = {"valor": Campo.VALOR, "servico": Campo.DESCRICAO}
SPANS: Final = (("docs", "doc-"), ("datas", "dat-"), ("numeros", "num-"))


@dataclass(frozen=True, slots=True)
class Labelled:
    """One message with its labels.

    ``contexto`` is what was known before it; ``situacao`` says the same in one word. ``valores`` are the outcomes for
    the amount that a careful person accepts, the best first: "1500.00", "?" for asking, ``None`` for no amount.
    ``mentions`` are (label, start, end), in the order of the file.
    """

    autor: str
    texto: str
    situacao: str
    contexto: Context
    familia: str
    ato: Ato
    atos: frozenset[Ato]
    valores: tuple[str | None, ...]
    mentions: tuple[tuple[Rotulo, int, int], ...]

    def snippets(self, *rotulos: Rotulo) -> list[str]:
        """Return what the message says under these labels, verbatim."""
        return [self.texto[start:end] for rotulo, start, end in self.mentions if rotulo in rotulos]

    def tags(self, words: Sequence[Word]) -> list[str]:
        """Return a tag for each word: ``B-`` where a mention begins, ``I-`` inside of it, ``O`` elsewhere."""
        tags = ["O"] * len(words)
        for rotulo, start, end in reversed(self.mentions):
            inside = [at for at, word in enumerate(words) if word.start < end and word.end > start]
            for at in inside:
                tags[at] = f"{'B' if at == inside[0] else 'I'}-{rotulo}"
        return tags


def messages(files: Iterable[Path]) -> Iterator[Labelled]:
    """Return every message of these files; the author is the name of the file."""
    for file in files:
        for line in file.read_bytes().splitlines():
            if line.strip():
                yield _labelled(file.stem, orjson.loads(line))


def words_of(message: Labelled) -> list[Word]:
    """Return the words of a message, all of them."""
    return cut(message.texto)


def digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 of these files' bytes, in their order."""
    whole = sha256()
    for file in files:
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _labelled(autor: str, row: dict[str, Any]) -> Labelled:
    mentions = tuple(_mentions(row))
    contexto = _context(row, [row["texto"][start:end] for r, start, end in mentions if r is Rotulo.DOC_PROPRIO])
    return Labelled(
        autor,
        row["texto"],
        situation(contexto),
        contexto,
        row["familia"],
        Ato(row["ato"]),
        frozenset(map(Ato, (row["ato"], *row.get("tambem", ())))),
        (row["valor"], *row.get("ok", ())),
        mentions,
    )


def _context(row: dict[str, Any], own: Sequence[str]) -> Context:
    """Return what the product would know: a summary is complete, a draft that is asked about lacks a field."""
    told, said = row["contexto"], row.get("rascunho") or {}
    known: dict[Campo, str] = {}
    asked = next((campo for campo, name in ASKED.items() if name == told), None)
    if told == RESUMO:
        known = {Campo.DOCUMENTO: A_CUSTOMER, Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"}
    if told == RESUMO or asked:
        known |= {campo: said[name] for name, campo in DRAFT.items() if said.get(name)}
    if asked:
        known.pop(asked, None)
    return Context(
        hoje=TODAY,
        pendente=asked,
        resumo_mostrado=told == RESUMO,
        conhecidos=known,
        proprios=frozenset(re.sub(r"[^0-9A-Z]", "", document.upper()) for document in own),
    )


def _mentions(row: dict[str, Any]) -> Iterator[tuple[Rotulo, int, int]]:
    """Find each snippet where the one before it ended: a file names them in the order of the message."""
    texto = row["texto"]
    for key, prefix in SPANS:
        at = 0
        for snippet, rotulo in row.get(key) or ():
            start = texto.index(snippet, at)
            at = start + len(snippet)
            yield Rotulo(prefix + rotulo), start, at
    for rotulo in (Rotulo.SERVICO, Rotulo.NOME):
        if snippet := row.get(rotulo):
            start = texto.index(snippet)
            yield rotulo, start, start + len(snippet)
