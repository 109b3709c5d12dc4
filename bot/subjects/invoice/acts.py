"""The table of answers to speech acts: what is said to each act in each moment of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from bot.subjects.invoice.repeat import replaceable, with_offer
from bot.subjects.invoice.words import begun
from extractor.contract import Ato
from extractor.requests.acts import (
    CHANGES,
    COMPLAINT,
    GOOD_NEWS,
    HOW_TO_USE,
    NUMBERED,
    OF_ISSUED,
    SWEARING,
    THANKS,
    another_one,
    names_customer,
)
from extractor.requests.cancellation import PorCliente, PorNumero, PorValor, Qual, Ultima, similar
from extractor.requests.cancellation import request as cancellation
from extractor.requests.requests import as_number
from extractor.text.folding import read
from extractor.text.hostile import ABUSE
from state_machine.catalogue import acts as textos
from state_machine.catalogue import knowledge, messages
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.requests import LISTADAS
from state_machine.machine.effects import Mensagem
from state_machine.machine.states import Estado
from state_machine.protocol.channel import NATIONAL_LIST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime, timedelta

    from bot.conversation.inbound import Palavras
    from bot.subjects.invoice.requests import Memory
    from extractor.utterance import Utterance
    from state_machine.catalogue.requests import NotaListada


MIN_WORDS: Final = 3  # of a question that is one by itself: "já foi?" is about what is at hand


class Momento(StrEnum):
    """Where a conversation stands when somebody speaks."""

    SEM_NOTA = "sem_nota"  # nothing is open, and nothing ended lately
    COLETANDO = "coletando"
    RESUMO = "resumo"  # the summary waits for a yes
    EMITINDO = "emitindo"
    EMITIDA = "emitida"  # lately
    ENCERRADA = "encerrada"  # lately, without a note: refused, given up, expired, with the staff


@dataclass(frozen=True, slots=True)
class Fala:
    """What was said, and when."""

    dita: Utterance
    memory: Memory
    momento: Momento


@dataclass(frozen=True, slots=True)
class ActRow:
    """A row: ``responde`` gives the answer, ``None`` where the data decide after all.

    ``aberto``: the answer ends with what is open. ``dados``: what was said about the invoice is taken first; without
    it an answer never acts. ``retem``: no summary shown so far may be confirmed.
    """

    responde: Callable[[Fala], Awaitable[Mensagem | None]]
    aberto: bool = True
    dados: bool = False
    retem: bool = False


async def moment(memory: Memory, agora: datetime, recente: timedelta) -> Momento:
    """Say where the conversation stands; ``recente``: for so long after its end an invoice still counts."""
    if memory.ativa:
        shown = memory.ativa.estado is Estado.AGUARDANDO_CONFIRMACAO
        return Momento.RESUMO if shown else Momento.COLETANDO
    ultima, quando = await memory.latest() or (None, None)
    if ultima is None or quando is None or agora - quando >= recente:
        return Momento.SEM_NOTA
    match ultima.estado:
        case Estado.PROCESSANDO:
            return Momento.EMITINDO
        case Estado.APROVADO:
            return Momento.EMITIDA
        case _:
            return Momento.ENCERRADA


async def answer_to(
    entrada: Palavras, dita: Utterance, memory: Memory, agora: datetime, recente: timedelta
) -> tuple[Mensagem, ActRow] | None:
    """Return the answer to the act of these words with its row, ``None`` where no row of the table answers it."""
    ato = dita.ato
    if ato is None or (entrada.proprias is not None and ato is not Ato.FISCAL):  # forwarded words only give data
        return None
    momento = await moment(memory, agora, recente)
    linha = ANSWERS.get((ato, momento))
    if linha is None:
        return None
    mensagem = await linha.responde(Fala(dita, memory, momento))
    return (mensagem, linha) if mensagem else None


async def _espera(fala: Fala) -> Mensagem | None:
    if fala.dita.dados.informs:
        return None
    if fala.momento is Momento.EMITINDO:
        return textos.espera_emissao()
    return textos.espera(resumo=fala.momento is Momento.RESUMO, aberta=fala.momento is Momento.COLETANDO)


async def _pergunta(fala: Fala) -> Mensagem | None:
    if names_customer(fala.dita.dados):
        return None
    dados, plain = fala.dita.dados, fala.dita.plain
    if fala.dita.says(HOW_TO_USE):
        return None
    empresa = fala.memory.empresa
    if knowledge.OWN_CNPJ.search(plain):
        return Mensagem(knowledge.own_cnpj(empresa.razao_social, empresa.cnpj))
    tema = knowledge.find(plain, empresa.regime)
    if tema:
        return Mensagem(tema.texto)
    if dados.informs:
        return None
    gives_up = dados.ato is Ato.RECUSA  # asked, and so not done
    unknown = dados.ato in {Ato.FORA, Ato.PERGUNTA} and len(plain.split()) >= MIN_WORDS
    return (
        textos.nao_sei(imposto=knowledge.TAXES.search(plain) is not None)
        if gives_up or unknown or dados.agreed is Ato.PERGUNTA
        else None
    )


async def _reclama(fala: Fala) -> Mensagem | None:
    numbered = fala.dita.says(CHANGES) or fala.dita.says(NUMBERED)
    issued = numbered or fala.dita.says(OF_ISSUED)
    if not issued and fala.dita.says(GOOD_NEWS) and not fala.dita.says(COMPLAINT):
        return None
    if fala.memory.ativa is not None and fala.dita.dados.informs and not issued:
        return None  # "o valor tava errado, é 1800" corrects what is open
    if names_customer(fala.dita.dados):
        return None
    if fala.momento is Momento.EMITINDO:
        return messages.ja_enviada()
    numero = as_number(numbered["n"]) if numbered else None
    if numero is None and isinstance(which := _which(fala.dita.dados.alvo), PorNumero):
        numero = as_number(which.numero)
    notas = await fala.memory.notes(1, numero=numero)
    if numero and not notas:
        dados = fala.dita.dados
        read_as = [*(c.trecho for c in dados.candidates), *(d.trecho for d in dados.doubts)]
        corrects = fala.memory.ativa is not None and any(numero not in trecho for trecho in read_as)
        return None if corrects else Mensagem(pedidos.sem_nota(numero))
    empresa = fala.memory.empresa
    limitada = empresa.canal.nome in NATIONAL_LIST and not replaceable(empresa)
    return textos.reclama(
        next(iter(notas), None),
        em_aberto=fala.memory.ativa is not None,
        limitada=limitada,
        substitui=replaceable(empresa),
        palavras=fala.dita.texto,
    )


async def _corrige(fala: Fala) -> Mensagem | None:
    vago = not fala.dita.dados.informs and fala.dita.dados.ato in {Ato.NEGA, Ato.SOCIAL}
    if not vago or fala.memory.ativa is None:
        return None
    other, customer = another_one(fala.dita), fala.memory.ativa.rascunho.tomador_nome or ""
    if other and other in read(customer).plain.split():  # "é outra padaria"
        return textos.qual_cliente()
    return textos.o_que_errado(fala.memory.ativa)


async def _fiscal(fala: Fala) -> Mensagem | None:
    if fala.dita.dados.ato is Ato.RECUSA and not fala.dita.dados.informs:
        return None
    return messages.instrucao_fiscal(fala.dita.instrucao)


async def _cancela_nota(fala: Fala) -> Mensagem | None:
    dados, pedido = fala.dita.dados, fala.dita.pedido
    if dados.informs:
        return None
    if not dados.pede:
        return Mensagem(pedidos.cancelar_emitida(pedido.numero if pedido else None))
    which = _which(dados.alvo) or Qual()
    notas = await fala.memory.notes(LISTADAS, valem=True)
    return pedidos.qual_cancelar([nota for nota in notas if _means(which, nota)][: 1 if which == Ultima() else None])


def _which(alvo: str | None) -> PorNumero | PorValor | PorCliente | Ultima | Qual | None:
    """Return the note that a model's words for it name: "a 12", "essa", "da padaria"."""
    return (cancellation(f"cancelar {alvo}") or cancellation(f"cancelar a nota {alvo}")) if alvo else None


