"""What people saw and what they said yes to, read from Meta's ledger alone.

The labels of a summary are read as a person reads them; a summary that cannot be read so confirms nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from proofs.sandbox.cnpj_register import companies
from proofs.storm.crowd import YES
from proofs.storm.judge.books import Key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from proofs.storm.judge.books import Book

CONFIRM, CANCEL = "confirmar:", "cancelar_sim:"
NAMELESS = "*sem nome*"
CUT = "…"
LABELS = ("Cliente", "CNPJ", "CPF", "Valor", "Serviço", "Emitente", "E-mail", "Competência", "Data do serviço", "Tipo")
LINE = re.compile(rf"^({'|'.join(LABELS)}): (.+)$", re.MULTILINE)
ITEM = re.compile(r"^• (.+)$", re.MULTILINE)
AMOUNT = re.compile(r"R\$ ([\d.]+,\d\d)")


@dataclass(frozen=True, slots=True)
class Seen:
    """The text of a summary, field by field; ``valor`` in BRL, ``documento`` bare, ``nome`` empty when it has none.

    ``servico`` has the lines of the goods where the note is of goods; ``tipo`` is then "NF-e" or "NFC-e".
    ``competencia`` (MM/AAAA) and ``data`` (DD/MM/AAAA) as they stand there.
    """

    valor: Decimal
    documento: str
    nome: str
    servico: str
    emitente: str
    email: str | None
    competencia: str | None
    data: str | None
    tipo: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary on a phone; ``seen`` is None when nobody could read it. ``asked_at``: its reader's first message.

    ``named``: its reader had written the customer's registered name by then, since nobody else knew it.
    """

    who: str
    key: Key
    at: datetime
    asked_at: datetime
    seen: Seen | None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Yes:
    """A tap on Confirmar, or a word; ``current``: to the newest revision that the phone had shown by then."""

    who: str
    key: Key
    at: datetime
    current: bool
    in_words: bool = False


@dataclass(frozen=True, slots=True)
class Cancelling:
    """A tap on the last word of a cancellation; ``text`` is what the message with that button said."""

    who: str
    at: datetime
    text: str


@dataclass(frozen=True)
class Phones:
    """All that was shown and said, oldest first."""

    summaries: list[Summary]
    yeses: list[Yes]
    cancellings: list[Cancelling]

    @cached_property
    def confirmed(self) -> dict[Key, Yes]:
        """The first valid yes to each revision."""
        found: dict[Key, Yes] = {}
        for yes in self.yeses:
            if yes.current:
                found.setdefault(yes.key, yes)
        return found

    @cached_property
    def shown(self) -> dict[Key, list[Summary]]:
        """Every summary of a revision; it may have come twice."""
        found: dict[Key, list[Summary]] = {}
        for summary in self.summaries:
            found.setdefault(summary.key, []).append(summary)
        return found

    @cached_property
    def owners(self) -> dict[str, str]:
        """Whose phone showed a session, by ``sessao_id``."""
        return {summary.key.sessao_id: summary.who for summary in self.summaries}


def read_phones(meta: Book) -> Phones:
    """Follow every phone through Meta's book."""
    phones = Phones([], [], [])
    newest: dict[str, Key] = {}  # the newest revision on each phone
    began: dict[str, datetime] = {}
    named = _named(meta)
    cancels: dict[str, str] = {}  # what stood over each button of a last word
    for record in meta.of("inbound", "outbound"):
        who = record.data["user"]["key"]
        if record.kind == "outbound":
            payload = record.data["payload"]
            key = shown_in(payload)
            for button in buttons(payload):
                if button.startswith(CANCEL):
                    cancels[button] = text_of(payload)
            if key:
                seen = read_summary(text_of(payload))
                known = named.get(who, record.at) < record.at
                phones.summaries.append(Summary(who, key, record.at, began.get(who, record.at), seen, known))
                before = newest.get(who)
                if before is None or before.sessao_id != key.sessao_id or before.revisao <= key.revisao:
                    newest[who] = key
            continue
        began.setdefault(who, record.at)
        message = record.data["message"]
        pressed = str(((message.get("interactive") or {}).get("button_reply") or {}).get("id", ""))
        said = str((message.get("text") or {}).get("body", "")).strip().lower()
        key = bound_to(pressed)
        if key:
            phones.yeses.append(Yes(who, key, record.at, current=newest.get(who) == key))
        elif said in YES and who in newest:
            phones.yeses.append(Yes(who, newest[who], record.at, current=True, in_words=True))
        elif pressed in cancels:
            phones.cancellings.append(Cancelling(who, record.at, cancels[pressed]))
    return phones


def _named(meta: Book) -> dict[str, datetime]:
    """Return when each person first wrote nothing but a company's registered name."""
    names = {row["razao_social"] for row in companies().values()}
    found: dict[str, datetime] = {}
    for record in meta.of("inbound"):
        if (record.data["message"].get("text") or {}).get("body") in names:
            found.setdefault(record.data["user"]["key"], record.at)
    return found


def read_summary(text: str) -> Seen | None:
    """Return the fields that stand in a summary; None when one is missing, stands twice or is no amount."""
    lines = LINE.findall(text)
    found = dict(lines)
    amount = AMOUNT.search(found.get("Valor", ""))
    documents = [value for label, value in lines if label in {"CNPJ", "CPF"}]
    if len(found) != len(lines) or not amount or len(documents) != 1:
        return None
    goods = "\n".join(ITEM.findall(text))
    if not {"Cliente", "Emitente", "Tipo" if goods else "Serviço"} <= found.keys() or ("Serviço" in found and goods):
        return None
    nome = found["Cliente"]
    return Seen(
        valor=Decimal(amount[1].replace(".", "").replace(",", ".")),
        documento="".join(filter(str.isalnum, documents[0])),
        nome="" if nome.startswith(NAMELESS) else nome,
        servico=goods or found["Serviço"],
        emitente=found["Emitente"],
        email=found.get("E-mail"),
        competencia=found.get("Competência"),
        data=found.get("Data do serviço"),
        tipo=found["Tipo"].partition(" ")[0] if goods else None,
    )


def text_of(payload: Mapping[str, Any]) -> str:
    """Return what a person reads in a message of ours, whatever its type."""
    interactive = (payload.get("interactive") or {}).get("body") or {}
    plain, document = payload.get("text") or {}, payload.get("document") or {}
    return str(interactive.get("text") or plain.get("body") or document.get("caption") or "")


def buttons(payload: Mapping[str, Any]) -> list[str]:
    """Return the ids of a message's buttons."""
    action = (payload.get("interactive") or {}).get("action") or {}
    return [str(button["reply"]["id"]) for button in action.get("buttons") or []]


def shown_in(payload: Mapping[str, Any]) -> Key | None:
    """Return the revision that a message asks to confirm."""
    return next((key for button in buttons(payload) if (key := bound_to(button))), None)


def bound_to(button_id: str) -> Key | None:
    """Return the revision that a tap on this button confirms."""
    if not button_id.startswith(CONFIRM):
        return None
    sessao_id, _, revisao = button_id.removeprefix(CONFIRM).rpartition(":")
    return Key(sessao_id, int(revisao)) if revisao.isdigit() else None
