"""The extractors that ask a model: it reads first and two readers judge; or, for evaluation, alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, Self

from extractor.contract import INFORMS, WHOLE, Ato, Extraction
from extractor.merge import merge
from extractor.model.further import pieces
from extractor.model.grounding import ground
from extractor.model.meter import Meter
from extractor.model.prompt import ask
from extractor.requests.requests import read_request
from extractor.text.hostile import commands
from extractor.text.vocabulary import GREETING_LINE
from extractor.two_readers import read_by_both

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from extractor.contract import Context
    from extractor.model.prompt import Question, Resposta
    from extractor.rules import RulesReading

# Acts with which words that no rule read may hold data; any other act is told by the learned reader.
MAY_HOLD_DATA: Final = INFORMS | {None}
PLAIN: Final = frozenset({Ato.SOCIAL, Ato.ESPERA})  # talk that the learned reader knows
FEWEST: Final = 3  # words of a turn whose act may need a model: "ajuda" and "deu certo" need none


class Proposer(Protocol):
    """Whatever answers a question as a model would; ``None`` where there is no usable answer."""

    async def propose(self, question: Question, meter: Meter | None = None) -> Resposta | None:
        """Answer once; ``meter`` hears what it took."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class _WithModel:
    def __init__(self, client: Proposer, may_ask: Callable[[str], Awaitable[bool]] | None = None) -> None:
        self._client = client
        self._may_ask = may_ask  # for a conversation: whether its budget still allows a question

    async def aclose(self) -> None:
        """Close the connections to the model's server."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class HybridExtractor(_WithModel):
    """The model reads every turn that may hold data; two readers judge its words, and read alone where it has none."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn; a server's failure costs at most the deadline and leaves what the two readers made of it."""
        reading = read_by_both(texto, contexto)
        if not asks_model(reading) or not await self._allowed(contexto):
            return reading.extraction
        question, meter = ask(reading.skeleton, contexto), Meter()
        resposta = await self._client.propose(question, meter)
        if resposta is None:
            return replace(reading.extraction, uso=meter.uso)
        partes = pieces(texto, resposta, question, reading, contexto)
        if partes:  # the first is read as if it stood alone, with what was answered of it
            reading, resposta = read_by_both(partes[0], contexto), resposta.of_first()
        merged = merge(reading, resposta, ground(resposta, question, reading, contexto), contexto)
        return replace(merged, uso=meter.uso, partes=partes)

    async def _allowed(self, contexto: Context) -> bool:
        return self._may_ask is None or await self._may_ask(contexto.conversa)


class ModelExtractor(_WithModel):
    """The model alone, grounded and parsed by our code; for evaluation, never for issuing."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn by the model; nothing when it has no usable answer."""
        reading = read_by_both(texto, contexto)
        question = ask(reading.skeleton, contexto)
        resposta = await self._client.propose(question)
        if resposta is None:
            return Extraction(Ato.SOCIAL)
        candidates = ground(resposta, question, reading, contexto)
        return Extraction(resposta.feito, candidates, modelo_usado=True)


def asks_model(reading: RulesReading) -> bool:
    """Say whether a turn may hold data or an act that has no name yet; what gives the readers orders is not sent."""
    extraction = reading.extraction
    if extraction.ato in WHOLE or commands(reading.skeleton.text):
        return False
    if extraction.candidates or extraction.doubts or extraction.ato in INFORMS:
        return True
    text = reading.skeleton.text
    pedido = read_request(text.original)
    if len(text.plain.split()) < FEWEST or extraction.agreed in PLAIN or (pedido and pedido.inteiro):
        return reading.unsure and extraction.agreed in MAY_HOLD_DATA
    return GREETING_LINE.fullmatch(text.plain.strip(" .!?,\n")) is None
