from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.road.road_people import FULL

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_issued_invoices_are_listed_and_sent_again(road: Road) -> None:
    """The list has number, amount, client and day; a second copy is the same PDF, as often as it is asked for."""
    ana = await road.person()
    paper, _ = await ana.issue(FULL)
    await ana.issue("nota de 200 pra 99.000.002/0001-48, revisão de texto")
    await road.settled()
    first, second = sorted(int(note.numero or 0) for note in await road.notes(ana))
    listed = (await ana.say("minhas notas")).text
    assert f"*{first}* · R$ 1.500,00 · PADARIA DO ZÉ LTDA" in listed
    assert listed.index(f"*{second}* · R$ 200,00") < listed.index(f"*{first}* · ")
    assert "autorizada" in (await ana.say("qual o status?")).text
    for _ in range(2):
        again = await ana.say(f"segunda via da nota {first}")
        assert again.text == f"Segunda via da NFS-e {first} · R$ 1.500,00 · PADARIA DO ZÉ LTDA"
        assert again.attachment is not None
        assert again.attachment.mime == "application/pdf"
    newest = await ana.say("me manda o pdf de novo")
    assert f"NFS-e {second}" in newest.text
    assert paper.startswith(b"%PDF")
    assert len(await road.sessions(ana)) == 2  # no request opened a draft


@pytest.mark.parametrize(
    ("shown", "end", "name"),
    [
        ("2026/12346", "12346", "NFSe-2026-12346"),
        ("202600000012347", "12347", "NFSe-202600000012347"),
        ("12349-1", "349-1", "NFSe-12349-1"),
    ],
)
async def test_a_note_is_named_as_its_number_is_shown(road: Road, shown: str, end: str, name: str) -> None:
    """Its copy and its cancellation; the end of the number is offered, not taken; no file's name has a slash."""
    ana = await road.person()
    await ana.issue(FULL)
    await road.settled()
    mine = "SELECT id FROM nfse_emissao WHERE sessao_id = $2"
    statement = f"UPDATE nfse_processada SET numero = $1 WHERE emissao_id = ({mine})"  # noqa: S608 - our own
    await road.database.pool.execute(statement, shown, (await road.session(ana))["sessao_id"])
    again = await ana.say(f"segunda via da nota {shown}")
    assert again.text.startswith(f"Segunda via da NFS-e {shown} ")
    assert again.attachment is not None
    assert again.attachment.filename == f"{name}.pdf"
    offered = await ana.say(f"segunda via da nota {end}")
    assert offered.text == f"Não achei a nota {end}. Se é a {shown}, escreve _segunda via da nota {shown}_."
    assert f"NFS-e {shown} " in (await ana.say(f"cancela a nota {shown}")).text


async def test_nobody_sees_the_invoices_of_another_conversation(road: Road) -> None:
    """A number that somebody else's invoice has is not found."""
    ana, bia = await road.person(), await road.person()
    await ana.issue(FULL)
    await road.settled()
    [note] = await road.notes(ana)
    assert "Ainda não saiu nenhuma nota" in (await bia.say("minhas notas")).text
    assert f"Não achei a nota {note.numero}" in (await bia.say(f"segunda via da nota {note.numero}")).text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("quero falar com um atendente", "equipe"),
        ("parar", "só escrevo em resposta a você"),
        ("repete a última", "não tenho qual repetir"),
        ("status", "Ainda não enviei nenhuma nota"),
    ],
)
async def test_what_cannot_be_done_is_said_and_harms_no_draft(road: Road, words: str, said: str) -> None:
    """Each request has its own honest answer; the open invoice stays, but a yes no longer answers its summary."""
    ana = await road.person()
    assert said in (await ana.say(words)).text
    assert all(row["estado"] == "coleta" for row in await road.sessions(ana))  # the staff's queue lists sessions
    await ana.say(FULL)
    answer = await ana.say(words)
    assert said in answer.text
    assert "continua guardada" in answer.text or "R$ 1.500,00" in answer.text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert "R$ 1.500,00" in (await ana.say("sim")).text  # the summary again, to be looked at
    await road.settled()
    assert await road.notes(ana) == []


