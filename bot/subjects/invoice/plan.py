"""Turns one arrival into events for one session of an invoice: buttons first, then words.

What words after an ended invoice have to do with it: they mend it, go on with it, or begin another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from bot.conversation.inbound import SILENT, Apagada, Edicao, Entrada, Outro, Palavras, Toque
from bot.subjects.invoice.acts import ActRow, Memory, answer, answer_to, asked, begun, said
from bot.subjects.invoice.clients import as_it_stands_now, repeated, repeated_note, substituted, usual, with_offer
from extractor.contract import Ato, Extraction, RequestKind
from extractor.requests.requests import Pedido
from extractor.requests.several import behind_yes, may_be_another
from extractor.utterance import Utterance, leaves
from state_machine.catalogue import acts, messages, staff_messages
from state_machine.catalogue import announcement as anuncio
from state_machine.catalogue import requests as pedidos
from state_machine.catalogue.acts import EQUIPE
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.catalogue.texts import proposal as proposal_texts
from state_machine.invoice.draft import Lido, Rascunho
from state_machine.invoice.field_table import field_named, obrigatorios
from state_machine.invoice.fields import Campo, Origem
from state_machine.invoice.session import EnviarArquivo, EnviarMes, Estado, Mensagem, Sessao
from state_machine.machine.events import (
    Abriu,
    Apagou,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    Encaminhou,
    Escolheu,
    Evento,
    Informou,
    MandouArquivo,
    NaoQuisMais,
    Negou,
    PediuAjuda,
    PediuCorrecao,
    QuisAinda,
)
from state_machine.proposal import proposed_by
from state_machine.values.local_time import local_day
from state_machine.values.text import Escrita


class Repaired(Protocol):
    """The part of the conversation's memory that is asked here."""

    async def repaired(self, sessao_id: str) -> bool:
        """Whether a later session took this one's data over."""
        ...


async def lapsed(ultima: Sessao, memory: Repaired) -> bool:
    """True when the user speaks as if the invoice that expired were still open (a yes without a summary is talk)."""
    return ultima.estado is Estado.EXPIRADO and not await memory.repaired(ultima.sessao_id)


async def broke_off(ultima: Sessao, memory: Repaired) -> bool:
    """True when the last invoice expired while its data were still being collected, and had some."""
    open_ended = ultima.rascunho != Rascunho() and not ultima.rascunho.completo
    return open_ended and await lapsed(ultima, memory)


def after_expiry(antiga: Sessao, evento: Evento) -> tuple[tuple[Evento, ...], str | None]:
    """Go on with what the expired invoice had, or begin another where the words tell again what it had; say which.

    Returns the events of a new session, and the one whose data it takes over.

    What is shown after an expiry is confirmed anew: the answer is the last word, so that no yes of before counts.
    """
    rascunho = antiga.rascunho
    fields = _fields(evento) if isinstance(evento, Informou) else frozenset()
    ditos = (evento,) if fields else ()
    if Campo.DOCUMENTO in fields:
        fields -= {Campo.NOME}  # of whom the document names
    if fields <= {campo for campo in obrigatorios() if rascunho.validado(campo) is None}:
        aviso = PediuAjuda(anuncio.guardei(antiga), aberto=True)
        return (Abriu(rascunho), *ditos, aviso), antiga.sessao_id
    return (Abriu(), *ditos, PediuAjuda(anuncio.comecei_outra(antiga), aberto=True)), None


def _fields(evento: Informou) -> frozenset[Campo]:
    return frozenset({c.campo for c in evento.candidates} | {d.campo for d in evento.doubts})


async def repairs(evento: Informou, ultima: Sessao, memory: Repaired) -> bool:
    """True when the words mend the invoice that was just rejected, rather than begin another one."""
    if ultima.estado is not Estado.REJEITADO or await memory.repaired(ultima.sessao_id):
        return False
    fields = _fields(evento)
    if ultima.pendente is not None:
        return fields == {ultima.pendente}
    return len(fields) == 1 and Campo.NOME not in fields  # somebody else's name is somebody else's invoice


