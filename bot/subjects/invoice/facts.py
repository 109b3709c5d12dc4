"""Adds to what the user said what only the records know: for whom they may issue now, what a yes had seen before it.

Carries out what staff order for one session, in its lane like any message; refuses what no longer makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import structlog

from bot.conversation.inbound import Palavras
from bot.conversation.subject import Resources
from bot.orders.accept import Door
from extractor.amounts.reckoned import chosen, wants_former
from extractor.contract import Ato
from extractor.fields.products import (
    Dito,
    Unlisted,
    has_number,
    is_money,
    is_one,
    names_one,
    read_alone,
    read_items,
    read_unknown,
)
from extractor.requests.products import as_order, for_whom, is_nameless, is_service, read_model, read_price
from extractor.requests.yes_no import is_no as says_no
from extractor.requests.yes_no import is_yes as says_yes
from extractor.requests.yes_no import numbered_answer, worded_answer
from extractor.utterance import Utterance
from persistence.conversations import snapshots
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.fiscal import attempts
from persistence.fiscal.comparison import equal_invoice, usual_amount
from persistence.people import companies as people
from persistence.people.companies import Empresa
from persistence.queue import outbox
from persistence.queue.lanes import InboxRow, Lease
from persistence.rows import Ordem, OrderRow
from state_machine.catalogue import messages
from state_machine.goods import NENHUM, Produto, dump, load, total
from state_machine.invoice.draft import CPF_DIGITS, VAZIO, Rascunho, com_leitura
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Origem
from state_machine.invoice.session import Estado, Sessao
from state_machine.machine.events import (
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    Evento,
    Informou,
    MudouEmissor,
    NaoQuisMais,
    Negou,
    NotaRejeitada,
    NumeroTomado,
    PediuAjuda,
    PediuCorrecao,
    QuisAinda,
    Reprocessou,
)
from state_machine.proposal import proposed_by
from state_machine.protocol.channel import ATTEMPTS, TipoDocumento
from state_machine.protocol.emission import StatusEmissao
from state_machine.services.codes import Servico
from state_machine.values.money import formata_brl
from state_machine.values.text import apara, plain

_WORDED = frozenset({Campo.DESCRICAO, Campo.NOME})  # what words without a number are read as
_SEVERAL = 2  # codes among which there is something to choose
_NO_NUMBER = "o número desta nota já está em uso no emissor oficial, e não houve outro para ela"
CLOCKS_APART = timedelta(seconds=2)  # Meta's clock tells whole seconds, and is not ours


def is_yes(sessao: Sessao | None, eventos: Sequence[Evento]) -> bool:
    """Tell whether these events may issue the session's invoice."""
    if sessao is None or not (sessao.estado is Estado.AGUARDANDO_CONFIRMACAO or sessao.rascunho.valores_a_escolher):
        return False
    return any(isinstance(evento, Confirmou) for evento in eventos)


def needs_right(sessao: Sessao | None, eventos: Sequence[Evento]) -> bool:
    """Tell whether these events decide about an invoice, so that the right to issue is looked at once more."""
    return is_yes(sessao, eventos) or any(isinstance(evento, QuisAinda | NaoQuisMais) for evento in eventos)


def as_issued_by(sessao: Sessao, empresa: Empresa | None, canal: str | None, eventos: Sequence[Evento]) -> list[Evento]:
    """Return the events as they are while the session is the company's, for which its user may issue now.

    Otherwise the session's summaries named another company, other data or another channel of it: a yes to one of them
    is talk, and the change is the last thing that happens. ``canal``: where the company issues now. Without ``empresa``
    they may issue for nobody; then nothing else happens.
    """
    if not sessao.espera_usuario:
        return list(eventos)
    if empresa is None:
        return [MudouEmissor(None)]
    if not _changed(sessao, empresa) and not _moved(sessao, canal):
        return list(eventos)
    elsewhere = sessao.empresa_id != empresa.id or (
        sessao.canal is not None and canal is not None and environment(sessao.canal) != environment(canal)
    )
    if elsewhere and _of_a_proposal(sessao, eventos):
        return [Cancelou()]  # what a system of one company, in one environment, proposed is nothing else's to issue
    said = [Conversou() if isinstance(evento, Confirmou) else evento for evento in eventos]
    return [*said, MudouEmissor(replace(empresa.emissor, canal=canal))]


