"""A note that goes by e-mail: asked about first, to the address that was said, once, and told of afterwards."""

from __future__ import annotations

import io
import re
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from bot.delivery.sender import AVISO
from operations.company import add_company
from proofs.sandbox.mailbox import Mailbox
from state_machine.protocol.channel import Canal
from tests.road.road_people import Road, open_road, unlike
from tests.road.talk.memory_people import CAFE, of_new_company
from tests.road.talk.test_after_note_road import MAND, ORDER, offered_to
from tests.webhooks.api.conftest import THEIRS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="module")
def box() -> Mailbox:
    return Mailbox()


@pytest.fixture(scope="module")
async def mailing(database_url: str, redis_url: str, box: Mailbox) -> AsyncIterator[Road]:
    """A road with a mail server."""
    async with box.listening() as port:
        settings: dict[str, Any] = {
            "smtp_url": SecretStr(f"smtp+plain://127.0.0.1:{port}"),
            "smtp_from": "notas@ana.com.br",
            "public_url": "https://prosa.exemplo.com.br",
        }
        async with open_road(database_url, redis_url, **settings) as road:
            yield road


async def test_a_note_goes_to_the_address_that_was_said_once(mailing: Road, box: Mailbox) -> None:
    """Its number wins over the newest; nothing goes before the tap, a second tap sends nothing, a new wish does."""
    ana, before = await mailing.person(), len(box.kept)
    await ana.issue()
    await ana.issue()
    await mailing.settled()
    [second, first] = await _numbers(mailing, ana)
    asked = await ana.say(f"manda o pdf da {first} pro e-mail Fulana@X.com.br")
    assert f"Mando a nota {first} (R$" in asked.text
    assert "para *fulana@x.com.br*?" in asked.text
    assert [button.title for button in asked.buttons] == ["Mandar", "Não"]
    assert "não mandei" in (await ana.press("Não")).text
    assert "Está indo" in (await ana.press("Mandar", asked)).text
    assert f"a nota {first}, em PDF e XML, foi para fulana@x.com.br" in (await ana.expect()).text
    assert "Não vai duas vezes" in (await ana.press("Mandar", asked)).text
    await mailing.settled()
    [mail] = box.kept[before:]
    assert mail.to == "fulana@x.com.br"
    names = [part.get_filename() for part in mail.message.iter_attachments()]
    assert names == [f"NFSe-{first}.pdf", f"NFSe-{first}.xml"]
    assert mail.message["Subject"].startswith("Sua nota fiscal de")
    assert f"Nota {second}" not in mail.content.decode()
    again = await ana.say(f"manda o pdf da {first} pro e-mail fulana@x.com.br")
    await ana.press("Mandar", again)
    assert "foi para fulana" in (await ana.expect()).text
    assert len(box.kept) == before + 2
    audited = await mailing.database.pool.fetch("SELECT quem FROM auditoria WHERE acao = 'confirmou lote'")
    assert {row["quem"] for row in audited} == {"WhatsApp"}


async def test_the_month_for_the_accountant_is_a_workbook_with_a_link_to_everything(mailing: Road) -> None:
    """Of this company alone; a month without a note is told, and no such wish opens a draft."""
    [ana] = await of_new_company(mailing)
    assert "Não há nota da sua empresa" in (await ana.say("fechamento de março de 2025")).text
    await ana.issue()
    await mailing.settled()
    [numero] = await _numbers(mailing, ana)
    month = await mailing.database.pool.fetchval("SELECT to_char(max(competencia), 'MM/YYYY') FROM nfse_emissao")
    assert "aqui falta o endereço dele" in (await ana.say(f"manda o relatório de {month} pro meu contador")).text
    sent = await ana.expect("Fechamento de")
    assert sent.attachment is not None
    assert sent.attachment.filename.endswith(f"-{month[3:]}-{month[:2]}.xlsx")
    assert ": 1 nota, no total de R$ " in sent.text
    picture = await ana.expect()
    assert (picture.type, picture.attachment is not None) == ("image", True)
    link = re.search(r"https://prosa\.exemplo\.com\.br(/fechamento/\S+)", sent.text)
    assert link is not None
    async with TestClient(TestServer(mailing.house.web_app(https=False))) as browser:
        answer = await browser.get(link[1])
        names = zipfile.ZipFile(io.BytesIO(await answer.read())).namelist()
    assert {name.partition("/")[2] for name in names} >= {f"NFSe-{numero}.pdf", f"NFSe-{numero}.xml"}
    assert len(await mailing.sessions(ana)) == 1


