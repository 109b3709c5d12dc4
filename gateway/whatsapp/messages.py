"""Owns the shapes of outbound WhatsApp messages and their JSON; refuses any that Meta would refuse."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, assert_never

from gateway.whatsapp import limits
from gateway.whatsapp.limits import MensagemInvalida, require_count, require_parameter, require_text, require_unique

# A business-scoped user id is "BR.<alphanumerics>", also with a part for the parent ("US.ENT.…"); a phone has no dot.
_BSUID = re.compile(r"[A-Z]{2}\.[A-Za-z0-9.]{1,140}")
_PHONE = re.compile(r"\+?(\d{7,15})")  # E.164
_MEDIA_ID = re.compile(r"[\w-]{1,128}")


@dataclass(frozen=True, slots=True)
class Texto:
    """Plain text, at most 4096 characters; links get no preview."""

    body: str


@dataclass(frozen=True, slots=True)
class ReplyButton:
    """A reply button: ``id`` comes back when tapped, ``title`` is what the person sees (at most 20 characters)."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class ComBotoes:
    """Text (at most 1024 characters) with one to three reply buttons."""

    body: str
    buttons: tuple[ReplyButton, ...]
    header: str | None = None
    footer: str | None = None


@dataclass(frozen=True, slots=True)
class ListRow:
    """A choice of a list: ``title`` at most 24 characters, ``description`` at most 72."""

    id: str
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ListSection:
    """A group of choices; ``title`` is needed only when there are several groups."""

    rows: tuple[ListRow, ...]
    title: str | None = None


@dataclass(frozen=True, slots=True)
class ListMessage:
    """Text with a button that opens a list of at most ten choices."""

    body: str
    button: str
    sections: tuple[ListSection, ...]
    header: str | None = None
    footer: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentoMidia:
    """A document that was uploaded before; ``media_id`` lives 30 days at Meta."""

    media_id: str
    filename: str
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class ImageMessage:
    """A picture (PNG or JPEG) that was uploaded before."""

    media_id: str
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """An approved template, the only thing that may go out after 24 hours of silence."""

    name: str
    parameters: tuple[str, ...] = ()
    document: DocumentoMidia | None = None  # the template's header
    language: str = "pt_BR"


Mensagem = Texto | ComBotoes | ListMessage | DocumentoMidia | ImageMessage | Template


def to_json(mensagem: Mensagem, destinatario: str, outbox_id: str, *, reply_to: str | None = None) -> dict[str, Any]:
    """Return the body of ``POST /{phone_number_id}/messages``; raises ``MensagemInvalida``.

    ``destinatario`` is a phone (with or without "+") or a BSUID, exactly as Meta gave it. ``outbox_id`` comes back in
    every status webhook. ``reply_to`` is the wamid that this message answers.
    """
    body: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        **_address(destinatario),
        "biz_opaque_callback_data": require_text("outbox id", outbox_id, limits.CALLBACK_DATA),
        **_content(mensagem),
    }
    if reply_to:
        body["context"] = {"message_id": reply_to}
    return body


def _address(destinatario: str) -> dict[str, str]:
    if _BSUID.fullmatch(destinatario):
        return {"recipient": destinatario}
    if phone := _PHONE.fullmatch(destinatario):
        return {"to": f"+{phone[1]}"}  # without "+", Meta may put our own country code in front
    raise MensagemInvalida("the recipient is neither a phone nor a BSUID")


def _content(mensagem: Mensagem) -> dict[str, Any]:
    match mensagem:
        case Texto(body):
            return {
                "type": "text",
                "text": {"body": require_text("text", body, limits.TEXT_BODY), "preview_url": False},
            }
        case ComBotoes():
            return {"type": "interactive", "interactive": _buttons(mensagem)}
        case ListMessage():
            return {"type": "interactive", "interactive": _list(mensagem)}
        case DocumentoMidia():
            return {"type": "document", "document": _document(mensagem)}
        case ImageMessage():
            return {"type": "image", "image": _media(mensagem)}
        case Template():
            return {"type": "template", "template": _template(mensagem)}
        case _:
            assert_never(mensagem)


def _frame(mensagem: ComBotoes | ListMessage) -> dict[str, Any]:
    frame: dict[str, Any] = {"body": {"text": require_text("body", mensagem.body, limits.INTERACTIVE_BODY)}}
    if mensagem.header is not None:
        frame["header"] = {"type": "text", "text": require_text("header", mensagem.header, limits.HEADER)}
    if mensagem.footer is not None:
        frame["footer"] = {"text": require_text("footer", mensagem.footer, limits.FOOTER)}
    return frame


def _buttons(mensagem: ComBotoes) -> dict[str, Any]:
    require_count("buttons", len(mensagem.buttons), limits.BUTTONS)
    require_unique("button titles", (button.title for button in mensagem.buttons))
    require_unique("button ids", (button.id for button in mensagem.buttons))
    replies = [
        {
            "id": require_text("button id", button.id, limits.BUTTON_ID),
            "title": require_text("button title", button.title, limits.BUTTON_TITLE),
        }
        for button in mensagem.buttons
    ]
    buttons = [{"type": "reply", "reply": reply} for reply in replies]
    return {"type": "button", **_frame(mensagem), "action": {"buttons": buttons}}


def _list(mensagem: ListMessage) -> dict[str, Any]:
    rows = [row for section in mensagem.sections for row in section.rows]
    require_count("sections", len(mensagem.sections), limits.SECTIONS)
    require_count("rows", len(rows), limits.ROWS)
    require_unique("row ids", (row.id for row in rows))
    several = len(mensagem.sections) > 1
    action = {
        "button": require_text("list button", mensagem.button, limits.LIST_BUTTON),
        "sections": [_section(section, titled=several) for section in mensagem.sections],
    }
    return {"type": "list", **_frame(mensagem), "action": action}


def _section(section: ListSection, *, titled: bool) -> dict[str, Any]:
    require_count("rows of a section", len(section.rows), limits.ROWS)
    body: dict[str, Any] = {"rows": [_row(row) for row in section.rows]}
    if titled or section.title is not None:
        body["title"] = require_text("section title", section.title or "", limits.SECTION_TITLE)
    return body


def _row(row: ListRow) -> dict[str, str]:
    body = {
        "id": require_text("row id", row.id, limits.ROW_ID),
        "title": require_text("row title", row.title, limits.ROW_TITLE),
    }
    if row.description is not None:
        body["description"] = require_text("row description", row.description, limits.ROW_DESCRIPTION)
    return body


def _document(document: DocumentoMidia) -> dict[str, str]:
    return {**_media(document), "filename": require_text("file name", document.filename, limits.FILENAME)}


def _media(media: DocumentoMidia | ImageMessage) -> dict[str, str]:
    if not _MEDIA_ID.fullmatch(media.media_id):
        raise MensagemInvalida("the media id is not one of Meta")
    caption = {} if media.caption is None else {"caption": require_text("caption", media.caption, limits.CAPTION)}
    return {"id": media.media_id, **caption}


def _template(template: Template) -> dict[str, Any]:
    components: list[dict[str, Any]] = []
    if template.document:
        header = {key: value for key, value in _document(template.document).items() if key != "caption"}
        components.append({"type": "header", "parameters": [{"type": "document", "document": header}]})
    if template.parameters:
        texts = [{"type": "text", "text": require_parameter(text)} for text in template.parameters]
        components.append({"type": "body", "parameters": texts})
    body: dict[str, Any] = {"name": template.name, "language": {"code": template.language}}
    return {**body, "components": components} if components else body