def environment(canal: str) -> str:
    """Return the environment of a channel as a session holds it."""
    return canal.partition("/")[2]


def _of_a_proposal(sessao: Sessao, eventos: Sequence[Evento]) -> bool:
    bases = (evento.base for evento in eventos if isinstance(evento, Abriu) and evento.base)
    return any(proposed_by(rascunho) for rascunho in (sessao.rascunho, *bases))


def _changed(sessao: Sessao, empresa: Empresa) -> bool:
    if sessao.empresa_id != empresa.id:
        return True
    if sessao.empresa_versao is None:  # stored by an older version of us, which went by the time
        return sessao.mostrado_em is not None and empresa.atualizado_em > sessao.mostrado_em
    return sessao.empresa_versao != empresa.versao


def _moved(sessao: Sessao, canal: str | None) -> bool:
    """Tell whether the summary was shown for another channel or environment.

    An older version of us stored none; a choice of channel gives its company a new version, too.
    """
    return sessao.canal is not None and sessao.canal != canal


async def as_seen(connection: Connection, sessao: Sessao, evento: Evento, repeat: timedelta) -> Evento:
    """Return a yes with its circumstances, and any other event as it is.

    ``repeat``: for so long after its end an invoice of the same content makes us ask before a second one.
    """
    if not isinstance(evento, Confirmou) or not sessao.espera_usuario:
        return evento
    if evento.revisao is None:  # a button is itself the proof that its summary arrived
        shown, aside = await outbox.seen(connection, sessao)
        visto = shown is not None and evento.escrita_em is not None and evento.escrita_em >= shown - CLOCKS_APART
        evento = replace(evento, visto=visto and not aside)  # of an issued note, say: the yes may be for that
    rascunho = sessao.rascunho
    if evento.leitura in rascunho.valores_a_escolher:
        rascunho = com_leitura(rascunho, Campo.VALOR, evento.leitura)
    documento, descricao = rascunho.validado(Campo.DOCUMENTO) or "", rascunho.validado(Campo.DESCRICAO)
    if not rascunho.completo or descricao is None:
        return evento
    valor = rascunho.valor_servico
    igual = await equal_invoice(connection, sessao.empresa_id, sessao.sessao_id, documento, valor, descricao, repeat)
    return replace(evento, igual=igual)


async def as_amount(database: Database, sessao: Sessao | None, palavras: Palavras) -> Informou | None:
    """Return the choice among shown amounts that words make, or the amount from before, ``None`` for other words."""
    if sessao is None or not sessao.espera_usuario or palavras.proprias is not None:
        return None
    valor = chosen(palavras.texto, sessao.rascunho.valor.leituras)
    if valor is None and (named := wants_former(palavras.texto)) is not None:
        async with database.alone() as connection:
            valor = await snapshots.former_amount(connection, sessao, named=named)
    if valor is None:
        return None
    return Informou((Candidate(Campo.VALOR, valor, palavras.texto),), escritas=palavras.escritas)


def as_service(
    evento: Evento, sessao: Sessao | None, palavras: Palavras, servicos: Sequence[Servico]
) -> Informou | None:
    """Return the choice among the company's service codes that words make, ``None`` where they make none.

    They answer the list where it was asked, and correct a summary that is shown. Other data in them come first; a
    description alone that answers the list is no new description.
    """
    if sessao is None or len(servicos) < _SEVERAL or palavras.proprias is not None:
        return None
    asked = sessao.pendente is Campo.CODIGO
    shown = sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    if not (asked or shown) or not isinstance(evento, Informou | Conversou | PediuCorrecao | Negou):
        return None
    codigo = numbered_answer(palavras.texto, servicos, asked=asked)
    if codigo is None and (not isinstance(evento, Informou) or (asked and _fields(evento) <= _WORDED)):
        codigo = worded_answer(palavras.texto, servicos, asked=asked)
    if codigo is None:
        return None
    return Informou((Candidate(Campo.CODIGO, codigo, palavras.texto),), escritas=palavras.escritas)