async def test_the_month_goes_to_the_accountant_once_and_only_to_the_address_there_is(
    mailing: Road, box: Mailbox
) -> None:
    """Asked first, with a workbook and a link that opens the cancelled note too; a new address needs a new question."""
    [ana], before, pool = await of_new_company(mailing), len(box.kept), mailing.database.pool
    await ana.issue()
    await ana.issue()
    await mailing.settled()
    [second, _] = await _numbers(mailing, ana)
    await pool.execute("UPDATE nfse_processada SET status = 'cancelado' WHERE numero = $1", second)
    one = "UPDATE empresa SET email_contador = $2 WHERE id = (SELECT empresa_id FROM usuario WHERE telefone = $1)"
    await pool.execute(one, ana.who, "contas@escritorio.com.br")
    asked = await ana.say("manda tudo deste mês pro contador")
    assert "para *contas@escritorio.com.br*?" in asked.text
    await pool.execute(one, ana.who, "outro@escritorio.com.br")
    assert "Está indo" not in (await ana.press("Mandar", asked)).text
    asked = await ana.say("manda o fechamento pro contador")
    await mailing.settled()
    assert len(box.kept) == before
    assert "Está indo: fechamento de" in (await ana.press("Mandar", asked)).text
    assert "em planilha e com o link de tudo, foi para outro@escritorio.com.br" in (await ana.expect()).text
    assert "Não vai duas vezes" in (await ana.press("Mandar", asked)).text
    await mailing.settled()
    [mail] = box.kept[before:]
    assert mail.to == "outro@escritorio.com.br"
    [workbook] = [part.get_filename() for part in mail.message.iter_attachments()]
    assert (workbook or "").endswith(".xlsx")
    text = mail.message.get_body(("plain",))
    assert text is not None
    said = text.get_content()
    assert "1 nota, no total de R$ " in said
    assert "sem 1 cancelada" in said
    assert "cuida da contabilidade de" in said
    link = re.search(r"https://prosa\.exemplo\.com\.br(/fechamento/\S+)", said)
    assert link is not None
    async with TestClient(TestServer(mailing.house.web_app(https=False))) as browser:
        names = zipfile.ZipFile(io.BytesIO(await (await browser.get(link[1])).read())).namelist()
    assert any(name.endswith(f"NFSe-{second}-CANCELADA.xml") for name in names)
    assert len(await mailing.sessions(ana)) == 2


async def test_a_month_in_earnest_is_no_practice_where_only_services_are(mailing: Road, box: Mailbox) -> None:
    """The mail is marked by the notes in it: a company may still practise services, and sell in earnest."""
    [ana], before, pool = await of_new_company(mailing), len(box.kept), mailing.database.pool
    await ana.issue()
    await mailing.settled()
    hers = await pool.fetchval("SELECT empresa_id FROM usuario WHERE telefone = $1", ana.who)
    await pool.execute("UPDATE nfse_emissao SET ambiente = 'producao' WHERE prestador_id = $1", hers)
    await pool.execute("UPDATE empresa SET email_contador = 'contas@escritorio.com.br' WHERE id = $1", hers)
    await pool.execute(
        "INSERT INTO empresa_canal (empresa_id, tipo, canal, ambiente) VALUES "
        "($1, 'servico', 'plugnotas', 'homologacao'), ($1, 'consumidor', 'nfce', 'producao') "
        "ON CONFLICT (empresa_id, tipo) DO UPDATE SET ambiente = excluded.ambiente",
        hers,
    )
    await ana.press("Mandar", await ana.say("manda o fechamento pro contador"))
    await ana.expect("foi para contas@escritorio.com.br")
    [mail] = box.kept[before:]
    assert mail.message["Subject"].startswith("Fechamento de")


