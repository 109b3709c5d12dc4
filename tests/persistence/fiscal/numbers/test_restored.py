"""What a restored database is brought to before the doors open: sequences past the authority's last number."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import pytest_asyncio

from operations import restored
from operations.protocol import CommandRefusedError
from operations.restored import MOST_SKIPPED, restore
from persistence.batches import records, work
from persistence.db.engine import Database
from persistence.fiscal import numbering
from persistence.fiscal.numbering import Sequencia
from persistence.tables.base import metadata
from persistence.witness import Witness
from state_machine.protocol.audit import Pagina
from state_machine.protocol.emission import CannotTell, Nota, Situacao
from tests.made_batches import QUEM, confirmed
from tests.stored_work import clear, emission, row

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateway.port import FiscalGateway


@pytest_asyncio.fixture(loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = await Database.open(database_url, size=2)
    await clear(opened)
    yield opened
    await opened.close()


async def _sequence(database: Database) -> tuple[Sequencia, int]:
    company = (await row(database, "nfse_emissao", await emission(database)))["prestador_id"]
    sequencia = Sequencia(company, "3550308", "7")
    async with database.transaction() as connection:
        assert await numbering.allocate(connection, sequencia, primeiro=501) == 501
        [known] = await numbering.sequences(connection)
    return sequencia, known.id


async def test_numbers_go_on_after_the_authoritys_last(database: Database) -> None:
    """What was used after the copy is no number of ours any more, and an explained gap; never backwards."""
    sequencia, number = await _sequence(database)
    assert "Sequência" in " ".join(await restore(database, [f"{number}:520"]))
    await restore(database, [f"{number}:510"])
    async with database.transaction() as connection:
        assert [gap for gap, _ in await numbering.explained(connection, sequencia)] == [range(502, 521)]
        assert await numbering.allocate(connection, sequencia) == 521


@pytest.mark.parametrize("words", [("x:1",), ("{}",), ("{}:9", "99:1")])
async def test_wrong_words_change_no_number_and_the_doubt_stays(database: Database, words: tuple[str, ...]) -> None:
    """The refusal names each sequence; whoever opens the doors all the same issues nothing under a number of ours."""
    sequencia, number = await _sequence(database)
    before = await database.pool.fetchrow("SELECT n.ultimo, e.status FROM numeracao n, nfse_emissao e")
    with pytest.raises(CommandRefusedError, match=f"--rps {number}:"):
        await restore(database, [word.format(number) for word in words])
    assert await database.pool.fetchrow("SELECT n.ultimo, e.status FROM numeracao n, nfse_emissao e") == before
    assert await _doubts(database, sequencia.empresa_id) == ("restored", "restored")


async def test_who_is_not_told_of_is_held_and_the_others_go_on(database: Database) -> None:
    """The company is named; the next run takes it alone, and lets it go on once its number was said."""
    sequencia, number = await _sequence(database)
    other = (await row(database, "nfse_emissao", await emission(database)))["prestador_id"]
    with pytest.raises(CommandRefusedError, match=rf"Destas nada(.|\n)*--rps {number}:"):
        await restore(database, [])
    assert await _doubts(database, sequencia.empresa_id) == (None, "restored")
    assert await _doubts(database, other) == (None, None)
    assert "Só as empresas que faltavam" in (await restore(database, [f"{number}:510"]))[0]
    assert await _doubts(database, sequencia.empresa_id) == (None, None)


async def test_the_same_words_again_take_what_was_left(database: Database) -> None:
    """Who repeats his command with one more number names sequences that are done: they stay as they are."""
    _, number = await _sequence(database)
    company = (await row(database, "nfse_emissao", await emission(database)))["prestador_id"]
    async with database.transaction() as connection:
        await numbering.allocate(connection, Sequencia(company, "3550308", "8"), primeiro=1)
        [other] = [each.id for each in await numbering.sequences(connection) if each.id != number]
    with pytest.raises(CommandRefusedError, match=rf"Destas nada(.|\n)*--rps {other}:"):
        await restore(database, [f"{number}:510"])
    said = await restore(database, [f"{number}:510", f"{other}:5"])
    assert [line for line in said if "pulados" in line] == [f"Sequência {other}: 4 números pulados."]
    assert await _doubts(database, company) == (None, None)


class _Lists:
    """A channel that lists notes by days, two to a page; ``asked`` are the days of each call."""

    def __init__(self, *notas: Nota, silent: bool = False) -> None:
        self.notas, self.silent, self.asked = notas, silent, list[tuple[date, date]]()

    def key_for(self, numero: int) -> str:
        return f"07:{numero}"

    async def listing(self, _cnpj: str, inicio: date, fim: date, cursor: str | None) -> Pagina | CannotTell:
        self.asked.append((inicio, fim))
        first = int(cursor or 0)
        page = self.notas[first : first + 2]
        return CannotTell("HTTP 502") if self.silent else Pagina(page, str(first + 2) if len(page) == 2 else None)


async def test_a_list_is_read_from_what_the_copy_knows_to_today(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All its pages, a month at a time; what has another key is no number of ours, and no answer is no list."""
    sequencia, _ = await _sequence(database)
    await database.pool.execute("UPDATE nfse_emissao SET criado_em = now() - interval '70 days'")
    monkeypatch.setattr(restored, "_under", lambda _begun, numero, _today: numero)
    notas = [
        Nota(f"n{n}", key, Situacao.AUTORIZADA, numero_rps=n) for n, key in ((1, "07:1"), (2, "08:2"), (3, "07:3"))
    ]
    begun = cast("Any", SimpleNamespace(sequencia=replace(sequencia, serie="07"), empresa=SimpleNamespace(cnpj="1")))
    lists, now = _Lists(*notas), datetime.now(UTC)
    found = await restored._by_days(database, cast("FiscalGateway", lists), begun, now)
    assert found.keys() == {("3550308", "7", 1), ("3550308", "7", 3)}
    asked = list(dict.fromkeys(lists.asked))
    assert all((fim - inicio).days <= 30 for inicio, fim in asked)
    assert [later[0] - sooner[1] for sooner, later in pairwise(asked)] == [timedelta(days=1)] * (len(asked) - 1)
    assert (asked[-1][1] - asked[0][0]).days == 70
    with pytest.raises(restored._UntoldError, match="HTTP 502"):
        await restored._by_days(database, cast("FiscalGateway", _Lists(silent=True)), begun, now)


