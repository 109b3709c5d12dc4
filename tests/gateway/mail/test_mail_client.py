"""Mails over a real line: TLS or nothing, and what each answer of the server means."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.header import decode_header, make_header
from email.policy import compat32
from typing import TYPE_CHECKING

import pytest

from gateway.mail import message
from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.message import Mail, MailServer, parse_server, to_bytes
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.nacional.authority import Authority
from state_machine.mailing.delivery import (
    MailAccepted,
    MailDeferred,
    MailLost,
    MailRejected,
    MailUnmade,
    MailUnreachable,
)

if TYPE_CHECKING:
    from pathlib import Path

    from state_machine.mailing.delivery import MailOutcome

MAIL = Mail(
    "<lote-1-1@ana.com.br>",
    "contato@ana.com.br",
    "Ana & Cia",
    "user@test.com.br",
    "Olá",
    "Bom dia!\n.\nTchau",
    "Você é cliente.",
    f"https://prosa.um-escritorio-de-nome-comprido.com.br/prosa/descadastro/{'a' * 32}",
)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def sent(box: Mailbox, times: int = 1) -> list[MailOutcome]:
    """Send over one line of this machine."""
    async with (
        box.listening() as port,
        MailConnection(MailServer("smtp+plain", "127.0.0.1", port), mail_tls(None)) as connection,
    ):
        return [await connection.send(MAIL) for _ in range(times)]


async def test_a_mail_arrives_as_it_was_written() -> None:
    """Headers, text and its second form arrive; a line of one dot does not end it."""
    box = Mailbox()
    assert await sent(box) == [MailAccepted()]
    [kept] = box.kept
    mail = kept.message
    assert (kept.sender, kept.to) == ("contato@ana.com.br", "user@test.com.br")
    assert mail["Message-ID"] == "<lote-1-1@ana.com.br>"
    assert (mail["From"], mail["Subject"]) == ("Ana & Cia <contato@ana.com.br>", "Olá")
    text, page = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert page is not None
    assert text.get_content().split()[:4] == ["Bom", "dia!", ".", "Tchau"]
    assert "\n".join(text.get_content().splitlines()).endswith(f"Você é cliente.\nPara não receber mais: {MAIL.sair}")
    assert "<br>" in page.get_content()
    assert f'<a href="{MAIL.sair}">' in page.get_content()


async def test_a_mail_says_how_to_get_no_more() -> None:
    """The headers of RFC 8058 stand there unfolded and not encoded, as mail programs look for them."""
    box = Mailbox()
    await sent(box)
    head = box.kept[0].content.split(b"\r\n\r\n", 1)[0].decode("ascii").split("\r\n")
    assert f"List-Unsubscribe: <{MAIL.sair}>" in head
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in head


@pytest.mark.parametrize("scheme", ["smtps", "smtp"])
async def test_the_line_is_encrypted(authority: Authority, scheme: str) -> None:
    """From its first byte or by STARTTLS, with the account only after that."""
    tls = authority.server_context()
    box = Mailbox(accounts={"ana": "se:gr@do"}, starttls=None if scheme == "smtps" else tls)
    async with box.listening(tls if scheme == "smtps" else None) as port:
        server = parse_server(f"{scheme}://ana:se%3Agr%40do@127.0.0.1:{port}")
        async with MailConnection(server, mail_tls(authority.ca_file)) as connection:
            assert await connection.send(MAIL) == MailAccepted()
    assert [kept.secret for kept in box.kept] == [True]


async def test_nothing_leaves_without_tls(authority: Authority) -> None:
    """A server that offers no STARTTLS, or whose certificate nobody vouches for, gets no mail and no password."""
    box = Mailbox(accounts={"ana": "segredo"})
    for scheme, tls in (("smtp", None), ("smtps", authority.server_context())):
        async with (
            box.listening(tls) as port,
            MailConnection(parse_server(f"{scheme}://ana:segredo@127.0.0.1:{port}"), mail_tls(None)) as connection,
        ):
            assert isinstance(await connection.send(MAIL), MailUnreachable)
    assert box.kept == []


@pytest.mark.parametrize(
    ("command", "answer", "outcome"),
    [
        ("rcpt", "451 later", MailDeferred(451)),
        ("rcpt", "421 closing", MailDeferred(421)),
        ("rcpt", "550 nobody", MailRejected(550, address=True)),
        ("rcpt", "550 5.1.1 nobody", MailRejected(550, address=True)),
        ("rcpt", "550 5.7.1 not from you", MailRejected(550)),
        ("rcpt", "552 5.2.2 full", MailRejected(552)),
        ("data", "550 5.1.1 too late", MailRejected(550)),
        ("data", "452 full", MailDeferred(452)),
        ("data", "554 no", MailRejected(554)),
        ("end", "451 later", MailDeferred(451)),
        ("end", "552 too large", MailRejected(552)),
        ("end", Mailbox.LOSE, MailLost()),
        ("end", Mailbox.FORGET, MailLost()),
        ("mail", "550 not you", MailUnreachable("SMTPSenderRefused 550")),
        ("mail", "451 not now", MailUnreachable("SMTPSenderRefused 451")),
        ("rcpt", Mailbox.LOSE, MailUnreachable("SMTPServerDisconnected")),
    ],
)
async def test_each_answer_has_its_meaning(command: str, answer: str, outcome: MailOutcome) -> None:
    """2xx is sent, 4xx later, 5xx failed, silence after DATA unknown; before DATA nothing was sent. The next goes."""
    box = Mailbox()
    box.fail(command, answer)
    assert await sent(box, 2) == [outcome, MailAccepted()]


async def test_half_an_answer_is_none() -> None:
    """A server that says nothing whole after the mail leaves it unknown."""
    box = Mailbox()
    box.fail("end", "250-taken")
    async with box.listening() as port:
        server = MailServer("smtp+plain", "127.0.0.1", port)
        async with MailConnection(server, mail_tls(None), seconds=0.2) as connection:
            assert await connection.send(MAIL) == MailLost()


async def test_a_line_that_was_ended_meanwhile_is_opened_anew() -> None:
    """A server may end an idle line: the next mail goes over a new one, once."""
    box = Mailbox()
    async with (
        box.listening() as port,
        MailConnection(MailServer("smtp+plain", "127.0.0.1", port), mail_tls(None)) as connection,
    ):
        assert await connection.send(MAIL) == MailAccepted()
        box.fail("mail", Mailbox.LOSE)
        assert await connection.send(MAIL) == MailAccepted()
    assert (len(box.kept), box.lines) == (2, 2)


async def test_no_server_is_no_mail(tmp_path: Path) -> None:
    """Where nobody listens, nothing was sent."""
    async with Mailbox().listening() as port:
        pass
    async with MailConnection(MailServer("smtp+plain", "127.0.0.1", port), mail_tls(None)) as connection:
        assert isinstance(await connection.send(MAIL), MailUnreachable)


@pytest.mark.parametrize(
    "url", ["", "http://x", "smtp://", "smtp+plain://mail.example.com", "smtps://host/path", "smtps://host:99999"]
)
def test_an_address_of_another_kind_is_refused(url: str) -> None:
    """Only TLS leaves this machine."""
    with pytest.raises(ValueError, match=r".+"):
        parse_server(url)


def test_the_ports_are_those_of_the_protocol() -> None:
    """Without a port each kind of line has its own."""
    assert parse_server("smtps://h") == MailServer("smtps", "h", 465)
    assert parse_server("smtp://u:p@h") == MailServer("smtp", "h", 587, "u", "p")
    assert parse_server("smtp+plain://127.0.0.1") == MailServer("smtp+plain", "127.0.0.1", 25)


WORDS = (
    "=?utf-8?q?Bom_dia?=",
    "a =?utf-8?b?T2k=?= b",
    "=?us-ascii?q?Oi=0A?=",
    '"Ana" <outra@test.com.br>, Bia',
    "Ana, Bia: Caio; (a casa) [1] \\ fim",
    "Olá, José – ação à vista 😀",
    "x" * 200,
    "é " * 90 + "fim",
    "Ana & Cia",
)


@pytest.mark.parametrize("words", WORDS)
def test_somebodys_words_arrive_as_words(words: str) -> None:
    """Whatever stands in a company's name or a subject, a receiver reads it as it was written, and nothing besides."""
    parsed = message_from_bytes(to_bytes(replace(MAIL, nome=words, assunto=words)), policy=compat32)
    written, _, address = parsed["From"].rpartition(" ")
    assert [str(make_header(decode_header(line))) for line in (written, parsed["Subject"])] == [words, words]
    assert (address, parsed["To"]) == (f"<{MAIL.sender}>", MAIL.to)
    head = to_bytes(replace(MAIL, nome=words, assunto=words)).partition(b"\r\n\r\n")[0]
    assert max(map(len, head.split(b"\r\n")[:4])) <= 80


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\x0b", "\x85", "\u2028"])
def test_a_header_has_one_line(end: str) -> None:
    """A break is a space: what stands behind it begins no header and no body."""
    words = f"Ana{end}X-Outro: sim{end}{end}corpo"
    parsed = message_from_bytes(to_bytes(replace(MAIL, nome=words, assunto=words)), policy=compat32)
    assert "X-Outro" not in parsed
    assert str(make_header(decode_header(parsed["Subject"]))) == "Ana X-Outro: sim corpo"


