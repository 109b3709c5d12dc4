"""Reads stored WhatsApp messages: who wrote, in words, by a button, or by changing a message."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Final

from extractor.text.folding import MAX_CHARS
from persistence.conversations.conversations import Contato
from persistence.queue.lanes import InboxRow
from persistence.rows import MessageRow
from state_machine.invoice.session import DIZER
from state_machine.values.certificate import is_certificate_file
from state_machine.values.text import Escrita

TURN_CHARS: Final = 4096  # of a turn's words; the longest message that WhatsApp carries: a turn costs no more than one
LONGEST_REVISION = 9  # digits; ours stay far below, and Python refuses to read 5,000 of them
# A tax number among the words of a card; eleven bare digits that nobody calls a CPF are a telephone.
_TAX_NUMBER: Final = re.compile(
    r"\b(?:[0-9a-z]{2}\.[0-9a-z]{3}\.[0-9a-z]{3}/[0-9a-z]{4}-\d\d|\d{3}\.\d{3}\.\d{3}-\d\d|"
    r"\d{14}|cnpj\W{1,3}[0-9a-z]{12}\d\d|cpf\W{1,3}\d{11})\b",
    re.IGNORECASE,
)
# What a reader would take for something else than a part of a name.
_NO_NAME: Final = re.compile(r"\b(?:cnpj|cpf|\w*\d\w*)\b|[^\w&'./ -]", re.IGNORECASE)
_OF_A_PERSON: Final = re.compile(r"cpf|\d{3}\.", re.IGNORECASE)
_MAIL: Final = re.compile(r"[^\s@]{1,64}@[^\s@]{1,190}")
SILENT = frozenset({"reaction", "system", "revoke", "sticker"})  # people expect no answer to these


@dataclass(frozen=True, slots=True)
class Palavras:
    """What the user sent in words, several short messages joined by newlines.

    ``escritas`` are the same messages apart, by the keys of their inbox rows and in the order of writing. ``proprias``
    are the words of those that may confirm or cancel, ``None`` when that is all of them; ``escrita_em`` is when the
    last of these was written. ``longa``: more was written than is read; such words confirm and cancel nothing.
    """

    texto: str
    escrita_em: datetime | None
    escritas: tuple[Escrita, ...] = ()
    proprias: str | None = None
    longa: bool = False

    @property
    def decidem(self) -> str:
        """The words that may confirm or cancel."""
        return self.texto if self.proprias is None else self.proprias


@dataclass(frozen=True, slots=True)
class Toque:
    """A pressed button, or a chosen row: what it asks for, of which session, and at which revision it was shown.

    ``escolha`` is what else it carries: the field and the reading that were chosen.
    """

    acao: str
    sessao_id: str
    revisao: int | None
    escolha: str = ""


@dataclass(frozen=True, slots=True)
class Edicao:
    """A message that was read before was edited: which one (``None``: not told), and its new words, where known."""

    original: str | None
    texto: str | None
    escrita_em: datetime | None
    longa: bool = False


@dataclass(frozen=True, slots=True)
class Apagada:
    """A message that was read before was deleted."""

    original: str


@dataclass(frozen=True, slots=True)
class Outro:
    """A message without words; ``tipo`` is Meta's name for it."""

    tipo: str


Entrada = Palavras | Toque | Edicao | Apagada | Outro


@dataclass(frozen=True, slots=True)
class Chegada:
    """One turn's worth of messages: the rows it consumes, who wrote, what it is, and the wamid to mark as read."""

    rows: tuple[InboxRow, ...]
    contato: Contato
    entrada: Entrada
    wamid: str

    @property
    def longa(self) -> bool:
        """More was written than is read."""
        return isinstance(self.entrada, Palavras | Edicao) and self.entrada.longa

    @property
    def ids(self) -> list[int]:
        """The rows that the turn consumes."""
        return [row.id for row in self.rows]

    @property
    def correlacao(self) -> str:
        """The newest row's: it follows the turn from here."""
        return self.rows[-1].correlacao


@dataclass(frozen=True, slots=True)
class _ParsedRow:
    """A row, read."""

    row: InboxRow
    of: MessageRow

    @property
    def id(self) -> int:
        return self.row.id

    @property
    def chave(self) -> str:
        return self.row.chave

    @property
    def message(self) -> dict[str, Any]:
        return self.of.mensagem


