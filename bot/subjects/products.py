"""A company's products by chat: kept with price and NCM, listed, and given another price.

What an open order counts that is no product yet is read anew once it is one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Final

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Palavras, Toque
from bot.conversation.session_events import replanned
from bot.conversation.subject import Resources, RowHandler, Turn
from bot.loops.jobs import Deadline
from bot.subjects.invoice.facts import with_kept
from extractor.requests.products import (
    NewPrice,
    NewProduct,
    asks_for_list,
    read_code,
    read_new_price,
    read_new_product,
    says_price,
)
from extractor.requests.yes_no import is_yes
from persistence.audit import records as audit
from persistence.conversations import conversations, snapshots
from persistence.db.connection import Connection
from persistence.people import goods
from persistence.people.companies import Empresa
from persistence.queue import outbox
from state_machine.catalogue import messages
from state_machine.catalogue import requests as pedidos
from state_machine.goods import Produto, ProdutoInvalido, checked, dump, search_ncm
from state_machine.invoice.fields import Campo, Candidate, Origem
from state_machine.invoice.session import Mensagem, Sessao
from state_machine.machine.events import Evento, Informou
from state_machine.values.text import plain

QUEM: Final = "WhatsApp"  # in the audit, which has no person's data
_CODE: Final = re.compile(r"P([0-9]{1,6})")
_ANSWER: Final = 60  # characters of a yes
_KEEP_IT: Final = re.compile(r"(?:sim,? |pode )?cadastr(?:a|ar|e)(?: sim)?[.!]?")
_NEW: Final = "novo"  # in a button: the NCM is still to be asked

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Listed:
    """The list is asked for."""


@dataclass(frozen=True, slots=True)
class _Code:
    """An NCM that came alone."""

    ncm: str


@dataclass(frozen=True, slots=True)
class _PriceHere:
    """A choice of where a new price counts; ``so_nota``: in the note alone over which it was asked."""

    codigo: str
    preco: str
    so_nota: bool
    sessao_id: str


_Meant = NewProduct | NewPrice | _Listed | _Code | _PriceHere


class Products:
    """Takes "cadastra … 12 reais", "meus produtos" and "muda o preço …" of who issues for a seller of goods."""

    shows_reading = True
    actions: frozenset[str] = frozenset({"produto", "preco"})
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """None: a product is kept at once."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Offer codes for a named product, keep it or its price, or list them all; ``None`` for other words."""
        empresa = turn.conversa.empresa
        if empresa is None or not empresa.mercado:
            return None
        return await replanned(turn.lease, partial(self._take, turn, empresa.id))

    async def _take(self, turn: Turn, empresa_id: int, _attempt: int) -> Collection[int] | None:
        meant = await self._meant(turn, empresa_id)
        if meant is None:
            return None
        voz = await turn.voice(owed="botao" if isinstance(turn.chegada.entrada, Toque) else None)
        correlacao, decides = turn.chegada.correlacao, False
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            aberta = await snapshots.active(connection, turn.lease.lane)
            if empresa is None or (aberta is not None and aberta.empresa_id != empresa.id):
                aberta = None  # of another company: this one's catalogue is none of its
            said: Mensagem | None = messages.sem_empresa()
            evento: Evento | None = None
            if empresa is not None:
                decides, said, evento = await _done(connection, empresa, meant, aberta)
            if said is not None and (decides or voz is not Voice.SILENT):
                said = messages.devagar() if not decides and voz is Voice.NOTICE else said
                outbox.enqueue(connection, conversa=turn.lease.lane, mensagem=said, correlacao=correlacao)
            if evento is not None and aberta is not None:
                agora, telefone = turn.clock.now(), turn.conversa.telefone
                await self._r.sessions.apply(
                    connection, aberta, (evento,), empresa, agora, correlacao, telefone=telefone
                )
        if evento is not None:
            await self._r.live.drop(turn.lease.lane)
        self._r.ring_delivery()
        log.info("product_named", kept=decides)
        return turn.chegada.ids

    async def _meant(self, turn: Turn, empresa_id: int) -> _Meant | None:
        entrada, lane = turn.chegada.entrada, turn.lease.lane
        if isinstance(entrada, Toque):
            return _pressed(entrada) if entrada.acao in self.actions and entrada.revisao is not None else None
        if not isinstance(entrada, Palavras) or entrada.proprias is not None:
            return None
        texto = entrada.texto
        if (novo := read_new_product(texto)) is not None:
            return novo
        if asks_for_list(texto):
            return _Listed()
        async with self._r.database.alone() as connection:
            if (ncm := read_code(texto)) is not None:
                named = "ncm" in texto.lower()  # eight digits alone may be a CEP: they answer what was asked last
                asked = await outbox.lately(connection, lane, pedidos.WHICH_CODE if named else "")
                if (product := pedidos.read_asked(asked or "")) is not None:
                    return NewProduct(*product, ncm)
                return _Code(ncm) if named else None
            said = plain(texto, _ANSWER)
            if turn.conversa.ativa and (is_yes(said) or _KEEP_IT.fullmatch(said.strip())):
                aberta = await snapshots.active(connection, lane)
                offered = aberta.rascunho.itens.nomes if aberta and aberta.rascunho.duvida is Campo.ITENS else ()
                return NewProduct(*offered[0]) if offered and offered[0][1] else None
            if not says_price(texto):
                return None
            return read_new_price(texto, await goods.of_company(connection, empresa_id))