TAKEN_UP = frozenset({Estado.REJEITADO, Estado.CANCELADO_USUARIO, Estado.EXPIRADO})  # their data may go on
CONFIRMED = frozenset({Estado.PROCESSANDO, Estado.APROVADO, Estado.ERRO})  # their words are at the authority
RECENT = timedelta(hours=24)  # for so long a rejected or expired session is what a short word still refers to


@dataclass(frozen=True, slots=True)
class Plano:
    """What a turn will do: ``eventos`` to ``alvo`` (``None``: a new session), or just an answer, or silence.

    ``origem`` is the ended session that a new one takes over from; ``arquivos`` are documents that were asked for;
    ``chama`` is why one of the staff is asked for, ``larga`` the open session that is given up before, ``errado`` what
    was said to be wrong with the note that is made anew: it is read onto the new draft. ``apart``: the words are of
    another invoice, and no product of theirs is taken. ``espera``: ``larga`` is a proposal's, which waits until the new
    one is done.
    """

    eventos: tuple[Evento, ...] = ()
    alvo: Sessao | None = None
    resposta: Mensagem | None = None
    origem: str | None = None
    arquivos: tuple[EnviarArquivo | EnviarMes, ...] = ()
    chama: str | None = None
    larga: Sessao | None = None
    errado: str | None = None
    apart: bool = False
    espera: bool = False

    @property
    def rascunho(self) -> Rascunho:
        """The draft to which the words are said."""
        bases = (evento.base for evento in self.eventos if isinstance(evento, Abriu) and evento.base)
        return next(bases, self.alvo.rascunho if self.alvo else Rascunho())


# What a button says to its session, where that is the same whatever it carries.
_PRESSED: dict[str, Evento] = {
    "corrigir": PediuCorrecao(),
    "mudar_costume": PediuCorrecao(),
    "cancelar": Cancelou(),
    "querer": QuisAinda(),
    "desistir": NaoQuisMais(),
    "errado_cliente": Informou(clear=frozenset({Campo.DOCUMENTO})),
    "errado_valor": Informou(clear=frozenset({Campo.VALOR})),
    "errado_servico": Informou(clear=frozenset({Campo.DESCRICAO})),
}

_CARRY = frozenset({"esta", "outra"})  # buttons with the words of what may be another invoice

# What people decide about an invoice: its answer is never held back.
_DECISIONS = (Confirmou, Escolheu, Cancelou, Negou, PediuCorrecao, QuisAinda, NaoQuisMais)

# What goes on with an invoice that expired in mid-collection.
_GO_ON = (Informou, Confirmou, Conversou, PediuCorrecao)


def decides(entrada: Entrada, plano: Plano) -> bool:
    """Say whether the turn decides about an invoice, in words or by a button; each button counts as one that does."""
    return isinstance(entrada, Toque) or (plano.alvo is not None and any(map(_is_decision, plano.eventos)))


def _is_decision(evento: Evento) -> bool:
    """What takes the summary's button away decides too: in silence a yes with a condition would seem to be done."""
    return isinstance(evento, _DECISIONS) or (isinstance(evento, PediuAjuda) and evento.retem)


async def plan(
    entrada: Entrada, dita: Utterance | None, memory: Memory, agora: datetime, proprias: Utterance | None = None
) -> Plano:
    """Decide which session an arrival speaks to, and what it says to it.

    ``dita`` is of all its words; ``proprias``, where some of them decide nothing, of the others alone.
    """
    match entrada:
        case Toque():
            return await _pressed(entrada, memory)
        case Edicao():
            return await _edited(entrada, dita.dados if dita else None, memory, agora)
        case Apagada(original):
            return await _deleted(original, memory)
        case Palavras() if dita is not None:
            return _beside(entrada, dita, memory) or await _in_words(entrada, dita, memory, agora, proprias)
        case Outro(tipo) if tipo in SILENT:
            return Plano()
        case Outro(tipo):
            if memory.ativa:
                return Plano((MandouArquivo(tipo),), memory.ativa)
            return Plano(resposta=messages.so_texto(tipo))
        case _:
            raise AssertionError("words without a reading")


