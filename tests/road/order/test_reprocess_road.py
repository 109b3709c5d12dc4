"""A refusal that was ours to repair is tried again under another reference, never beside an authorised note."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from operations.protocol import CommandRefusedError, reprocess
from proofs.sandbox.plugnotas.model import ISSUED, access_key
from tests.road.road_people import FULL, until

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road


async def _refused(road: Road) -> tuple[Person, str]:
    """Return somebody whose confirmed invoice the city refused for no fault of theirs, and its reference."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    assert "não foi aceita" in (await ana.press("Confirmar")).text
    key = (await road.reached(ana, "rejeitado"))["id_integracao"]
    await road.settled()
    return ana, key


async def _row(road: Road, key: str) -> Any:
    return await road.database.pool.fetchrow("SELECT * FROM nfse_emissao WHERE id_integracao = $1", key)


def _next(key: str) -> str:
    base, _, tentativa = key.rpartition("-")
    return f"{base}-{int(tentativa) + 1}"


async def test_a_refusal_that_was_ours_is_issued_at_the_second_attempt(road: Road) -> None:
    """The order goes through the lane, asks under the first key, and sends fresh bytes under the second: one note."""
    ana, key = await _refused(road)
    assert "pedido registrado" in (await reprocess(road.database, key))[0]
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    [note] = await road.notes(ana)
    session = await road.session(ana)
    assert note.id_integracao == session["id_integracao"] == _next(key)
    assert (session["estado"], session["revisao"]) == ("aprovado", 1)
    first, second = await _row(road, key), await _row(road, _next(key))
    assert (first["status"], first["tentativa"]) == ("rejeitado", 1)
    assert (second["status"], second["tentativa"]) == ("concluido", 2)
    calls = [(r.data["method"], r.data["path"]) for r in road.world.plugnotas.ledger.of("call")]
    order = next(r.seq for r in road.world.plugnotas.ledger.of("note.created") if _next(key) in str(r.data))
    before = [r for r in road.world.plugnotas.ledger.of("call") if r.seq < order and key in r.data["path"]]
    assert before, calls  # asked under the earlier key before anything was sent
    assert "recusado" in await _answer(road, key)


async def test_an_order_given_twice_is_one_attempt(road: Road) -> None:
    """Impatient staff: the second order says that it was given."""
    ana, key = await _refused(road)
    await reprocess(road.database, key)
    assert re.search("já tinha sido pedido|só se refaz", await _answer(road, key))
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    assert len(await road.notes(ana)) == 1
    assert await _row(road, _next(_next(key))) is None


async def test_late_truth_wins_over_the_new_attempt(road: Road) -> None:
    """The city authorises the refused one after all, unnoticed: it is adopted, and the new one is never sent."""
    ana, key = await _refused(road)
    book = road.world.plugnotas
    old = next(note for note in book.notes.values() if note.id_integracao == key)
    chave = access_key(old, 777, book.ledger.now())
    book.ledger.append(
        "note.settled", id=old.id, situacao=ISSUED, numero="777", chave=chave, autorizacao="1", mensagem=None
    )
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()

    async def set_aside() -> bool:
        return bool((await _row(road, _next(key)))["status"] == "dispensado")

    await until(set_aside)
    assert (await _row(road, key))["status"] == "concluido"
    assert [note.id_integracao for note in await road.notes(ana)] == [key]
    assert not [r for r in book.ledger.of("note.created") if _next(key) in str(r.data)]
    assert (await road.session(ana))["estado"] == "aprovado"


async def test_what_the_gateway_does_not_confirm_is_not_tried_again_yet(road: Road) -> None:
    """No answer about the first attempt: the second waits until the gateway says that it stands refused."""
    ana, key = await _refused(road)
    road.world.plugnotas.faults.set("erro_500", method="GET", times=2)
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [_next(key)]


async def test_the_second_attempt_may_be_refused_and_tried_a_third_time(road: Road) -> None:
    """Each attempt has a reference of its own; before the third both earlier ones are asked about."""
    ana, key = await _refused(road)
    road.world.plugnotas.faults.set("rejeitar", times=1)
    await reprocess(road.database, key)
    await ana.expect("tentando emitir de novo")
    await ana.expect("não foi aceita")
    await road.settled()
    await reprocess(road.database, _next(key))
    await ana.expect("tentando emitir de novo")
    await ana.files()
    await road.settled()
    assert [note.id_integracao for note in await road.notes(ana)] == [_next(_next(key))]


async def test_what_its_user_has_taken_up_is_not_tried_again(road: Road) -> None:
    """Its data were changed by words: a second attempt would be a second invoice of the same sale."""
    ana, key = await _refused(road)
    await ana.say("na verdade é 1.800")
    assert "seriam duas" in await _answer(road, key)


async def test_what_was_not_refused_is_not_tried_again(road: Road) -> None:
    """Authorised, unknown to us, or refused for what the user said: the command says why and changes nothing."""
    ana = await road.person()
    await ana.issue()
    key = (await road.session(ana))["id_integracao"]
    assert "só se refaz o que foi recusado" in await _answer(road, key)
    assert "Nenhuma emissão" in await _answer(road, "010126-00000000-r1-1")
    rui = await road.person()
    await rui.say("nota de 200 pro cpf 529.982.247-25, aula de canto")
    assert "nome do cliente" in (await rui.press("Confirmar")).text
    theirs = (await road.reached(rui, "rejeitado"))["id_integracao"]
    assert "Corrigir nota" in await _answer(road, theirs)


async def _answer(road: Road, key: str) -> str:
    """What the command says, refusal or not."""
    try:
        return (await reprocess(road.database, key))[0]
    except CommandRefusedError as error:
        return str(error)