def _pressed(toque: Toque) -> _Meant:
    preco = f"{(toque.revisao or 0) / 100:.2f}"
    if toque.acao == "preco":
        onde, _, sessao_id = toque.escolha.partition(" ")
        return _PriceHere(toque.sessao_id, preco, onde == "nota", sessao_id)
    return NewProduct(toque.escolha, preco, None if toque.sessao_id == _NEW else toque.sessao_id)


async def _done(
    connection: Connection, empresa: Empresa, meant: _Meant, aberta: Sessao | None
) -> tuple[bool, Mensagem | None, Evento | None]:
    """Do what is meant; says whether anything was decided, what is answered, and what an open invoice is told."""
    match meant:
        case _Listed():
            known = await goods.of_company(connection, empresa.id)
            return False, pedidos.product_list(known, em_aberto=aberta is not None), None
        case _Code(ncm):
            return False, pedidos.code_of_what(ncm), None
        case NewProduct(texto, preco, None):
            return False, pedidos.ask_ncm(texto, preco, search_ncm(texto), em_aberto=aberta is not None), None
        case NewProduct():
            kept, said = await _kept(connection, empresa, meant, em_aberto=aberta is not None)
            known = await goods.of_company(connection, empresa.id) if kept and aberta else ()
            return kept, said, with_kept(aberta.rascunho, known) if kept and aberta else None
        case NewPrice(produto, preco):
            if aberta is not None and any(item.codigo == produto.codigo for item in aberta.rascunho.produtos):
                return False, pedidos.ask_price_where(produto, preco, aberta.sessao_id), None
            depois = await _priced(connection, empresa, produto, preco)
            return True, pedidos.price_changed(produto, depois, em_aberto=aberta is not None), None
        case _PriceHere(sessao_id=sessao_id) if aberta is None or aberta.sessao_id != sessao_id:
            return False, pedidos.price_not_here(), None
        case _PriceHere(codigo, preco, so_nota):
            return await _price_chosen(connection, empresa, codigo, preco, aberta, so_nota=so_nota)


async def _price_chosen(
    connection: Connection, empresa: Empresa, codigo: str, preco: str, aberta: Sessao | None, *, so_nota: bool
) -> tuple[bool, Mensagem | None, Evento | None]:
    produto = (await goods.named(connection, empresa.id, [codigo])).get(codigo)
    itens = aberta.rascunho.produtos if aberta else ()
    here = any(item.codigo == codigo for item in itens)
    if produto is None or (so_nota and not here):
        return False, pedidos.price_not_here(), None
    depois = produto if so_nota else await _priced(connection, empresa, produto, preco)
    novos = [replace(item, preco=Decimal(preco)) if item.codigo == codigo else item for item in itens]
    dito = Informou((Candidate(Campo.ITENS, dump(novos), f"{produto.texto} a {preco}", Origem.CADASTRO),))
    return True, None if so_nota else pedidos.price_changed(produto, depois), dito if here else None


async def _priced(connection: Connection, empresa: Empresa, produto: Produto, preco: str) -> Produto:
    depois = replace(produto, preco=Decimal(preco))
    await goods.keep(connection, empresa.id, [depois])
    await _noted(connection, empresa, produto.codigo)
    return depois


async def _noted(connection: Connection, empresa: Empresa, codigo: str) -> None:
    await audit.write(
        connection,
        staff_id=None,
        quem=QUEM,
        acao="guardou produtos",
        empresa_id=empresa.id,
        detalhe={"codigo": codigo},
    )


async def _kept(
    connection: Connection, empresa: Empresa, novo: NewProduct, *, em_aberto: bool
) -> tuple[bool, Mensagem]:
    """Keep a product under the code of one with the same name, or the next one; says whether it is kept, and how."""
    known = await goods.of_company(connection, empresa.id)
    same = next((each for each in known if each.texto.casefold() == novo.texto.casefold()), None)
    taken = [int(found[1]) for each in known if (found := _CODE.fullmatch(each.codigo))]
    codigo = same.codigo if same else f"P{max(taken, default=0) + 1}"
    dados = {"codigo": codigo, "texto": novo.texto, "ncm": novo.ncm or "", "cfop": "5102", "csosn": "102"}
    try:
        made = checked({**dados, "unidade": "UN", "preco": novo.preco}, empresa.regime)
    except ProdutoInvalido as error:
        return False, pedidos.product_refused(novo.texto, str(error))
    if len(known) >= goods.MOST and same is None:
        return False, pedidos.product_refused(novo.texto, f"a empresa já tem {goods.MOST} produtos")
    await goods.keep(connection, empresa.id, [made])
    await _noted(connection, empresa, codigo)
    return True, pedidos.product_kept(made, em_aberto=em_aberto)