async def test_where_no_single_address_is_known_it_is_asked_for(mailing: Road, box: Mailbox) -> None:
    """None, two, or what is no address: nothing is guessed; the client's own is taken where it is known."""
    ana, before = await mailing.person(), len(box.kept)
    await ana.issue()
    await mailing.settled()
    [numero] = await _numbers(mailing, ana)
    await mailing.database.pool.execute("UPDATE cliente_tomador SET email = NULL")
    assert "o de PADARIA" in (await ana.say("manda pro email do cliente a última nota")).text
    for said in ("a@b.com e c@d.com", "ana@x"):
        assert "um endereço só" in (await ana.say(f"envia a nota {numero} por email pra {said}")).text
    assert "Não achei a nota 987654" in (await ana.say("manda a 987654 pro e-mail ana@x.com.br")).text
    await mailing.database.pool.execute("UPDATE cliente_tomador SET email = 'Contas@Padaria.com.br'")
    assert "*contas@padaria.com.br*" in (await ana.say("manda pro email do cliente a última nota")).text
    assert len(box.kept) == before


async def test_what_does_not_go_is_told(mailing: Road, box: Mailbox) -> None:
    """A refusal of the server, a cancelled note, another company's note: each in words, and no mail."""
    ana, before, pool = await mailing.person(), len(box.kept), mailing.database.pool
    await ana.issue()
    await mailing.settled()
    [numero] = await _numbers(mailing, ana)
    asked = await ana.say(f"manda a nota {numero} pro e-mail ninguem@x.com.br")
    box.fail("rcpt", "550 5.1.1 nobody")
    await ana.press("Mandar")
    assert (
        f"O e-mail da nota {numero} para ninguem@x.com.br não saiu: o servidor respondeu 550"
        in (await ana.expect()).text
    )
    other = await ana.say(f"manda a nota {numero} pro e-mail outra@x.com.br")
    await pool.execute("UPDATE nfse_processada SET status = 'cancelado' WHERE numero = $1", numero)
    assert "cancelada" in (await ana.press("Mandar", other)).text
    assert "cancelada" in (await ana.say(f"manda a nota {numero} pro e-mail outra@x.com.br")).text
    await add_company(mailing.database, THEIRS, Canal("plugnotas"))
    moved = "UPDATE usuario SET empresa_id = (SELECT id FROM empresa WHERE cnpj = $1) WHERE telefone = $2"
    assert await pool.execute(moved, "99000003000192", ana.who) == "UPDATE 1"
    assert "Mandar" not in [b.title for b in (await ana.say(f"manda a nota {numero} pro e-mail a@x.com.br")).buttons]
    await ana.press("Mandar", asked)
    await mailing.settled()
    assert len(box.kept) == before


async def test_practice_is_marked_and_never_mixed(mailing: Road, box: Mailbox) -> None:
    """A question of the other environment lets nothing go; a note of practice says so in subject and text."""
    ana, before, pool = await mailing.person(), len(box.kept), mailing.database.pool
    await ana.issue()
    await mailing.settled()
    [numero] = await _numbers(mailing, ana)
    asked = await ana.say(f"manda a nota {numero} pro e-mail ana@x.com.br")
    await pool.execute("UPDATE nfse_emissao SET ambiente = 'producao'")
    await pool.execute(
        "INSERT INTO empresa_canal (empresa_id, tipo, canal, ambiente) "
        "SELECT id, 'servico', 'plugnotas', 'homologacao' "
        "FROM empresa ON CONFLICT (empresa_id, tipo) DO UPDATE SET ambiente = excluded.ambiente"
    )
    assert "Está indo" not in (await ana.press("Mandar", asked)).text
    await pool.execute("UPDATE nfse_emissao SET ambiente = 'homologacao'")
    await ana.press("Mandar", await ana.say(f"manda a nota {numero} pro e-mail ana@x.com.br"))
    assert "foi para ana@x.com.br" in (await ana.expect()).text
    [mail] = box.kept[before:]
    assert mail.message["Subject"].startswith("Homologação: nota sem valor fiscal. Sua nota fiscal")
    text = mail.message.get_body(("plain",))
    assert text is not None
    assert text.get_content().startswith("Homologação: nota sem valor fiscal.")