async def _in_words(
    entrada: Palavras, dita: Utterance, memory: Memory, agora: datetime, proprias: Utterance | None
) -> Plano:
    evento = said(entrada, dita, proprias)
    if memory.ativa and _empty(memory.ativa) and not dita.dados.informs and leaves(dita):
        return Plano((Cancelou(),), memory.ativa)  # who leaves, leaves nothing behind that waits for an answer
    if resposta := await answer_to(entrada, dita, memory, agora, RECENT):
        return await _acted(*resposta, dita, evento, memory, agora)
    if pedido := asked(entrada, dita, proprias, memory.ativa):
        return await _requested(pedido, evento, memory, agora)
    return Plano((evento,), memory.ativa) if memory.ativa else await _out_of_the_blue(evento, memory, agora)


def _empty(sessao: Sessao) -> bool:
    """Tell whether nothing that an invoice needs was said yet."""
    return sessao.espera_usuario and not any(sessao.rascunho.campo(campo) != Lido() for campo in obrigatorios())


def _beside(entrada: Palavras, dita: Utterance, memory: Memory) -> Plano | None:
    """Return what becomes of words that order another invoice, or over a summary name another customer's.

    Nothing of it is merged.

    A clear yes goes through and keeps the other order; else it is asked whether they correct the one that is shown.
    """
    ativa = memory.ativa
    orders = dita.dados.agreed is Ato.VARIAS and not (dita.dados.informs or dita.dados.pede)
    if ativa and orders and begun(ativa) and entrada.proprias is None and not proposed_by(ativa.rascunho):
        return Plano((PediuAjuda(acts.esta_ou_outra(ativa, dita.texto), aberto=False),), ativa, apart=True)
    shown = ativa and (ativa.estado is Estado.AGUARDANDO_CONFIRMACAO or ativa.rascunho.valores_a_escolher)
    named = dita.dados.pede == Ato.VARIAS  # by a model, which may be wrong: it is asked
    if not ativa or not shown or (dita.outra and not named) or proposed_by(ativa.rascunho):
        return None  # what a system proposed waits by itself
    if not named and not may_be_another(dita.texto, dita.dados, ativa.rascunho.validado(Campo.DOCUMENTO)):
        return None
    outra = None if entrada.proprias is not None or entrada.longa or dita.instrucao else behind_yes(dita.texto)
    if outra and ativa.rascunho.completo:
        return Plano((Confirmou(None, entrada.escrita_em, outra=outra),), ativa, apart=True)
    return Plano((PediuAjuda(acts.esta_ou_outra(ativa, dita.texto), aberto=False),), ativa, apart=True)


def _carried(toque: Toque, sessao: Sessao, memory: Memory) -> Plano:
    """Read the words that a button carries onto its draft or, where they are another invoice's, onto a new one.

    Of two invoices the one that is being made comes first.
    """
    ativa = memory.ativa
    if toque.acao == "esta":
        valem = sessao.espera_usuario and toque.revisao == sessao.revisao
        return Plano((), sessao, errado=toque.escolha) if valem else Plano((Conversou(),), sessao)
    if ativa is None or not begun(ativa):
        return Plano((Abriu(),), ativa, errado=toque.escolha)
    return Plano((PediuAjuda(acts.uma_de_cada_vez(ativa, toque.escolha), aberto=False),), ativa)


async def _acted(
    mensagem: Mensagem, linha: ActRow, dita: Utterance, evento: Evento, memory: Memory, agora: datetime
) -> Plano:
    """Answer an act; data are taken before the answer where its row says so, and nothing else ever happens."""
    sem = dita.instrucao if linha.retem else None
    aviso = PediuAjuda(mensagem, retem=linha.retem, aberto=linha.aberto, sem=sem)
    toma = linha.dados and isinstance(evento, Informou) and not dita.outra
    if memory.ativa:
        return Plano((evento, aviso) if toma else (aviso,), memory.ativa)
    if not toma:
        return Plano(resposta=mensagem)
    plano = await _out_of_the_blue(evento, memory, agora)
    return replace(plano, eventos=(*plano.eventos, aviso)) if plano.eventos else plano


