"""What a company has issued, by month and year, and a MEI's limit: counted from the notes that stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from operations.company import add_company
from persistence import outside
from proofs.demo.world import COMPANY
from tests.road.talk.memory_people import CAFE, MARIA, ZE, company_form, of_new_company

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

SERVICE = "consultoria de marketing"


async def issued(road: Road, person: Person, valor: str, on: str | None = None, to: str = ZE) -> str:
    """Have a note issued and, if given, let it be of the day ``on``; returns its number."""
    await person.issue(f"nota de {valor} pra {to}, {SERVICE}")
    await road.settled()
    note = max(await road.notes(person), key=lambda note: int(note.numero or 0))
    if on:
        await road.database.pool.execute(
            "UPDATE nfse_processada SET data_emissao = to_char($2::text::date, 'DD/MM/YYYY') WHERE numero = $1 "
            "AND emissao_id IN (SELECT id FROM nfse_emissao WHERE id_integracao = $3)",
            note.numero,
            on,
            note.id_integracao,
        )
    return note.numero or ""


async def today(road: Road) -> tuple[int, int]:
    """Year and month in Brazil, by the database's clock."""
    row = await road.database.pool.fetchrow("SELECT now() AT TIME ZONE 'America/Sao_Paulo' AS agora")
    return row["agora"].year, row["agora"].month


async def test_sums_and_lists_are_by_day_of_issue(road: Road) -> None:
    """A note counts in the month that stands on it, a cancelled one nowhere, and another company's never."""
    ana, bia = await of_new_company(road, 2)
    [eva] = await of_new_company(road)
    year, month = await today(road)
    before = (year * 12 + month - 2) // 12, (year * 12 + month - 2) % 12 + 1
    first = await issued(road, ana, "100", f"{before[0]}-{before[1]:02}-15")
    second = await issued(road, ana, "250,50", to=CAFE)
    third = await issued(road, ana, "900")
    await issued(road, eva, "7000")
    await road.database.pool.execute(
        "UPDATE nfse_processada p SET status = 'cancelado' FROM nfse_emissao e JOIN empresa m ON m.id = e.prestador_id "
        "JOIN usuario u ON u.empresa_id = m.id WHERE e.id = p.emissao_id AND u.telefone = $1 AND p.numero = $2",
        ana.who,
        third,
    )
    for person in (ana, bia):  # the company's, whoever of its people made them
        assert "emitiu 1 nota, no total de R$ 250,50" in (await person.say("quanto já emiti esse mês")).text
        last_month = (await person.say("quanto já emiti no mês passado")).text
        assert "emitiu 1 nota, no total de R$ 100,00" in last_month
        assert "Conto só as notas que a Prosa conhece" in last_month
    listed = (await ana.say("minhas notas desse mês")).text
    assert f"*{second}* · R$ 250,50 · CAFÉ DA ESQUINA INVENTADA LTDA" in listed
    assert f"*{first}*" not in listed
    assert f"*{third}*" not in listed
    assert await road.sessions(bia) == []  # no request opened a draft


async def test_notes_are_asked_for_by_client(road: Road) -> None:
    """One client's list and sum, all clients with theirs, and the largest; no cancelled note and nobody else's."""
    [ana] = await of_new_company(road)
    [eva] = await of_new_company(road)
    first = await issued(road, ana, "100")
    second = await issued(road, ana, "250,50", to=CAFE)
    third = await issued(road, ana, "70")
    fourth = await issued(road, ana, "900")
    await issued(road, eva, "7000")
    await road.database.pool.execute(
        "UPDATE nfse_processada p SET status = 'cancelado' FROM nfse_emissao e JOIN usuario u "
        "ON u.empresa_id = e.prestador_id WHERE e.id = p.emissao_id AND u.telefone = $1 AND p.numero = $2",
        ana.who,
        fourth,
    )
    listed = (await ana.say("notas da padaria")).text
    assert all(f"*{numero}* · R$" in listed for numero in (first, third))
    assert f"*{second}*" not in listed
    clients = (await ana.say("quais clientes eu tenho?")).text.splitlines()
    assert clients[0].endswith(": 2.*")
    assert clients[1] == "• CAFÉ DA ESQUINA INVENTADA LTDA · R$ 250,50 · 1 nota"
    assert clients[2].endswith("· R$ 170,00 · 2 notas")
    assert f"*{second}* · R$ 250,50 · CAFÉ" in (await ana.say("qual foi a nota mais cara?")).text
    assert f"*{first}* · R$ 100,00" in (await ana.say("a maior nota da padaria")).text
    assert "R$ 170,00" in (await ana.say("quanto fiz pra padaria este ano")).text
    assert "Não achei nota para “oficina”" in (await ana.say("notas da oficina")).text
    assert len(await road.sessions(ana)) == 4  # no question opened a draft


