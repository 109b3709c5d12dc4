"""What doubtful words may mean, offered as buttons or a list, on the whole road; the reader of the tests finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from extractor.contract import Ato, Extraction
from extractor.two_readers import TwoReaders
from state_machine.invoice.fields import Campo, Doubt, Motivo
from tests.road.road_people import PADARIA, until

if TYPE_CHECKING:
    from extractor.contract import Context
    from proofs.sandbox.meta.model import Bubble
    from tests.road.road_people import Person, Road

AULAS, DUAS, MUITAS, CLIENTE = "15 aulas de 70", "1500 com 2% de ISS, 30", "10 20 30 40 50", "do zé"
DOUBTS = {
    AULAS: Doubt(Campo.VALOR, Motivo.POR_UNIDADE, AULAS, None, ("1050.00",), "15 × R$ 70,00"),
    DUAS: Doubt(Campo.VALOR, Motivo.VARIOS, DUAS, None, ("1500.00", "30.00")),
    MUITAS: Doubt(Campo.VALOR, Motivo.VARIOS, MUITAS, None, tuple(f"{n}0.00" for n in range(1, 6))),
    CLIENTE: Doubt(Campo.DOCUMENTO, Motivo.DISCORDANCIA, CLIENTE, None, ("12345678000195",)),
}


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some words are in doubt, with readings; all others are read as ever."""
    reads = TwoReaders.extract

    async def extract(self: TwoReaders, texto: str, contexto: Context) -> Extraction:
        doubt = DOUBTS.get(texto)
        return Extraction(Ato.DADOS, doubts=(doubt,)) if doubt else await reads(self, texto, contexto)

    monkeypatch.setattr(TwoReaders, "extract", extract)


async def asked(road: Road, words: str) -> tuple[Person, Bubble]:
    """Somebody whose invoice lacks nothing but what these words mean, and the question about them."""
    ana = await road.person()
    await ana.say("consultoria de marketing" if words == CLIENTE else f"{PADARIA}, consultoria de marketing")
    if words == CLIENTE:
        await ana.say("1.500 reais")
    return ana, await ana.say(words)


async def lido(road: Road, ana: Person, campo: str = "valor") -> dict[str, Any]:
    rascunho = (await road.session(ana))["rascunho"]
    field: dict[str, Any] = rascunho[campo]
    return field


async def chosen(road: Road, ana: Person) -> list[tuple[str, dict[str, Any], str]]:
    """What the journal says of choices: event, what was chosen, by what."""
    session = await road.session(ana)
    query = "SELECT evento, detalhe FROM transicoes WHERE sessao_id = $1 AND detalhe ? 'escolhido' ORDER BY id"
    rows = await road.database.pool.fetch(query, session["sessao_id"])
    return [(row["evento"], row["detalhe"]["escolhido"], row["detalhe"]["por"]) for row in rows]


async def test_a_press_takes_a_reading_and_the_invoice_carries_it(road: Road) -> None:
    """One summary, one press: the source stays the words in doubt, and the journal says that a button chose it."""
    ana, summary = await asked(road, DUAS)
    assert "Valor: *R$ 1.500,00* ou *R$ 30,00*" in summary.text
    assert [button.title for button in summary.buttons] == ["Emitir R$ 1.500,00", "Emitir R$ 30,00", "Corrigir"]
    assert (await lido(road, ana))["leituras"] == ["1500.00", "30.00"]
    await ana.touch("Emitir R$ 1.500,00")
    await ana.files()
    taken = await lido(road, ana)
    assert (taken["valor"], taken["escrito"], taken["leituras"]) == ("1500.00", DUAS, [])
    words = "SELECT payload #>> '{mensagem,text,body}' FROM inbox WHERE chave = $1"
    assert await road.database.pool.fetchval(words, taken["mensagem"]) == DUAS
    assert await chosen(road, ana) == [("Confirmou", {"valor": "1500.00"}, "botao")]
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1500


async def test_an_old_press_takes_nothing(road: Road) -> None:
    """After a change of the draft only the buttons of what followed count; asked which, a press chooses alone."""
    ana, old = await asked(road, DUAS)
    await ana.say("o serviço é consultoria jurídica")
    again = await ana.press("Emitir R$ 30,00", of=old)
    assert "R$ 1.500,00 ou R$ 30,00" in again.text
    assert (await lido(road, ana))["status"] == "invalid"
    summary = await ana.press("R$ 30,00", of=again)
    assert "R$ 30,00" in summary.text
    late = await ana.press("R$ 1.500,00", of=again)
    assert "R$ 30,00" in late.text
    assert "Só falta você confirmar" in late.text
    assert await road.notes(ana) == []


async def test_a_yes_in_words_issues_the_only_reading_that_its_summary_marks(road: Road) -> None:
    """The reckoning is shown with it, and no turn is spent on the doubt."""
    ana, summary = await asked(road, AULAS)
    assert "Valor: *R$ 1.050,00* (15 × R$ 70,00, confere?)" in summary.text
    assert summary.buttons[0].title == "Confirmar R$ 1.050"
    await ana.tell("sim")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1050