async def _requested(pedido: Pedido, evento: Evento, memory: Memory, agora: datetime) -> Plano:
    """Answer a request beside whatever is open: the draft stays, and a later yes answers no summary any more."""
    if pedido.tipo is RequestKind.ATENDENTE:
        return await _called(None, memory)
    if pedido.tipo is RequestKind.REPETIR:
        return _opened(await repeated(memory, pedido.clientes), memory, evento)
    if pedido.tipo is RequestKind.RETOMAR:
        ultima, quando = await memory.latest() or (None, None)
        if memory.ativa:
            return Plano((Conversou(),), memory.ativa)
        if ultima and quando and agora - quando < RECENT and ultima.estado in TAKEN_UP:
            return await _take_up(ultima, memory)
    hoje = local_day(memory.empresa.municipio_ibge, agora)
    resposta = await answer(pedido, memory, hoje)
    copias = resposta
    if pedido.tipo is RequestKind.EMAIL and not memory.mails:
        copias = await answer(replace(pedido, tipo=RequestKind.SEGUNDA_VIA, formatos=("pdf", "xml")), memory, hoje)
    elif pedido.contador and isinstance(resposta, str):
        copias = await answer(replace(pedido, contador=False), memory, hoje)
    arquivos = copias if isinstance(copias, tuple) else ()
    if memory.ativa is None:
        texto = None if isinstance(resposta, tuple) else pedidos.mensagem(resposta, em_aberto=False)
        return Plano(resposta=texto, arquivos=arquivos)
    dito = pedidos.segunda_via_enviada(resposta) if isinstance(resposta, tuple) else resposta
    return Plano((PediuAjuda(pedidos.mensagem(dito, em_aberto=True)),), memory.ativa, arquivos=arquivos)


async def _called(botao: str | None, memory: Memory) -> Plano:
    """Ask for one of the staff, by a button of this target or in words; the queue lists sessions, so there is one."""
    ativa = memory.ativa
    perguntado = next(iter(ativa.rascunho.a_pedir), None) if ativa else None
    motivo = "palavras" if botao is None else "reclamacao" if botao == EQUIPE else f"pergunta:{perguntado or ''}"
    mensagem = pedidos.mensagem(staff_messages.chamada(ja=await memory.called()), em_aberto=begun(ativa))
    if ativa or await memory.latest() is None:
        return Plano((*(() if ativa else (Abriu(),)), PediuAjuda(mensagem)), ativa, chama=motivo)
    return Plano(resposta=mensagem, chama=motivo)


def _opened(como: Abriu | Mensagem, memory: Memory, evento: Evento | None = None) -> Plano:
    """Open a draft like another invoice, with what was said to differ, or say why not; one being made comes first."""
    aberta = begun(memory.ativa)
    if isinstance(como, Abriu) and not aberta:
        return Plano((como, evento) if isinstance(evento, Informou) else (como,), memory.ativa)
    resposta = memory_texts.outra_aberta() if isinstance(como, Abriu) else como
    resposta = replace(resposta, texto=pedidos.mensagem(resposta.texto, em_aberto=aberta).texto)
    return Plano((PediuAjuda(resposta),), memory.ativa) if memory.ativa else Plano(resposta=resposta)


def _repeats(como: Abriu | Mensagem, memory: Memory) -> Plano:
    """Do a button's work whatever is open: the draft is given up and can be taken up; a proposal comes first."""
    ativa = memory.ativa
    if isinstance(como, Abriu) and begun(ativa) and ativa and proposed_by(ativa.rascunho) is None:
        return Plano((como,), larga=ativa)
    return _opened(como, memory)


async def _edited(edicao: Edicao, leitura: Extraction | None, memory: Memory, agora: datetime) -> Plano:
    """Take a message as it reads now, in the place where it was written; what is confirmed stays as it was."""
    ativa, original = memory.ativa, edicao.original
    if original is None:
        return Plano((Editou(None),), ativa) if ativa else Plano(resposta=messages.editou())
    if await _is_outdated(edicao, original, memory):
        return Plano()
    ouvida = await memory.heard(original)
    outra = ouvida.sessao if ouvida.sessao and (ativa is None or ouvida.sessao.sessao_id != ativa.sessao_id) else None
    if outra is not None:
        resposta = messages.editou_tarde(outra)
        return Plano((PediuAjuda(resposta),), ativa) if ativa else Plano(resposta=resposta)
    if leitura is None:
        return Plano((Editou(original),), ativa) if ativa else Plano(resposta=messages.editou())
    quando = ouvida.escrita_em or edicao.escrita_em  # one that we never saw is as old as its edit, as far as we know
    escritas = (Escrita(original, edicao.texto or "", quando, so_informa=True),)
    dito = Informou(leitura.candidates, leitura.doubts, leitura.clear, escritas=escritas)
    if ativa:
        return Plano((Editou(original, dito),), ativa)
    evento: Evento = dito if leitura.informs else Encaminhou()
    return await _out_of_the_blue(evento, memory, agora)


