"""Reads a stored WhatsApp message: who wrote, whether in words or by a button; interprets no words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from persistence.conversations import Contato
from state_machine.escrita import Escrita

if TYPE_CHECKING:
    from collections.abc import Sequence

    from persistence.lanes import InboxRow

CANCELAMENTO = frozenset(  # of an issued note: see ``bot.cancelling``
    {"cancelar_nota", "cancelar_erro", "cancelar_nao_prestado", "cancelar_sim", "cancelar_nao"}
)
ACOES = frozenset({"confirmar", "corrigir", "cancelar", "refazer", "querer", "desistir"}) | CANCELAMENTO
SILENT = frozenset({"reaction", "system", "revoke", "sticker"})  # people expect no answer to these


@dataclass(frozen=True, slots=True)
class Palavras:
    """What the user wrote, several short messages joined by newlines; ``escrita_em`` is when the last was written.

    ``escritas`` are the same messages apart, by the keys of their inbox rows.
    """

    texto: str
    escrita_em: datetime | None
    escritas: tuple[Escrita, ...] = ()


@dataclass(frozen=True, slots=True)
class Toque:
    """A pressed button: what it asks for, of which session, and at which revision it was shown."""

    acao: str
    sessao_id: str
    revisao: int | None


@dataclass(frozen=True, slots=True)
class Outro:
    """A message without words; ``tipo`` is Meta's name for it."""

    tipo: str


Entrada = Palavras | Toque | Outro


@dataclass(frozen=True, slots=True)
class Chegada:
    """One turn's worth of messages: the rows it consumes, who wrote, what it is, and the wamid to mark as read."""

    rows: tuple[InboxRow, ...]
    contato: Contato
    entrada: Entrada
    wamid: str


def next_arrival(lane: str, rows: Sequence[InboxRow]) -> Chegada:
    """Take what belongs to one turn from the head of ``rows``: messages in words together, else one message."""
    said: list[Escrita] = []
    taken: list[InboxRow] = []
    for row in rows:
        text = _text(_message(row))
        if text is None:
            break
        said.append(Escrita(row.chave, text))
        taken.append(row)
    if taken:
        last = _message(taken[-1])
        words = Palavras("\n".join(each.texto for each in said), _time(last), tuple(said))
        return Chegada(tuple(taken), _contact(lane, taken[-1]), words, last["id"])
    row = rows[0]
    message = _message(row)
    return Chegada((row,), _contact(lane, row), _button(message) or Outro(str(message.get("type"))), message["id"])


def _message(row: InboxRow) -> dict[str, Any]:
    message: dict[str, Any] = row.payload["mensagem"]
    return message


def _text(message: dict[str, Any]) -> str | None:
    """Return the user's words: a text, or the caption under a picture or file."""
    tipo = message.get("type")
    content = message.get(str(tipo))
    if not isinstance(content, dict):
        return None
    words = content.get("body") if tipo == "text" else content.get("caption")
    return words if isinstance(words, str) and words.strip() else None


def _button(message: dict[str, Any]) -> Toque | None:
    match message:
        case {"type": "interactive", "interactive": {"button_reply": {"id": str(key)}}}:
            pass
        case {"type": "interactive", "interactive": {"list_reply": {"id": str(key)}}}:
            pass
        case {"type": "button", "button": {"payload": str(key)}}:
            pass
        case _:
            return None
    acao, _, alvo = key.partition(":")
    sessao_id, _, revisao = alvo.partition(":")
    if acao not in ACOES or not sessao_id:
        return None
    return Toque(acao, sessao_id, int(revisao) if revisao.isascii() and revisao.isdigit() else None)


def _time(message: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(message["timestamp"]), UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def _contact(lane: str, row: InboxRow) -> Contato:
    payload, message = row.payload, _message(row)
    contact = payload.get("contato") or {}
    phone_number_id = str(payload["phone_number_id"])
    wa_id = _id(message.get("from")) or _id(contact.get("wa_id"))
    user_id = _id(message.get("from_user_id")) or _id(contact.get("user_id"))
    name = (contact.get("profile") or {}).get("name")
    return Contato(lane, phone_number_id, wa_id or user_id or lane.removeprefix(f"{phone_number_id}:"), wa_id, name)


def _id(value: Any) -> str | None:
    """Return an id as text, ``None`` for what is none; the door lets numbers in."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole or (isinstance(value, str) and value) else None
