from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import asyncpg
import pytest
import pytest_asyncio
import sqlalchemy as sa

from persistence.db.engine import Database
from persistence.fiscal.numbering import (
    Modelo,
    NumeracaoBloqueadaError,
    NumeroOcupadoError,
    Sequencia,
    allocate,
    bind,
    block,
    blocked,
    gaps,
    is_unused,
    sequences,
    taken,
    void,
)
from persistence.people import companies as people
from state_machine.protocol.channel import Ambiente
from state_machine.protocol.emission import StatusEmissao
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from persistence.db.connection import Connection

PARALLEL = 20
SAO_PAULO = "3550308"

_intents = itertools.count(1)
_companies = itertools.count(1)


class OurOwnError(Exception):
    """Rolls a transaction back."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def database(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url, size=PARALLEL)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def sequencia(database: Database) -> Sequencia:
    """A line of numbers that nobody used, of a company of its own."""
    async with database.transaction() as connection:
        return Sequencia(await company(connection), SAO_PAULO, "900", Ambiente.HOMOLOGACAO)


async def company(connection: Connection) -> int:
    found = await connection.execute(
        sa.text("""
            INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
            VALUES (:cnpj, 'Padaria', '1', '3550308', 'mei', '01.01') RETURNING id
        """),
        {"cnpj": str(next(_companies))},
    )
    return int(found.scalar_one())


async def intent(connection: Connection, empresa_id: int, status: StatusEmissao = StatusEmissao.PENDENTE) -> int:
    """Store an emission with the least that the schema asks for, and return its id."""
    found = await connection.execute(
        sa.text("""
            WITH conversa AS (
                INSERT INTO conversas (conversa, phone_number_id, endereco, ultima_entrada_em)
                VALUES (:nome, '1', '1', now()) RETURNING conversa
            ), sessao AS (
                INSERT INTO session_snapshot (sessao_id, conversa, empresa_id, estado, snapshot_reason, cnpj_status,
                    valor_status, descricao_status, data_complete, missing_fields, rascunho, revisao, versao, resumos)
                SELECT :nome, conversa, :empresa, 'sucesso', 'r', 's', 's', 's', true, '[]', '{}', 1, 1, 1
                FROM conversa RETURNING id
            ), tomador AS (
                INSERT INTO cliente_tomador (empresa_id, cnpj) VALUES (:empresa, :nome) RETURNING id
            )
            INSERT INTO nfse_emissao (session_id, sessao_id, revisao, prestador_id, tomador_id, prestador_cnpj,
                tomador_documento, id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia,
                impressao, bytes)
            SELECT sessao.id, :nome, 1, :empresa, tomador.id, '1', '2', :nome, :status, 10, 'd', '1', '2026-11-21',
                'i', ''
            FROM sessao, tomador RETURNING id
        """),
        {"nome": f"s{next(_intents)}", "empresa": empresa_id, "status": status},
    )
    return int(found.scalar_one())


async def test_one_attempt_of_a_revision_is_under_way_at_most(database: Database, sequencia: Sequencia) -> None:
    """The database itself refuses a second one beside it; beside a settled one it may stand."""
    again = sa.text("""
        INSERT INTO nfse_emissao (session_id, sessao_id, revisao, tentativa, prestador_id, tomador_id, prestador_cnpj,
            tomador_documento, id_integracao, status, valor_servico, descricao_servico, codigo_servico, competencia,
            impressao, bytes)
        SELECT session_id, sessao_id, revisao, 2, prestador_id, tomador_id, prestador_cnpj, tomador_documento,
            id_integracao || '-2', :novo, valor_servico, descricao_servico, codigo_servico, competencia, impressao,
            bytes
        FROM nfse_emissao WHERE id = :id
    """)
    under_way = {StatusEmissao(s) for s in ("pendente", "enviando", "enviado", "desconhecido")}

    async def repeat(status: StatusEmissao) -> None:
        async with database.transaction() as connection:
            first = await intent(connection, sequencia.empresa_id, status)
            await connection.execute(again, {"id": first, "novo": StatusEmissao.PENDENTE})

    for status in StatusEmissao:
        if status in under_way:
            with pytest.raises(asyncpg.UniqueViolationError, match="uq_nfse_emissao_em_curso"):
                await repeat(status)
        else:
            await repeat(status)


async def test_a_company_changed_meanwhile_is_not_overwritten(database: Database, sequencia: Sequencia) -> None:
    """A form made from an old version is refused; one made from the present version, or from none, is taken."""

    async def save(name: str, versao: int | None) -> None:
        async with database.transaction() as connection:
            cnpj = await connection.scalar(
                sa.text("SELECT cnpj FROM empresa WHERE id = :id"), {"id": sequencia.empresa_id}
            )
            rest = {
                "inscricao_municipal": "1",
                "municipio_ibge": SAO_PAULO,
                "regime": "mei",
                "codigo_servico": "170101",
            }
            await people.save_company(connection, {"cnpj": cnpj, "razao_social": name, **rest}, {}, [], versao=versao)

    await save("Padaria A", 1)
    with pytest.raises(people.StaleCompanyError):
        await save("Padaria B", 1)
    await save("Padaria C", None)
    await save("Padaria D", 3)
    row = await database.pool.fetchrow("SELECT razao_social, versao FROM empresa WHERE id = $1", sequencia.empresa_id)
    assert tuple(row) == ("Padaria D", 4)


async def issue(database: Database, sequencia: Sequencia, status: StatusEmissao = StatusEmissao.PENDENTE) -> int:
    """Do what a turn does: number, intent and the tie between them in one transaction."""
    async with database.transaction() as connection:
        numero = await allocate(connection, sequencia)
        await bind(connection, sequencia, numero, await intent(connection, sequencia.empresa_id, status))
    return numero


async def list_gaps(database: Database, sequencia: Sequencia) -> list[range]:
    async with database.transaction() as connection:
        return await gaps(connection, sequencia)


async def test_numbers_begin_where_they_should_and_follow_one_another(database: Database, sequencia: Sequencia) -> None:
    """A new sequence begins at 1, or after the former program's last number; each call gives the next."""
    elsewhere = Sequencia(sequencia.empresa_id, SAO_PAULO, "901")
    async with database.transaction() as connection:
        assert [await allocate(connection, sequencia) for _ in range(3)] == [1, 2, 3]
        assert await allocate(connection, elsewhere, primeiro=501) == 501
        assert await allocate(connection, elsewhere, primeiro=1) == 502