async def _is_outdated(edicao: Edicao, original: str, memory: Memory) -> bool:
    """Tell whether a later edit of the same message, or its end, came before this one."""
    quando = edicao.escrita_em.timestamp() if edicao.escrita_em else 0
    return any(mudanca.quando > quando for mudanca in await memory.changes([original]))


async def _deleted(original: str, memory: Memory) -> Plano:
    """Put in doubt what a deleted message told the open invoice; nothing else can be undone by deleting it."""
    ativa = memory.ativa
    sessao = (await memory.heard(original)).sessao
    if sessao is None:
        return Plano()
    if ativa and sessao.sessao_id == ativa.sessao_id:
        return Plano((Apagou(original),), ativa)
    if sessao.estado not in CONFIRMED:
        return Plano()
    resposta = messages.apagou_tarde(sessao)
    return Plano((PediuAjuda(resposta),), ativa) if ativa else Plano(resposta=resposta)


async def _pressed(toque: Toque, memory: Memory) -> Plano:
    if toque.acao == "pessoa":
        return await _called(toque.sessao_id, memory)
    ativa = memory.ativa
    if toque.acao == "repetir":
        return _repeats(await repeated_note(memory, toque.sessao_id), memory)
    if toque.acao == "substituir":
        plano = _repeats(como := await substituted(memory, toque.sessao_id), memory)
        opens = isinstance(como, Abriu) and como in plano.eventos
        return replace(plano, errado=toque.escolha or None) if opens else plano
    sessao = ativa if ativa and ativa.sessao_id == toque.sessao_id else await memory.load(toque.sessao_id)
    if sessao is None:  # not of this conversation: a forged or very old button
        return Plano((Conversou(),), ativa) if ativa else Plano(resposta=messages.nada_a_confirmar())
    if toque.acao in _PRESSED:
        return Plano((_PRESSED[toque.acao],), sessao)
    match toque.acao:
        case "confirmar":
            return Plano((Confirmou(toque.revisao if toque.revisao is not None else -1),), sessao)
        case "emitir":
            revisao = toque.revisao if toque.revisao is not None else -1
            return Plano((Confirmou(revisao, leitura=toque.escolha),), sessao)
        case "usar" | "outro":
            return Plano((_chosen(toque),), sessao)
        case "usar_costume":
            valem = sessao.espera_usuario and toque.revisao == sessao.revisao
            return Plano((await usual(memory, sessao.rascunho, toque.escolha) if valem else Conversou(),), sessao)
        case _:
            return _carried(toque, sessao, memory) if toque.acao in _CARRY else await _take_up(sessao, memory)


def _chosen(toque: Toque) -> Evento:
    """Return what was chosen of a field in doubt; a press that names no field of ours is talk."""
    row_name, _, leitura = toque.escolha.partition(":")
    row = field_named(row_name)
    if row is None:
        return Conversou()
    return Escolheu(row.campo, leitura if toque.acao == "usar" else None, toque.revisao)


async def _take_up(antiga: Sessao, memory: Memory) -> Plano:
    """Open a new session with an ended one's data, once; with those of an issued note only after it was cancelled.

    A draft that is open is given up for it, and can be taken up itself; what another system proposed comes first.
    """
    ativa = memory.ativa
    if ativa and proposed_by(ativa.rascunho):
        return Plano((Conversou(),), ativa)
    if antiga.estado is Estado.APROVADO and await memory.cancelled(antiga):
        if corrigida := await memory.refused_instead(antiga):
            return await _take_up(corrigida, memory)
        errado = await memory.wrong(antiga)
        base = replace(antiga.rascunho, substitui=None)  # the note that it took the place of is gone already
        return Plano((Abriu(base),), larga=ativa, errado=errado)  # of its own: it repairs nothing
    if antiga.estado not in TAKEN_UP or await memory.repaired(antiga.sessao_id):
        resposta = messages.ja_retomada()
        return Plano((PediuAjuda(resposta),), ativa) if ativa else Plano(resposta=resposta)
    rascunho = await as_it_stands_now(memory, antiga.rascunho)
    if isinstance(rascunho, Mensagem):
        return Plano((PediuAjuda(rascunho),), ativa) if ativa else Plano(resposta=rascunho)
    return Plano((Abriu(rascunho, antiga.pendente),), None, origem=antiga.sessao_id, larga=ativa)


