"""Outbound messages as Meta takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.whatsapp.limits import MensagemInvalida, length, shorten
from gateway.whatsapp.messages import (
    ComBotoes,
    DocumentoMidia,
    ListMessage,
    ListRow,
    ListSection,
    ReplyButton,
    Template,
    Texto,
    to_json,
)

PHONE = "5511987654321"
BUTTONS = ComBotoes("Confere?", (ReplyButton("c:1", "Confirmar"), ReplyButton("x:1", "Cancelar")))
LIST = ListMessage(
    "Qual cliente?", "Ver clientes", (ListSection((ListRow("1", "Padaria"), ListRow("2", "Açougue", "desde 2020"))),)
)
DOCUMENT = DocumentoMidia("1234567890", "NFSe-42.pdf", "NFS-e 42 autorizada")


def sent(mensagem, destinatario=PHONE, **options):
    return to_json(mensagem, destinatario, "outbox-1", **options)


def test_a_text_is_these_keys():
    """The common frame of every message, with our outbox id to find it by later."""
    assert sent(Texto("Oi"), reply_to="wamid.A") == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "+5511987654321",
        "biz_opaque_callback_data": "outbox-1",
        "type": "text",
        "text": {"body": "Oi", "preview_url": False},
        "context": {"message_id": "wamid.A"},
    }


@pytest.mark.parametrize(
    ("destinatario", "address"),
    [
        ("5511987654321", {"to": "+5511987654321"}),
        ("+551187654321", {"to": "+551187654321"}),
        ("BR.1502576394655843", {"recipient": "BR.1502576394655843"}),
        ("US.ENT.9aZ", {"recipient": "US.ENT.9aZ"}),
    ],
)
def test_a_person_is_addressed_as_meta_named_them(destinatario, address):
    """A BSUID goes into ``recipient``, a phone into ``to`` with its plus, and no digit is ever added or dropped."""
    body = sent(Texto("Oi"), destinatario)
    assert {name: body[name] for name in ("to", "recipient") if name in body} == address


@pytest.mark.parametrize("destinatario", ["", "ana", "BRA.1", "BR.", "br.1", "55 11 98765", "123"])
def test_nobody_else_is_addressed(destinatario):
    """What is neither a phone nor a BSUID is our bug."""
    with pytest.raises(MensagemInvalida, match="recipient"):
        sent(Texto("Oi"), destinatario)


def test_buttons_lists_documents_and_templates_have_metas_shapes():
    """The nested shapes of the four other kinds."""
    assert sent(replace(BUTTONS, header="NFS-e", footer="Prosa"))["interactive"] == {
        "type": "button",
        "header": {"type": "text", "text": "NFS-e"},
        "body": {"text": "Confere?"},
        "footer": {"text": "Prosa"},
        "action": {
            "buttons": [
                {"type": "reply", "reply": {"id": "c:1", "title": "Confirmar"}},
                {"type": "reply", "reply": {"id": "x:1", "title": "Cancelar"}},
            ]
        },
    }
    assert sent(LIST)["interactive"]["action"] == {
        "button": "Ver clientes",
        "sections": [
            {"rows": [{"id": "1", "title": "Padaria"}, {"id": "2", "title": "Açougue", "description": "desde 2020"}]}
        ],
    }
    document = {"id": "1234567890", "filename": "NFSe-42.pdf"}
    assert sent(DOCUMENT)["document"] == {**document, "caption": "NFS-e 42 autorizada"}
    assert sent(Template("nota_pronta", ("42", "R$ 1.500,00"), DOCUMENT))["template"] == {
        "name": "nota_pronta",
        "language": {"code": "pt_BR"},
        "components": [
            {"type": "header", "parameters": [{"type": "document", "document": document}]},
            {
                "type": "body",
                "parameters": [{"type": "text", "text": "42"}, {"type": "text", "text": "R$ 1.500,00"}],
            },
        ],
    }
    assert "components" not in sent(Template("ola"))["template"]


ROW = ListRow("1", "Padaria")
TOO_MUCH = [
    Texto(""),
    Texto(" \n"),
    Texto("a" * 4097),
    Texto("👍" * 2049),
    replace(BUTTONS, body="a" * 1025),
    replace(BUTTONS, body=" "),
    replace(BUTTONS, header="a" * 61),
    replace(BUTTONS, footer="a" * 61),
    replace(BUTTONS, buttons=()),
    replace(BUTTONS, buttons=tuple(ReplyButton(str(i), str(i)) for i in range(4))),
    replace(BUTTONS, buttons=(ReplyButton("1", "a" * 21),)),
    replace(BUTTONS, buttons=(ReplyButton("1", ""),)),
    replace(BUTTONS, buttons=(ReplyButton("a" * 257, "Sim"),)),
    replace(BUTTONS, buttons=(ReplyButton("1", "Sim"), ReplyButton("2", "Sim"))),
    replace(BUTTONS, buttons=(ReplyButton("1", "Sim"), ReplyButton("1", "Não"))),
    replace(LIST, button="a" * 21),
    replace(LIST, sections=()),
    replace(LIST, sections=(ListSection(()),)),
    replace(LIST, sections=(ListSection(tuple(ListRow(str(i), "x") for i in range(11))),)),
    replace(LIST, sections=(ListSection(tuple(ListRow(str(i), "x") for i in range(6)), "a"),) * 2),
    replace(LIST, sections=(ListSection((ROW,)), ListSection((ListRow("2", "b"),)))),
    replace(LIST, sections=(ListSection((ROW,), "a" * 25),)),
    replace(LIST, sections=(ListSection((ListRow("1", "a" * 25),)),)),
    replace(LIST, sections=(ListSection((ListRow("a" * 201, "x"),)),)),
    replace(LIST, sections=(ListSection((ListRow("1", "x", "a" * 73),)),)),
    replace(DOCUMENT, caption="a" * 1025),
    replace(DOCUMENT, filename=""),
    replace(DOCUMENT, media_id="../1"),
    Template("x", ("",)),
    Template("x", ("a\nb",)),
    Template("x", ("a     b",)),
    Template("x", ("a" * 1025,)),
]


@pytest.mark.parametrize("mensagem", TOO_MUCH, ids=range(len(TOO_MUCH)))
def test_what_meta_would_refuse_never_leaves(mensagem):
    """Every limit is checked before sending, and nothing is trimmed in silence."""
    with pytest.raises(MensagemInvalida):
        sent(mensagem)


@pytest.mark.parametrize(
    "mensagem",
    [
        Texto("a" * 4096),
        replace(
            BUTTONS, body="a" * 1024, header="a" * 60, footer="a" * 60, buttons=(ReplyButton("a" * 256, "a" * 20),) * 1
        ),
        replace(
            LIST,
            button="a" * 20,
            sections=(ListSection(tuple(ListRow(str(i), "a" * 24, "b" * 72) for i in range(10))),),
        ),
        replace(DOCUMENT, caption="a" * 1024),
    ],
    ids=["text", "buttons", "list", "document"],
)
def test_the_limits_themselves_are_allowed(mensagem):
    """The last character that fits, fits."""
    assert sent(mensagem)["type"]


def test_an_outbox_id_must_come_back_whole():
    """An id that Meta would cut could not be matched again."""
    with pytest.raises(MensagemInvalida, match="outbox"):
        to_json(Texto("Oi"), PHONE, "a" * 513)
    with pytest.raises(MensagemInvalida, match="outbox"):
        to_json(Texto("Oi"), PHONE, "")


@given(st.text(), st.integers(1, 100))
def test_shortened_text_fits_and_says_that_it_was_cut(text, limit):
    """Text that fits is untouched; longer text fits afterwards and ends with an ellipsis."""
    short = shorten(text, limit)
    assert length(short) <= limit
    assert short == text if length(text) <= limit else short.endswith("…")


@pytest.mark.parametrize(
    ("limit", "short"),
    [(30, "consultoria de marketing"), (20, "consultoria de…"), (10, "consultor…"), (1, "…")],
)
def test_text_is_cut_between_words_where_it_can_be(limit, short):
    """A reader sees whole words and no stray preposition mark."""
    assert shorten("consultoria de marketing", limit) == short