async def test_beside_a_draft_a_yes_in_words_is_to_neither(mailing: Road, box: Mailbox) -> None:
    """The draft stays, the question is answered by its buttons alone, and a yes shows the summary once more."""
    ana, before = await mailing.person(), len(box.kept)
    await ana.issue()
    await mailing.settled()
    [numero] = await _numbers(mailing, ana)
    await ana.say(unlike())
    asked = await ana.say(f"manda o pdf da {numero} pro e-mail ana@x.com.br")
    assert "continua guardada" in asked.text
    assert "Confirmar" in [button.title for button in (await ana.say("sim")).buttons]
    await mailing.settled()
    assert len(box.kept) == before
    assert len(await mailing.notes(ana)) == 1


async def test_where_the_address_is_known_the_mail_is_asked_for(mailing: Road, box: Mailbox) -> None:
    """The words first, then the question that there is already; only its button lets the mail go, with PDF and XML."""
    [ana], before = await of_new_company(mailing), len(box.kept)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    [first] = await _numbers(mailing, ana)
    assert "Segue a NFS-e" in (await ana.press(MAND, offered)).text
    await mailing.settled()
    assert len(ana.answers) == 4  # no address is known: no question
    await mailing.database.pool.execute("UPDATE cliente_tomador SET email = 'contas@padaria.com.br'")
    assert "Segue a NFS-e" in (await ana.press(MAND, offered)).text
    asked = await ana.expect(f"Mando a nota {first} (R$ 400,00, para PADARIA DO ZÉ LTDA) para *contas@padaria.com.br*?")
    await mailing.settled()
    assert len(box.kept) == before
    assert "Está indo" in (await ana.press("Mandar", asked)).text
    await ana.expect("foi para contas@padaria.com.br")
    [mail] = box.kept[before:]
    names = [part.get_filename() for part in mail.message.iter_attachments()]
    assert names == [f"NFSe-{first}.pdf", f"NFSe-{first}.xml"]


async def test_a_yes_that_may_be_for_the_mail_issues_nothing(mailing: Road) -> None:
    """The summary of another note stands open: it is shown once more, and stays as it was."""
    [ana] = await of_new_company(mailing)
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    first = await _numbers(mailing, ana)
    await mailing.database.pool.execute("UPDATE cliente_tomador SET email = 'contas@padaria.com.br'")
    await ana.say(f"nota de 90 pra {CAFE}, revisão de texto")
    await ana.press(MAND, offered)
    await ana.expect("para *contas@padaria.com.br*?")
    again = await ana.say("sim")
    assert "R$ 90,00" in again.text
    assert "Confirmar" in [button.title for button in again.buttons]
    assert await _numbers(mailing, ana) == first


async def test_a_note_of_practice_is_marked_wherever_its_company_issues_now(mailing: Road, box: Mailbox) -> None:
    """The words, the question and the mail follow the note's own environment, and no choice is kept of its company."""
    [ana], before, pool = await of_new_company(mailing), len(box.kept), mailing.database.pool
    await ana.issue(ORDER)
    offered = await offered_to(ana)
    await pool.execute("UPDATE nfse_emissao SET ambiente = 'homologacao'")
    await pool.execute("UPDATE soma_mensal SET ambiente = 'homologacao'")
    await pool.execute("UPDATE session_snapshot SET canal = 'plugnotas/homologacao'")
    await pool.execute("UPDATE cliente_tomador SET email = 'contas@padaria.com.br'")
    assert AVISO in (await ana.press(MAND, offered)).text
    asked = await ana.expect("para *contas@padaria.com.br*?")
    assert asked.footer == AVISO
    await ana.press("Mandar", asked)
    await ana.expect("foi para contas@padaria.com.br")
    [mail] = box.kept[before:]
    assert mail.message["Subject"].startswith(AVISO)


async def _numbers(road: Road, person: Any) -> list[str]:
    """The numbers of a person's notes, the newest first."""
    statement = """
        SELECT p.numero FROM nfse_processada p JOIN nfse_emissao e ON e.id = p.emissao_id
        JOIN session_snapshot s ON s.id = e.session_id WHERE s.conversa = $1 ORDER BY e.id DESC
    """
    return [row["numero"] for row in await road.database.pool.fetch(statement, road.conversation(person))]