async def _goes_on(antiga: Sessao, evento: Evento, memory: Memory) -> Plano:
    """Take words to an invoice that expired in mid-collection, unless it may be issued no more."""
    rascunho = await as_it_stands_now(memory, antiga.rascunho)
    if isinstance(rascunho, Mensagem):
        return Plano(resposta=rascunho)
    eventos, origem = after_expiry(replace(antiga, rascunho=rascunho), evento)
    return Plano(eventos, origem=origem)


def _greeting(memory: Memory) -> Mensagem:
    return messages.saudacao(vende=bool(memory.empresa.mercado))


async def _out_of_the_blue(evento: Evento, memory: Memory, agora: datetime) -> Plano:
    """Words while no invoice waits for the user: most open a new session, some only refer to the last one."""
    ultima, quando = await memory.latest() or (None, None)
    recente = bool(quando and agora - quando < RECENT)
    if ultima and recente and isinstance(evento, _GO_ON) and await broke_off(ultima, memory):
        return await _goes_on(ultima, evento, memory)
    match evento:
        case PediuAjuda():
            return Plano(resposta=messages.ajuda(vende=bool(memory.empresa.mercado)))
        case Informou() if not (evento.candidates or evento.doubts):
            return Plano(resposta=messages.nada_a_confirmar())  # a field is called wrong, and no invoice is open
        case Informou():
            base = ultima if recente else None
            if base and await repairs(evento, base, memory):
                plano = await _take_up(base, memory)
                return replace(plano, eventos=(*plano.eventos, evento)) if plano.eventos else plano
            return Plano((Abriu(), evento))
        case _ if ultima and ultima.estado is Estado.PROCESSANDO and await memory.stopped(ultima):
            return Plano(resposta=messages.ainda_quer(ultima))  # words decide nothing here: the buttons do
        case Conversou() if not recente:
            return Plano((Abriu(), Conversou(await with_offer(memory, _greeting(memory)))))
        case Confirmou() | Conversou() if ultima and recente and await lapsed(ultima, memory):
            return Plano(resposta=messages.expirada(ultima.sessao_id))
        case _ if recente and ultima and ultima.estado is Estado.PROCESSANDO:
            decides = isinstance(evento, Cancelou | PediuCorrecao)
            return Plano((evento,), ultima) if decides else Plano(resposta=messages.em_andamento())
        case _:
            resposta = acts.combinado() if isinstance(evento, Negou) else messages.nada_a_confirmar()
            return Plano(resposta=await with_offer(memory, resposta) if isinstance(evento, Conversou) else resposta)


def apart_from_proposal(plano: Plano, ditos: Sequence[Evento]) -> Plano:
    """Return the plan with an order for another customer apart from the proposal that is open: that one is its own.

    ``ditos`` are its events with the clients that they name.
    """
    ativa, proposta = plano.alvo, proposed_by(plano.alvo.rascunho) if plano.alvo else None
    lido = plano.rascunho.campo(Campo.DOCUMENTO)
    informam = [evento.dito if isinstance(evento, Editou) else evento for evento in ditos]
    if proposta is None or lido.origem is not Origem.PROPOSTA or not any(map(partial(_of_another, lido), informam)):
        return plano
    aviso = PediuAjuda(proposal_texts.espera(proposta), aberto=True)
    return replace(plano, eventos=(Abriu(), *plano.eventos, aviso), alvo=None, larga=ativa, espera=True)


def _of_another(lido: Lido, dito: Evento | None) -> bool:
    """Tell whether words name, for sure or not, another customer than the one that stands."""
    if not isinstance(dito, Informou):
        return False
    certain = any(c.campo is Campo.DOCUMENTO and c.valor != lido.valor for c in dito.candidates)
    return certain or any(d.campo is Campo.DOCUMENTO and d.leituras != (lido.valor,) for d in dito.doubts)
