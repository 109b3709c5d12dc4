"""What goes into an extractor and what comes out, as data.

What one reader of the rules hands to the others: a candidate or a doubt, and the spans it used up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Final, Protocol

from extractor.text.marks import Mark
from state_machine.invoice.fields import Campo, Candidate, Doubt


class Ato(StrEnum):
    """The speech act of a turn: what its answer must deal with first."""

    DADOS = "dados"  # asks for an invoice, or gives data for it
    CORRIGE = "corrige"
    CONFIRMA = "confirma"
    NEGA = "nega"  # says no to what was asked
    RECUSA = "recusa"  # gives the draft up
    ESPERA = "espera"  # asks to wait
    PERGUNTA = "pergunta"  # about tax, deadlines, how it works
    RECLAMA = "reclama"  # of something done
    CANCELA_NOTA = "cancela_nota"  # of an issued one
    FISCAL = "fiscal"  # retention, observation, discount line, foreign customer
    REGISTRO = "registro"  # status, list, totals, second copy
    REPETE = "repete"  # the same as before
    VARIAS = "varias"  # several invoices
    DEPOIS = "depois"  # later, or regularly
    SOCIAL = "social"  # greets, thanks, chats, swears
    PESSOA = "pessoa"  # wants a human
    FORA = "fora"  # nothing for Prosa


class RequestKind(StrEnum):
    """What a turn without invoice data asks for."""

    CANCELAR_NOTA = "cancelar_nota"  # one that was issued, never the one being made
    SEGUNDA_VIA = "segunda_via"
    MINHAS_NOTAS = "minhas_notas"
    STATUS = "status"
    ATENDENTE = "atendente"
    RETOMAR = "retomar"
    REPETIR = "repetir"
    PARAR = "parar"
    EMAIL = "email"  # what was issued, to an address
    TOTAL = "total"
    FECHAMENTO = "fechamento"  # a month's notes, for the accountant
    LIMITE_MEI = "limite_mei"
    CLIENTES = "clientes"  # whom was invoiced, and how much
    MAIOR = "maior"  # the largest note


# The acts that closed words name, as the corpus and the trained weights call them.
INTENTS: Final = {
    Ato.DADOS: "informar",
    Ato.CORRIGE: "corrigir",
    Ato.CONFIRMA: "confirmar",
    Ato.NEGA: "negar",
    Ato.RECUSA: "cancelar",
    Ato.SOCIAL: "conversa",
    Ato.PERGUNTA: "ajuda",
    Ato.FORA: "fora_escopo",
    Ato.REPETE: "repetir",
    Ato.REGISTRO: "consultar",
}
INFORMS: Final = frozenset({Ato.DADOS, Ato.CORRIGE})
# A yes, a no and a giving up are closed grammars of the whole message: no reader adds to them.
WHOLE: Final = frozenset({Ato.CONFIRMA, Ato.NEGA, Ato.RECUSA})
# Acts in which an amount is only mentioned, unless it is very likely the invoice's.
TALK: Final = frozenset(
    {
        Ato.PERGUNTA,
        Ato.RECLAMA,
        Ato.REGISTRO,
        Ato.ESPERA,
        Ato.RECUSA,
        Ato.CANCELA_NOTA,
        Ato.SOCIAL,
        Ato.PESSOA,
        Ato.FORA,
    }
)


@dataclass(frozen=True, slots=True)
class Context:
    """What the conversation knows before this turn.

    ``pendente`` is the field that our last message asked for; ``resumo_mostrado`` is true when the summary awaits a
    yes; ``conhecidos`` are the values already validated, normalised as in ``Candidate``; ``proprios`` are documents of
    the issuing company, which are never the customer's; ``hoje`` is the date in the company's city. ``conversa`` says
    for whom a model would be asked; it is told to nobody. ``retem``: the invoice can say that its ISS is retained.
    """

    hoje: date
    pendente: Campo | None = None
    resumo_mostrado: bool = False
    conhecidos: Mapping[Campo, str] = field(default_factory=dict)
    proprios: frozenset[str] = frozenset()
    conversa: str = ""
    retem: bool = False


@dataclass(frozen=True, slots=True)
class Uso:
    """What asking a model took: requests, those of them that told no count, and the tokens that the others counted."""

    chamadas: int
    sem_conta: int
    entrada: int
    saida: int


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one turn says: fields it fills, fields it puts in doubt, fields it takes back, and an act.

    ``ato`` is named by closed words, where no reader objects; ``agreed`` is the act on which the readers agree,
    ``None`` where none is sure. ``uso`` is what a model took for it, whether its answer was of use or not; it is no
    part of what was said. ``partes``: a model saw several invoices, of whose pieces the first was read. ``pede`` is an
    act or a request that a model named and that holds, ``alvo`` the words for what it is about.
    """

    ato: Ato
    candidates: tuple[Candidate, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    clear: frozenset[Campo] = frozenset()
    modelo_usado: bool = False
    uso: Uso | None = field(default=None, compare=False)
    agreed: Ato | None = None
    partes: tuple[str, ...] = ()
    pede: str | None = None
    alvo: str | None = None

    @property
    def informs(self) -> bool:
        """Whether the words carry data of an invoice, or take some back."""
        return bool(self.candidates or self.doubts or self.clear)


class Extractor(Protocol):
    """Anything that reads a turn. Never raises for what the user wrote."""

    async def extract(self, texto: str, contexto: Context) -> Extraction:
        """Read one turn; several short messages arrive joined by newlines."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """One field as read: at most one of ``candidate`` and ``doubt``; ``clear`` when it was only taken back."""

    candidate: Candidate | None = None
    doubt: Doubt | None = None
    clear: bool = False
    used: frozenset[Mark] = field(default_factory=frozenset)
    replaces: bool = False  # the words say that an earlier value is wrong
    edits: bool = False  # the value is an earlier one with some of its words changed
