from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from tests.owner import as_owner
from tests.road.road_people import FULL, PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Road

FIELDS = {"documento": PADARIA, "valor": "1.500 reais", "servico": "consultoria de marketing"}


async def test_a_message_and_a_confirmation_become_one_invoice(road: Road) -> None:
    """Everything in one message: one summary, one press, one PDF with the result as its caption, one XML."""
    ana = await road.person()
    summary = await ana.say(FULL)
    for shown in ("PADARIA DO ZÉ LTDA", PADARIA, "R$ 1.500,00", "consultoria de marketing", "ANA DESIGN ME"):
        assert shown in summary.text
    assert [button.title for button in summary.buttons] == ["Confirmar", "Corrigir", "Cancelar"]
    await ana.touch("Confirmar")
    pdf, xml = await ana.files()
    assert pdf.startswith(b"%PDF")
    await road.settled()
    [note] = await road.notes(ana)
    assert f"<nNFSe>{note.numero}</nNFSe>".encode() in xml
    assert f"NFS-e {note.numero} autorizada · R$ 1.500,00 · PADARIA DO ZÉ LTDA" in ana.answers
    assert len(ana.answers) == 3  # summary, PDF, XML: nothing that Meta bills beyond need
    assert len(ana.offers) == 1  # and what may be done with the note
    session = await road.session(ana)
    assert (session["estado"], session["snapshot_reason"]) == ("aprovado", "webhook_success")


@pytest.mark.parametrize("order", list(itertools.permutations(FIELDS)), ids="-".join)
async def test_fields_may_come_one_by_one_in_any_order(road: Road, order: tuple[str, ...]) -> None:
    """Whatever comes first, only what is missing is asked for, and the summary shows all of it."""
    bia = await road.person()
    first, second, third = (FIELDS[name] for name in order)
    assert "▢" in (await bia.say(first)).text
    assert "✓" in (await bia.say(second)).text
    summary = await bia.say(third)
    for shown in ("PADARIA DO ZÉ LTDA", "R$ 1.500,00", "consultoria de marketing"):
        assert shown in summary.text
    session = await road.session(bia)
    assert (session["estado"], session["missing_fields"]) == ("aguardando_confirmacao", [])


async def test_a_correction_on_the_way_changes_only_its_field(road: Road) -> None:
    """A value corrected before the summary replaces the old one; the invoice carries the new one."""
    bia = await road.person()
    await bia.say("1.500 reais")
    await bia.say("na verdade é 1.800")
    await bia.say(PADARIA)
    summary = await bia.say("consultoria")
    assert "R$ 1.800,00" in summary.text
    await bia.touch("Confirmar")
    await bia.files()
    [note] = await road.notes(bia)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800


async def test_a_yes_with_a_correction_in_it_is_a_correction(road: Road) -> None:
    """A yes inside longer words that change something confirms nothing; the next summary says what changed."""
    ana = await road.person()
    await ana.say(FULL)
    changed = await ana.say("sim, mas o valor é 1.800")
    assert "Mudei o valor de R$ 1.500,00 para R$ 1.800,00." in changed.text
    await road.settled()
    assert await road.notes(ana) == []
    await ana.tell("sim")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.payload["servico"][0]["valor"]["servico"] == 1800


async def test_an_old_button_confirms_nothing(road: Road) -> None:
    """After a correction the first summary's button shows the present data again instead of issuing either."""
    ana = await road.person()
    old = await ana.say(FULL)
    new = await ana.say("o valor é 1.800")
    again = await ana.press("Confirmar", of=old)
    assert "ainda não emiti" in again.text
    assert "R$ 1.800,00" in again.text
    await road.settled()
    assert await road.notes(ana) == []
    await ana.touch("Confirmar", of=new)
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_a_button_pressed_many_times_issues_once(road: Road) -> None:
    """Impatient taps are one confirmation."""
    ana = await road.person()
    summary = await ana.say(FULL)
    for _ in range(5):
        await ana.touch("Confirmar", of=summary)
    await ana.files()
    await road.settled()
    assert len(await road.notes(ana)) == 1
    await ana.touch("Confirmar", of=summary)
    await road.settled()
    assert "já foi emitida" in ana.answers[-1]
    assert len(await road.notes(ana)) == 1


