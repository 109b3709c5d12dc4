"""Reads an answer about the customer's address, and has its CEP say what the person left out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from extractor.text.folding import read
from gateway.register.cep import CepEntry
from gateway.register.cnpj import NotFound
from state_machine.catalogue.texts import address as texts
from state_machine.invoice.draft import VAZIO
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo, Candidate, Doubt, Motivo
from state_machine.machine.events import Conversou, Encaminhou, Informou, PediuCorrecao
from state_machine.machine.states import Estado
from state_machine.values.address import EnderecoDito, read_address, read_more

if TYPE_CHECKING:
    from bot.conversation.inbound import Palavras
    from bot.ports import CepLookup
    from state_machine.machine.events import Evento
    from state_machine.machine.session import Sessao

_NAMED: Final = re.compile(r"\b(?:endereco|cep)\b")
_BESIDE: Final = frozenset({Campo.DESCRICAO, Campo.NOME})  # what words of an address are read as, too


async def as_address(
    evento: Evento, sessao: Sessao | None, palavras: Palavras, cep_register: CepLookup
) -> Informou | None:
    """Return the customer's address that words say, or complete; ``None`` for words about something else.

    They answer the question about it, and correct by its name one that stands in a summary.
    """
    if sessao is None or not isinstance(evento, Informou | Conversou | PediuCorrecao | Encaminhou):
        return None
    lido = sessao.rascunho.endereco
    shown = sessao.estado is Estado.AGUARDANDO_CONFIRMACAO and lido != VAZIO
    if sessao.pendente is not Campo.ENDERECO and not (shown and _NAMED.search(read(palavras.texto).plain)):
        return None
    antes = read_address(lido.valor or lido.escrito or "")
    dito = read_more(antes, palavras.texto)
    if dito == antes or not (_about_it(evento) or _says(palavras.texto)):
        return None
    return await _told(replace(dito, codigo_cidade=""), palavras, cep_register)


def _about_it(evento: Evento) -> bool:
    """Tell whether the words gave nothing else that an invoice has."""
    if not isinstance(evento, Informou):
        return True
    return {c.campo for c in evento.candidates} | {d.campo for d in evento.doubts} | evento.clear <= _BESIDE


def _says(texto: str) -> bool:
    dito = read_address(texto)
    return dito.is_certain or dito == EnderecoDito(numero=dito.numero)


async def _told(dito: EnderecoDito, palavras: Palavras, cep_register: CepLookup) -> Informou:
    found = await cep_register.lookup(dito.cep) if dito.cep else None
    if isinstance(found, CepEntry):
        if not _same_place(dito, found):
            return _asks(dito, palavras, Motivo.AMBIGUO, texts.outra_cidade(dito, found.cidade, found.estado))
        dito = EnderecoDito(
            logradouro=dito.logradouro or found.logradouro,
            numero=dito.numero,
            bairro=dito.bairro or found.bairro,
            cidade=found.cidade,
            estado=found.estado,
            cep=found.cep,
            complemento=dito.complemento,
            codigo_cidade=found.codigo_cidade,
        )
    elif isinstance(found, NotFound):
        return _asks(replace(dito, cep=""), palavras, Motivo.AMBIGUO, texts.sem_cep(dito.cep))
    if dito.faltam:
        return _asks(dito, palavras, Motivo.INCOMPLETO, texts.faltam(dito).rstrip("."))
    if found is None or not isinstance(found, CepEntry):
        return _asks(dito, palavras, Motivo.AMBIGUO, texts.SEM_RESPOSTA)
    try:
        whole = read_address(FIELDS[Campo.ENDERECO].check(str(dito)))
    except ValueError:
        whole = None
    if whole is None or whole.codigo_cidade != dito.codigo_cidade:
        return _asks(dito, palavras, Motivo.AMBIGUO, texts.CONFUSO)
    return Informou((Candidate(Campo.ENDERECO, str(dito), palavras.texto),), escritas=palavras.escritas)


def _same_place(dito: EnderecoDito, found: CepEntry) -> bool:
    cidade = not dito.cidade or read(dito.cidade).plain.strip() == read(found.cidade).plain.strip()
    return cidade and dito.estado in {"", found.estado}


def _asks(dito: EnderecoDito, palavras: Palavras, motivo: Motivo, detalhe: str) -> Informou:
    """Keep what is known so far in the doubt, where the next answer finds it."""
    known = str(replace(dito, codigo_cidade=""))
    return Informou((), (Doubt(Campo.ENDERECO, motivo, known, detalhe),), escritas=palavras.escritas)
