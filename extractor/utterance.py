"""The door through which the bot asks what a turn says: its data, its act, its request, what it may not become."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from extractor.contract import Ato, Extraction
from extractor.requests.acts import act_of, only_asks
from extractor.requests.requests import Pedido, read_request
from extractor.requests.several import another, split
from extractor.requests.unserved import Instrucao, instruction, without
from extractor.text.folding import read
from extractor.text.numerals import has_many_numbers

if TYPE_CHECKING:
    import re

    from extractor.contract import Context, Extractor


@dataclass(frozen=True)
class Utterance:
    """What one turn says. ``dados`` is the readers' word; the rest is read from the words once, when it is asked for.

    ``ato`` is what the answer must deal with first, ``None`` where nothing names an act: then the data decide alone.
    ``pedido`` is asked for beside an invoice's data, ``instrucao`` of the invoice, which can't carry it. ``partes`` has
    a piece for each of several invoices, of which the first was read; ``outra`` orders one more beside an open one.
    """

    texto: str
    dados: Extraction

    plain = cached_property[str](lambda self: read(self.texto).plain.strip())
    ato = cached_property[Ato | None](act_of)
    pedido = cached_property[Pedido | None](lambda self: read_request(self.texto, self.dados.pede, self.dados.alvo))
    instrucao = cached_property[Instrucao | None](lambda self: instruction(self.texto))
    partes = cached_property[tuple[str, ...]](lambda self: split(self.texto) or self.dados.partes)
    outra = cached_property[str | None](
        lambda self: self.texto if self.dados.pede == Ato.VARIAS else another(self.texto)
    )

    def says(self, words: re.Pattern[str]) -> re.Match[str] | None:
        """Find these words."""
        return words.search(self.plain)


async def understand(texto: str, contexto: Context, extractor: Extractor, *, drafting: bool = False) -> Utterance:
    """Read one turn. Where it orders several invoices the first is read as if it stood alone.

    ``drafting``: an invoice is begun; what orders one more beside it has no data for it. Of a text with more numbers
    than any order has, a statement or a sheet, nothing is read.
    """
    if has_many_numbers(texto):
        return Utterance("", Extraction(Ato.DADOS))
    if drafting and another(texto):
        return Utterance(texto, Extraction(Ato.SOCIAL, agreed=Ato.VARIAS))
    if contexto.pendente and only_asks(texto):  # a request comes before the answer that is waited for
        contexto = replace(contexto, pendente=None)
    several = split(texto)
    dados = await extractor.extract(without(several[0] if several else texto), contexto)
    return Utterance(texto, replace(dados, agreed=Ato.VARIAS) if several or dados.partes else dados)
