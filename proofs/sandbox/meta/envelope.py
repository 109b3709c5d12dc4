"""The JSON of Meta's webhooks: composes envelopes and signs bytes."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from proofs.sandbox.meta.model import User

Spread = Literal["together", "changes", "entries"]


@dataclass(frozen=True, slots=True)
class Account:
    """The business number that the simulator plays."""

    waba_id: str = "102290129340398"
    phone_number_id: str = "106540352242922"
    display_phone_number: str = "551140028922"


@dataclass(frozen=True, slots=True)
class Said:
    """A message by a person, ready for a webhook; ``message`` has its id and timestamp."""

    user: User
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """A status of one of the bot's messages."""

    wamid: str
    status: dict[str, Any]


def contact(user: User, *, with_user_id: bool) -> dict[str, Any]:
    """Return a ``contacts`` element; a username user has no ``wa_id``."""
    profile = {"name": user.name} | ({"username": user.username} if user.username else {})
    ids = ({"wa_id": user.wa_id} if user.wa_id else {}) | ({"user_id": user.user_id} if with_user_id else {})
    return {"profile": profile, **ids}


def status_object(wamid: str, user: User, status: str, *, callback: str | None, error: int | None) -> dict[str, Any]:
    """Return a ``statuses`` element; ``callback`` is what the bot sent as ``biz_opaque_callback_data``."""
    out: dict[str, Any] = {
        "id": wamid,
        "status": status,
        "timestamp": str(int(time.time())),
        "recipient_user_id": user.user_id,
    }
    if user.wa_id:
        out["recipient_id"] = user.wa_id
    if callback is not None:
        out["biz_opaque_callback_data"] = callback
    if error is not None:
        out["errors"] = [{"code": error, "title": "Message undeliverable", "message": "Message undeliverable"}]
    elif status in {"sent", "delivered"}:
        out["conversation"] = {"id": hashlib.md5(user.key.encode()).hexdigest(), "origin": {"type": "service"}}  # noqa: S324 - an opaque id
        out["pricing"] = {"billable": True, "pricing_model": "PMP", "type": "regular", "category": "service"}
    return out


def value_of(account: Account, items: Iterable[Said | Told], *, with_user_id: bool) -> dict[str, Any]:
    """Return one ``value`` that carries all ``items``."""
    value: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "metadata": {
            "display_phone_number": account.display_phone_number,
            "phone_number_id": account.phone_number_id,
        },
    }
    for item in items:
        match item:
            case Said(user, message):
                card = contact(user, with_user_id=with_user_id)
                if card not in (cards := value.setdefault("contacts", [])):
                    cards.append(card)
                value.setdefault("messages", []).append(message)
            case Told(_, status):
                value.setdefault("statuses", []).append(status)
    return value


def envelope(
    account: Account,
    items: Sequence[Said | Told],
    *,
    with_user_id: bool = True,
    spread: Spread = "together",
) -> bytes:
    """Return the body of one POST: all items in one change, one change each, or one entry each."""
    groups: list[Sequence[Said | Told]] = [items] if spread == "together" else [[item] for item in items]
    changes = [{"field": "messages", "value": value_of(account, group, with_user_id=with_user_id)} for group in groups]
    if spread == "entries":
        entries = [{"id": account.waba_id, "changes": [change]} for change in changes]
    else:
        entries = [{"id": account.waba_id, "changes": changes}]
    # ASCII escapes, as Meta sends and signs them
    return json.dumps({"object": "whatsapp_business_account", "entry": entries}, separators=(",", ":")).encode()


def signature(app_secret: str, body: bytes) -> str:
    """Return the value of ``X-Hub-Signature-256`` for these very bytes."""
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
