"""A note as the judge knows it, whatever its channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any

from proofs.storm.judge.books import Book, House, Key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal

    from proofs.storm.crowd import Wish
    from proofs.storm.judge.confirmations import Summary

BRASILIA = timezone(timedelta(hours=-3))  # no daylight saving since 2019
ABSENT = "ausente"


@dataclass(frozen=True, slots=True)
class Note:
    """A note in an authority's book: ``settled`` when it got its number, ``refused`` is why it never will.

    ``id`` and ``reference`` are the channel's and ours; ``prestador`` and ``tomador`` bare documents, ``valor`` in BRL
    (not a number where the book has none). ``content`` has every field that the authority was given, by its path.
    ``rps`` is (series, number) where we number. ``asked`` are the moments at which its cancellation was asked for.
    ``replaces`` is the key of the note whose place it takes, ``replaced`` whether one took its own.
    ``xml`` is the authority's own document, empty where its book has none.
    """

    channel: str
    key: Key
    id: str
    reference: str
    at: datetime
    prestador: str
    tomador: str
    valor: Decimal
    codigo: str
    servico: str
    competencia: str
    content: Mapping[str, Any]
    rps: tuple[str, int] | None = None
    numero: str = ""
    chave: str = ""
    autorizacao: str = ""
    settled: datetime | None = None
    refused: str = ""
    asked: tuple[datetime, ...] = ()
    cancelled: bool = False
    replaces: str = ""
    replaced: bool = False
    xml: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Reader:
    """How the judge reads one channel's book; the rest of the judge is the same for all.

    ``due`` returns every field that a note must have, by its path, for this wish, the summary that was confirmed, and
    the customer's document; what depends on the moment is taken from the note itself and looked at elsewhere.
    ``competence`` is the path of the day of competence in it. ``printed`` returns what stands on the PDF, by name.
    ``unsound`` names what is wrong with a book, or with its notes, beside their fields. ``page`` is what of a page's
    address a person must read, on a channel without a PDF; ``xml`` names what is wrong with an XML that is not of the
    national layout.
    """

    notes: Callable[[Book, House], list[Note]]
    due: Callable[[Note, Wish, Summary, str], dict[str, Any]]
    competence: str
    printed: Callable[[Note], dict[str, str]]
    copies: Callable[[Book], int]
    unsound: Callable[[Book, Sequence[Note]], Iterator[str]]
    page: Callable[[Note], str] | None = None
    xml: Callable[[bytes, Note], Iterator[str]] | None = None


def bound_to(id_integracao: str) -> Key:
    """Read ``{sessao_id}-r{revisao}-{tentativa}``; what has another shape is nobody's confirmation."""
    base, _, _tentativa = id_integracao.rpartition("-")
    sessao_id, _, revisao = base.rpartition("-r")
    return Key(sessao_id, int(revisao)) if revisao.isdigit() else Key(id_integracao, -1)


def quoted(value: object) -> str:
    """Return a value as the judge's lines show it; text in quotes, so that a number as text is seen."""
    match value:
        case None:
            return "nulo"
        case bool():
            return "verdadeiro" if value else "falso"
        case str() if value != ABSENT:
            return repr(value)
        case _:
            return str(value)


def punctuated(document: str) -> str:
    """Return a CNPJ with its usual punctuation."""
    return f"{document[:2]}.{document[2:5]}.{document[5:8]}/{document[8:12]}-{document[12:]}"


def printed(valor: Any) -> str:
    """Return an amount as Brazilians print it: 1.234,56."""
    return f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))
