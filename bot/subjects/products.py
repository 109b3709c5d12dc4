"""A company's products by chat: one is named with its price, its NCM is chosen from a list, and it is kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

import structlog

from bot.budgets import Voice
from bot.conversation.inbound import Palavras, Toque
from bot.conversation.subject import Resources, RowHandler, Turn
from bot.loops.jobs import Deadline
from extractor.fields.products import NewProduct, read_new_product
from persistence.audit import records as audit
from persistence.conversations import conversations
from persistence.db.connection import Connection
from persistence.people import goods
from persistence.people.companies import Empresa
from persistence.queue import outbox
from state_machine.catalogue import messages
from state_machine.catalogue import requests as pedidos
from state_machine.goods import ProdutoInvalido, checked, search_ncm
from state_machine.invoice.session import Mensagem

QUEM: Final = "WhatsApp"  # in the audit, which has no person's data
_CODE: Final = re.compile(r"P([0-9]{1,6})")

log = structlog.get_logger(__name__)


class Products:
    """Takes "cadastra … 12 reais" of who issues for a company that sells goods, and the choice of the NCM under it."""

    shows_reading = True
    actions: frozenset[str] = frozenset({"produto"})
    deadlines: tuple[Deadline, ...] = ()

    def __init__(self, resources: Resources) -> None:
        self._r = resources

    def handlers(self) -> Sequence[RowHandler]:
        """None: a product is kept at once."""
        return ()

    async def take(self, turn: Turn) -> Collection[int] | None:
        """Offer codes for a named product, or keep the one whose code was chosen."""
        novo = self._meant(turn)
        if novo is None or turn.conversa.empresa is None or not turn.conversa.empresa.mercado:
            return None
        voz = await turn.voice(owed="botao" if isinstance(turn.chegada.entrada, Toque) else None)
        drafting, kept = turn.conversa.ativa is not None, False
        async with self._r.committing(turn) as connection:
            empresa = await conversations.issuer(connection, turn.chegada.contato)
            if empresa is None:
                said = messages.sem_empresa()
            elif novo.ncm is None:
                said = pedidos.ask_ncm(novo.texto, novo.preco, search_ncm(novo.texto), em_aberto=drafting)
            else:
                kept, said = await _kept(connection, empresa, novo)
            if kept or voz is not Voice.SILENT:
                said = messages.devagar() if not kept and voz is Voice.NOTICE else said
                outbox.enqueue(connection, conversa=turn.lease.lane, mensagem=said, correlacao=turn.chegada.correlacao)
        self._r.ring_delivery()
        log.info("product_named", kept=kept)
        return turn.chegada.ids

    def _meant(self, turn: Turn) -> NewProduct | None:
        entrada = turn.chegada.entrada
        if isinstance(entrada, Toque) and entrada.acao in self.actions and entrada.revisao is not None:
            return NewProduct(entrada.escolha, f"{entrada.revisao / 100:.2f}", entrada.sessao_id)
        if isinstance(entrada, Palavras) and entrada.proprias is None:
            return read_new_product(entrada.texto)
        return None


async def _kept(connection: Connection, empresa: Empresa, novo: NewProduct) -> tuple[bool, Mensagem]:
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
    await audit.write(
        connection,
        staff_id=None,
        quem=QUEM,
        acao="guardou produtos",
        empresa_id=empresa.id,
        detalhe={"codigo": codigo},
    )
    return True, pedidos.product_kept(made)
