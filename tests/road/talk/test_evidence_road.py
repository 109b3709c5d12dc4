from __future__ import annotations

from typing import TYPE_CHECKING, Any

from proofs.demo.inside import Inside
from tests.road.road_people import PADARIA

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road


async def _fields(road: Road, person: Person) -> dict[str, Any]:
    session = await road.session(person)
    fields: dict[str, Any] = session["rascunho"]
    return fields


async def _journal(road: Road, person: Person) -> list[dict[str, Any]]:
    session = await road.session(person)
    rows = await road.database.pool.fetch(
        "SELECT detalhe FROM transicoes WHERE sessao_id = $1 AND evento = 'Informou' ORDER BY id", session["sessao_id"]
    )
    return [row["detalhe"].get("campos", {}) for row in rows]


async def test_each_field_names_the_very_message_it_came_from(road: Road) -> None:
    """Two messages read as one turn, then a correction: snapshot, journal and page say which message said what."""
    ana = await road.person()
    items = [road.world.meta.said(ana.who, words) for words in ("nota de 1.500", f"consultoria pra {PADARIA}")]
    await road.world.meta.deliver_batch(items)
    await ana.expect("R$ 1.500,00")
    first, second = [b.id for b in road.world.meta.bubbles(ana.who) if b.side == "user"]
    fields = await _fields(road, ana)
    assert fields["valor"]["mensagem"] == first
    assert fields["documento"]["mensagem"] == fields["descricao"]["mensagem"] == second

    third = await ana.tell("na verdade é 1.800")
    await ana.expect("R$ 1.800,00")
    fields = await _fields(road, ana)
    assert fields["valor"]["mensagem"] == third
    assert fields["documento"]["mensagem"] == second
    said, corrected = await _journal(road, ana)
    assert {campo: read["mensagem"] for campo, read in said.items()} == {
        "valor": first,
        "documento": second,
        "descricao": second,
    }
    assert (corrected["valor"]["valor"], corrected["valor"]["mensagem"]) == ("1800.00", third)
    assert set(corrected) == {"valor"}
    inbox = await road.database.pool.fetch("SELECT chave FROM inbox WHERE chave = ANY($1)", [first, second, third])
    assert len(inbox) == 3  # a field's message is a row that staff can open
    seen = await Inside(road.database).view(ana.who)
    assert {f["campo"]: f["mensagem"] for f in seen["campos"] if f["valor"]} == {
        "valor": third,
        "documento": second,
        "descricao": second,
    }


async def test_a_snapshot_of_an_older_version_still_loads(road: Road) -> None:
    """Fields stored without their message have none, and the conversation goes on."""
    ana = await road.person()
    await ana.say("nota de 1.500")
    session = await road.session(ana)
    fields = {
        name: {key: value for key, value in lido.items() if key not in {"mensagem", "recusa"}} if lido else lido
        for name, lido in session["rascunho"].items()
    }
    await road.database.pool.execute(
        "UPDATE session_snapshot SET rascunho = $2, versao = versao + 1 WHERE sessao_id = $1",
        session["sessao_id"],
        fields,
    )
    assert "✓ R$" in (await ana.say("consultoria")).text
    assert (await _fields(road, ana))["valor"]["mensagem"] is None
