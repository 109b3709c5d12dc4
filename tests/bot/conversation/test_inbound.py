from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.conversation import inbound
from bot.conversation.inbound import TURN_CHARS, Apagada, Chegada, Edicao, Outro, Palavras, Toque
from persistence.queue.lanes import InboxRow
from state_machine.values.text import Escrita

LANE = "106:BR.77"
ACTIONS = {"confirmar", "cancelar", "refazer", "usar"}
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def row(number: int, message: dict[str, Any], contato: dict[str, Any] | None = None) -> InboxRow:
    payload = {
        "phone_number_id": "106",
        "contato": contato if contato is not None else {"wa_id": "5511987654321", "profile": {"name": "Ana"}},
        "mensagem": {"id": f"wamid.{number}", "from": "5511987654321", "timestamp": "1795262400", **message},
    }
    return InboxRow(number, f"wamid.{number}", "mensagem", payload, 0, "c", NOW, None)


def text(number: int, body: Any) -> InboxRow:
    return row(number, {"type": "text", "text": {"body": body}})


def button(number: int, key: str) -> InboxRow:
    reply = {"type": "button_reply", "button_reply": {"id": key, "title": "x"}}
    return row(number, {"type": "interactive", "interactive": reply})


def next_arrival(lane: str, rows: list[InboxRow]) -> Chegada:
    return inbound.next_arrival(lane, rows, ACTIONS)


def test_words_in_a_row_are_one_turn() -> None:
    """Texts at the head are joined by newlines, in order; the last one's time and id are the turn's."""
    chegada = next_arrival(LANE, [text(1, "nota"), text(2, "de 1500"), button(3, "confirmar:s:1"), text(4, "oi")])
    assert [r.id for r in chegada.rows] == [1, 2]
    apart = (Escrita("wamid.1", "nota", NOW), Escrita("wamid.2", "de 1500", NOW))
    assert chegada.entrada == Palavras("nota\nde 1500", datetime(2026, 11, 21, 12, tzinfo=UTC), apart)
    assert chegada.wamid == "wamid.2"


def test_a_button_that_stands_for_words_says_them() -> None:
    """Like a text, also between two; one that carries none is no words."""
    chegada = next_arrival(LANE, [text(1, "oi"), button(2, "dizer:Minhas notas"), button(3, "confirmar:s:1")])
    assert isinstance(chegada.entrada, Palavras)
    assert chegada.entrada.texto == "oi\nMinhas notas"
    assert next_arrival(LANE, [button(1, "dizer:")]).entrada == Outro("interactive")


def test_forwarded_words_are_kept_apart_from_own_ones() -> None:
    """Both are read together; only the own ones may decide, and their time is the turn's."""
    theirs = row(
        2, {"type": "text", "text": {"body": "sim"}, "context": {"forwarded": True}, "timestamp": "1795262401"}
    )
    entrada = next_arrival(LANE, [text(1, "padaria ok"), theirs]).entrada
    assert isinstance(entrada, Palavras)
    assert (entrada.texto, entrada.proprias, entrada.escrita_em) == ("padaria ok\nsim", "padaria ok", NOW)
    alone = next_arrival(LANE, [row(1, {**theirs.payload["mensagem"], "context": {"frequently_forwarded": True}})])
    assert isinstance(alone.entrada, Palavras)
    assert alone.entrada.proprias == ""


def test_words_are_read_in_the_order_of_writing() -> None:
    """Meta promises no order; where a time is missing, the order of arrival stays."""
    late = row(2, {"type": "text", "text": {"body": "antes"}, "timestamp": "1795262300"})
    chegada = next_arrival(LANE, [text(1, "depois"), late])
    assert isinstance(chegada.entrada, Palavras)
    assert chegada.entrada.texto == "antes\ndepois"
    assert [r.id for r in chegada.rows] == [2, 1]
    timeless = row(2, {"type": "text", "text": {"body": "x"}, "timestamp": None})
    unsorted = next_arrival(LANE, [text(1, "a"), timeless, late]).entrada
    assert isinstance(unsorted, Palavras)
    assert unsorted.texto == "a\nx\nantes"