def _means(which: PorNumero | PorValor | PorCliente | Ultima | Qual, nota: NotaListada) -> bool:
    match which:
        case PorNumero(numero):
            return numero == nota.numero
        case PorValor(valor):
            return valor == nota.valor
        case PorCliente(nome):
            return bool(similar(nome, [nota.nome]))
        case _:
            return True


async def _varias(fala: Fala) -> Mensagem | None:
    if begun(fala.memory.ativa) and (resto := fala.dita.outra):
        return textos.outra_nota(resto)
    partes = fala.dita.partes
    return textos.varias(len(partes), partes[1:]) if partes and fala.dita.dados.informs else None


async def _depois(_fala: Fala) -> Mensagem | None:
    return textos.depois()


async def _social(fala: Fala) -> Mensagem | None:
    if fala.dita.dados.informs:
        return None
    if fala.dita.says(ABUSE) or fala.dita.says(SWEARING):
        return textos.xingou()
    if not fala.dita.says(THANKS):
        return None
    idle = fala.memory.ativa is None and fala.momento is not Momento.EMITINDO
    return await with_offer(fala.memory, textos.obrigado()) if idle else textos.obrigado()


async def _fora(fala: Fala) -> Mensagem | None:
    return None if names_customer(fala.dita.dados) else textos.fora()


_ALWAYS: Final = {
    Ato.ESPERA: ActRow(_espera, aberto=False),
    Ato.PERGUNTA: ActRow(_pergunta),
    Ato.RECLAMA: ActRow(_reclama),
    Ato.CANCELA_NOTA: ActRow(_cancela_nota),
    Ato.FISCAL: ActRow(_fiscal, aberto=False, dados=True, retem=True),  # the button stays away until they say
    Ato.VARIAS: ActRow(_varias, dados=True),
    Ato.DEPOIS: ActRow(_depois, dados=True),
    Ato.SOCIAL: ActRow(_social),
    Ato.FORA: ActRow(_fora),
}
ANSWERS: Final = {
    **{(ato, momento): linha for ato, linha in _ALWAYS.items() for momento in Momento},
    (Ato.CORRIGE, Momento.RESUMO): ActRow(_corrige, aberto=False),
}
