"""A company's own clients are found by name, and nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.road.talk.memory_people import CAFE, MARIA, ZE, of_new_company

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_a_client_is_found_by_name_and_says_so_first(road: Road) -> None:
    """The summary names where the document comes from, and the note goes to that client."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 150 pra {ZE}, serviço: panfleto")
    await ana.issue(f"nota de 90 pra {CAFE}, revisão de texto")
    summary = await ana.say("nota de 200 pra padaria do zé, serviço: panfleto")
    assert summary.text.startswith("*Achei entre os seus clientes: PADARIA DO ZÉ LTDA.*")
    assert f"CNPJ: {ZE}" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    newest = max(await road.notes(ana), key=lambda note: int(note.numero or 0))
    assert newest.tomador == "12345678000195"


async def test_another_companys_client_is_never_seen(road: Road) -> None:
    """The same name finds nobody for a company that never issued to it."""
    [ana] = await of_new_company(road)
    [bia] = await of_new_company(road)
    await ana.issue(f"nota de 151 pra {ZE}, serviço: panfleto")
    answer = await bia.say("nota de 200 pra padaria do zé, serviço: panfleto")
    assert "Qual é o CNPJ ou CPF do cliente?" in answer.text
    assert "12.345.678" not in answer.text
    assert (await road.session(bia))["cnpj"] is None


async def test_a_near_miss_is_asked_about_and_never_taken(road: Road) -> None:
    """A mistyped name, and a part of one, name the client in a question; another name says nothing of it."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 152 pra {ZE}, serviço: panfleto")
    for words in ("nota de 200 pra padria do zé, serviço: panfleto", "nota de 201 pra padaria, serviço: panfleto"):
        answer = await ana.say(words)
        assert f"PADARIA DO ZÉ LTDA, {ZE}" in answer.text
        assert (await road.session(ana))["cnpj"] is None
        await ana.say("cancela")
    answer = await ana.say("nota de 202 pra padaria do joão, serviço: panfleto")
    assert "ZÉ" not in answer.text
    assert (await road.session(ana))["cnpj"] is None


async def test_two_that_fit_are_a_list_and_a_longer_name_answers(road: Road) -> None:
    """The question names both with their documents; a row is one of them, and so are the words that name one."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 80 pra Maria Souza Lima, cpf {MARIA}, aula de inglês")
    await ana.issue("nota de 81 pra Maria Souza Prado, cpf 111.444.777-35, aula de inglês")
    question = await ana.say("nota de 90 pra maria souza, serviço: aula de inglês")
    assert f"1) Maria Souza Prado, 111.444.777-35; 2) Maria Souza Lima, {MARIA}" in question.text
    assert not question.buttons
    assert {row.title for row in question.rows} >= {"Maria Souza Prado", "Maria Souza Lima"}
    assert (await road.session(ana))["cnpj"] is None
    [prado] = [row for row in question.rows if row.title == "Maria Souza Prado"]
    await road.world.meta.user_list_reply(ana.who, prado.id, prado.title, context_wamid=question.id)
    chosen = await ana.expect("Cliente: Maria Souza Prado")
    assert "CPF: 111.444.777-35" in chosen.text
    await ana.say("cancela")
    await ana.say("nota de 90 pra maria souza, serviço: aula de inglês")
    summary = await ana.say("maria souza lima")
    assert summary.text.startswith("*Achei entre os seus clientes: Maria Souza Lima.*")
    assert f"CPF: {MARIA}" in summary.text


async def test_a_nickname_once_made_clear_is_remembered_for_the_company(road: Road) -> None:
    """Said with a document in a confirmed note, it finds the client for every person of the company, and no other."""
    ana, bia = await of_new_company(road, 2)
    [eva] = await of_new_company(road)
    words = "nota de {} pro estúdio das meninas, {} serviço: edição de vídeo"
    assert "Achei" not in (await ana.say(words.format(300, f"{CAFE},"))).text
    await ana.touch("Confirmar")
    await ana.files()
    summary = await bia.say(words.format(310, ""))
    assert summary.text.startswith("*Achei entre os seus clientes: CAFÉ DA ESQUINA INVENTADA LTDA.*")
    await eva.say(words.format(320, ""))
    assert (await road.session(eva))["cnpj"] is None


