"""The people of a storm, drawn from one seed: who wants which invoice of which company."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from proofs.sandbox.cnpj_register import companies
from state_machine.documents import Endereco

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proofs.storm.plan import Plan


@dataclass(frozen=True, slots=True)
class Issuer:
    """A company of the storm, as its operator registers it; ``aliquota`` a percentage, ``municipio`` the IBGE code."""

    cnpj: str
    razao_social: str
    inscricao_municipal: str
    municipio: str
    regime: str
    codigo_servico: str
    cnae: str | None = None
    aliquota: str | None = None
    serie_rps: str | None = None
    primeiro_rps: int | None = None
    tributos_sn: str | None = None
    tributos_federal: str | None = None
    tributos_estadual: str | None = None
    tributos_municipal: str | None = None
    nbs: str | None = None
    ind_op: str | None = None
    class_trib: str | None = None
    canal: str = "plugnotas"
    mercado: tuple[str, ...] = ()
    inscricao_estadual: str | None = None
    serie_nfe: int | None = None
    primeiro_nfe: int | None = None
    serie_nfce: int | None = None
    primeiro_nfce: int | None = None
    endereco: Endereco | None = None

    @property
    def series(self) -> dict[str, int]:
        """The first number of each series that Prosa counts."""
        said = {self.serie_rps: self.primeiro_rps, str(self.serie_nfe): self.primeiro_nfe}
        said[str(self.serie_nfce)] = self.primeiro_nfce
        return {serie: first or 1 for serie, first in said.items() if serie not in {None, "", "None"}}


@dataclass(frozen=True, slots=True)
class Good:
    """A product that every shop of the storm sells, and what people call several of it; ``preco`` in BRL."""

    codigo: str
    texto: str
    varios: str
    ncm: str
    preco: Decimal


# A price of 80.07 makes of every quantity a total of its own.
GOODS: Final = (
    Good("P1", "Caneca", "canecas", "69120000", Decimal("35.00")),
    Good("P2", "Camiseta", "camisetas", "61091000", Decimal("80.07")),
)
CONSUMERS: Final = {  # by CPF: made up, with check digits that hold
    "52998224725": "Ana Souza",
    "11144477735": "Bruno Lima",
    "39053344705": "Carla Mendes",
}
HANDED_SAID = 0.4  # of the consumers: they say at once that the goods were handed over
LONGEST_NAME = 60  # letters, of a customer in a document of goods: whose is longer is asked for a shorter one
MOST_OF_THE_FIRST, LEAST_OF_THE_SECOND = 9, 20  # of a product


SERVICES = (  # as people write them; letters that a fiscal layout takes as they are
    "consultoria de marketing",
    "manutenção de ar-condicionado",
    "aulas de inglês",
    "revisão de textos acadêmicos",
    "desenvolvimento de site institucional",
    "instalação elétrica e reparos",
    "fotografia de produtos",
    "assessoria contábil",
)
YES = ("sim", "pode confirmar", "ok")  # words that confirm the summary on the phone
EMAILING = 0.2  # of the people: they give the customer's e-mail address
DATING = 0.15  # of the people: they say the day of the service
MONTHLY = 0.15  # of the people: they say the month that the invoice belongs to
SAID_YEAR = 2025  # of those days and months: past, whenever the storm runs
SAYING_YES = 0.15  # of the people: they confirm with a word instead of a tap
REFUSED = 0.04  # of the people: the authority refuses their first customer, and they name another one
CANCELLING = 0.04  # of the people: they have the note cancelled once they have it
REPLACING = 0.25  # of the people of a company that may: another note takes the place of their first, of a wrong amount
WRONG_BY = Decimal("250000.00")  # nobody's amount
EARLY = 0.8  # of the crowd: what takes its person long is not asked of the last ones, whom the whole storm waits for
PROPOSED = 0.08  # of the people: another system proposes their invoice
CORRECTING = 0.1  # of the people: they change the amount once, and some of them tap the old summary first
TAPPING_THE_OLD = 0.5  # of those who correct
IMPATIENT = 0.4  # of the people: they tap Confirmar more than once
MOST_TAPS = 4
TAP_GAP = 0.4  # seconds between impatient taps, at most
MAY_REPLACE = ("nacional", "normal")  # channel and regime
FIRST_LINE = 80_000_000  # phone numbers of the crowd: 55 11 9 8xxxxxxx


@dataclass(frozen=True, slots=True)
class Wish:
    """One person and the one invoice they want; ``valor`` in BRL, ``tomador`` the bare CNPJ.

    ``data`` (DD/MM/AAAA) and ``competencia`` (MM/AAAA) as they say them, one of them at most. ``antes`` is an amount
    said first and corrected later (``None``: right at once); ``recusado`` the bare CNPJ of a customer named first, to
    whom the authority issues nothing. ``toques`` are the pauses in seconds before each tap on Confirmar;
    ``toca_antiga``: taps the outdated summary too; ``palavra``: confirms with this word instead. ``cancela``: has the
    note cancelled once it is there. ``trocado``: the amount of a first note, whose place another one takes.
    ``proposta``: another system of the company proposes it, and they only confirm. ``itens`` are the quantities of
    ``GOODS``, said by ``dito`` ("" for a service); ``servico`` then has the lines of the summary.
    """

    who: str
    valor: Decimal
    tomador: str
    emitente: Issuer
    servico: str
    email: str | None = None
    data: str | None = None
    competencia: str | None = None
    antes: Decimal | None = None
    recusado: str | None = None
    toques: tuple[float, ...] = (0.0,)
    toca_antiga: bool = False
    palavra: str | None = None
    cancela: bool = False
    trocado: Decimal | None = None
    proposta: bool = False
    itens: tuple[int, ...] = ()
    dito: str = ""


def wishes(plan: Plan, issuers: Sequence[Issuer], tomadores: Sequence[str], recusados: Sequence[str]) -> list[Wish]:
    """Draw the crowd: every person has a phone and an amount of their own; ``recusados`` are customers of no note.

    The ``issuers`` take turns.
    """
    chance = random.Random(f"{plan.seed}|wishes")  # noqa: S311 - seeded on purpose
    early = int(plan.emissions * EARLY)
    found = [
        _wish(number, issuers[number % len(issuers)], chance, tomadores, recusados, early=number < early)
        for number in range(plan.emissions)
    ]
    chance = random.Random(f"{plan.seed}|goods")  # noqa: S311 - seeded on purpose
    found = [
        _of_goods(wish, number, chance, tomadores) if wish.emitente.mercado else wish
        for number, wish in enumerate(found)
    ]
    chance = random.Random(f"{plan.seed}|replacing")  # noqa: S311 - likewise
    may = [each for each in found[:early] if (each.emitente.canal, each.emitente.regime) == MAY_REPLACE]
    replaced = {each.who: _replaced(each) for each in may if chance.random() < REPLACING}
    chance = random.Random(f"{plan.seed}|proposing")  # noqa: S311 - likewise
    proposed = {each.who: _proposed(each) for each in found[:early] if chance.random() < PROPOSED}
    proposed = {who: wish for who, wish in proposed.items() if not wish.emitente.mercado}  # the API has services alone
    return [replaced.get(each.who) or proposed.get(each.who, each) for each in found]


def _replaced(wish: Wish) -> Wish:
    """Return somebody who wants the same, and nothing else beside: the first note has a wrong amount."""
    return Wish(
        wish.who, wish.valor, wish.tomador, wish.emitente, wish.servico, wish.email, trocado=wish.valor + WRONG_BY
    )


def _proposed(wish: Wish) -> Wish:
    """Return somebody who is asked by the API: nothing is said before the summary, and a word confirms nothing."""
    return replace(
        wish,
        email=f"erp.{wish.who}@cliente.example",
        data=None,
        antes=None,
        recusado=None,
        palavra=None,
        toca_antiga=False,
        proposta=True,
    )


def name_of(documento: str) -> str:
    """Return the name of a customer of the crowd."""
    return CONSUMERS.get(documento) or str(companies()[documento]["razao_social"])


def lines_of(itens: Sequence[int]) -> str:
    """Return what a summary shows of these quantities of ``GOODS``."""
    pairs = zip(itens, GOODS, strict=True)
    return "\n".join(f"{n} {each.texto} × R$ {_brl(each.preco)} = R$ {_brl(n * each.preco)}" for n, each in pairs)


def total_of(itens: Sequence[int]) -> Decimal:
    """Return what these quantities of ``GOODS`` cost, in BRL."""
    return sum((n * each.preco for n, each in zip(itens, GOODS, strict=True)), Decimal(0))


def _brl(valor: Decimal) -> str:
    return f"{valor:,.2f}".translate(str.maketrans(",.", ".,"))


def _of_goods(wish: Wish, number: int, chance: random.Random, tomadores: Sequence[str]) -> Wish:
    """Return somebody who wants goods instead: of a company of the shop's state, or of a consumer who has them."""
    itens = chance.randint(2, MOST_OF_THE_FIRST), LEAST_OF_THE_SECOND + number
    shop = wish.emitente
    if shop.canal == "nfce":
        tomador = chance.choice(sorted(CONSUMERS))
        dito = chance.choice(
            (
                "nota de {itens} pra {nome}, cpf {doc}",
                "faz uma nota de {itens} para {nome}, cpf {doc}",
                "preciso da nota de {itens} pra {nome} cpf {doc}",
            )
        )
        dito += ", entreguei em mãos" if chance.random() < HANDED_SAID else ""
    else:
        near = [each for each in tomadores if shop.endereco and companies()[each]["uf"] == shop.endereco.estado]
        near = [each for each in near if len(name_of(each)) <= LONGEST_NAME]
        tomador = chance.choice(near)
        dito = chance.choice(
            (
                "nota de {itens} pra {doc}",
                "faz uma nota de {itens} para o cnpj {doc}",
                "preciso da nota de {itens}, cliente {doc}",
            )
        )
    valor = total_of(itens)
    return replace(
        wish,
        valor=valor,
        tomador=tomador,
        servico=lines_of(itens),
        antes=valor + GOODS[0].preco if wish.antes else None,
        data=None,
        competencia=None,
        recusado=None,
        itens=itens,
        dito=dito,
    )


