"""Turns a WhatsApp notification into arrivals, every message and status of it.

Tells whose address a request comes from: the peer's, or what the operator's own proxies say of theirs.
"""

from __future__ import annotations

import hashlib
import ipaddress
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from zlib import crc32

import orjson
from aiohttp import web

from persistence.db import connection
from persistence.queue.inbox import Arrival
from persistence.queue.outbox import Tick
from persistence.rows import LeftNumberRow, MessageRow, MetaNoticeRow, MovedRow, StatusRow, UnreadableRow
from state_machine.values.certificate import is_certificate_file
from state_machine.values.text import legible_values

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

FORWARDED = "X-Forwarded-For"
_ONE_CLIENT = 64  # bits; a household or a rented server has a whole IPv6 network of this size to itself


def networks(text: str) -> tuple[Network, ...]:
    """Read CIDRs or addresses, separated by commas. Raises ``ValueError`` for anything else."""
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def client_address(request: web.BaseRequest, trusted: Sequence[Network]) -> str:
    """Return who asks, as limits count them: an IPv4 address, or an IPv6 network of 64 bits.

    Each proxy appends the address that it saw to X-Forwarded-For. So all lines are read as one list, from the right,
    past ``trusted`` proxies only; what stands further left is what the client claims. Where the list holds something
    that is no address, the peer itself is taken.
    """
    peer = request.remote or ""
    client = _parsed(peer)
    if client is None or not _is_in(client, trusted):
        return grouped(peer)
    listed = ",".join(request.headers.getall(FORWARDED, ())).split(",")
    for entry in reversed([part.strip() for part in listed if part.strip()]):
        found = _parsed(entry)
        if found is None:
            return grouped(peer)
        client = found
        if not _is_in(client, trusted):
            break
    return _group(client)


def grouped(address: str) -> str:
    """Return what one client can't change at will: the address, or the network of an IPv6 one."""
    parsed = _parsed(address)
    return address if parsed is None else _group(parsed)


def is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    """Tell whether this peer speaks for many: a trusted proxy, or a program of this machine."""
    parsed = _parsed(address)
    return parsed is not None and (parsed.is_loopback or _is_in(parsed, trusted))


def is_internal(address: str) -> bool:
    """Tell whether this is an address that the internet does not reach."""
    parsed = _parsed(address)
    return parsed is not None and (parsed.is_loopback or parsed.is_private or parsed.is_link_local)