async def test_a_name_changes_no_document_that_was_given(road: Road) -> None:
    """The person's own document stands, whatever client the name is like."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 153 pra {ZE}, serviço: panfleto")
    await ana.say(f"nota de 200 pra {CAFE}, serviço: panfleto")
    await ana.say("o nome do cliente é Padaria do Zé")
    assert (await road.session(ana))["cnpj"] == "99000002000148"


async def test_another_name_puts_a_client_found_by_name_aside(road: Road) -> None:
    """A summary for one client is never confirmed for somebody who was named after it."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 154 pra {ZE}, serviço: panfleto")
    await ana.issue(f"nota de 91 pra {CAFE}, revisão de texto")
    await ana.say("nota de 200 pra padaria do zé, serviço: panfleto")
    assert f"CNPJ: {CAFE}" in (await ana.say("é pro café da esquina inventada")).text
    await ana.say("é pro Carlos Lima")
    assert (await road.session(ana))["cnpj"] is None


async def test_part_of_a_persons_name_is_asked_about(road: Road) -> None:
    """There are many of a first and last name: whom we know need not be the one that is meant."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 82 pra Maria Aparecida Souza, cpf {MARIA}, aula de inglês")
    question = await ana.say("nota de 90 pra maria souza, serviço: aula de inglês")
    assert f"Maria Aparecida Souza, {MARIA}. É esse?" in question.text
    assert (await road.session(ana))["cnpj"] is None
    summary = await ana.press("Sim")
    assert "Cliente: Maria Aparecida Souza" in summary.text
    await ana.touch("Confirmar")
    await ana.files()
    assert f"CPF: {MARIA}" in (await ana.say("nota de 91 pra maria souza, serviço: aula de inglês")).text


async def test_two_names_in_one_message_fill_nothing(road: Road) -> None:
    """Which of them the note is for, only the person knows."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 155 pra {ZE}, serviço: panfleto")
    await ana.issue(f"nota de 92 pra {CAFE}, revisão de texto")
    question = await ana.say("paguei a gráfica pro café da esquina inventada, nota de 200 pra padaria do zé")
    assert (await road.session(ana))["cnpj"] is None
    assert {"PADARIA DO ZÉ LTDA", "CAFÉ DA ESQUINA INVENTA…"} <= {row.title for row in question.rows}


async def test_one_word_for_an_answer_is_asked_about(road: Road) -> None:
    """A client may be called like a word of every day."""
    [ana] = await of_new_company(road)
    await ana.issue(f"nota de 156 pra ACME, cnpj {ZE}, serviço: panfleto")
    await ana.say("nota de 200, serviço: panfleto")
    question = await ana.say("acme")
    assert "É esse?" in question.text
    assert (await road.session(ana))["cnpj"] is None
    assert f"CNPJ: {ZE}" in (await ana.press("Sim")).text


async def test_another_customer_over_a_summary_is_said_and_asked_for(road: Road) -> None:
    """The document that the person gave goes with its owner; one more invoice is none of this one."""
    ana = await road.person()
    await ana.say(f"nota de 300 pra {CAFE}, serviço: panfleto")
    answer = await ana.say("e mais uma de 200 pro joão")
    assert answer.text.startswith("*É para corrigir a nota de R$ 300,00")
    assert (await road.session(ana))["cnpj"] == "99000002000148"
    answer = await ana.say("200 pra maria")
    assert answer.text.startswith("Troquei o cliente: CAFÉ DA ESQUINA INVENTADA LTDA → maria.")
    assert (await road.session(ana))["cnpj"] is None