async def test_sequences_do_not_share_numbers(database: Database, sequencia: Sequencia) -> None:
    """Company, city, series and environment each make a sequence of their own."""
    async with database.transaction() as connection:
        other = await company(connection)
        lines = [
            sequencia,
            Sequencia(other, SAO_PAULO, "900", Ambiente.HOMOLOGACAO),
            Sequencia(sequencia.empresa_id, "3304557", "900", Ambiente.HOMOLOGACAO),
            Sequencia(sequencia.empresa_id, SAO_PAULO, "901", Ambiente.HOMOLOGACAO),
            Sequencia(sequencia.empresa_id, SAO_PAULO, "900", Ambiente.PRODUCAO),
        ]
        assert [await allocate(connection, line) for line in lines] == [1] * 5


async def test_parallel_intents_get_every_number_once(database: Database, sequencia: Sequencia) -> None:
    """Of twenty transactions at once, some of which are rolled back, the others leave 1 to n without a hole."""

    async def turn(number: int) -> int | None:
        with suppress(OurOwnError):
            async with database.transaction() as connection:
                numero = await allocate(connection, sequencia)
                await bind(connection, sequencia, numero, await intent(connection, sequencia.empresa_id))
                if number % 3 == 0:
                    raise OurOwnError
            return numero
        return None

    async with asyncio.timeout(PATIENCE):
        numbers = await asyncio.gather(*map(turn, range(PARALLEL)))
    given = sorted(number for number in numbers if number is not None)
    assert given == list(range(1, len(given) + 1))
    assert len(given) == PARALLEL - 7
    assert await list_gaps(database, sequencia) == []


async def test_a_rolled_back_number_is_given_again(database: Database, sequencia: Sequencia) -> None:
    """A turn that fails after it took a number leaves no trace of it."""

    async def fails() -> None:
        async with database.transaction() as connection:
            assert await allocate(connection, sequencia) == 1
            raise OurOwnError

    with pytest.raises(OurOwnError):
        await fails()
    assert await issue(database, sequencia) == 1
    assert await list_gaps(database, sequencia) == []


async def test_the_second_waits_for_the_first(database: Database, sequencia: Sequencia) -> None:
    """While one transaction holds a number nobody gets the next, since it may still be given back."""
    async with database.transaction() as connection:
        assert await allocate(connection, sequencia) == 1
        waiting = asyncio.create_task(issue(database, sequencia))
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
        assert not waiting.done()
    assert await waiting == 2


