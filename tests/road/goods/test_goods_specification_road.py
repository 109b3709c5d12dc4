"""The parts of the specification (idempotencia-e-consistencia) about NF-e and NFC-e, each under its number.

Where the contract corrects it the contract counts: 217, and not 135, says that there is no such note. The waits of 5.1
are those of every channel (``tests/state_machine/protocol/test_retry.py``).
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from bot.operator.reconcile import channels_of
from bot.settings import Settings
from gateway.http.wire import Answer, MaybeSentError, NotSentError
from gateway.keys import ChaveNFe
from gateway.nfe import outcome
from gateway.nfe.document import signed
from persistence.fiscal import numbering
from persistence.fiscal.numbering import Modelo, NumeracaoBloqueadaError, Sequencia
from persistence.people.channels import chosen
from proofs.sandbox.faults import Fault
from state_machine.protocol.channel import Ambiente, TipoDocumento
from state_machine.protocol.emission import Absent, Found, NotSent, Situacao, Unknown
from tests.gateway.nfe.made_sale import PAIR, chave, sale
from tests.road.goods.test_goods_road import (
    CPF,
    FORM,
    PADARIA,
    PLAIN,
    _document,
    _emission,
    _offered,
    _one_note,
    _person,
    _told,
    opened,
    road,
    sefaz,
)
from tests.road.road_people import until

if TYPE_CHECKING:
    from proofs.sandbox.sefaz.sefaz import SefazSimulator
    from tests.road.road_people import Person, Road

__all__ = ["opened", "road", "sefaz"]
SUBMIT, CONSULT, EVENT = "NFeAutorizacao4", "NFeConsultaProtocolo4", "NFeRecepcaoEvento4"
QUANTITIES = itertools.count(2)  # a sale that equals an undecided one is asked about first


async def _issued(road: Road, sefaz: SefazSimulator, modelo: str = "55") -> tuple[Person, Any]:
    person = await _person(road)
    customer = f"pra padaria, cnpj {PADARIA}" if modelo == "55" else f"pra ana souza, cpf {CPF}, entreguei em mãos"
    await person.say(f"nota de {next(QUANTITIES)} brigadeiros {customer}")
    await person.touch("Confirmar")
    return person, await _one_note(road, sefaz, person)


async def _find(road: Road, chave: str, modelo: str = "55") -> Any:
    """Ask the authority how the note of a key stands, over the very channel that issues."""
    tipo = TipoDocumento.PRODUTO if modelo == "55" else TipoDocumento.CONSUMIDOR
    async with channels_of(road.house.settings, road.database) as channels:
        async with road.database.transaction() as connection:
            empresa = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)
            gateway = channels.of(await chosen(connection, empresa, tipo))
        return await gateway.find(gateway.key(FORM.cnpj, chave))


def _calls(sefaz: SefazSimulator, chave: Any) -> list[str]:
    return [one.data["operation"] for one in sefaz.ledger.of("call") if str(chave)[:-1] in one.data["key"]]


@pytest.mark.parametrize("modelo", ["55", "65"])
async def test_3_2_the_identifier_is_the_key_of_44(road: Road, sefaz: SefazSimulator, modelo: str) -> None:
    """cUF, CNPJ, model, series, number, tpEmis and cNF; the database gives each number once."""
    person, note = await _issued(road, sefaz, modelo)
    row = await _emission(road, person)
    key = ChaveNFe.parse(row["chave_natural"])
    assert str(key) == str(note.chave)
    told = (key.uf, key.emitente, key.modelo, key.serie, key.numero, key.emissao)
    assert told == ("35", FORM.cnpj, modelo, 7, int(row["numero_rps"]), 1)
    with pytest.raises(asyncpg.UniqueViolationError):
        await road.database.pool.execute(
            "INSERT INTO numeracao_uso (numeracao_id, numero) SELECT numeracao_id, numero FROM numeracao_uso "
            "WHERE emissao_id = $1",
            row["id"],
        )


async def test_4_3_the_situation_of_a_key_is_asked_of_the_authority(road: Road, sefaz: SefazSimulator) -> None:
    """100 is authorised, 101 cancelled, 217 absent."""
    _, note = await _issued(road, sefaz)
    found = await _find(road, str(note.chave))
    assert isinstance(found, Found)
    assert found.nota.situacao is Situacao.AUTORIZADA
    key = ChaveNFe.parse(str(note.chave))
    assert await _find(road, str(replace(key, numero=key.numero + 5000))) == Absent()
    sefaz.cancel_elsewhere(str(note.chave))
    found = await _find(road, str(note.chave))
    assert isinstance(found, Found)
    assert found.nota.situacao is Situacao.CANCELADA


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (MaybeSentError("ReadTimeout", ""), Unknown),  # timeout: asked for before anything goes again
        (NotSentError("ConnectError"), NotSent),  # network, nothing left
        *((Answer(status, {}, b"<html/>"), Unknown) for status in (500, 502, 503, 504, 599, 429)),
        *((Answer(status, {}, b"<html/>"), Unknown) for status in (400, 401, 403, 404, 409, 422)),
    ],
)
def test_5_2_an_answer_without_a_cstat_ends_nothing(result: Any, kind: type) -> None:
    """SEFAZ refuses by cStat in an HTTP 200; whatever else comes is a question to it, and never a refusal."""
    assert isinstance(outcome.submit_outcome(result, signed(sale(), *PAIR), chave()), kind)


async def test_6_3_a_note_that_is_there_is_taken(road: Road, sefaz: SefazSimulator) -> None:
    """100: one sending, its document made of our bytes."""
    sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about=SUBMIT)
    person, note = await _issued(road, sefaz)
    assert _calls(sefaz, note.chave).count(SUBMIT) == 1
    assert note.xml in await _document(road, person)


async def test_6_3_a_note_that_was_cancelled_meanwhile_is_for_the_team(road: Road, sefaz: SefazSimulator) -> None:
    """101: it is neither issued anew nor told as one that counts, and the next note comes out."""
    sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about=SUBMIT)
    sefaz.faults.set(Fault.UNAVAILABLE, times=1, about=CONSULT)  # while it is cancelled elsewhere
    person = await _person(road)
    await person.say(f"nota de {next(QUANTITIES)} brigadeiros pra padaria, cnpj {PADARIA}")
    before = len(sefaz.authorised())
    await person.touch("Confirmar")

    async def there() -> Any:
        return next(iter(sefaz.authorised()[before:]), None)

    note = await until(there)
    sefaz.cancel_elsewhere(str(note.chave))
    assert await _told(person, "a equipe já foi avisada")
    await _emission(road, person, "conflito")
    assert _calls(sefaz, note.chave).count(SUBMIT) == 1
    assert len(sefaz.authorised()) == before + 1
    await _issued(road, sefaz)


async def test_6_3_what_is_absent_twice_goes_again_as_it_is(road: Road, sefaz: SefazSimulator) -> None:
    """217 and 217: the very bytes, under the same key."""
    sefaz.faults.set(Fault.DROP_BEFORE, times=1, about=SUBMIT)
    person, note = await _issued(road, sefaz)
    row = await _emission(road, person)
    assert not row["bytes_antes"]
    assert note.xml == bytes(row["bytes"])


async def test_6_3_a_code_that_says_nothing_is_asked_again(road: Road, sefaz: SefazSimulator) -> None:
    """An unexpected situation: neither a note nor none."""
    sefaz.faults.set(Fault.LOSE_ANSWER, times=1, about=SUBMIT)
    sefaz.faults.set(Fault.UNCATALOGUED, times=2, about=CONSULT)
    _, note = await _issued(road, sefaz)
    assert _calls(sefaz, note.chave).count(SUBMIT) == 1


async def _cancel(person: Person, note: Any) -> None:
    await person.tell(f"cancela a nota {int(note.chave.numero)}")
    for title in ("Erro na emissão", "Cancelar a nota"):
        await _offered(person, title)
        await person.touch(title)


async def _status(road: Road, person: Person, status: str) -> None:
    row = await _emission(road, person)

    async def there() -> bool:
        kept = await road.database.pool.fetchval("SELECT status FROM nfse_processada WHERE emissao_id = $1", row["id"])
        return bool(kept == status)

    await until(there)


async def test_8_1_a_cancellation_is_asked_once_and_remembered(road: Road, sefaz: SefazSimulator) -> None:
    """A second wish is answered from what is kept: the note is cancelled already."""
    person, note = await _issued(road, sefaz)
    await _cancel(person, note)
    await _status(road, person, "cancelado")
    asked = _calls(sefaz, note.chave).count(EVENT)
    await person.tell(f"cancela a nota {int(note.chave.numero)}")
    assert await _told(person, "já está cancelada")
    assert _calls(sefaz, note.chave).count(EVENT) == asked == 1


@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.DROP_BEFORE])
async def test_8_1_after_a_failure_the_authority_is_asked(road: Road, sefaz: SefazSimulator, fault: Fault) -> None:
    """Whether the event arrived or not, the note ends cancelled by one event."""
    person, note = await _issued(road, sefaz)
    sefaz.faults.set(fault, times=1, about=EVENT)
    await _cancel(person, note)
    await _status(road, person, "cancelado")
    kept = next(each for each in sefaz.authorised() if each.chave == note.chave)
    assert len(kept.events) == 1


async def test_8_1_a_refused_cancellation_leaves_the_note_authorised(road: Road, sefaz: SefazSimulator) -> None:
    """501, the term is over: the person reads SEFAZ's words, and the note stands."""
    person, note = await _issued(road, sefaz)
    road.world.sefaz.config = replace(PLAIN, cancel_within={"55": 0.0, "65": 0.0})
    await _cancel(person, note)
    assert "501" in await _told(person, "501")
    await _status(road, person, "autorizado")
    assert next(each for each in sefaz.authorised() if each.chave == note.chave).cancelled is None


