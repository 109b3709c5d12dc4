"""Mails over a real line: TLS or nothing, and what each answer of the server means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateway.mail.client import MailConnection, mail_tls
from gateway.mail.message import Mail
from gateway.mail.server import MailServer, parse_server
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.nacional.authority import Authority
from state_machine.mailing.delivery import MailAccepted, MailDeferred, MailLost, MailRejected, MailUnreachable

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
    message = kept.message
    assert (kept.sender, kept.to) == ("contato@ana.com.br", "user@test.com.br")
    assert message["Message-ID"] == "<lote-1-1@ana.com.br>"
    assert (message["From"], message["Subject"]) == ("Ana & Cia <contato@ana.com.br>", "Olá")
    text, page = message.get_body(("plain",)), message.get_body(("html",))
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
        ("rcpt", "550 nobody", MailRejected(550)),
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