async def test_another_copy_is_another_restore(database: Database) -> None:
    """What a copy says is left is believed for a day at most, and never where the operator says that it is another."""
    sequencia, number = await _sequence(database)
    await database.pool.execute("UPDATE empresa SET restauro_desde = now() WHERE id <> $1", sequencia.empresa_id)
    with pytest.raises(CommandRefusedError, match=f"--rps {number}:"):
        await restore(database, [], tudo=True)
    await database.pool.execute("UPDATE historia SET restaurado_em = now() - interval '25 hours'")
    assert "Emissões" in (await restore(database, [f"{number}:510"]))[0]


async def _doubts(database: Database, empresa_id: int) -> tuple[str | None, str | None]:
    """Return the doubt of the whole history, and of one company."""
    async with database.transaction() as connection:
        whole = await Witness().look(connection)
        return whole.doubt, (await Witness().look_for(connection, empresa_id)).doubt


async def test_a_number_that_is_no_rps_is_refused(database: Database) -> None:
    """A note's number, with the year before it, typed in the place of the RPS would explain a trillion gaps."""
    sequencia, number = await _sequence(database)
    with pytest.raises(CommandRefusedError, match="não o da nota"):
        await restore(database, [f"{number}:{502 + MOST_SKIPPED}"])
    async with database.transaction() as connection:
        assert await numbering.allocate(connection, sequencia) == 502


@pytest.mark.parametrize("status", ["pendente", "enviando", "enviado", "desconhecido"])
async def test_what_is_open_is_asked_for_first(database: Database, status: str) -> None:
    """Whatever the copy says of it, it may have been sent since; a claim of before the copy is no claim any more."""
    stored = await emission(database, status=status, em_duvida=False)
    before = await row(database, "nfse_emissao", stored)
    await restore(database, ())
    after = await row(database, "nfse_emissao", stored)
    assert (after["status"], after["em_duvida"], after["lease_until"]) == ("desconhecido", True, None)
    assert after["ultimo_envio_em"] is not None  # it may have left since the copy: no absence counts at once
    assert after["epoch"] == before["epoch"] + 1


async def test_what_is_settled_stays(database: Database) -> None:
    """A note, a refusal and a conflict of the copy are what they were."""
    ids = [
        await emission(database, status=status, proxima_acao_em=None)
        for status in ("concluido", "rejeitado", "conflito")
    ]
    await restore(database, ())
    assert [(await row(database, "nfse_emissao", one))["proxima_acao_em"] for one in ids] == [None] * 3


async def test_a_list_waits_for_another_yes(database: Database) -> None:
    """Its mails may have gone since the copy: nothing goes before somebody says so, who reads how many may go twice."""
    await database.pool.execute("DELETE FROM lotes")
    sent = await confirmed(database, "lista.csv", "a@test.com.br", "b@test.com.br")
    said = " ".join(await restore(database, ()))
    assert f"Lote {sent} (lista.csv) espera outro sim: 2 e-mails talvez já tenham saído" in said
    async with database.transaction() as connection:
        assert not await work.take_due(connection, 5, timedelta(minutes=10))
    stored = await row(database, "lotes", sent)
    assert (stored["estado"], stored["erro"]) == ("aguardando_confirmacao", records.FORGOTTEN)
    async with database.transaction() as connection:
        assert await records.confirm(connection, sent, stored["revisao"], QUEM)
        assert len(await work.take_due(connection, 5, timedelta(minutes=10))) == 1


# What the command does to each table with work that a process takes, or why nothing.
WORK = {
    "nfse_emissao": "asked for before it is sent; nothing numbered here goes while the history is in doubt",
    "cancelamento": "sent again: the authority knows an event by its name, and a second one is a repetition",
    "lote_linhas": "sent after that yes, under the Message-ID that it had",
    "lote_fila": "emptied: each list waits for another yes",
    "propostas": "its session had its id when it was stored, so its note is found by the reference that it had",
    "outbox": "sent, though it may have been sent before: docs/runbook.md says so",
    "webhook_entrega": "told again under the id that it had, by which its receiver knows what it has heard",
    "lanes": "what was said is decided anew, and orders under the reference that it had before",
    "distribuicao": "read on from the copy's place",
    "idempotency_records": "a call that nobody knows of is open until its emission is asked for",
}


async def test_all_work_that_leaves_the_house_is_thought_of(database: Database) -> None:
    """A table with a moment at which somebody acts on its rows has a line above."""
    due = {"proxima_acao_em", "run_at", "a_partir_de", "lease_until", "proxima_em", "enviada_em"}
    found = {name for name, table in metadata.tables.items() if due & set(table.columns.keys())}
    assert found == WORK.keys()