@pytest.mark.parametrize("yes", ["sim", "Isso!", "pode mandar", "bora", "s", "👍", "confirmo", "SIM, PODE EMITIR"])
async def test_yes_in_words_confirms(road: Road, yes: str) -> None:
    """People say yes in their own way; any of them is a confirmation of the summary they saw."""
    ana = await road.person()
    await ana.say(FULL)
    await ana.tell(yes)
    await ana.files()
    assert len(await road.notes(ana)) == 1


@pytest.mark.parametrize("no", ["não", "nao", "n"])
async def test_a_bare_no_asks_what_is_wrong_and_keeps_the_draft(road: Road, no: str) -> None:
    """It may mean that something is wrong: the correction needs nothing told again, and only its yes issues."""
    ana = await road.person()
    await ana.say(FULL)
    asked = await ana.say(no)
    assert "O que está errado?" in asked.text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert "R$ 1.800,00" in (await ana.say("o valor é 1800")).text
    await ana.touch("Confirmar")
    await ana.files()
    [note] = await road.notes(ana)
    assert note.valor == 1800


@pytest.mark.parametrize("no", ["não quero mais", "cancela", "deixa pra lá", "deixa quieto"])
async def test_giving_up_ends_the_invoice_and_keeps_the_data(road: Road, no: str) -> None:
    """It issues nothing; one button takes the same data up again."""
    ana = await road.person()
    await ana.say(FULL)
    goodbye = await ana.say(no)
    assert "nenhuma nota foi emitida" in goodbye.text
    session = await road.session(ana)
    assert (session["estado"], session["snapshot_reason"]) == ("cancelado_usuario", "cancelled")
    assert "R$ 1.500,00" in (await ana.press("Retomar esta nota")).text
    await ana.touch("Confirmar")
    await ana.files()
    assert len(await road.notes(ana)) == 1


async def test_the_cancel_button_ends_the_invoice(road: Road) -> None:
    """Cancelar is final for this session: its confirm button says so afterwards."""
    ana = await road.person()
    summary = await ana.say(FULL)
    await ana.press("Cancelar")
    assert "já foi cancelada" in (await ana.press("Confirmar", of=summary)).text
    await road.settled()
    assert await road.notes(ana) == []


async def test_the_correct_button_asks_what_to_change(road: Road) -> None:
    """Corrigir keeps everything and asks; the answer needs no key word."""
    ana = await road.person()
    await ana.say(FULL)
    assert "O que eu mudo?" in (await ana.press("Corrigir")).text
    assert "R$ 2.300,00" in (await ana.say("o valor certo é 2.300")).text


async def test_a_wrong_check_digit_keeps_the_rest(road: Road) -> None:
    """An impossible CNPJ is asked again with its reason; value and service need not be typed twice."""
    ana = await road.person()
    asked = await ana.say("nota de 1500 pra 12.345.678/0001-99, consultoria de marketing")
    assert "dígito" in asked.text
    assert "✓ R$ 1.500,00 · ✓ consultoria de marketing" in asked.text
    session = await road.session(ana)
    assert (session["cnpj_status"], session["valor_status"]) == ("invalid", "validated")
    assert "PADARIA DO ZÉ LTDA" in (await ana.say(PADARIA)).text


async def test_help_leaves_the_invoice_where_it_was(road: Road) -> None:
    """Asking for help in the middle loses nothing; before anything it opens no session."""
    ana = await road.person()
    assert "Como funciona" in (await ana.say("ajuda")).text
    assert await road.sessions(ana) == []
    await ana.say(FULL)
    assert "Como funciona" in (await ana.say("ajuda")).text
    assert (await road.session(ana))["estado"] == "aguardando_confirmacao"
    assert "R$ 1.500,00" in (await ana.say("sim")).text  # our last word was no summary: first look at it again
    assert await road.notes(ana) == []
    await ana.tell("sim")
    await ana.files()


async def test_every_turn_gets_exactly_one_message(road: Road) -> None:
    """Whatever a person does, Meta is given one message for it, until the invoice brings files and one behind them."""
    ana = await road.person()
    words = ["oi", "ajuda", "1500", "quê?", PADARIA, "na verdade é 1.800", "consultoria", "hmm", "obrigada", "ajuda"]
    for count, said in enumerate(words, 1):
        await ana.say(said)
        await road.settled()
        assert len(road.world.meta.outbound(ana.who)) == count, said
    await ana.say("sim, mas o serviço é consultoria de marketing")
    await ana.touch("Confirmar")
    await ana.files()
    await road.settled()
    assert len(road.world.meta.outbound(ana.who)) == len(words) + 1 + 2 + 1


