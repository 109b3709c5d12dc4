"""Meta's limits on outbound messages: what the Cloud API refuses and with which code."""

from __future__ import annotations

import secrets
from typing import Any, Final

MEDIA_TYPES: Final = frozenset(
    {
        "audio/aac",
        "audio/mp4",
        "audio/mpeg",
        "audio/amr",
        "audio/ogg",
        "audio/opus",
        "application/vnd.ms-powerpoint",
        "application/msword",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/pdf",
        "text/plain",
        "application/vnd.ms-excel",
        "image/jpeg",
        "image/png",
        "image/webp",
        "video/mp4",
        "video/3gpp",
    },
)  # the list in Meta's own error 100: no XML, an .xml goes up as text/plain
_SIZES: Final = {"audio": 16, "image": 5, "video": 16}  # MiB; documents 100
_TITLES: Final = {
    100: "Invalid parameter",
    190: "Invalid OAuth access token - Cannot parse access token",
    130429: "Rate limit hit",
    131000: "Something went wrong",
    131008: "Required parameter is missing",
    131009: "Parameter value is not valid",
    131047: "Re-engagement message",
    131056: "(Business Account, Consumer Account) pair rate limit hit",
    132001: "Template name does not exist in the translation",
}


class GraphError(Exception):
    """A refusal in Meta's shape: ``code`` is Meta's, ``status`` HTTP's."""

    def __init__(self, code: int, details: str, *, status: int = 400) -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.status = status

    def body(self) -> dict[str, Any]:
        """Return the answer's JSON."""
        title = _TITLES.get(self.code, "Error")
        return {
            "error": {
                "message": f"(#{self.code}) {self.details if self.code == 100 else title}",  # noqa: PLR2004 - Meta's code
                "type": "OAuthException",
                "code": self.code,
                "error_data": {"messaging_product": "whatsapp", "details": self.details},
                "fbtrace_id": "A" + secrets.token_urlsafe(16),
            },
        }


def check_message(payload: Any) -> None:
    """Raise ``GraphError`` for what Meta would refuse of a ``POST /messages`` body, addressing and media ids aside."""
    if not isinstance(payload, dict) or payload.get("messaging_product") != "whatsapp":
        raise GraphError(100, "The parameter messaging_product is required.")
    if len(str(payload.get("biz_opaque_callback_data", ""))) > 512:  # noqa: PLR2004 - OpenAPI of Meta
        raise GraphError(100, "Param biz_opaque_callback_data must be at most 512 characters long.")
    kind = payload.get("type", "text")
    content = payload.get(kind) if isinstance(kind, str) else None
    if not isinstance(content, dict):
        raise GraphError(131008, f"Parameter '{kind}' is mandatory")
    match kind:
        case "text":
            _text(content, "body", 4096, "Param text['body']", code=100)
        case "interactive":
            _interactive(content)
        case "template":
            _text(content, "name", 512, "template name")
            _text(_object(content, "language"), "code", 16, "template language code")
        case "document" | "image" | "video" | "audio" | "sticker":
            if bool(content.get("id")) == bool(content.get("link")):
                raise GraphError(131009, f"Exactly one of {kind}['id'] and {kind}['link'] is required")
            _text(content, "caption", 1024, "Caption", required=False)
        case "reaction" | "location" | "contacts":
            pass
        case _:
            raise GraphError(100, f"Param type must be one of the known message types - got {kind!r}.")


def check_upload(mime: str, size: int) -> None:
    """Raise ``GraphError`` for a file that ``POST /media`` would refuse."""
    bare = mime.partition(";")[0].strip().lower()
    if bare not in MEDIA_TYPES:
        allowed = ", ".join(sorted(MEDIA_TYPES))
        raise GraphError(
            100,
            f"Param file must be a file with one of the following types: {allowed}. Received file of type '{bare}'.",
        )
    limit = _SIZES.get(bare.split("/")[0], 100) * 2**20
    if not 0 < size <= limit:
        raise GraphError(100, f"Param file size must be between 1 and {limit} bytes.")


def _interactive(content: dict[str, Any]) -> None:
    _text(_object(content, "body"), "text", 1024, "Body text")
    if "footer" in content:
        _text(_object(content, "footer"), "text", 60, "Footer text")
    header = content.get("header")
    if header is not None and header.get("type") == "text":
        _text(header, "text", 60, "Header text")
    action = _object(content, "action")
    match content.get("type"):
        case "button":
            _buttons(action)
        case "list":
            _list(action)
        case "cta_url" | "flow" | "request_contact_info" | "location_request_message":
            pass
        case other:
            raise GraphError(131009, f"Interactive type {other!r} is not valid")


def _buttons(action: dict[str, Any]) -> None:
    buttons = action.get("buttons")
    if not isinstance(buttons, list) or not 1 <= len(buttons) <= 3:  # noqa: PLR2004 - Meta's limit
        raise GraphError(131009, "Invalid buttons count. Min allowed buttons: 1, Max allowed buttons: 3")
    replies = [_object(button, "reply") for button in buttons]
    for reply in replies:
        _text(reply, "id", 256, "Button id")
        _text(reply, "title", 20, "Button title")
    _unique([reply["title"] for reply in replies], "Button title")
    _unique([reply["id"] for reply in replies], "Button id")


def _list(action: dict[str, Any]) -> None:
    _text(action, "button", 20, "List button")
    sections = action.get("sections")
    if not isinstance(sections, list) or not 1 <= len(sections) <= 10:  # noqa: PLR2004 - Meta's limit
        raise GraphError(131009, "Invalid sections count. Min allowed sections: 1, Max allowed sections: 10")
    rows: list[dict[str, Any]] = []
    for section in sections:
        _text(section, "title", 24, "Section title", required=len(sections) > 1)
        rows.extend(section.get("rows") or [])
    if not 1 <= len(rows) <= 10:  # noqa: PLR2004 - Meta's limit
        raise GraphError(131009, "Total row count exceed max allowed count: 10")
    for row in rows:
        _text(row, "id", 200, "Row id")
        _text(row, "title", 24, "Row title")
        _text(row, "description", 72, "Row description", required=False)
    _unique([row["id"] for row in rows], "Row id")


def _object(holder: Any, name: str) -> dict[str, Any]:
    value = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise GraphError(131008, f"Parameter '{name}' is mandatory")
    return value


def _text(
    holder: dict[str, Any], name: str, limit: int, label: str, *, required: bool = True, code: int = 131009
) -> None:
    value = holder.get(name)
    if value is None:
        if required:
            raise GraphError(131008, f"Parameter '{name}' is mandatory")
        return
    if not isinstance(value, str) or len(value) > limit or (required and not value.strip()):
        raise GraphError(
            code,
            f"{label} must be at most {limit} characters long."
            if code == 100  # noqa: PLR2004 - Meta's code
            else f"{label} length invalid. Min length: 1, Max length: {limit}",
        )


def _unique(values: list[str], label: str) -> None:
    if len(set(values)) != len(values):
        raise GraphError(131009, f"{label} must be unique")