def _wish(
    number: int,
    issuer: Issuer,
    chance: random.Random,
    tomadores: Sequence[str],
    recusados: Sequence[str],
    *,
    early: bool,
) -> Wish:
    valor = Decimal(100_000 + number * 7) / 100  # R$ 1.000,00 upwards, no two alike
    corrects = chance.random() < CORRECTING
    taps = chance.randint(2, MOST_TAPS) if chance.random() < IMPATIENT else 1
    when, month = chance.random(), chance.randint(1, 12)
    refused, says_yes, cancels = (chance.random() < share and early for share in (REFUSED, SAYING_YES, CANCELLING))
    return Wish(
        who=f"55119{FIRST_LINE + number}",
        valor=valor,
        tomador=chance.choice(tomadores),
        emitente=issuer,
        servico=chance.choice(SERVICES),
        # An address goes with its customer: of a refused one it would not stand on the other's note.
        email=f"financeiro.{number}@cliente.example" if chance.random() < EMAILING and not refused else None,
        data=f"{chance.randint(1, 28):02}/{month:02}/{SAID_YEAR}" if when < DATING else None,
        competencia=f"{month:02}/{SAID_YEAR}" if DATING <= when < DATING + MONTHLY else None,
        antes=valor + Decimal("500000.00") if corrects else None,  # nobody's amount
        recusado=chance.choice(recusados) if refused else None,
        toques=(chance.uniform(0.0, 1.5), *(chance.uniform(0.0, TAP_GAP) for _ in range(taps - 1))),
        toca_antiga=corrects and chance.random() < TAPPING_THE_OLD,
        palavra=chance.choice(YES) if says_yes else None,
        cancela=cancels,
    )