async def test_short_messages_in_a_row_are_one_turn(road: Road) -> None:
    """Who writes in pieces is answered once, about all of it."""
    ana = await road.person()
    for piece in ("nota de 1500", f"pra {PADARIA}", "consultoria de marketing"):
        await ana.tell(piece)
    summary = await ana.expect("R$ 1.500,00")
    assert "consultoria de marketing" in summary.text
    await road.settled()
    assert len(ana.answers) == 1


async def test_the_alphanumeric_cnpj_is_a_cnpj(road: Road) -> None:
    """The CNPJ with letters goes the same road, from the words to the gateway's book."""
    ana = await road.person()
    await ana.issue("nota de 320,50 pra 12.ABC.345/01DE-35, aula de violão")
    [note] = await road.notes(ana)
    assert note.payload["tomador"]["cpfCnpj"] == "12ABC34501DE35"
    assert note.payload["servico"][0]["valor"]["servico"] == 320.5


async def test_a_person_is_a_customer_too(road: Road) -> None:
    """A CPF with a name is issued to the person."""
    ana = await road.person()
    await ana.issue("nota de 200 pra Maria da Silva, cpf 529.982.247-25, aula de canto")
    [note] = await road.notes(ana)
    assert note.payload["tomador"]["cpfCnpj"] == "52998224725"


async def test_the_journal_tells_the_whole_road(road: Road) -> None:
    """Each transition is on record with its event and reason, under the correlation id of what caused it."""
    ana = await road.person()
    await ana.say("1500")
    await ana.say(f"{PADARIA}, consultoria")
    await ana.touch("Confirmar")
    await ana.files()
    session = await road.session(ana)
    journal = await road.database.pool.fetch(
        "SELECT de, para, evento, snapshot_reason, correlacao FROM transicoes WHERE sessao_id = $1 ORDER BY id",
        session["sessao_id"],
    )
    assert [(row["para"], row["evento"], row["snapshot_reason"]) for row in journal] == [
        ("coleta", "Abriu", "manual"),
        ("dados_incompletos", "Informou", "manual"),
        ("aguardando_confirmacao", "Informou", "data_complete"),
        ("processando", "Confirmou", "confirmed"),
        ("aprovado", "NotaAutorizada", "webhook_success"),
    ]
    emission = await road.database.pool.fetchval(
        "SELECT correlacao FROM nfse_emissao WHERE sessao_id = $1", session["sessao_id"]
    )
    assert journal[3]["correlacao"] == emission == journal[4]["correlacao"]


WRITTEN = """
CREATE TABLE escrito (id bigint GENERATED ALWAYS AS IDENTITY, sessao_id text, operacao text, estado text, motivo text,
    completo boolean, cnpj_status text);
GRANT SELECT ON escrito TO PUBLIC;
CREATE FUNCTION anotar() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    INSERT INTO escrito (sessao_id, operacao, estado, motivo, completo, cnpj_status)
    VALUES (new.sessao_id, TG_OP, new.estado, new.snapshot_reason, new.data_complete, new.cnpj_status);
    RETURN NULL;
END $$;
CREATE TRIGGER anotar AFTER INSERT OR UPDATE ON session_snapshot FOR EACH ROW EXECUTE FUNCTION anotar();
"""


async def test_a_session_is_first_stored_in_coleta(road: Road) -> None:
    """Also when one message says all: created empty for ``manual``, then complete, in one turn with one answer."""
    await as_owner(road.database.pool, WRITTEN)
    try:
        ana = await road.person()
        await ana.say(FULL)
        await road.settled()
        session = await road.session(ana)
        rows = await road.database.pool.fetch(
            "SELECT operacao, estado, motivo, completo, cnpj_status FROM escrito WHERE sessao_id = $1 ORDER BY id",
            session["sessao_id"],
        )
    finally:
        await as_owner(road.database.pool, "DROP TABLE escrito; DROP FUNCTION anotar CASCADE")
    assert [tuple(row) for row in rows] == [
        ("INSERT", "coleta", "manual", False, "null"),
        ("UPDATE", "aguardando_confirmacao", "data_complete", True, "validated"),
    ]
    assert len(ana.answers) == 1