async def test_gaps_are_numbers_of_which_no_note_can_come(database: Database, sequencia: Sequencia) -> None:
    """Refused, withdrawn and abandoned numbers are listed; open, unknown, conflicting and authorised ones are not."""
    for status in StatusEmissao:
        await issue(database, sequencia, status)
    refused = list(StatusEmissao).index(StatusEmissao.REJEITADO) + 1
    withdrawn = list(StatusEmissao).index(StatusEmissao.DISPENSADO) + 1
    voidable = [refused, withdrawn]
    last = len(StatusEmissao)
    assert [numero for gap in await list_gaps(database, sequencia) for numero in gap] == voidable
    async with database.transaction() as connection:
        assert [await allocate(connection, sequencia) for _ in range(3)] == [last + 1, last + 2, last + 3]
    await issue(database, sequencia)
    gaps_now = await list_gaps(database, sequencia)
    assert [numero for gap in gaps_now for numero in gap] == [*voidable, last + 1, last + 2, last + 3]


async def test_another_sequence_hides_no_gap(database: Database, sequencia: Sequencia) -> None:
    """A number that is missing here is a gap, though the same number is in use in another sequence."""
    async with database.transaction() as connection:
        await allocate(connection, sequencia)
    await issue(database, Sequencia(sequencia.empresa_id, SAO_PAULO, "902"))
    await issue(database, sequencia)
    await database.pool.execute(
        "DELETE FROM numeracao_uso u USING numeracao n WHERE n.id = numeracao_id AND numero = 1"
        " AND empresa_id = $1 AND serie = '900'",
        sequencia.empresa_id,
    )
    assert await list_gaps(database, sequencia) == [range(1, 2)]


async def test_a_new_attempt_may_take_a_refused_number(database: Database, sequencia: Sequencia) -> None:
    """After a definite rejection the same number serves the next attempt, and is a gap no more."""
    numero = await issue(database, sequencia, StatusEmissao.REJEITADO)
    async with database.transaction() as connection:
        await bind(connection, sequencia, numero, await intent(connection, sequencia.empresa_id))
    assert await list_gaps(database, sequencia) == []


@pytest.mark.parametrize("status", [status for status in StatusEmissao if status is not StatusEmissao.REJEITADO])
async def test_a_number_never_serves_two_living_intents(
    database: Database, sequencia: Sequencia, status: StatusEmissao
) -> None:
    """A number whose note exists or may still come is refused to any other intent."""
    numero = await issue(database, sequencia, status)

    async def steal() -> None:
        async with database.transaction() as connection:
            await bind(connection, sequencia, numero, await intent(connection, sequencia.empresa_id))

    with pytest.raises(NumeroOcupadoError):
        await steal()


async def test_a_number_that_was_never_given_is_refused(database: Database, sequencia: Sequencia) -> None:
    """An intent can only be tied to a number of its own sequence that was given out."""
    await issue(database, sequencia)

    async def invent() -> None:
        async with database.transaction() as connection:
            await bind(connection, sequencia, 2, await intent(connection, sequencia.empresa_id))

    with pytest.raises(NumeroOcupadoError):
        await invent()


async def test_an_explained_gap_is_listed_no_more_and_used_no_more(database: Database, sequencia: Sequencia) -> None:
    """Voided numbers leave the list, keep their reason, and serve no later intent."""
    numeros = [await issue(database, sequencia, StatusEmissao.REJEITADO) for _ in range(3)]
    async with database.transaction() as connection:
        await void(connection, sequencia, range(1, 3), "inutilizados a pedido do contador")
    assert numeros == [1, 2, 3]
    assert await list_gaps(database, sequencia) == [range(3, 4)]

    async def reuse() -> None:
        async with database.transaction() as connection:
            await bind(connection, sequencia, 1, await intent(connection, sequencia.empresa_id))

    with pytest.raises(NumeroOcupadoError):
        await reuse()


async def test_a_living_number_cannot_be_voided(database: Database, sequencia: Sequencia) -> None:
    """Declaring a range void is refused whole when a note may stand under one of its numbers."""
    await issue(database, sequencia, StatusEmissao.REJEITADO)
    await issue(database, sequencia, StatusEmissao.DESCONHECIDO)

    async def overreach() -> None:
        async with database.transaction() as connection:
            await void(connection, sequencia, range(1, 3), "engano")

    with pytest.raises(NumeroOcupadoError):
        await overreach()
    assert await list_gaps(database, sequencia) == [range(1, 2)]