def next_arrival(lane: str, rows: Sequence[InboxRow], actions: Container[str] = ()) -> Chegada:
    """Take what belongs to one turn: messages in words from the head of ``rows`` together, else one message.

    A message that was edited or deleted before anybody read it is taken as it is now. The notice of such a change to
    one that was read goes before everything else: whatever is confirmed must have seen it. ``actions`` are those of
    all subjects: another button is a message without words.
    """
    heard = [_ParsedRow(row, MessageRow.of(row.payload)) for row in rows]
    unread = {row.chave for row in heard if _text(row.message) is not None}
    others: list[_ParsedRow] = []
    changed: dict[str, list[_ParsedRow]] = {}
    for row in heard:
        change = _change(row.message)
        if change is None:
            others.append(row)
        elif change.original is None or change.original not in unread:
            return _chegada(lane, (row,), change)
        elif isinstance(change, Apagada) or change.texto is not None:
            changed.setdefault(change.original, []).append(row)
        # An edit that does not tell the new words of what is unread waits: first that is read as it was.
    return _words(lane, others, changed) or _one(lane, others[0], actions)


def _words(lane: str, rows: Sequence[_ParsedRow], changed: dict[str, list[_ParsedRow]]) -> Chegada | None:
    """Take the messages in words at the head of ``rows``, together with the notices that change them."""
    taken = list(takewhile(lambda row: _text(row.message) is not None, rows))
    if not taken:
        return None
    if all(_time(row.message) for row in taken):  # as they were written: Meta promises no order
        taken.sort(key=lambda row: _time(row.message) or datetime.max.replace(tzinfo=UTC))
    said = [escrita for row in taken if (escrita := _written(row, changed.get(row.chave, ()))) is not None]
    consumed = (*(notice for row in taken for notice in changed.get(row.chave, ())), *taken)
    return _chegada(lane, consumed, joined(said) if said else Outro("revoke"))


def joined(escritas: Sequence[Escrita]) -> Palavras:
    """Return these messages, of which there is at least one, as one turn's words: at most ``TURN_CHARS`` of them."""
    longa = sum(len(escrita.texto) + 1 for escrita in escritas) - 1 > MAX_CHARS
    if longa:
        escritas = _cut(escritas)
    own = [escrita for escrita in escritas if not escrita.so_informa]
    return Palavras(
        "\n".join(escrita.texto for escrita in escritas),
        (own or escritas)[-1].em,
        tuple(escritas),
        None if len(own) == len(escritas) else "\n".join(escrita.texto for escrita in own),
        longa,
    )


def _cut(escritas: Sequence[Escrita]) -> list[Escrita]:
    """Return the messages as far as a turn holds them; none decides, for what is not read may say the contrary."""
    kept, left = [], TURN_CHARS
    for escrita in escritas:
        if left > 0:
            kept.append(replace(escrita, texto=escrita.texto[:left], so_informa=True))
        left -= len(escrita.texto) + 1
    return kept


def _written(row: _ParsedRow, notices: Iterable[_ParsedRow]) -> Escrita | None:
    """Return a message as it is now, ``None`` when it was deleted; an edited one may not confirm."""
    message = row.message
    written = Escrita(row.chave, _text(message) or "", _time(message), _is_forwarded(message))
    for notice in sorted(notices, key=lambda row: (_seconds(row.message), row.id)):
        change = _change(notice.message)
        if isinstance(change, Apagada):
            return None
        if isinstance(change, Edicao) and change.texto is not None:
            written = replace(written, texto=change.texto, so_informa=True)
    return written


def _one(lane: str, row: _ParsedRow, actions: Container[str]) -> Chegada:
    message = row.message
    return _chegada(lane, (row,), _button(message, actions) or Outro(str(message.get("type"))))


def _chegada(lane: str, rows: tuple[_ParsedRow, ...], entrada: Entrada) -> Chegada:
    return Chegada(tuple(heard.row for heard in rows), _contact(lane, rows[-1].of), entrada, rows[-1].message["id"])


def _text(message: dict[str, Any]) -> str | None:
    """Return the user's words: a text, a caption, what a customer's card says, or what a button stands for."""
    tipo = message.get("type")
    if tipo == "contacts":
        return _card(message.get("contacts"))
    if tipo == "interactive":
        key = _pressed(message)
        return key.removeprefix(DIZER) or None if key and key.startswith(DIZER) else None
    content = message.get(str(tipo))
    if not isinstance(content, dict) or is_certificate_file(message):  # what stands under it may be its password
        return None
    words = content.get("body") if tipo == "text" else content.get("caption")
    return words if isinstance(words, str) and words.strip() else None