def test_a_turn_holds_no_more_than_the_longest_message() -> None:
    """Fifty of the longest are consumed and read as far as one goes; it is said so, and nothing of them decides."""
    rows = [text(1, "sim"), *(text(number, "fdp;" * 1024) for number in range(2, 51))]
    chegada = next_arrival(LANE, rows)
    assert isinstance(chegada.entrada, Palavras)
    assert len(chegada.rows) == 50
    assert len(chegada.entrada.texto) == sum(len(e.texto) for e in chegada.entrada.escritas) + 1 == TURN_CHARS
    assert (chegada.longa, chegada.entrada.proprias) == (True, "")
    edited = next_arrival(LANE, [edit(2, 1, "x" * 9000)])
    assert isinstance(edited.entrada, Edicao)
    assert edited.entrada.texto == "x" * TURN_CHARS
    assert edited.longa


def test_what_is_read_whole_is_not_called_long() -> None:
    """Up to what the readers take, a turn decides as ever."""
    entrada = next_arrival(LANE, [text(1, "a" * 700), text(2, "b" * 799)]).entrada
    assert isinstance(entrada, Palavras)
    assert (len(entrada.texto), entrada.longa, entrada.proprias) == (1500, False, None)
    longer = next_arrival(LANE, [text(1, "a" * 700), text(2, "b" * 800)]).entrada
    assert isinstance(longer, Palavras)
    assert longer.longa


def edit(number: int, of: int, new: str | None) -> InboxRow:
    message = {"type": "text", "text": {"body": new}} if new else {"type": "image", "image": {"id": "1"}}
    return row(number, {"type": "edit", "edit": {"original_message_id": f"wamid.{of}", "message": message}})


def revoke(number: int, of: int) -> InboxRow:
    return row(number, {"type": "revoke", "revoke": {"original_message_id": f"wamid.{of}"}})


def test_notices_about_what_was_read_go_before_everything_else() -> None:
    """Behind a button, it is taken first: the button must not issue what it withdraws."""
    rows = [button(5, "confirmar:s:1"), edit(6, 1, "1800"), revoke(7, 2)]
    first = next_arrival(LANE, rows)
    assert ([r.id for r in first.rows], first.entrada) == ([6], Edicao("wamid.1", "1800", NOW))
    second = next_arrival(LANE, [rows[0], rows[2]])
    assert ([r.id for r in second.rows], second.entrada) == ([7], Apagada("wamid.2"))


def test_what_was_changed_before_anybody_read_it_is_read_as_it_is_now() -> None:
    """The notices are consumed with their message, wherever they stand; edited words may not decide."""
    rows = [text(1, "sim"), text(2, "1500"), button(3, "confirmar:s:1"), edit(4, 2, "1700"), edit(5, 2, "1800")]
    chegada = next_arrival(LANE, rows)
    assert isinstance(chegada.entrada, Palavras)
    assert (chegada.entrada.texto, chegada.entrada.proprias) == ("sim\n1800", "sim")
    assert sorted(r.id for r in chegada.rows) == [1, 2, 4, 5]
    assert chegada.wamid == "wamid.2"
    gone = next_arrival(LANE, [revoke(2, 1), text(1, "1500")])
    assert ([r.id for r in gone.rows], gone.entrada) == ([2, 1], Outro("revoke"))


def test_an_edit_that_does_not_tell_its_words_comes_after_its_message() -> None:
    """First what it was, then that it is something else; likewise one that does not even tell which message."""
    rows = [edit(2, 1, None), text(1, "1500")]
    assert [r.id for r in next_arrival(LANE, rows).rows] == [1]
    assert next_arrival(LANE, rows[:1]).entrada == Edicao("wamid.1", None, NOW)
    unsupported = row(3, {"type": "unsupported", "unsupported": {"type": "edit"}, "errors": [{"code": 131051}]})
    assert next_arrival(LANE, [text(1, "oi"), unsupported]).entrada == Edicao(None, None, NOW)


