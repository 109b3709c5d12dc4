"""``prosa cancelar``: the same rules as in the chat, once for each key."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import pytest

from operations.cancel_order import CancelError, Ordem, cancel, standing
from proofs.sandbox.plugnotas.model import BRASILIA, CANCELLED
from tests import children
from tests.road.road_people import FULL
from tests.road.road_process import ROOT, environment

if TYPE_CHECKING:
    from proofs.sandbox.plugnotas.model import Note
    from tests.road.road_people import Person, Road

WHY = "cliente pediu para cancelar o pedido"


async def _issued(road: Road) -> tuple[Person, Note]:
    ana = await road.person()
    await ana.issue(FULL)
    await road.settled()
    return ana, (await road.notes(ana))[-1]


def _asked(road: Road, note: Note) -> int:
    return sum(record.data["id"] == note.id for record in road.world.plugnotas.ledger.of("cancel.asked"))


def _described(note: Note) -> str:
    day = note.created_at.astimezone(BRASILIA)
    return f"NFS-e {note.numero} · R$ 1.500,00 · PADARIA DO ZÉ LTDA · 12.345.678/0001-95 · emitida em {day:%d/%m/%Y}"


async def test_the_same_key_gets_the_same_answer(road: Road) -> None:
    """Repeated before and after the end, the order is one cancellation; its user is told; another content conflicts."""
    ana, note = await _issued(road)
    ordem = Ordem(nota=note.id_integracao, motivo=WHY, chave="erp-77")
    first = await cancel(road.database, ordem)
    assert await cancel(road.database, ordem) == first
    await ana.expect(f"Nota {note.numero} cancelada")
    await road.settled()
    assert await cancel(road.database, ordem) == first
    with pytest.raises(CancelError, match="já foi usada"):
        await cancel(
            road.database, Ordem(nota=note.id_integracao, motivo="outro motivo qualquer, longo", chave="erp-77")
        )
    await road.settled()
    assert (_asked(road, note), road.world.plugnotas.notes[note.id].situacao) == (1, CANCELLED)
    again = await cancel(road.database, Ordem(nota=note.id, motivo=WHY))
    assert "já estava cancelada" in again.resposta
    assert await standing(road.database, again.emissao_id) == f"{_described(note)}: cancelada."


async def test_many_at_once_are_one_order(road: Road) -> None:
    """Eight replicas give the order at the same moment: one answer, one cancellation."""
    _, note = await _issued(road)
    done = await asyncio.gather(*(cancel(road.database, Ordem(nota=note.id, motivo=WHY)) for _ in range(8)))
    await road.settled()
    assert (len(set(done)), _asked(road, note)) == (1, 1)


async def test_after_a_refusal_the_same_words_ask_again(road: Road) -> None:
    """Without a key, a repetition is recognised until the cancellation has ended, not beyond."""
    road.world.plugnotas.faults.set("rejeitar_cancelamento", times=1)
    ana, note = await _issued(road)
    await cancel(road.database, Ordem(nota=note.id, motivo=WHY))
    await ana.expect("não foi aceito: ela continua")
    await road.settled()
    await cancel(road.database, Ordem(nota=note.id, motivo=WHY))
    await ana.expect(f"Nota {note.numero} cancelada")
    assert _asked(road, note) == 2


@pytest.mark.parametrize(
    ("ordem", "why"),
    [
        (Ordem(nota="nada-disso", motivo=WHY), "Não achei"),
        (Ordem(nota="1", motivo="curto"), "15 letras"),
        (Ordem(nota="1", motivo=WHY, codigo="7"), "O código é"),
        (Ordem(nota="1", motivo=WHY, chave="x" * 300), "Não achei|1 a 255|mais de uma"),
    ],
)
async def test_what_cannot_be_done_is_said_and_changes_nothing(road: Road, ordem: Ordem, why: str) -> None:
    """An unknown note, a short reason, a wrong code: one sentence, nothing stored."""
    before = await road.database.pool.fetchval("SELECT count(*) FROM cancelamento")
    with pytest.raises(CancelError, match=why):
        await cancel(road.database, ordem)
    assert await road.database.pool.fetchval("SELECT count(*) FROM cancelamento") == before


async def test_a_note_that_was_refused_is_none(road: Road) -> None:
    """Not authorised: an honest refusal."""
    road.world.plugnotas.faults.set("rejeitar", times=1)
    ana = await road.person()
    await ana.say(FULL)
    await ana.touch("Confirmar")
    key = (await road.reached(ana, "rejeitado"))["id_integracao"]
    with pytest.raises(CancelError, match="não foi autorizada"):
        await cancel(road.database, Ordem(nota=key, motivo=WHY))


async def test_the_command_line_cancels(road: Road, database_url: str, redis_url: str, tmp_path) -> None:
    """As staff types it, with a question open about the same note in the chat: its button is dead afterwards."""
    ana, note = await _issued(road)
    await ana.say(f"cancela a nota {note.numero}")
    summary = await ana.say("valor errado, vou emitir outra")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PROSA_")}
    process = await children.start(
        sys.executable, "-m", "bot.cli", "cancelar", note.id_integracao, "--motivo", WHY, "--codigo", "2",
        env={**kept, "PYTHONPATH": str(ROOT), **environment(road.world, database_url, redis_url)},
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert f"Cancelamento da nota {note.numero} pedido." in out.decode()
    await ana.expect(f"Nota {note.numero} cancelada")
    assert "encerrado" in (await ana.press("Cancelar a nota", of=summary)).text
    assert _asked(road, note) == 1