_WORDS = 200  # characters of an answer to yes or no
_QUOTED = 80  # UTF-16 units of what is quoted back
_OF_ITEMS = frozenset({Campo.VALOR, Campo.DESCRICAO})  # of goods they follow from the items


def as_goods(
    evento: Evento, rascunho: Rascunho, pendente: Campo | None, palavras: Palavras, produtos: Sequence[Produto]
) -> Evento:
    """Return words that name the company's products, or how they went, as what they say of an invoice for goods.

    Amounts that prices and items do not explain, and words that name no product clearly, leave the items in doubt.
    Any other event is returned as it is.
    """
    if palavras.proprias is not None or not isinstance(
        evento, Informou | Conversou | Confirmou | Negou | PediuCorrecao | PediuAjuda
    ):
        return evento
    texto = palavras.texto
    modelo = _model_said(rascunho, pendente, texto)
    informa = evento if isinstance(evento, Informou) else Informou(escritas=palavras.escritas)
    dito, novos = _goods_said(evento, informa, rascunho, pendente, texto, produtos)
    if dito is None or not (dito.todos or dito.fora or dito.pergunta or novos):
        if rascunho.itens == VAZIO:
            return evento
        outros = tuple(c for c in informa.candidates if c.campo not in _OF_ITEMS or rascunho.produtos)
        if modelo is not None:
            # What was handed over went nowhere: no address is asked about any more.
            to_company = len(rascunho.validado(Campo.DOCUMENTO) or "") > CPF_DIGITS
            gone = frozenset({Campo.ENDERECO} if modelo.valor == "nfce" and not to_company else ())
            kept = tuple(c for c in outros if c.campo not in gone)
            doubts = tuple(each for each in _of_others(informa) if each.campo not in gone)
            return replace(informa, candidates=(*kept, modelo), doubts=doubts, clear=informa.clear | gone)
        return evento
    asked = [dito.pergunta] if dito.pergunta else []
    asked += [each for each in dito.fora if ": " in each and " : " not in each]  # why it fits no invoice
    asked += _unexplained(informa, dito, texto, novos)
    fora = [*(each.dito for each in novos), *(each for each in dito.fora if each not in asked)]
    doubtful = bool(fora or asked) or not dito.itens
    certeza = Confianca.DUVIDOSA if doubtful else Confianca.CERTA
    if novos and (others := fora[len(novos) :]):
        asked.append(f"também não fechei “{'; '.join(others)}”")
    lidos = Candidate(
        Campo.ITENS,
        dump(dito.itens),
        "; ".join(fora) or texto,
        Origem.CADASTRO,
        certeza,
        "; ".join(asked) if asked and (novos or not fora) else None,
        tuple((each.texto, "" if each.preco is None else f"{each.preco:.2f}") for each in novos),
    )
    if not dito.itens and not fora and not asked:  # all of them were taken away
        return replace(informa, clear=informa.clear | {Campo.ITENS}, doubts=_of_others(informa))
    ditos = [c for c in informa.candidates if c.campo not in _OF_ITEMS]
    if (nome := for_whom(texto)) and not _fields(informa) & {Campo.NOME, Campo.DOCUMENTO}:
        ditos.append(Candidate(Campo.NOME, nome, nome))
    return replace(
        informa,
        candidates=(*ditos, lidos, *([modelo] if modelo else [])),
        doubts=_of_others(informa),
        clear=informa.clear - _OF_ITEMS,
    )