@pytest.mark.parametrize(
    "mail",
    [
        *(replace(MAIL, to=to) for to in ("=?utf-8?q?ana?=@x.com.br", "a@x.com.br, b@x.com.br", "Ana <a@x.com.br>")),
        *(replace(MAIL, to=to) for to in ("a@x.com.br\nX-Outro: sim", "a b@x.com.br", "", "joão@x.com.br")),
        replace(MAIL, message_id="<a@x>\r\nX-Outro: sim"),
        replace(MAIL, sair="https://x\nX-Outro: sim"),
    ],
)
async def test_what_cannot_be_made_is_that_mails_fault(mail: Mail) -> None:
    """Nothing is sent of it, and the line goes on with the next."""
    box = Mailbox()
    async with (
        box.listening() as port,
        MailConnection(MailServer("smtp+plain", "127.0.0.1", port), mail_tls(None)) as connection,
    ):
        assert [await connection.send(each) for each in (mail, MAIL)] == [MailUnmade(), MailAccepted()]
    assert [kept.to for kept in box.kept] == [MAIL.to]


def test_headers_that_nobody_wrote_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the library makes of words one day: a message with another header is none of ours."""
    fold = message._AsItIs.fold
    monkeypatch.setattr(message._AsItIs, "fold", lambda self, policy: fold(self, policy=policy) + "X-Outro: sim\r\n")
    with pytest.raises(ValueError, match="headers"):
        to_bytes(MAIL)