@pytest.mark.parametrize("told", [{}, {"edit": 1}, {"edit": {"original_message_id": 7}}, {"edit": {"message": "x"}}])
def test_a_misshapen_notice_is_an_edit_of_nobody_knows_what(told: dict[str, Any]) -> None:
    """It voids what was shown, whatever it was."""
    assert next_arrival(LANE, [row(1, {"type": "edit", **told})]).entrada == Edicao(None, None, NOW)


@pytest.mark.parametrize(
    ("told", "wa_id"), [(5511987654321, "5511987654321"), (True, None), (["x"], None), ({}, None), ("", None)]
)
def test_a_number_that_is_no_text_is_one_or_none(told: Any, wa_id: str | None) -> None:
    """Whatever stands where a phone number should, the conversation keeps an address to answer to."""
    contato = next_arrival(LANE, [row(1, {"type": "text", "text": {"body": "oi"}, "from": told}, {})]).contato
    assert (contato.wa_id, contato.endereco) == (wa_id, wa_id or "BR.77")


@pytest.mark.parametrize("kind", ["image", "document", "video"])
def test_a_caption_counts_as_words(kind: str) -> None:
    """What is written under a picture or file is read."""
    chegada = next_arrival(LANE, [row(1, {"type": kind, kind: {"id": "1", "caption": "nota de 90"}})])
    assert isinstance(chegada.entrada, Palavras)
    assert chegada.entrada.texto == "nota de 90"


def card(org: Any = None, emails: Any = None, **name: Any) -> dict[str, Any]:
    return {"type": "contacts", "contacts": [{"name": name, "org": org, "emails": emails, "phones": [{"phone": "1"}]}]}


CNPJ = "11.222.333/0001-81"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (
            card({"company": "Padaria Sul", "title": f"CNPJ {CNPJ}"}, [{"email": "a@b.example"}], formatted_name="Zé"),
            f"cliente: Padaria Sul\n{CNPJ}\na@b.example",
        ),
        (card({"company": "Padaria Sul"}, formatted_name="Ana CPF 529.982.247-25"), "cliente: Ana\n529.982.247-25"),
        (card(formatted_name="Ana, cpf: 52998224725"), "cliente: Ana\ncpf: 52998224725"),
        (card(formatted_name="12ABC34501DE35 CNPJ 12ABC34501DE35"), "CNPJ 12ABC34501DE35"),
        (card(formatted_name=f"Nota: R$ 500 {CNPJ}"), f"cliente: Nota R\n{CNPJ}"),
        (
            card(None, [{"email": "nota de 500 a@b.example"}, 3, {}], formatted_name=f"Zé {CNPJ}"),
            f"cliente: Zé\n{CNPJ}",
        ),
        (card(formatted_name="Ana 11988881234"), None),
        (card({"title": "sim"}, [{"email": "a@b.example"}], formatted_name="sim"), None),
        ({"type": "contacts", "contacts": card(formatted_name=CNPJ)["contacts"] * 2}, None),
        ({"type": "contacts", "contacts": [CNPJ]}, None),
        ({"type": "contacts", "contacts": {"name": CNPJ}}, None),
        ({"type": "contacts", "contacts": [{"name": CNPJ, "org": [CNPJ], "emails": CNPJ}]}, None),
    ],
)
def test_a_card_with_a_tax_number_says_who_the_customer_is(sent: dict[str, Any], words: str | None) -> None:
    """Its name, numbers and e-mail, and no other number of it; whoever filled it in decides nothing."""
    entrada = next_arrival(LANE, [row(1, sent)]).entrada
    if words is None:
        assert entrada == Outro("contacts")
    else:
        assert isinstance(entrada, Palavras)
        assert (entrada.texto, entrada.proprias) == (words, "")


