"""Whatever SEFAZ answers or keeps to itself, one confirmation makes one note at most, and none is lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from gateway.nfe import outcome
from proofs.sandbox.faults import Fault
from tests.road.goods.test_goods_road import (
    CPF,
    FORM,
    PADARIA,
    _emission,
    _one_note,
    _person,
    opened,
    road,
    sefaz,
)
from tests.road.road_people import until

if TYPE_CHECKING:
    from proofs.sandbox.sefaz.sefaz import SefazSimulator
    from tests.road.road_people import Road

__all__ = ["opened", "road", "sefaz"]
SUBMIT, CONSULT = "NFeAutorizacao4", "NFeConsultaProtocolo4"
SHORT = {"seconds": 0.5}
CASES: list[tuple[str, list[tuple[Fault, dict[str, Any]]]]] = [
    *(
        (f"submit-{fault.name}", [(fault, {"times": 1, "about": SUBMIT, **SHORT})])
        for fault in (
            Fault.SLOW,
            Fault.DROP_BEFORE,
            Fault.TOO_MANY,
            Fault.ERROR_500,
            Fault.UNAVAILABLE,
            Fault.ERROR_500_ACCEPTED,
            Fault.HTML,
            Fault.HTML_ACCEPTED,
            Fault.TRUNCATED,
            Fault.LOSE_ANSWER,
            Fault.ACCEPT_LATE,
            Fault.BAD_REQUEST_ACCEPTED,
            Fault.OTHER_REFERENCE,
            Fault.NO_NUMBER,
            Fault.WRONG_ROOT,
            Fault.QUEUED,
            Fault.HANG,
            Fault.ALERT,
            Fault.RECEIPT,
            Fault.UNCATALOGUED,
            Fault.UNCATALOGUED_ACCEPTED,
            Fault.ESCAPED,
            Fault.NO_NAMESPACE,
        )
    ),
    *(
        (
            f"consult-{fault.name}",
            [(Fault.LOSE_ANSWER, {"times": 1, "about": SUBMIT}), (fault, {"times": 2, "about": CONSULT, **SHORT})],
        )
        for fault in (
            Fault.SLOW,
            Fault.DROP_BEFORE,
            Fault.TOO_MANY,
            Fault.ERROR_500,
            Fault.UNAVAILABLE,
            Fault.HTML,
            Fault.TRUNCATED,
            Fault.WRONG_ROOT,
            Fault.UNCATALOGUED,
            Fault.ESCAPED,
            Fault.NO_NAMESPACE,
            Fault.OTHER_REFERENCE,
            Fault.NO_NUMBER,
        )
    ),
    ("lag", [(Fault.LOSE_ANSWER, {"times": 1, "about": SUBMIT}), (Fault.READ_LAG, {"seconds": 0.5})]),
    (
        "lag-resend",
        [(Fault.LOSE_ANSWER, {"times": 1, "about": SUBMIT}), (Fault.READ_LAG, {"seconds": 60.0, "times": 2})],
    ),
    ("lag-long", [(Fault.LOSE_ANSWER, {"times": 1, "about": SUBMIT}), (Fault.READ_LAG, {"seconds": 60.0, "times": 3})]),
    (
        "lost twice",
        [(Fault.LOSE_ANSWER, {"times": 2, "about": SUBMIT}), (Fault.READ_LAG, {"seconds": 60.0, "times": 2})],
    ),
]


@pytest.mark.parametrize("faults", [each for _, each in CASES], ids=[name for name, _ in CASES])
async def test_one_note_whatever_fails(
    road: Road, sefaz: SefazSimulator, faults: list[tuple[Fault, dict[str, Any]]]
) -> None:
    """The authority's book has one note of this confirmation, and the person gets its files."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    for fault, setting in faults:
        sefaz.faults.set(fault, **setting)
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    _, xml = await person.files(late=True)
    assert note.xml in xml