@lru_cache(maxsize=1024)  # every request of a proxy asks for the same ones
def _parsed(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # without the interface of a link-local one
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_in(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


def _group(address: Address) -> str:
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((int(address), _ONE_CLIENT), strict=False))


# fmt: off
KNOWN_TYPES = frozenset((
    "text", "interactive", "button", "audio", "image", "document", "video", "sticker", "reaction", "location",
    "contacts", "order", "unsupported", "edit", "revoke", "system",
))  # Meta's message types; others are stored just the same
# fmt: on
TICK_LANES = 32  # a person's ticks keep their order, and under load many people's are written down together
# What is kept of a certificate that somebody sent: that it came. Without its media id nobody can fetch it; what stood
# under it may be its password.
_SPARED = {"filename": "certificado.pfx", "mime_type": "application/x-pkcs12"}
_NUMBER_CHANGED = frozenset({"user_changed_number", "customer_changed_number"})  # Meta's words, new and old
_LONGEST_KEY = 200  # characters; a wamid has about 60, an index row takes 2,700 bytes
_LONGEST_ID = 140  # characters; a BSUID has at most 131


class _NobodyError(ValueError):
    """A message from nobody: neither BSUID nor phone number."""


class _MisshapenError(ValueError):
    """A message or status that lacks what we need of it, or has something else in that place."""


@dataclass(frozen=True, slots=True)
class Notification:
    """What one body holds, each key once, in the order of its writing."""

    arrivals: tuple[Arrival, ...]

    def message_types(self) -> Iterator[str]:
        """Return Meta's type of each message, for the figures; ``outro`` where we don't know it."""
        for arrival in self.arrivals:
            if arrival.tipo == MessageRow.tipo:
                name = arrival.payload["mensagem"].get("type")
                yield name if isinstance(name, str) and name in KNOWN_TYPES else "outro"

    def storable(self, raw: bytes) -> Notification:
        """Return the same without what is nested too deeply to be stored; the whole body is kept as text instead."""
        sound = tuple(arrival for arrival in self.arrivals if _is_storable(arrival))
        return self if len(sound) == len(self.arrivals) else Notification(sound + unreadable(raw, "too deep").arrivals)


def read_notification(raw: bytes) -> Notification:
    """Read one body whose signature is good. Never raises: what cannot be understood becomes an ``ilegivel`` arrival.

    An unreadable body is kept and acknowledged too: it is authentic, and sending the same bytes for seven days would
    not make them readable.
    """
    try:
        body = connection.read(raw)
    except ValueError:
        return unreadable(raw, "not JSON")
    if not isinstance(body, dict) or "entry" not in body:
        return unreadable(raw, "no entry")
    found: dict[str, Arrival] = {}
    try:
        for entry in _items(body, "entry"):
            for arrival in _entry(entry):
                found.setdefault(arrival.chave, arrival)
    except RecursionError:
        return unreadable(raw, "too deep")
    return Notification(_as_written(list(found.values()))) if found else unreadable(raw, "empty")


def unreadable(raw: bytes, motivo: str) -> Notification:
    """Keep a whole body as text for staff to look at."""
    return Notification((_illegible(raw.decode("utf-8", "replace"), motivo, hashlib.sha256(raw).hexdigest()),))


def _as_written(arrivals: list[Arrival]) -> tuple[Arrival, ...]:
    """Order what came by when it was written: Meta promises no order, and a yes may stand before what it followed.

    What does not tell its moment stays behind what it stood behind.
    """
    moment, moments = 0, []
    for arrival in arrivals:
        if arrival.tipo == MessageRow.tipo:
            with suppress(KeyError, TypeError, ValueError, OverflowError):
                moment = int(arrival.payload["mensagem"]["timestamp"])
        moments.append(moment)
    return tuple(arrivals[place] for place in sorted(range(len(arrivals)), key=moments.__getitem__))


def _entry(entry: Any) -> Iterator[Arrival]:
    if not isinstance(entry, dict):
        yield _illegible(entry, "entry")
        return
    for change in _items(entry, "changes"):
        value = change.get("value") if isinstance(change, dict) else None
        if not isinstance(value, dict):
            yield _illegible(change, "change")
        elif change.get("field") == "messages":
            yield from _value(entry, change, value)
        else:
            yield _notice(entry, change)


def _value(entry: dict[str, Any], change: dict[str, Any], value: dict[str, Any]) -> Iterator[Arrival]:
    messages, statuses = _items(value, "messages"), _items(value, "statuses")
    for message in messages:
        if _is_said_to_nobody(message):
            yield _notice(entry, {"field": "messages", "nao_lida": _given(message, "id")})
            continue
        try:
            yield _moved(value, message) or _left(value, message) or _message(value, message)
        except (_MisshapenError, _NobodyError) as error:
            yield _illegible(message, type(error).__name__)
    for status in statuses:
        try:
            yield _status(value, status)
        except _MisshapenError as error:
            yield _illegible(status, type(error).__name__)
    if value.get("errors") or not (messages or statuses):
        yield _notice(entry, change)


def _is_said_to_nobody(message: Any) -> bool:
    """Tell what is no word of a person to us: said in a group, to others too, or written by Meta's own buttons.

    Nothing of it is read, and its words are not kept: it orders nothing and gets no answer.
    """
    if not isinstance(message, dict):
        return False
    told = message.get("interactive")
    kind = told.get("type") if isinstance(told, dict) else None
    by_meta = "request_welcome" in (message.get("type"), kind) or kind == "call_permission_reply"
    return bool(message.get("group_id")) or by_meta


def _message(value: dict[str, Any], received: Any) -> Arrival:
    number, shown = _metadata(value)
    wamid = _needed(received, "id")
    user, contact = _sender(value, received)
    if is_certificate_file(received):
        received = {**received, "document": _SPARED}
    return Arrival.of(
        MessageRow(number, legible_values(received), legible_values(contact), shown),
        chave=_bounded(wamid, _LONGEST_KEY),
        lane=_lane(number, user),
        correlacao=correlation(),
        imediato=_given(received, "type") != "text",  # only who writes text may still be writing
    )


def _sender(value: dict[str, Any], received: Any) -> tuple[str, dict[str, Any]]:
    """Return the id of who wrote, and their contact; raises ``_NobodyError``."""
    sender, bsuid = _given(received, "from"), _given(received, "from_user_id")
    contact = _contact(value, sender, bsuid)
    user = bsuid or _text(contact.get("user_id")) or sender or _text(contact.get("wa_id"))
    if not user:
        raise _NobodyError
    return user, contact


def _system(received: Any) -> dict[str, Any]:
    about = received.get("system") if isinstance(received, dict) and received.get("type") == "system" else None
    return about if isinstance(about, dict) else {}


def _moved(value: dict[str, Any], received: Any) -> Arrival | None:
    """Return the notice that a person's id became another one, ``None`` for any other message."""
    about = _system(received)
    if about.get("previous_user_id") is None:
        return None
    (number, _), wamid = _metadata(value), _needed(received, "id")
    before, now = _needed(about, "previous_user_id"), _needed(about, "user_id")
    return Arrival.of(
        MovedRow(_lane(number, now), before, now),
        chave=_bounded(wamid, _LONGEST_KEY),
        lane=_lane(number, before),
        correlacao=correlation(),
    )


def _left(value: dict[str, Any], received: Any) -> Arrival | None:
    """Return the notice that a person gave the telephone up from which it comes, ``None`` for any other message."""
    if _system(received).get("type") not in _NUMBER_CHANGED or (telefone := _given(received, "from")) is None:
        return None
    (number, _), wamid = _metadata(value), _needed(received, "id")
    user, _ = _sender(value, received)
    return Arrival.of(
        LeftNumberRow(telefone),
        chave=_bounded(wamid, _LONGEST_KEY),
        lane=_lane(number, user),
        correlacao=correlation(),
    )


def _status(value: dict[str, Any], received: Any) -> Arrival:
    wamid, step = _needed(received, "id"), _needed(received, "status")
    bsuid, phone = _given(received, "recipient_user_id"), _given(received, "recipient_id")
    number, shown = _metadata(value)
    recipient = bsuid or phone or "desconhecido"
    return Arrival.of(
        StatusRow(received, number, shown),
        chave=_bounded(f"status:{wamid}:{step}", _LONGEST_KEY),
        lane=f"entrega:{_bounded(number, _LONGEST_ID)}:{crc32(recipient.encode()) % TICK_LANES}",
        correlacao=correlation(),
        tick=Tick.of(received),
    )


def _metadata(value: dict[str, Any]) -> tuple[str, str | None]:
    metadata = value.get("metadata")
    return _needed(metadata, "phone_number_id"), _given(metadata, "display_phone_number")


def _notice(entry: dict[str, Any], change: dict[str, Any]) -> Arrival:
    about = {"entry_id": entry.get("id"), "time": entry.get("time"), **change}
    return Arrival.of(MetaNoticeRow(about), chave=f"meta:{_digest(about)}", lane="meta", correlacao=correlation())


def _illegible(received: Any, motivo: str, digest: str | None = None) -> Arrival:
    digest = digest or _digest(received)
    return Arrival.of(
        UnreadableRow("whatsapp", motivo, received),
        chave=f"ilegivel:{digest}",
        lane=f"ilegivel:{digest[:16]}",  # its own, so that it waits for nobody and nobody for it
        correlacao=correlation(),
    )


def _contact(value: dict[str, Any], sender: str | None, bsuid: str | None) -> dict[str, Any]:
    contacts = [contact for contact in _items(value, "contacts") if isinstance(contact, dict)]
    for contact in contacts:
        if bsuid and contact.get("user_id") == bsuid:
            return contact
        if sender and contact.get("wa_id") == sender:
            return contact
    alone = len(contacts) == 1 and len(_items(value, "messages")) == 1  # beyond doubt even if it names neither
    return contacts[0] if alone else {}


def _items(container: dict[str, Any], name: str) -> list[Any]:
    items = container.get(name)
    if items is None:
        return []
    return items if isinstance(items, list) else [items]  # a lone item is looked at like any other


def _needed(container: Any, name: str) -> str:
    text = _given(container, name)
    if not text:
        raise _MisshapenError
    return text


def _given(container: Any, name: str) -> str | None:
    """Return a text, or a number as text; raises ``_MisshapenError`` for anything else that stands there.

    Written out, since a model's validation, with all the code that it runs through, cost a webhook 20 µs.
    """
    if not isinstance(container, dict):
        raise _MisshapenError
    value = container.get(name)
    if value is None or (isinstance(value, str) and (value.isascii() or _is_whole(value))):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    raise _MisshapenError


def _is_whole(text: str) -> bool:
    """Tell whether every character is one, and no half of a pair: such a text can be neither hashed nor kept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _lane(number: str, user: str) -> str:
    return f"{_bounded(number, _LONGEST_ID)}:{_bounded(user, _LONGEST_ID)}"


def _bounded(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"sha256:{_digest(text)}"


def _digest(value: Any) -> str:
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = repr(value).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()


def correlation() -> str:
    """Return a fresh correlation id: it follows an arrival through the logs up to its invoice."""
    return f"{random.getrandbits(48):012x}"  # a name, no secret: the system need not be asked


def _is_storable(arrival: Arrival) -> bool:
    try:
        connection.storable(arrival.payload)
    except connection.UnstorableError:
        return False
    return True