@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("confirmar:211126-aa:3", Toque("confirmar", "211126-aa", 3)),
        ("refazer:211126-aa", Toque("refazer", "211126-aa", None)),
        ("confirmar:211126-aa:x", Toque("confirmar", "211126-aa", None)),
        ("confirmar:211126-aa:²", Toque("confirmar", "211126-aa", None)),
        ("usar:211126-aa:3:valor:1500.00", Toque("usar", "211126-aa", 3, "valor:1500.00")),
        ("usar:211126-aa:3:descricao:a:b", Toque("usar", "211126-aa", 3, "descricao:a:b")),
        ("apagar:211126-aa:3", Outro("interactive")),
        ("confirmar", Outro("interactive")),
        ("", Outro("interactive")),
    ],
)
def test_a_button_says_what_of_which_and_at_which_revision(key: str, read: Toque | Outro) -> None:
    """Only actions that we know count; a revision that is no number is none."""
    assert next_arrival(LANE, [button(1, key)]).entrada == read


def test_a_list_row_and_a_template_button_are_buttons() -> None:
    """All three shapes of a pressed button mean the same."""
    reply = {"type": "list_reply", "list_reply": {"id": "cancelar:s:1", "title": "x"}}
    listed = row(1, {"type": "interactive", "interactive": reply})
    template = row(2, {"type": "button", "button": {"payload": "cancelar:s:1", "text": "x"}})
    for pressed in (listed, template):
        assert next_arrival(LANE, [pressed]).entrada == Toque("cancelar", "s", 1)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": None},
        {"type": "text"},
        {"type": "text", "text": "a string"},
        {"type": "text", "text": {"body": "  "}},
        {"type": "text", "text": {"body": 3}},
        {"type": "interactive", "interactive": {"button_reply": {"id": 7}}},
        {"type": ["text"], "text": {"body": "x"}},
    ],
)
def test_a_misshapen_message_is_a_message_without_words(message: dict[str, Any]) -> None:
    """Whatever Meta sends, a turn can be taken from it."""
    assert isinstance(next_arrival(LANE, [row(1, message)]).entrada, Outro)


@pytest.mark.parametrize("timestamp", [None, "", "x", "99999999999999999999", "-1e9", {}])
def test_a_senseless_time_is_no_time(timestamp: Any) -> None:
    """A message whose time can't be read is read all the same."""
    entrada = next_arrival(LANE, [row(1, {"type": "text", "text": {"body": "oi"}, "timestamp": timestamp})]).entrada
    assert entrada == Palavras("oi", None, (Escrita("wamid.1", "oi"),))


def test_answers_go_to_the_number_or_else_to_the_bsuid() -> None:
    """The address is the wa_id when Meta gives one; a person who hides it is answered at the BSUID."""
    assert next_arrival(LANE, [text(1, "oi")]).contato.endereco == "5511987654321"
    hidden = row(
        2, {"type": "text", "text": {"body": "oi"}, "from": None, "from_user_id": "BR.77"}, {"user_id": "BR.77"}
    )
    contato = next_arrival(LANE, [hidden]).contato
    assert (contato.endereco, contato.wa_id, contato.nome_perfil) == ("BR.77", None, None)
    nobody = row(3, {"type": "text", "text": {"body": "oi"}, "from": None}, {})
    assert next_arrival(LANE, [nobody]).contato.endereco == "BR.77"  # the lane itself knows


@pytest.mark.parametrize("digits", ["9" * 5000, "9" * 10, "٣"])
def test_a_revision_that_is_no_number_of_ours_is_none(digits: str) -> None:
    """A button with thousands of digits is read without an error, and names no revision."""
    assert next_arrival(LANE, [button(1, f"confirmar:s:{digits}")]).entrada == Toque("confirmar", "s", None)
