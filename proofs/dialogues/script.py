"""Reads labelled dialogues: what a person says, what must then stand, and which notes they want in the end."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from extractor.contract import Ato

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TAPS: Final = ("Confirmar", "Corrigir", "Cancelar")
SHORTEST_STEM: Final = 4  # letters of a word that tell it from others


def fold(text: str) -> str:
    """Return text without accents, in lower case."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).casefold()


def names(text: str, words: Iterable[str]) -> bool:
    """True when every one of ``words`` is in ``text``, in any of its forms: "ajuste" in "ajustes de vestido"."""
    said = re.findall(r"\w+", fold(text))
    stems = [word[: max(SHORTEST_STEM, len(word) - 2)] for each in words for word in re.findall(r"\w+", fold(each))]
    return all(any(word.startswith(stem) for word in said) for stem in stems)


def _bare(value: Any) -> Any:
    return re.sub(r"[^0-9A-Za-z]", "", value).upper() if isinstance(value, str) else value


def _money(value: Any) -> Any:
    return str(Decimal(str(value)).quantize(Decimal("0.01"))) if value is not None else None


Documento = Annotated[str, BeforeValidator(_bare)]
Valor = Annotated[str, BeforeValidator(_money)]


def _amounts(text: str) -> set[Decimal]:
    written = re.findall(r"\d+(?:\.\d{3})*(?:,\d{1,2})?", text)
    return {Decimal(number.replace(".", "").replace(",", ".")) for number in written}


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Depois(_Row):
    """What must stand in the draft; what is not named is not judged, ``None`` must not stand."""

    documento: Documento | None = None
    valor: Valor | None = None
    servico: str | None = None
    nome: str | None = None


class Fala(_Row):
    """One line of the person: words, a tap on a button or a medium without words; ``ato`` is what it does."""

    texto: str
    ato: Ato | None = None
    depois: Annotated[Depois, BeforeValidator(lambda value: value or {})] = Depois()

    @property
    def tap(self) -> str | None:
        """The title of the button that is tapped, if it is a tap."""
        title = self.texto.strip()[1:-1]
        return title if self.texto.strip() == f"[{title}]" and title in TAPS else None

    @property
    def medium(self) -> str | None:
        """The kind of media message, if it is one."""
        return {"[audio]": "audio", "[foto]": "image"}.get(self.texto.strip())


class Nota(_Row):
    """A note that the person wants: bare document, amount in BRL as "1500.00", words of the service."""

    documento: Documento
    valor: Valor
    servico: tuple[str, ...] = ()


class Fim(_Row):
    """How it ends: exactly these notes; with ``contem``, one of these words was in an answer."""

    notas: tuple[Nota, ...]
    contem: tuple[str, ...] = ()


class Roteiro(_Row):
    """A labelled dialogue; ``respostas`` say what the person answers when asked, by field."""

    autor: str
    linha: int
    familia: str
    falas: tuple[Fala, ...] = Field(min_length=1)
    respostas: Mapping[str, str | None]
    fim: Fim

    @property
    def needed(self) -> int:
        """The fewest turns after the last line: fields that no line has named, and the confirmations."""
        if not self.fim.notas:
            return 0
        said = " ".join(fala.texto for fala in self.falas)
        stood = {(field, value) for fala in self.falas for field, value in fala.depois.model_dump().items()}
        last = self.fim.notas[-1]
        missing = [
            ("documento", last.documento) not in stood and last.documento not in _bare(said),
            ("valor", last.valor) not in stood and Decimal(last.valor) not in _amounts(said),
            not names(said, last.servico),
        ]
        confirmed = sum(fala.ato is Ato.CONFIRMA or fala.tap == TAPS[0] for fala in self.falas)
        return sum(missing) + max(1, len(self.fim.notas) - confirmed)


_OBJECT = TypeAdapter(dict[str, Any])


def dialogues(place: Path) -> list[Roteiro]:
    """Return the dialogues of a file, or of every file of a folder; the author is the name of the file.

    Raises ``ValueError`` (pydantic's) for a line that is no dialogue.
    """
    files = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    found = []
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                found.append(
                    Roteiro.model_validate({**_OBJECT.validate_json(line), "autor": file.stem, "linha": number})
                )
    return found
