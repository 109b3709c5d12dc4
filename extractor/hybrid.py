"""The extractors that ask a model: it reads first and two readers judge; or, for evaluation, alone.

Joins what a model read with what the two readers made of a turn, who are the judges of amounts and documents.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final, Protocol, Self

from extractor.contract import INFORMS, TALK, WHOLE, Ato, Context, Extraction, RequestKind
from extractor.model.grounding import amounts, ground, pieces, roles, sees_several
from extractor.model.prompt import ACTS, Meter, Question, Resposta, ask
from extractor.requests.requests import read_request
from extractor.rules import RulesReading, read_turn
from extractor.text.folding import commands, read
from extractor.text.marks import GREETING_LINE
from extractor.two_readers import read_by_both
from state_machine.invoice.field_table import FIELDS, FieldKind
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo

DATED: Final = frozenset({FieldKind.MES, FieldKind.DIA})
ORDER: Final = frozenset({Campo.DOCUMENTO, Campo.VALOR})  # who names both orders an invoice
BILLED: Final = frozenset({"bruto", "liquido"})  # either may be the price: shown behind the others


def merge(reading: RulesReading, resposta: Resposta, proposed: tuple[Candidate, ...], contexto: Context) -> Extraction:
    """Join a model's answer, of which ``proposed`` are the grounded candidates, with the two readers' reading.

    Its word stands for a service and a name. An amount is certain where a reader takes it too; one that only the model
    or only the readers see is doubtful, and of two that differ the person says which; so is one that it doubts itself,
    that it hears in a question or a talk, and of several invoices that could not be told apart. What it says of further
    amounts orders the readings. Of dates it says nothing: the rules see every one that it may name, and one that they
    leave is not the service's.
    """
    both = reading.extraction
    candidates = {c.campo: c for c in both.candidates}
    doubts = {d.campo: d for d in both.doubts}
    for candidate in proposed:
        campo, mine = candidate.campo, candidates.get(candidate.campo)
        if campo in both.clear or FIELDS[campo].kind in DATED or (campo is Campo.DESCRICAO and reading.edited):
            continue
        if campo in doubts:
            if _upholds(candidate, reading.undecided) and not resposta.duvida:
                candidates[campo] = candidate
                del doubts[campo]
            else:
                doubts[campo] = _with_reading(doubts[campo], candidate)
        elif mine is None and campo in contexto.conhecidos and resposta.feito is not Ato.CORRIGE:
            continue  # what was validated is replaced by the user's clear words, or by a correction
        elif not FIELDS[campo].critical:
            candidates[campo] = candidate if mine is None or mine.valor != candidate.valor else mine
        elif mine is None or mine.valor != candidate.valor:
            candidates.pop(campo, None)
            doubts[campo] = _asked(*filter(None, (mine, candidate)))
    several = sees_several(resposta, reading)
    denied = not _prices(*proposed) and bool(amounts(resposta.valor, reading))
    unsure = resposta.valor is None or denied or resposta.duvida or several or resposta.feito in TALK
    if unsure and _is_new(candidates.get(Campo.VALOR), contexto):
        doubts[Campo.VALOR] = _asked(candidates.pop(Campo.VALOR))
    if doubt := doubts.get(Campo.VALOR):
        doubt = _without_others(doubt, roles(resposta, reading), _prices(*both.candidates, *proposed))
        doubts[Campo.VALOR] = replace(doubt, motivo=Motivo.DUAS_NOTAS) if several else doubt
    named = bool(
        candidates.keys() - {c.campo for c in both.candidates} or doubts.keys() - {d.campo for d in both.doubts}
    )
    merged = replace(
        both,
        ato=_act(reading, resposta.feito, contexto, named=named),
        candidates=tuple(candidates.values()),
        doubts=tuple(doubts.values()),
        modelo_usado=True,
    )
    return _decided(merged, resposta, proposed, reading, contexto)


def _decided(
    merged: Extraction,
    resposta: Resposta,
    proposed: tuple[Candidate, ...],
    reading: RulesReading,
    contexto: Context,
) -> Extraction:
    """Return what the turn says under the act that the model names; a giving up of ours has no fields of a model.

    A correction that only names its field takes that field back: it is asked for.
    """
    both = reading.extraction
    if _holds(resposta, proposed, both, contexto):
        return _commanded(merged, resposta, reading)
    if both.ato in WHOLE:
        return replace(both, modelo_usado=True)
    alvo = None if merged.informs or resposta.feito is not Ato.CORRIGE else _object(resposta, reading)
    clear = read_turn(f"{alvo} está errado", contexto).extraction.clear if alvo else frozenset()
    return replace(merged, ato=Ato.CORRIGE, clear=clear) if clear else merged


def _holds(resposta: Resposta, proposed: tuple[Candidate, ...], both: Extraction, contexto: Context) -> bool:
    """Say whether an act that a model named decides the turn; none that issues, and none that loses an order."""
    fields = {c.campo for c in proposed}
    match ACTS[resposta.ato]:
        case RequestKind.ATENDENTE | Ato.CANCELA_NOTA:
            return True
        case RequestKind():
            return Campo.VALOR not in fields
        case Ato.VARIAS:
            return bool(contexto.conhecidos)
        case Ato.RECLAMA:
            return resposta.alvo is not None or not contexto.conhecidos
        case Ato.PERGUNTA:
            return not fields and not {c.campo for c in both.candidates} >= ORDER
        case Ato.ESPERA:
            return not fields and not both.informs
        case Ato.NEGA | Ato.RECUSA:
            return contexto.resumo_mostrado and not fields and not both.informs
        case _:
            return False


def _commanded(merged: Extraction, resposta: Resposta, reading: RulesReading) -> Extraction:
    """Return the reading of a turn whose act the model names: only another invoice has data, a request its customer.

    A giving up is a no, which only makes us ask.
    """
    named, alvo = Ato.NEGA if resposta.feito is Ato.RECUSA else resposta.feito, _object(resposta, reading)
    merged = replace(merged, agreed=None if named is Ato.NEGA else named, pede=str(ACTS[resposta.ato]), alvo=alvo)
    if named is Ato.VARIAS:
        return merged
    customer = tuple(c for c in merged.candidates if c.campo is Campo.DOCUMENTO and named is Ato.REGISTRO)
    return replace(merged, ato=named, candidates=customer, doubts=(), clear=frozenset())


def _object(resposta: Resposta, reading: RulesReading) -> str | None:
    """Return what the act is about, in words that the person wrote."""
    return resposta.alvo if resposta.alvo and read(resposta.alvo).plain in reading.skeleton.text.plain else None


def _with_reading(doubt: Doubt, candidate: Candidate) -> Doubt:
    """Offer what the model read too: first, unless the rules see no price in it; then never alone."""
    valor, doubtful = candidate.valor, candidate.confianca is Confianca.DUVIDOSA
    if valor in doubt.leituras or (doubtful and not doubt.leituras):
        return doubt
    return replace(doubt, leituras=(*doubt.leituras, valor) if doubtful else (valor, *doubt.leituras), conta=None)


def _upholds(candidate: Candidate, undecided: Candidate | None) -> bool:
    same = undecided is not None and (candidate.campo, candidate.valor) == (undecided.campo, undecided.valor)
    return same and candidate.confianca is not Confianca.DUVIDOSA


def _prices(*candidates: Candidate) -> frozenset[str]:
    return frozenset(c.valor for c in candidates if c.campo is Campo.VALOR)


def _without_others(doubt: Doubt, papeis: Mapping[str, str], prices: frozenset[str]) -> Doubt:
    """Leave out what a model says is no price, unless a reader or it took that for one; some reading is left."""
    aside = {valor for valor, papel in papeis.items() if papel not in BILLED} - prices
    left = [valor for valor in doubt.leituras if valor not in aside]
    return replace(doubt, leituras=tuple(sorted(left, key=papeis.__contains__))) if left else doubt


def _is_new(valor: Candidate | None, contexto: Context) -> bool:
    return valor is not None and valor.valor != contexto.conhecidos.get(Campo.VALOR)


def _asked(*seen: Candidate) -> Doubt:
    """Ask which of these the field is."""
    trechos = ", ".join(dict.fromkeys(candidate.trecho for candidate in seen))
    return Doubt(seen[0].campo, Motivo.DISCORDANCIA, trechos, leituras=tuple(candidate.valor for candidate in seen))


def _act(reading: RulesReading, proposed: Ato, contexto: Context, *, named: bool) -> Ato:
    own = reading.extraction.ato
    if named and own not in INFORMS:
        return Ato.CORRIGE if contexto.resumo_mostrado else Ato.DADOS
    nameless = reading.unsure and reading.extraction.agreed is None
    return proposed if nameless and proposed not in WHOLE else own


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
        if not asks_model(reading, contexto) or not await self._allowed(contexto):
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


def asks_model(reading: RulesReading, contexto: Context) -> bool:
    """Say whether a turn may hold data or an act that has no name yet; what gives the readers orders is not sent.

    Where nothing is open, what gives up is about an issued note.
    """
    extraction, text = reading.extraction, reading.skeleton.text
    short = len(text.plain.split()) < FEWEST
    of_issued = extraction.ato is Ato.RECUSA and not (contexto.conhecidos or contexto.resumo_mostrado or short)
    if (extraction.ato in WHOLE and not of_issued) or commands(text):
        return False
    if extraction.candidates or extraction.doubts or extraction.ato in INFORMS or of_issued:
        return True
    pedido = read_request(text.original)
    if short or extraction.agreed in PLAIN or (pedido and pedido.inteiro):
        return reading.unsure and extraction.agreed in MAY_HOLD_DATA
    return GREETING_LINE.fullmatch(text.plain.strip(" .!?,\n")) is None