def _goods_said(
    evento: Evento,
    informa: Informou,
    rascunho: Rascunho,
    pendente: Campo | None,
    texto: str,
    produtos: Sequence[Produto],
) -> tuple[Dito | None, tuple[Unlisted, ...]]:
    """Return what words say of the items, ``None`` for nothing, and what they count that is no product yet."""
    stood = rascunho.itens.valor
    antes = load(stood) if stood and stood != NENHUM else ()
    dito = read_items(texto, produtos, antes)
    dito = _with_loose(dito, rascunho, evento) if dito else None
    if dito is None and pendente is not Campo.ENDERECO:
        dito = _answered(rascunho, pendente, texto, produtos) or read_alone(texto, rascunho.produtos)
    novos = _unknown(rascunho, pendente, texto, produtos, dito) if not isinstance(evento, PediuAjuda) else ()
    waiting = _waiting(rascunho, texto, novos)
    if dito is not None and dito.todos and not novos and {i.codigo for i in dito.itens} - {i.codigo for i in antes}:
        waiting = waiting[1:]  # the product that was meant by the first
    if novos or (dito is not None and waiting):
        novos = (*novos, *waiting)
        return _beside_new(dito or Dito(antes), novos), novos
    if dito is None and rascunho.itens.nomes and len(left := _waiting(rascunho, texto, ())) < len(rascunho.itens.nomes):
        return Dito(antes, todos=True), left
    if dito is None and pendente in {None, Campo.ITENS} and (sobra := _of_no_product(rascunho, informa)):
        dito = Dito(rascunho.produtos, pergunta=sobra)
    if dito is None and rascunho.produtos and isinstance(evento, Negou | PediuCorrecao) and has_number(texto):
        dito = Dito(rascunho.produtos, pergunta=f"“{apara(texto, _QUOTED)}” é de qual produto?")
    return dito, novos


_SAYS_NEW = frozenset({None, Campo.ITENS, Campo.DOCUMENTO, Campo.MODELO})  # beside these questions goods are counted


def _unknown(
    rascunho: Rascunho, pendente: Campo | None, texto: str, produtos: Sequence[Produto], dito: Dito | None
) -> tuple[Unlisted, ...]:
    """Return what is counted that is no product yet, where the words are about goods at all.

    Without any sign of goods a price of each one makes them such, unless they are a work's.
    """
    named = pendente is Campo.NOME and rascunho.completo  # a name may follow the summary: "Mercado 3 Irmãos"
    if (pendente not in _SAYS_NEW and not named) or "?" in texto:
        return ()
    novos = tuple(each for each in read_unknown(texto, produtos) if each.preco is not None or not named)
    sold = rascunho.itens != VAZIO or pendente is Campo.ITENS or as_order(texto) != texto
    if sold or (dito is not None and dito.todos) or read_model(texto) or is_nameless(texto):
        return () if is_service(texto) else novos
    return tuple(each for each in novos if each.preco is not None and not is_service(f"{texto} {each.texto}"))


def _waiting(rascunho: Rascunho, texto: str, novos: Sequence[Unlisted]) -> tuple[Unlisted, ...]:
    """Return what was counted before and is no product yet, but for what words say anew or take away."""
    lido = rascunho.itens
    said = (lido.escrito or "").split("; ")
    gone = [found[1] for found in _TAKEN.finditer(plain(texto, _WORDS))]
    again = {each.texto for each in novos}
    return tuple(
        Unlisted(nome, Decimal(custa) if custa else None, dito)
        for (nome, custa), dito in zip(lido.nomes, said, strict=False)
        if nome not in again and not any(names_one(words, nome) for words in gone)
    )


_TAKEN = re.compile(r"\b(?:tir\w+|remov\w+|retir\w+|sem|esquec\w+) ([^,;.\n]+)")


def _beside_new(dito: Dito, novos: Sequence[Unlisted]) -> Dito:
    """Return what words say without what they say of products that are none yet."""
    names = [plain(each.dito, _WORDS) for each in novos]
    fora = tuple(
        each for each in dito.fora if not any(name.startswith(each) or each.startswith(name) for name in names)
    )
    return replace(dito, fora=fora)


def _answered(rascunho: Rascunho, pendente: Campo | None, texto: str, produtos: Sequence[Produto]) -> Dito | None:
    """Return what a number or a price alone says of the one product that is asked about."""
    lido = rascunho.itens
    if pendente is not Campo.ITENS or lido.valor is None or (custa := read_price(texto)) is None:
        return None
    antes = load(lido.valor) if lido.valor != NENHUM else ()
    if lido.nomes or not lido.escrito:
        return None
    asked = read_items(lido.escrito, produtos, antes)
    if asked is None or len(asked.soltos) != 1 or asked.todos:
        return None
    return read_items(f"{custa} {asked.soltos[0]}", produtos, antes)


