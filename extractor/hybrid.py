"""The extractors that may ask a model: it is the third reader, after two that differ; or, for evaluation, alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from extractor.contract import Ato, Extraction, Intent
from extractor.merge import merge
from extractor.model.grounding import ground, intent_of
from extractor.model.meter import Meter
from extractor.model.openai_client import ModelClient
from extractor.model.prompt import ask
from extractor.two_readers import read_by_both
from state_machine.invoice.field_table import obrigatorios

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from extractor.contract import Context
    from extractor.rules import RulesReading
    from state_machine.protocol.breaker import Breaker

# Acts with which words that no rule read may hold data; any other act is told by the learned reader.
MAY_HOLD_DATA: Final = frozenset({None, Ato.DADOS, Ato.CORRIGE})


class _WithModel:
    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str,
        model: str,
        deadline: float = 8.0,
        before_request: Callable[[], None] | None = None,
        temperature: float | None = 0.0,
        breaker: Breaker | None = None,
        may_ask: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._may_ask = may_ask  # for a conversation: whether its budget still allows a question
        self.client = ModelClient(
            api_key=api_key,
            base_url=base_url,
            model=model,
            deadline=deadline,
            before_request=before_request,
            temperature=temperature,
            breaker=breaker,
        )

    async def aclose(self) -> None:
        """Close the connections to the model's server."""
        await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class HybridExtractor(_WithModel):
    """Two readers; the model only where its word may decide between them, or they read no part of what was said."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn; a server's failure costs at most the deadline and leaves what the two readers made of it."""
        reading = read_by_both(texto, contexto)
        if not needs_model(reading, contexto) or not await self._allowed(contexto):
            return reading.extraction
        question, meter = ask(reading.skeleton, contexto), Meter()
        resposta = await self.client.propose(question, meter)
        if resposta is None:
            return replace(reading.extraction, uso=meter.uso)
        merged = merge(reading, ground(resposta, question, reading, contexto), intent_of(resposta), contexto)
        return replace(merged, uso=meter.uso)

    async def _allowed(self, contexto: Context) -> bool:
        return self._may_ask is None or await self._may_ask(contexto.conversa)


class ModelExtractor(_WithModel):
    """The model alone, grounded and parsed by our code; for evaluation, never for issuing."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn by the model; nothing when it has no usable answer."""
        reading = read_by_both(texto, contexto)
        question = ask(reading.skeleton, contexto)
        resposta = await self.client.propose(question)
        if resposta is None:
            return Extraction(Intent.CONVERSA)
        candidates = ground(resposta, question, reading, contexto)
        return Extraction(Intent(resposta.intent), candidates, modelo_usado=True)


def needs_model(reading: RulesReading, contexto: Context) -> bool:
    """Say whether a model could settle what two readers differ about, or add what neither of them read."""
    extraction = reading.extraction
    if reading.unsure:
        return extraction.ato in MAY_HOLD_DATA
    if extraction.intent not in {Intent.INFORMAR, Intent.CORRIGIR}:
        return False
    if reading.undecided is not None:
        return True
    settled = {c.campo for c in extraction.candidates} | {d.campo for d in extraction.doubts} | set(contexto.conhecidos)
    return reading.unread and any(c not in settled for c in obrigatorios())
