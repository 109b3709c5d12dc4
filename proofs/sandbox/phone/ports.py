"""What the demo page needs from the rest, as protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from proofs.sandbox.phone.model import Bubble, ChatEvent, Document


@dataclass(frozen=True, slots=True)
class DemoUser:
    """A simulated number that may be used; ``hint`` says in a phrase who it is to the company."""

    wa_id: str
    name: str
    hint: str


@dataclass(frozen=True, slots=True)
class DemoCertificate:
    """A made-up A1 file that the page offers, with its password; ``make`` returns a newer one each time.

    ``arquivo``: its name without ``.pfx``. ``dito``: what the page calls it.
    """

    arquivo: str
    dito: str
    senha: str
    make: Callable[[], bytes]


class Chat(Protocol):
    """The phone's side of the simulated WhatsApp."""

    def users(self) -> Sequence[DemoUser]:
        """Return the numbers one may speak as; the first is the default."""
        ...

    async def send_text(self, wa_id: str, text: str) -> None:
        """Send what the user typed."""
        ...

    async def press(self, wa_id: str, button_id: str, title: str, context_wamid: str) -> None:
        """Press a reply button of the message ``context_wamid``."""
        ...

    async def choose(self, wa_id: str, row_id: str, title: str, context_wamid: str) -> None:
        """Choose a row of the list message ``context_wamid``."""
        ...

    async def send_file(self, wa_id: str, filename: str, mime: str, content: bytes) -> None:
        """Send a photo, a document or a voice note."""
        ...

    def bubbles(self, wa_id: str) -> Sequence[Bubble]:
        """Return the whole conversation, oldest first."""
        ...

    def typing(self, wa_id: str) -> bool:
        """Tell whether the bot is typing now."""
        ...

    def subscribe(self, wa_id: str) -> AsyncIterator[ChatEvent]:
        """Yield what changes in the conversation from now on, until closed."""
        ...

    async def document(self, document_id: str) -> Document | None:
        """Return an attachment's bytes."""
        ...


class Campo(TypedDict):
    """A field of the snapshot; ``status`` is ``null``, ``extracted``, ``validated`` or ``invalid``.

    ``mensagem`` is the wamid of the message in which it was read.
    """

    campo: str
    status: str
    valor: str | None
    escrito: str | None
    origem: str | None
    confianca: str | None
    mensagem: str | None


class Transicao(TypedDict):
    """A journal row; ``em`` ISO 8601 with offset, ``motivo`` the ``snapshot_reason``."""

    em: str
    de: str
    para: str
    evento: str
    motivo: str | None
    revisao: int


class Diagrama(TypedDict):
    """The real transition table: names of states, and ``[de, para, evento]``."""

    estados: list[str]
    arcos: list[list[str]]


class View(TypedDict):
    """What ``Inside.view`` answers: any further key of ``sessao`` or ``contadores`` is shown as it comes.

    ``sessao`` is the snapshot row (``sessao_id``, ``estado``, ``revisao``, ``snapshot_reason`` are looked for);
    ``transicoes`` oldest first; ``emissoes`` rows have ``id_integracao``, ``status``, ``valor``, ``numero``,
    ``avisada`` (false: its channel tells of changes and told nothing), and ``chamadas``: calls to the gateway with
    ``em``, ``operacao`` (submit, find, cancel), ``resultado`` and ``dito``, both in words;
    ``contadores["confirmacoes"]`` counts confirmations of every conversation, to stand beside the gateway's notes.
    """

    sessao: dict[str, Any] | None
    campos: list[Campo]
    transicoes: list[Transicao]
    emissoes: list[dict[str, Any]]
    contadores: dict[str, int]
    diagrama: Diagrama


class Inside(Protocol):
    """The bot's memory of one user's conversation, as JSON."""

    async def view(self, wa_id: str) -> Mapping[str, Any]:
        """Return a ``View``."""
        ...


SwitchName = Literal["lento", "rejeitar", "culpa_nossa", "perder_resposta", "sem_webhook"]


class LedgerRow(TypedDict):
    """A note as the simulated gateway knows it; ``situacao`` as PlugNotas writes it, ``valor`` like "1500.00".

    ``emitente`` and ``canal``: the company's name, and the channel whose book has it; numbers count from 1 in each.
    """

    id_integracao: str
    numero: str | None
    situacao: str
    valor: str
    tomador: str
    emitente: str
    canal: str


class Switches(Protocol):
    """The faults that the page may turn on, and the gateway's own book."""

    def read(self) -> Mapping[str, bool]:
        """Return every switch."""
        ...

    async def set(self, name: str, on: bool) -> None:
        """Turn one switch; ``name`` is one of ``SwitchName``."""
        ...

    def ledger(self) -> Sequence[Mapping[str, Any]]:
        """Return the gateway's notes as ``LedgerRow``, oldest first."""
        ...


class Mails(Protocol):
    """What arrived at the simulated mail server."""

    def read(self) -> Sequence[Mapping[str, Any]]:
        """Return ``para``, ``assunto``, ``texto`` and ``arquivos`` of each mail, newest first."""
        ...


class NoMails:
    """Where there is no mail server."""

    def read(self) -> Sequence[Mapping[str, Any]]:
        """Return nothing."""
        return ()


class Erp(Protocol):
    """Another system that proposes invoices."""

    async def propose(self, valor: str, descricao: str) -> str | None:
        """Propose one; returns why it was refused."""
        ...

    async def read(self) -> Sequence[Mapping[str, Any]]:
        """Return ``id``, ``estado``, ``versao``, ``valor`` and ``descricao`` of its proposals, newest first."""
        ...
