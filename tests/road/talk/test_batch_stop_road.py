"""A list that is being sent is stopped by a word of whoever issues for its company."""

from __future__ import annotations

from typing import TYPE_CHECKING

from operations.company import add_company
from state_machine.protocol.channel import Canal
from tests.made_batches import confirmed
from tests.road.road_people import FULL
from tests.webhooks.api.conftest import THEIRS

if TYPE_CHECKING:
    from tests.road.road_people import Road


async def test_a_word_stops_the_list(road: Road) -> None:
    """Without lists the words are no stop; of several it asks which; another company's goes on; the draft stays."""
    rui, ana, pool = await road.person(), await road.person(), road.database.pool
    assert "lote" not in (await rui.say("para o lote")).text
    summary = await ana.say(FULL)
    one, two, other = [await confirmed(road.database, f"{nome}.csv", f"{nome}@x.com.br") for nome in ("a", "b", "c")]
    await add_company(road.database, THEIRS, Canal("plugnotas"))
    await pool.execute(
        "UPDATE lotes SET empresa_id = (SELECT id FROM empresa WHERE cnpj = '99000003000192') WHERE id = $1", other
    )
    asked = await ana.say("para o lote")
    assert f"{one}: a.csv\n{two}: b.csv" in asked.text
    assert f"não achei o lote {other}" in (await ana.say(f"para o lote {other}")).text
    assert f"Lote {two} (b.csv) parado: 1 e-mail não sai mais" in (await ana.say(f"para o lote {two}")).text
    stopped = await ana.say("para o lote, por favor")
    assert f"Lote {one} (a.csv) parado" in stopped.text
    assert "continua guardada" in stopped.text
    assert "não achei nenhum lote" in (await ana.say("para o lote")).text
    states = await pool.fetch("SELECT lote_id, estado FROM lote_linhas ORDER BY lote_id")
    assert [tuple(row) for row in states] == [(one, "CANCELADA"), (two, "CANCELADA"), (other, "PENDING")]
    audited = await pool.fetch("SELECT quem, alvo FROM auditoria WHERE acao = 'parou lote' ORDER BY id")
    assert [tuple(row) for row in audited] == [("WhatsApp", f"lote {two}"), ("WhatsApp", f"lote {one}")]
    await ana.touch("Confirmar", of=summary)
    await ana.files()
    assert len(await road.notes(ana)) == 1