async def test_an_nfce_that_grew_old_is_made_anew_under_its_key(
    road: Road, sefaz: SefazSimulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only once it is proven that the first document is no note."""
    monkeypatch.setattr("gateway.nfe.adapter.FRESH", timedelta(seconds=7))  # it says five seconds ago
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra ana souza, cpf {CPF}, entreguei em mãos")
    sefaz.faults.set(Fault.DROP_BEFORE, times=1, about=SUBMIT)
    sefaz.faults.set(Fault.UNCATALOGUED, times=4, about=CONSULT)  # so that it grows old
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    row = await _emission(road, person)
    assert row["bytes_antes"]
    assert note.xml not in [bytes(each) for each in row["bytes_antes"]]


@pytest.mark.parametrize("code", ["108", "109"])
@pytest.mark.parametrize("about", [SUBMIT, CONSULT])
async def test_an_office_that_stopped_is_waited_for(
    road: Road, sefaz: SefazSimulator, monkeypatch: pytest.MonkeyPatch, code: str, about: str
) -> None:
    """The note goes out once it works again; the pause is the code's (here a second)."""
    monkeypatch.setattr(outcome, "C_STAT", {**outcome.C_STAT, code: replace(outcome.C_STAT[code], espera=1.0)})
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    if about == CONSULT:
        sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about=SUBMIT)
    sefaz.faults.set(Fault.MAINTENANCE, times=1, about=about, message=code)
    await person.touch("Confirmar")
    note = await _one_note(road, sefaz, person)
    _, xml = await person.files(late=True)
    assert note.xml in xml
    assert sefaz.faults.hits[Fault.MAINTENANCE]


async def test_a_company_that_is_stopped_waits_and_loses_nothing(road: Road, sefaz: SefazSimulator) -> None:
    """After 656 nothing of it is called until its hour is over; then the note comes out, once."""
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    sefaz.block(FORM.cnpj)
    await person.touch("Confirmar")
    pool = road.database.pool

    async def stopped() -> bool:
        return bool(await pool.fetchval("SELECT parado_ate > now() + interval '50 minutes' FROM empresa_comercio"))

    await until(stopped)
    calls = sum(sefaz.calls().values())
    hurry = "UPDATE nfse_emissao SET proxima_acao_em = now() WHERE proxima_acao_em IS NOT NULL"
    for _ in range(3):
        await pool.execute(hurry)
        await asyncio.sleep(0.3)
    assert sum(sefaz.calls().values()) == calls
    sefaz._blocked.clear()
    await pool.execute("UPDATE empresa_comercio SET parado_ate = now()")

    async def due() -> bool:
        await pool.execute(hurry)
        return any(note.chave.modelo == "55" and note.at > start for note in sefaz.authorised())

    start = sefaz.ledger.now()
    await until(due)
    await _one_note(road, sefaz, person)


async def test_a_question_that_did_not_leave_is_none_of_the_hours_eight(road: Road, sefaz: SefazSimulator) -> None:
    """Looks while a company is stopped are no questions: once it is not, the note is found."""
    sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about=SUBMIT)
    sefaz.faults.set(Fault.UNCATALOGUED, about=CONSULT)
    person = await _person(road)
    await person.say(f"nota de 2 brigadeiros pra padaria, cnpj {PADARIA}")
    await person.touch("Confirmar")
    emission = (await _emission(road, person, "desconhecido"))["id"]
    pool = road.database.pool
    await pool.execute("UPDATE empresa_comercio SET parado_ate = now() + interval '1 hour'")
    hurry = "UPDATE nfse_emissao SET proxima_acao_em = now() WHERE id = $1 AND proxima_acao_em > now()"
    looks = "SELECT count(*) > 8 FROM gateway_tentativas WHERE emissao_id = $1 AND operacao = 'find' AND pedido IS NULL"

    async def looked() -> bool:
        await pool.execute(hurry, emission)
        return bool(await pool.fetchval(looks, emission))

    await until(looked)
    sefaz.faults.clear()
    await pool.execute("UPDATE empresa_comercio SET parado_ate = now()")
    await pool.execute(hurry, emission)
    await _one_note(road, sefaz, person)