async def test_a_copy_can_be_asked_for_while_another_is_being_made(road: Road) -> None:
    """The document comes, or both kinds of it, and the open draft waits."""
    ana = await road.person()
    await ana.issue(FULL)
    await ana.say("nota de 90 pra 99.000.002/0001-48, revisão")
    await ana.tell("segunda via")
    told = [await ana.expect(), await ana.expect()]
    assert any("continua guardada" in bubble.text for bubble in told)
    assert any(bubble.attachment for bubble in told)
    await ana.tell("manda a última nota de novo em pdf e xml")
    told = [await ana.expect() for _ in range(3)]
    assert any("O PDF e o XML estão indo." in bubble.text for bubble in told)
    assert len({bubble.attachment.mime for bubble in told if bubble.attachment}) == 2
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"


async def test_an_invoice_given_up_is_taken_up_in_words(road: Road) -> None:
    """The words do what the button does, once; with nothing to take up the answer says so."""
    ana = await road.person()
    assert "Não tenho nota para retomar" in (await ana.say("retoma a nota")).text
    await ana.say(FULL)
    await ana.say("cancela")
    summary = await ana.say("retoma a nota")
    assert "Retomei os dados" in summary.text
    assert "R$ 1.500,00" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert len(await road.notes(ana)) == 1
    assert "Não tenho nota para retomar" in (await ana.say("retoma a nota")).text


async def test_a_numbered_invoice_is_that_invoice_when_it_shall_go_by_email(road: Road) -> None:
    """The answer names whose invoice it is, and both files are of that one; a number that is none sends nothing."""
    ana = await road.person()
    await ana.issue(FULL)
    await ana.issue("nota de 90 pra 99.000.002/0001-48, revisão")
    primeira = min(await road.notes(ana), key=lambda nota: nota.created_at).numero
    await ana.tell(f"manda o pdf da nota {primeira} pro email x@y.com")
    told = [await ana.expect() for _ in range(3)]
    files = [bubble for bubble in told if bubble.attachment]
    assert any(f"da nota {primeira}, de PADARIA DO ZÉ LTDA" in bubble.text for bubble in told)
    assert len(files) == 2
    assert all(f"NFSe-{primeira}." in str(bubble.attachment) for bubble in files)


async def test_sending_again_sends_the_file_and_makes_no_invoice(road: Road) -> None:
    """The words "manda a nota de novo" are no order, and an address to send it to begins no draft."""
    ana = await road.person()
    await ana.issue(FULL)
    await ana.tell("manda a nota de novo")
    assert (await ana.expect()).attachment
    await ana.tell("manda por email pra maria@exemplo.com")
    told = [await ana.expect() for _ in range(3)]
    assert sum(bool(bubble.attachment) for bubble in told) == 2
    assert len(await road.sessions(ana)) == 1


async def test_an_answer_beside_a_summary_keeps_it_in_one_line(road: Road) -> None:
    """The summary is not drawn again; its button issues, and a yes in words brings the summary first."""
    ana = await road.person()
    await ana.say(FULL)
    answer = await ana.say("o que é competência?")
    assert "espera o seu sim" in answer.text
    assert "Confere" not in answer.text
    assert answer.buttons[0].title == "Confirmar"
    assert "Só falta você confirmar" in (await ana.say("sim")).text
    await ana.say("sim")
    await road.settled()
    assert len(await road.notes(ana)) == 1


async def test_one_by_name_and_one_by_document_are_two_invoices(road: Road) -> None:
    """A document never joins the name of another clause."""
    ana = await road.person()
    await ana.issue(FULL)
    answer = await ana.say("faz duas notas: 300 pra padaria do zé e 200 pro joão cpf 529.982.247-25, aula")
    assert "Li 2 notas" in answer.text
    assert "529.982.247-25" not in answer.text.split("•")[0]