def _card(cards: Any) -> str | None:
    """Return who a lone card with a CNPJ or CPF is of, in words that the readers take; ``None`` for any other.

    Another card says of no customer enough to be sure of one. Telephones and addresses are left out: their numbers are
    nobody's price.
    """
    if not isinstance(cards, list) or len(cards) != 1 or not isinstance(card := cards[0], dict):
        return None
    names, org = (part if isinstance(part := card.get(key), dict) else {} for key in ("name", "org"))
    written = [text for text in (*names.values(), *org.values()) if isinstance(text, str)]
    numbers = dict.fromkeys(found for text in written for found in _TAX_NUMBER.findall(text))
    if not numbers:
        return None
    called = [org.get("company"), names.get("formatted_name")]
    if all(_OF_A_PERSON.match(number) for number in numbers):  # who works there is not the firm
        called.reverse()
    cut = (_NO_NAME.sub(" ", _TAX_NUMBER.sub(" ", text)) for text in called if isinstance(text, str))
    name = [f"cliente: {' '.join(name.split())}" for name in cut if name.strip()][:1]
    emails = mails if isinstance(mails := card.get("emails"), list) else []
    written = [mail["email"] for mail in emails if isinstance(mail, dict) and isinstance(mail.get("email"), str)]
    return "\n".join([*name, *numbers, *[mail for mail in written if _MAIL.fullmatch(mail)][:1]])


def _is_forwarded(message: dict[str, Any]) -> bool:
    """Tell whether its words are not the user's own; a card's are those of whoever filled it in."""
    context = message.get("context")
    return message.get("type") == "contacts" or (
        isinstance(context, dict) and bool(context.get("forwarded") or context.get("frequently_forwarded"))
    )


def _change(message: dict[str, Any]) -> Edicao | Apagada | None:
    """Return what a notice tells of another message; outside of coexistence an edit may come without its content."""
    match message:
        case {"type": "edit", "edit": {"original_message_id": str(original), "message": dict(new)}}:
            words = _text(new)
            longa = words is not None and len(words) > MAX_CHARS
            return Edicao(original, words and words[:TURN_CHARS], _time(message), longa)
        case {"type": "edit", "edit": {"original_message_id": str(original)}}:
            return Edicao(original, None, _time(message))
        case {"type": "edit"} | {"type": "unsupported", "unsupported": {"type": "edit"}}:
            return Edicao(None, None, _time(message))
        case {"type": "revoke", "revoke": {"original_message_id": str(original)}}:
            return Apagada(original)
        case _:
            return None


def _button(message: dict[str, Any], actions: Container[str]) -> Toque | None:
    if (key := _pressed(message)) is None:
        return None
    acao, _, alvo = key.partition(":")
    sessao_id, _, resto = alvo.partition(":")
    revisao, _, escolha = resto.partition(":")
    if acao not in actions or not sessao_id:
        return None
    whole = revisao.isascii() and revisao.isdigit() and len(revisao) <= LONGEST_REVISION
    return Toque(acao, sessao_id, int(revisao) if whole else None, escolha)


def _pressed(message: dict[str, Any]) -> str | None:
    """Return what a pressed button or a chosen row carries."""
    match message:
        case {"type": "interactive", "interactive": {"button_reply": {"id": str(key)}}}:
            return key
        case {"type": "interactive", "interactive": {"list_reply": {"id": str(key)}}}:
            return key
        case {"type": "button", "button": {"payload": str(key)}}:
            return key
        case _:
            return None


def _time(message: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(message["timestamp"]), UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def _seconds(message: dict[str, Any]) -> float:
    when = _time(message)
    return when.timestamp() if when else 0.0


def _contact(lane: str, row: MessageRow) -> Contato:
    message, contact, phone_number_id = row.mensagem, row.contato or {}, row.phone_number_id
    wa_id = _id(message.get("from")) or _id(contact.get("wa_id"))
    user_id = _id(message.get("from_user_id")) or _id(contact.get("user_id"))
    name = (contact.get("profile") or {}).get("name")
    return Contato(lane, phone_number_id, wa_id or user_id or lane.removeprefix(f"{phone_number_id}:"), wa_id, name)


def _id(value: Any) -> str | None:
    """Return an id as text, ``None`` for what is none; the webhook lets numbers in."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole or (isinstance(value, str) and value) else None