@pytest.mark.parametrize("modelo", [Modelo.NFE, Modelo.NFCE])
async def test_9_2_numbers_are_given_once_and_without_a_gap(road: Road, modelo: Modelo) -> None:
    """Under load each asks for the next one; a series that is blocked gives none."""
    empresa = await road.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", FORM.cnpj)
    faixa = Sequencia(empresa, "35", "99", Ambiente.HOMOLOGACAO, modelo)

    async def next_one() -> int:
        async with road.database.transaction() as connection:
            return await numbering.allocate(connection, faixa, primeiro=10)

    given = await asyncio.gather(*(next_one() for _ in range(20)))
    assert sorted(given) == list(range(10, 30))
    pool = road.database.pool
    await pool.execute("UPDATE numeracao SET bloqueado = 'fechada' WHERE serie = '99' AND modelo = $1", modelo.value)
    with pytest.raises(NumeracaoBloqueadaError):
        await next_one()
    await pool.execute("DELETE FROM numeracao_uso u USING numeracao n WHERE n.id = u.numeracao_id AND n.serie = '99'")
    await pool.execute("DELETE FROM numeracao WHERE serie = '99'")


def test_10_2_each_operation_has_its_time() -> None:
    """Sending and cancelling a minute, a question half of one."""
    told = {name: Settings.model_fields[name].default for name in Settings.model_fields if "timeout_seconds" in name}
    assert told["gateway_timeout_seconds"] == told["cancel_timeout_seconds"] == 60.0
    assert told["gateway_query_timeout_seconds"] == 30.0