async def test_files_are_found_by_number_and_by_client(road: Road) -> None:
    """The XML of one number, the PDF of one client's last note; no note of another client is sent instead."""
    [ana] = await of_new_company(road)
    first = await issued(road, ana, "110")
    second = await issued(road, ana, "120", to=CAFE)
    xml = await ana.say(f"manda o xml da {first}")
    assert xml.attachment is not None
    assert xml.attachment.filename == f"NFSe-{first}.xml"
    pdf = await ana.say("segunda via da padaria")
    assert pdf.attachment is not None
    assert pdf.attachment.filename == f"NFSe-{first}.pdf"
    other = await ana.say("manda o pdf do café da esquina")
    assert other.attachment is not None
    assert other.attachment.filename == f"NFSe-{second}.pdf"
    assert "Não achei nota para “oficina”" in (await ana.say("segunda via da oficina")).text


async def test_a_mei_is_told_how_much_is_left(road: Road) -> None:
    """The whole year where the opening is not known; a twelfth for each month of the opening year where it is."""
    [ana] = await of_new_company(road)
    await issued(road, ana, "1000")
    year, _ = await today(road)
    answer = (await ana.say("quanto falta pro limite do mei")).text
    assert f"Limite do MEI em {year}: R$ 1.000,00 de R$ 81.000,00 (1 %). Ainda cabem R$ 80.000,00." in answer
    assert "considerei o ano inteiro" in answer
    cnpj = await road.database.pool.fetchval(
        "SELECT cnpj FROM empresa e JOIN usuario u ON u.empresa_id = e.id WHERE u.telefone = $1", ana.who
    )
    async with road.database.alone() as connection:
        entry = {"cnpj": cnpj, "razao_social": "ANA DESIGN ME", "data_inicio_atividade": f"{year}-10-20"}
        await outside.cache_company(connection, cnpj, entry)
    proportional = (await ana.say("quanto falta pro limite do mei?")).text
    assert "R$ 1.000,00 de R$ 20.250,00 (4 %). Ainda cabem R$ 19.250,00." in proportional
    assert "proporcional a 3 meses" in proportional


async def test_from_four_fifths_of_the_limit_each_note_tells_it(road: Road) -> None:
    """In the caption of its PDF, no message more; below it that says nothing of the limit. A total says it always."""
    [ana] = await of_new_company(road)
    await issued(road, ana, "64000")
    assert not any("Limite do MEI" in text for text in ana.answers)
    await issued(road, ana, "1000")
    [told] = [text for text in ana.answers if "Limite do MEI" in text]
    assert "autorizada · R$ 1.000,00" in told
    assert len(ana.answers) == 2 * 3
    assert "R$ 65.000,00 de R$ 81.000,00 (80 %)" in told
    assert "Conto só as notas que a Prosa conhece" in told
    assert "R$ 65.000,00 de R$ 81.000,00 (80 %)" in (await ana.say("total do ano")).text
    for valor in ("16001", "10"):  # the second one is told without another look
        await issued(road, ana, valor)
        assert any("já passam do limite do MEI" in text for text in ana.answers[-2:])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"mei_transporte": True}, "de R$ 251.600,00"),
        ({"regime": "simples"}, "não está cadastrada como MEI"),
    ],
)
async def test_other_companies_have_other_limits(road: Road, values: dict[str, object], said: str) -> None:
    """A MEI of transport has its own limit, and who is no MEI is told so."""
    [ana] = await of_new_company(road, 1, **values)
    assert said in (await ana.say("quanto falta pro limite do mei")).text


async def test_a_company_that_is_updated_stays_a_mei_of_transport(road: Road) -> None:
    """What is left out of the form keeps the value that is stored."""
    form = company_form(mei_transporte=True)
    await add_company(road.database, form)
    await add_company(road.database, company_form(cnpj=form.cnpj, razao_social=COMPANY.razao_social))
    stored = "SELECT mei_transporte FROM empresa WHERE cnpj = $1"
    assert await road.database.pool.fetchval(stored, form.cnpj)
    await add_company(road.database, company_form(cnpj=form.cnpj, mei_transporte=False))
    assert not await road.database.pool.fetchval(stored, form.cnpj)


async def test_a_month_without_notes_is_said_to_have_none(road: Road) -> None:
    """Nothing issued is an answer, in a sum and in a list."""
    [ana] = await of_new_company(road)
    assert "emitiu 0 notas, no total de R$ 0,00" in (await ana.say("quanto emiti em outubro?")).text
    assert "Não achei nota da sua empresa em" in (await ana.say("notas de setembro")).text


async def test_a_client_without_a_cnpj_is_listed_by_name(road: Road) -> None:
    """A list shows how the person called the client where the register knows nobody."""
    [ana] = await of_new_company(road)
    await issued(road, ana, "130", to=f"Maria Souza, cpf {MARIA}")
    assert "R$ 130,00 · Maria Souza" in (await ana.say("notas desse mês")).text