def priced(rascunho: Rascunho, texto: str) -> Informou | None:
    """Return the price alone that answers what one of a new product costs, ``None`` for other words."""
    lido = rascunho.itens
    custa = read_price(texto) if lido.nomes and not lido.nomes[0][1] else None
    if custa is None or lido.valor is None:
        return None
    (nome, _), *outros = lido.nomes
    escrito = (lido.escrito or "").split("; ")
    trecho = "; ".join([f"{escrito[0]} a {custa}", *escrito[1:]])
    preco = f"{Decimal(custa.replace(',', '.')):.2f}"
    novos = ((nome, preco), *outros)
    return Informou(
        (Candidate(Campo.ITENS, lido.valor, trecho, Origem.CADASTRO, Confianca.DUVIDOSA, lido.detalhe, novos),)
    )


def with_kept(rascunho: Rascunho, produtos: Sequence[Produto]) -> Informou | None:
    """Return items in doubt as the company's products explain them now, ``None`` where they are in no such doubt."""
    lido = rascunho.itens
    if not lido.nomes or not lido.escrito or lido.valor is None:
        return None
    antes = replace(rascunho, itens=replace(lido, nomes=(), escrito=None))
    feito = as_goods(Informou(), antes, Campo.ITENS, Palavras(lido.escrito.replace("; ", " e "), None, ()), produtos)
    return feito if isinstance(feito, Informou) and feito.candidates else None


def orders_goods(dita: Utterance, palavras: Palavras, produtos: Sequence[Produto]) -> Informou | None:
    """Return talk that names the company's products and how they went ("vendi 1 camiseta, sem cpf") as an order.

    ``None`` for other words, those that ask, decide or tell of something else, and those of others.
    """
    talks = dita.ato is None and dita.pedido is None and dita.dados.ato in {Ato.SOCIAL, Ato.FORA}
    if not talks or dita.dados.informs or palavras.proprias is not None or "?" in palavras.texto:
        return None
    dito = read_items(palavras.texto, produtos)
    said = dito is not None and dito.itens and _model_said(Rascunho(), None, palavras.texto)
    new = _unknown(Rascunho(), None, palavras.texto, produtos, dito)
    return Informou(escritas=palavras.escritas) if said or new else None


def _of_others(dito: Informou) -> tuple[Doubt, ...]:
    return tuple(duvida for duvida in dito.doubts if duvida.campo not in _OF_ITEMS)


def _model_said(rascunho: Rascunho, pendente: Campo | None, texto: str) -> Candidate | None:
    """Return what words say of how the goods went; one without a name is asked whether they were handed over."""
    folded = plain(texto, _WORDS)
    if pendente is Campo.MODELO and (says_yes(folded) or says_no(folded)):
        offered = rascunho.modelo.leituras or ("nfe",)  # the last: what was sent, else what the shop brings
        return Candidate(Campo.MODELO, "nfce" if says_yes(folded) else offered[-1], texto)
    if (said := read_model(texto)) is not None:
        return Candidate(Campo.MODELO, said, texto)
    nameless = is_nameless(texto) and rascunho.documento == VAZIO
    return Candidate(Campo.MODELO, "nfce", texto, confianca=Confianca.DUVIDOSA) if nameless else None


def as_goods_edited(evento: Editou, rascunho: Rascunho, produtos: Sequence[Produto]) -> Editou:
    """Return an edited message as what it says of goods now.

    One that ordered says all of them anew; one that only corrected says what it names, and what it added to or took
    away from is not known any more, so the items are in doubt.
    """
    dito, mensagem = evento.dito, evento.mensagem
    if dito is None:
        return evento
    texto = "\n".join(escrita.texto for escrita in dito.escritas)
    ordered = mensagem in {rascunho.documento.mensagem, rascunho.nome.mensagem} or mensagem != rascunho.itens.mensagem
    antes = replace(rascunho, itens=VAZIO) if ordered else rascunho
    feito = as_goods(dito, antes, None, Palavras(texto, None, dito.escritas), produtos)
    read = read_items(texto, produtos, antes.produtos)
    if not isinstance(feito, Informou) or ordered or read is None or not read.relativo:
        return replace(evento, dito=feito if isinstance(feito, Informou) else dito)
    asked = f"“{texto}”: quantos são ao todo?"
    duvida = Candidate(Campo.ITENS, dump(antes.produtos), texto, Origem.CADASTRO, Confianca.DUVIDOSA, asked)
    outros = (c for c in feito.candidates if c.campo is not Campo.ITENS)
    return replace(evento, dito=replace(feito, candidates=(*outros, duvida)))


