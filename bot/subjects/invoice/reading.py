"""Asks the extractor what a turn's words say, and keeps a model's reading, so that a retried turn replays it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from bot.conversation.inbound import Edicao, Outro, Palavras, joined
from bot.subjects.invoice.facts import CLOCKS_APART
from bot.subjects.invoice.words import begun
from extractor.contract import Context, Extraction
from extractor.requests.acts import corrections
from extractor.utterance import Utterance, understand
from state_machine.catalogue.choices import mostra_leituras
from state_machine.invoice.draft import sem_editada
from state_machine.invoice.field_table import FIELDS
from state_machine.machine.events import Informou
from state_machine.machine.states import Estado
from state_machine.values.local_time import local_day

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bot.conversation.inbound import Chegada
    from bot.conversation.memory import ConversationMemory
    from bot.ports import Extractor
    from persistence.people.companies import Empresa
    from persistence.queue.lanes import Lanes
    from state_machine.machine.session import Sessao

_EXTRACTION = TypeAdapter(Extraction)


class Reader:
    """Reads for one company what the people of a conversation write."""

    def __init__(self, extractor: Extractor, lanes: Lanes) -> None:
        self._extractor = extractor
        self._lanes = lanes

    async def all_words(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Utterance | None:
        """Return what the arrival's words say, ``None`` if it has none."""
        match chegada.entrada:
            case Palavras(texto):
                pass
            case Edicao(original, str(texto)):
                sessao = without(sessao, original)
            case _:
                return None
        key = [row.id for row in chegada.rows]
        kept = _load(chegada.rows[-1].interpretacao, key)
        if kept:
            return Utterance(texto, kept)
        dita = await read(texto, sessao, empresa, agora, self._extractor, chegada.contato.conversa)
        if dita.dados.modelo_usado:
            stored = {"rows": key, "leitura": _EXTRACTION.dump_python(dita.dados, mode="json")}
            await self._lanes.store_interpretation(chegada.rows[-1].id, stored)
        return dita

    async def own_words(
        self, chegada: Chegada, sessao: Sessao | None, empresa: Empresa, agora: datetime
    ) -> Utterance | None:
        """Return what those words say that may decide, ``None`` where that is all of them, or none."""
        proprias = chegada.entrada.proprias if isinstance(chegada.entrada, Palavras) else None
        if not proprias:
            return None
        return await read(proprias, sessao, empresa, agora, self._extractor, chegada.contato.conversa)

    async def corrected(self, errado: str, sessao: Sessao, empresa: Empresa, agora: datetime) -> Informou | None:
        """Return what a complaint about an issued note says to a draft with its data (``sessao``), where it does.

        What stood there before was wrong: it is no second reading of what is right. A reading without doubts comes
        before one with some.
        """
        dito = None
        for words in corrections(errado):
            leitura = (await read(words, sessao, empresa, agora, self._extractor, sessao.conversa)).dados
            novos = tuple(c for c in leitura.candidates if c.valor != sessao.rascunho.validado(c.campo))
            if novos or leitura.doubts or leitura.clear:
                lido = Informou(novos, leitura.doubts, leitura.clear | {c.campo for c in novos})
                if novos and not leitura.doubts:
                    return lido
                dito = dito or lido
        return dito


async def as_it_stands(chegada: Chegada, memory: ConversationMemory) -> Chegada:
    """Leave out what arrived late and has been edited or deleted meanwhile: the notice of that overtook it."""
    if not isinstance(chegada.entrada, Palavras):
        return chegada
    arrived = {row.chave: row.recebido_em for row in chegada.rows}
    late = {e.mensagem for e in chegada.entrada.escritas if e.em and arrived[e.mensagem] - e.em > CLOCKS_APART}
    gone = {change.original for change in await memory.changes(late)} if late else set()
    left = [escrita for escrita in chegada.entrada.escritas if escrita.mensagem not in gone]
    if len(left) == len(chegada.entrada.escritas):
        return chegada
    return replace(chegada, entrada=joined(left) if left else Outro("revoke"))


async def read(
    texto: str, sessao: Sessao | None, empresa: Empresa, agora: datetime, extractor: Extractor, conversa: str = ""
) -> Utterance:
    """Ask what the words say, in the light of what the conversation knows."""
    rascunho = sessao.rascunho if sessao else None
    conhecidos = {c: v for c in FIELDS if (v := rascunho.validado(c))} if rascunho else {}
    contexto = Context(
        hoje=local_day(empresa.municipio_ibge, agora),
        pendente=sessao.pendente if sessao else None,
        resumo_mostrado=sessao is not None and _awaits_yes(sessao),
        conhecidos=conhecidos,
        proprios=frozenset({empresa.cnpj}),
        conversa=conversa,
    )
    return await understand(texto, contexto, extractor, drafting=begun(sessao))


def _awaits_yes(sessao: Sessao) -> bool:
    """The summary does, also with two amounts, and so does the only reading of a field in doubt."""
    return sessao.estado is Estado.AGUARDANDO_CONFIRMACAO or mostra_leituras(sessao.rascunho)


def without(sessao: Sessao | None, mensagem: str | None) -> Sessao | None:
    """Return the session as it was before a message: the light in which that one is read again."""
    if sessao is None or mensagem is None:
        return sessao
    ditos = [campo for campo in FIELDS if sessao.rascunho.campo(campo).mensagem == mensagem]
    if not ditos:
        return sessao
    rascunho = sem_editada(sessao.rascunho, mensagem, ())
    pendente = ditos[0] if len(ditos) == 1 else None
    return replace(sessao, rascunho=rascunho, estado=Estado.DADOS_INCOMPLETOS, pendente=pendente)


def _load(kept: Any, rows: Sequence[int]) -> Extraction | None:
    """Return the kept reading if it is of exactly these rows; more may have arrived since."""
    if not isinstance(kept, dict) or kept.get("rows") != list(rows):
        return None
    try:
        return _EXTRACTION.validate_python(kept.get("leitura"))
    except ValidationError:  # kept by another version of us
        return None