async def test_a_blocked_sequence_gives_no_number(database: Database, sequencia: Sequencia) -> None:
    """The refusal says why and what to do, no number is lost, and freed it goes on where it stood."""
    async with database.transaction() as connection:
        assert await allocate(connection, sequencia) == 1
        [known] = [each for each in await sequences(connection) if each.sequencia == sequencia]
        assert await block(connection, known.id, "a prefeitura trocou a série")
    with pytest.raises(NumeracaoBloqueadaError, match=r"a prefeitura trocou a série.*--desbloquear"):
        async with database.transaction() as connection:
            await allocate(connection, sequencia)
    async with database.transaction() as connection:
        assert await block(connection, known.id, None)
        assert await allocate(connection, sequencia) == 2
        assert await gaps(connection, sequencia) == [range(1, 3)]


async def test_a_block_waits_for_who_takes_a_number(database: Database, sequencia: Sequencia) -> None:
    """Whoever was first has the number; whoever comes after the block has none."""
    async with database.transaction() as connection:
        await allocate(connection, sequencia)
        [known] = [each for each in await sequences(connection) if each.sequencia == sequencia]

    async def blocks() -> None:
        async with database.transaction() as connection:
            await block(connection, known.id, "acerto")

    async with database.transaction() as connection:
        assert await allocate(connection, sequencia) == 2
        blocking = asyncio.create_task(blocks())
        async with asyncio.timeout(PATIENCE):
            while not await database.pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
    await blocking
    async with database.transaction() as connection:
        assert await blocked(connection, sequencia) == "acerto"


async def test_the_model_is_part_of_the_key(database: Database, sequencia: Sequencia) -> None:
    """An NF-e's sequence counts apart from the invoices of services, and takes no number of theirs."""
    nfe = replace(sequencia, modelo=Modelo.NFE, serie="1")
    async with database.transaction() as connection:
        assert [await allocate(connection, each) for each in (sequencia, nfe, nfe)] == [1, 1, 2]
        assert await gaps(connection, nfe) == [range(1, 3)]
        assert await gaps(connection, replace(nfe, modelo=Modelo.NFCE)) == []
        assert {each.sequencia for each in await sequences(connection)} >= {sequencia, nfe}
        assert await allocate(connection, replace(sequencia, modelo=Modelo.NFE)) == 1  # one series, two models
        assert await allocate(connection, sequencia) == 2


async def test_a_number_that_is_anothers_is_explained_and_never_given_again(
    database: Database, sequencia: Sequencia
) -> None:
    """Refused it may be used again; seen taken, or in another city's sequence, it may not, and it is no gap."""
    async with database.transaction() as connection:
        numero = await allocate(connection, sequencia)
        refused = await intent(connection, sequencia.empresa_id, StatusEmissao.REJEITADO)
        await bind(connection, sequencia, numero, refused)
        assert await is_unused(connection, sequencia, numero)
        assert not await is_unused(connection, replace(sequencia, municipio="3304557"), numero)
        await taken(connection, refused, "de outra confirmação")
        assert not await is_unused(connection, sequencia, numero)
        assert await gaps(connection, sequencia) == []


async def test_the_number_of_a_withdrawn_invoice_is_a_gap(database: Database, sequencia: Sequencia) -> None:
    """It may be explained, and is never given again; that of an attempt which an earlier one settled is none."""
    async with database.transaction() as connection:
        numero = await allocate(connection, sequencia)
        withdrawn = await intent(connection, sequencia.empresa_id, StatusEmissao.DISPENSADO)
        await bind(connection, sequencia, numero, withdrawn)
        assert await gaps(connection, sequencia) == [range(numero, numero + 1)]
        assert not await is_unused(connection, sequencia, numero)
        await connection.execute(
            sa.text("UPDATE nfse_emissao SET tentativa = 2 WHERE id = :id"),
            {"id": withdrawn},
        )
        noted = await intent(connection, sequencia.empresa_id, StatusEmissao.CONCLUIDO)
        await connection.execute(
            sa.text("""UPDATE nfse_emissao SET sessao_id = (SELECT sessao_id FROM nfse_emissao WHERE id = :withdrawn)
                WHERE id = :noted"""),
            {"withdrawn": withdrawn, "noted": noted},
        )
        assert await gaps(connection, sequencia) == []
        with pytest.raises(NumeroOcupadoError):
            await void(connection, sequencia, range(numero, numero + 1), "withdrawn")