def _of_no_product(rascunho: Rascunho, informa: Informou) -> str:
    """Ask of the numbers and amounts that words tell of items that stand without naming one; empty: there are none."""
    if not rascunho.produtos:
        return ""
    said = [f"“{duvida.trecho}” é de qual produto?" for duvida in informa.doubts if duvida.campo is Campo.VALOR]
    return " ".join(said or _unexplained(informa, Dito(rascunho.produtos), "", ()))


def _with_loose(dito: Dito, rascunho: Rascunho, evento: Evento) -> Dito:
    """Return products without a quantity as asked about, where they are said beside items, or are what is invoiced."""
    ditos = evento.candidates if isinstance(evento, Informou) else ()
    texts = {c.campo: plain(c.valor, _WORDS) for c in ditos if c.campo in {Campo.NOME, Campo.DESCRICAO}}
    beside = dito.todos or dito.fora or rascunho.itens != VAZIO
    beside = beside or (bool(ditos) and Campo.DESCRICAO not in texts and rascunho.descricao == VAZIO)
    sobra = [
        each
        for each in dito.soltos
        if not names_one(texts.get(Campo.NOME, ""), each) and (beside or is_one(texts.get(Campo.DESCRICAO, ""), each))
    ]
    return replace(dito, pergunta=f"quantos de {', '.join(sobra)}?" if sobra else "")


def _unexplained(informa: Informou, dito: Dito, texto: str, novos: Sequence[Unlisted]) -> list[str]:
    """Ask of amounts that neither the items' sum nor a price or quantity of them explains."""
    known = {f"{total(dito.itens):.2f}", *(f"{item.total:.2f}" for item in dito.itens)}
    known |= {f"{item.preco:.2f}" for item in dito.itens}
    counted = {f"{each:.2f}" for each in (*dito.quantos, *(item.quantidade for item in dito.itens))}
    said = {c.valor for c in informa.candidates if c.campo is Campo.VALOR}
    known |= {each for each in counted if not is_money(texto, each)}
    if novos:  # their prices are told with them
        return []
    soma = formata_brl(total(dito.itens)) if dito.itens else ""
    return [
        f"li {formata_brl(valor)}, e pelos preços guardados dá {soma}: qual é o preço de cada?"
        for valor in sorted(said - known)
    ]


def _fields(dito: Informou) -> set[Campo]:
    return {c.campo for c in dito.candidates} | {d.campo for d in dito.doubts} | dito.clear


async def as_usual(database: Database, empresa_id: int, dito: Informou) -> Informou:
    """Return words that name an amount with the company's usual one, others as they are."""
    if not any(c.campo is Campo.VALOR for c in dito.candidates):
        return dito
    async with database.alone() as connection:
        return replace(dito, comum=await usual_amount(connection, empresa_id))


def as_unnumbered(eventos: Sequence[Evento]) -> list[Evento]:
    """Return the events with each yes answered by why nothing can be issued now: staff blocked the numbering."""
    answer = PediuAjuda(messages.numeracao_bloqueada())
    return [answer if isinstance(evento, Confirmou) else evento for evento in eventos]


def as_forgotten(eventos: Sequence[Evento]) -> list[Evento]:
    """Return the events with each yes marked as one to a summary whose first yes may have been forgotten."""
    return [replace(evento, esquecida=True) if isinstance(evento, Confirmou) else evento for evento in eventos]


async def as_stopped(connection: Connection, sessao: Sessao, empresa: Empresa | None, evento: Evento) -> Evento:
    """Return a word about a stopped invoice with whether it still is one, its row locked; any other event as it is.

    ``empresa``: for which the person may issue now; the invoice of another company is not theirs to decide.
    """
    if not isinstance(evento, QuisAinda | NaoQuisMais):
        return evento
    autorizado = empresa is not None and empresa.id == sessao.empresa_id
    parada = await attempts.waits_for_person(connection, sessao.sessao_id, sessao.revisao)
    return replace(evento, parada=parada, autorizado=autorizado)