async def test_a_yes_takes_nothing_while_its_question_has_not_left(road: Road) -> None:
    """A question that WhatsApp refused was never seen."""
    ana = await road.person()
    await ana.say("consultoria de marketing")
    await ana.say("1.500 reais")
    road.world.meta.faults.set("erro_500", method="POST")
    await ana.tell(CLIENTE)
    revision = "SELECT id FROM outbox WHERE resumo_de IS NOT NULL AND tentativas > 0 AND conversa = $1"
    conversation = road.conversation(ana)
    stuck = await until(lambda: road.database.pool.fetchval(revision, conversation))
    await road.database.pool.execute("UPDATE outbox SET run_at = now() + interval '1 hour' WHERE id = $1", stuck)
    road.world.meta.faults.clear()
    await ana.tell("sim")
    steps = "SELECT count(*) FROM transicoes WHERE sessao_id = $1 AND evento = 'Confirmou'"
    session = (await road.session(ana))["sessao_id"]
    await until(lambda: road.database.pool.fetchval(steps, session))
    assert (await lido(road, ana, "documento"))["status"] == "invalid"
    await road.database.pool.execute("UPDATE outbox SET run_at = now() WHERE run_at IS NOT NULL")
    road.house.pumps["deliveries"].ring()
    await ana.expect("é isso?")
    await ana.expect("Toca no botão")
    assert "PADARIA DO ZÉ LTDA" in (await ana.say("sim")).text
    assert (await lido(road, ana, "documento"))["valor"] == "12345678000195"
    assert await chosen(road, ana) == [("Confirmou", {"documento": "12345678000195"}, "palavra")]


async def test_a_forwarded_yes_takes_nothing(road: Road) -> None:
    """Somebody else's yes is none."""
    ana, _ = await asked(road, CLIENTE)
    await road.world.meta.user_forward(ana.who, "sim")
    assert "Toca no botão" in (await ana.expect()).text
    assert (await lido(road, ana, "documento"))["status"] == "invalid"


async def test_a_no_asks_for_the_value_and_a_typed_one_is_read(road: Road) -> None:
    """No button counts any more."""
    ana, question = await asked(road, CLIENTE)
    assert (await ana.say("não")).text.startswith("Certo. Qual é o CNPJ ou CPF do cliente?")
    assert (await lido(road, ana, "documento"))["leituras"] == []
    assert {b.id.partition(":")[0] for b in (await ana.press("Sim", of=question)).buttons} <= {"pessoa"}
    assert "PADARIA DO ZÉ LTDA" in (await ana.say(PADARIA)).text


async def test_many_readings_are_a_list_to_choose_from(road: Road) -> None:
    """A list message goes out, and the chosen row is taken like a button."""
    ana, question = await asked(road, MUITAS)
    assert question.list_button == "Ver opções"
    assert [row.title for row in question.rows] == [*(f"R$ {n}0,00" for n in range(1, 6)), "Outro valor"]
    row = question.rows[3]
    await road.world.meta.user_list_reply(ana.who, row.id, row.title, context_wamid=question.id)
    assert "R$ 40,00" in (await ana.expect("Confere")).text
    assert await chosen(road, ana) == [("Escolheu", {"valor": "40.00"}, "botao")]


@pytest.mark.parametrize("yes", ["word", "button"])
async def test_a_document_that_was_asked_about_is_looked_up(road: Road, yes: str) -> None:
    """As one that was written is: the summary names the client."""
    ana, question = await asked(road, CLIENTE)
    assert question.text.startswith(f"Cliente: {PADARIA}, é isso?")
    summary = await (ana.say("isso") if yes == "word" else ana.press("Sim"))
    assert "PADARIA DO ZÉ LTDA" in summary.text


async def test_the_third_time_a_person_is_offered(road: Road) -> None:
    """No answer repeats the one before, and the button is answered while the draft stays."""
    ana, first = await asked(road, DUAS)
    second, third = await ana.say("oi"), await ana.say("oi")
    assert len({first.text, second.text, third.text}) == 3
    row = next(row for row in third.rows if row.title == "Falar com uma pessoa")
    await road.world.meta.user_list_reply(ana.who, row.id, row.title, context_wamid=third.id)
    await ana.expect("continua guardada")
    assert (await lido(road, ana))["leituras"] == ["1500.00", "30.00"]


async def test_without_redis_the_readings_stand_as_they_were(road: Road) -> None:
    """They are in the snapshot; a press is judged by it."""
    ana, _ = await asked(road, DUAS)
    await road.settled()
    await road.house.redis.flushdb()
    await ana.touch("Emitir R$ 30,00")
    await ana.files()
    assert (await lido(road, ana))["valor"] == "30.00"


async def test_a_draft_of_an_older_release_has_no_readings(road: Road) -> None:
    """Stored without these fields, it loads, and the conversation goes on."""
    ana, question = await asked(road, DUAS)
    session = await road.session(ana)
    older = {
        name: {key: value for key, value in field.items() if key not in {"leituras", "conta"}} if field else field
        for name, field in session["rascunho"].items()
    }
    store = "UPDATE session_snapshot SET rascunho = $2, versao = versao + 1 WHERE sessao_id = $1"
    await road.database.pool.execute(store, session["sessao_id"], older)
    assert "mais de uma" in (await ana.press("Emitir R$ 30,00", of=question)).text
    assert "R$ 30,00" in (await ana.say("o valor é 30 reais")).text