def is_as_confirmed(door: Door, sessao: Sessao, empresa: Empresa) -> bool:
    """Tell whether the confirmed revision can be tried again as it is: same channel, and a code that there still is."""
    codigo = sessao.rascunho.validado(Campo.CODIGO)
    if codigo is not None and codigo not in {servico.codigo for servico in empresa.servicos}:
        return False
    return sessao.canal in {None, door.channel(empresa)}


async def may_have_issued(connection: Connection, door: Door, empresa: Empresa, sessao: Sessao) -> bool:
    """Tell whether the session's summary was shown to a history of which the end may be missing."""
    since = await door.restored_at(connection, empresa, TipoDocumento.of(sessao.rascunho.validado(Campo.MODELO)))
    if since is None:
        return False
    shown = sessao.mostrado_em or (await outbox.seen(connection, sessao))[0]
    return shown is None or shown < since


async def as_renumbered(
    connection: Connection, door: Door, sessao: Sessao, empresa: Empresa, emissao_id: int
) -> NumeroTomado | NotaRejeitada:
    """Return what follows where the number of this emission is taken: the next one, or a refusal where there is none.

    While the history is in doubt the new attempt is made all the same, and waits. The attempt's row stays locked until
    the commit.
    """
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or (newest.id, newest.status) != (emissao_id, StatusEmissao.REJEITADO):
        return NotaRejeitada(_NO_NUMBER, None)
    may = newest.tentativa < ATTEMPTS and is_as_confirmed(door, sessao, empresa)
    tipo = TipoDocumento.of(sessao.rascunho.validado(Campo.MODELO))
    if may and not await door.blocked(connection, empresa, tipo):
        return NumeroTomado(int(newest.tentativa) + 1)
    return NotaRejeitada(_NO_NUMBER, None)


log = structlog.get_logger(__name__)


class StaffOrders:
    """Handler of staff's orders for an invoice; a new one is a row of ``_EVENTS``."""

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    async def on_order(self, lease: Lease, row: InboxRow, order: OrderRow) -> None:
        """Apply the event that the order is for its session, unless it no longer makes sense."""
        async with self._r.database.transaction() as connection:
            sessao = await snapshots.load(connection, lease.lane, order.sessao_id)
            evento = (
                await _EVENTS[order.ordem](self._r.door, connection, sessao, order.id_integracao) if sessao else None
            )
            if sessao is None or evento is None:
                log.warning("order_refused", sessao_id=order.sessao_id)
            else:
                await self._r.sessions.apply_one(connection, sessao, evento, row.correlacao)
            await self._r.lanes.done(connection, lease, [row.id])
        self._r.ring()


async def _try_again(door: Door, connection: Connection, sessao: Sessao, id_integracao: str) -> Reprocessou | None:
    """A new attempt at a refused revision, while the named one is the newest and stands refused; ``None`` otherwise.

    The attempt's row stays locked until the commit, so that no late truth slips in between.
    """
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or newest.status != StatusEmissao.REJEITADO:
        return None
    if sessao.estado is not Estado.REJEITADO or await snapshots.repaired(connection, sessao.sessao_id):
        return None  # its user took the data up in a new session: a second invoice of the same sale
    empresa, _ = await people.get_company(connection, sessao.empresa_id)
    if not is_as_confirmed(door, sessao, empresa):
        return None
    return Reprocessou(int(newest.tentativa) + 1)


async def _send_stored(_door: Door, connection: Connection, sessao: Sessao, id_integracao: str) -> QuisAinda | None:
    """The stored bytes again, while certainly nobody accepted them; ``None`` otherwise. The row stays locked."""
    newest = await attempts.newest(connection, sessao.sessao_id, sessao.revisao)
    if newest is None or newest.id_integracao != id_integracao or not attempts.is_certainly_nobodys(newest):
        return None
    return QuisAinda()


_EVENTS: dict[Ordem, Callable[[Door, Connection, Sessao, str], Awaitable[Evento | None]]] = {
    "reprocessar": _try_again,
    "enviar": _send_stored,
}
