"""The certificate vault on a real database: what opens, what no longer does, and what is told of each use."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest
import pytest_asyncio

from gateway.certificate.a1 import read
from persistence.crypto import KEY_BYTES, NoMasterKeyError, UnreadableSecretError, Vault
from persistence.db.engine import Database
from persistence.people import certificate_vault
from persistence.people.certificate_vault import NoCertificateError, Purpose
from state_machine.values.certificate import CertificateRefusedError, Refusal
from tests.made_certificates import COMPANY, NOW, SENHA, company, pfx, rsa_key, traces
from tests.stored_work import clear, emission

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import date

    from persistence.people.certificate_vault import OpenedCertificate
    from state_machine.values.certificate import A1

OLD, NEW, OTHER = (bytes([number]) * KEY_BYTES for number in (1, 2, 3))
COFRE = Vault((OLD,))
WHO = "quem testa"
_COMPANY = """
INSERT INTO empresa (cnpj, razao_social, inscricao_municipal, municipio_ibge, regime, codigo_servico)
VALUES ($1, 'Ana Design', '1', '3550308', 'mei', '01.01') RETURNING id
"""
_ROWS = "SELECT * FROM empresa_certificado WHERE empresa_id = $1 ORDER BY criado_em"
_SEALED = ("chave_dados", "chave", "cadeia")
_AUDIT = "SELECT * FROM auditoria WHERE id > $1 ORDER BY id"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(database_url: str) -> AsyncIterator[Database]:
    database = await Database.open(database_url)
    yield database
    await database.close()


@pytest_asyncio.fixture(loop_scope="module")
async def database(opened: Database) -> Database:
    await clear(opened)
    return opened


@cache
def a1(name: str = "company") -> A1:
    """Return a certificate that was read, with the key of that name; always the same one."""
    return read(pfx(company(key=rsa_key(name))), SENHA, COMPANY, NOW)


async def new_company(database: Database, cnpj: str = COMPANY) -> int:
    return int(await database.pool.fetchval(_COMPANY, cnpj))


async def keep(database: Database, empresa_id: int, certificate: A1, cofre: Vault = COFRE) -> bool:
    async with database.transaction() as connection:
        return await certificate_vault.keep(connection, cofre, empresa_id, certificate, quem=WHO)


async def destroy(database: Database, empresa_id: int) -> bool:
    async with database.transaction() as connection:
        return await certificate_vault.destroy(connection, empresa_id, quem=WHO)


async def use(database: Database, empresa_id: int, cofre: Vault = COFRE, **said: Any) -> OpenedCertificate:
    async with database.transaction() as connection:
        return await certificate_vault.open_for(connection, cofre, empresa_id, Purpose.SIGN, quem=WHO, **said)


async def rekey(database: Database, cofre: Vault) -> tuple[int, list[str]]:
    async with database.transaction() as connection:
        return await certificate_vault.rekey(connection, cofre)


async def bring_back(database: Database, empresa_id: int) -> date | None:
    async with database.transaction() as connection:
        return await certificate_vault.bring_back(connection, empresa_id, quem=WHO)


async def forget(database: Database) -> int:
    async with database.transaction() as connection:
        return await certificate_vault.forget_former(connection)


async def rows(database: Database, empresa_id: int) -> list[Any]:
    return list(await database.pool.fetch(_ROWS, empresa_id))


async def last_audit(database: Database) -> int:
    return int(await database.pool.fetchval("SELECT coalesce(max(id), 0) FROM auditoria"))


async def test_what_was_kept_opens_and_is_not_shown(database: Database) -> None:
    """Key and chain come back whole; the row holds neither, and ``repr`` shows neither."""
    mine, certificate = await new_company(database), a1()
    assert await keep(database, mine, certificate) is False
    [row] = await rows(database, mine)
    stored = " ".join(str(value) for value in row.values())
    assert [each for each in traces(company()) if each.decode(errors="replace") in stored] == []
    assert (row["impressao"], row["valido_ate"], row["titular"]) == (
        certificate.impressao, certificate.valido_ate, certificate.titular,
    )  # fmt: skip
    opened = await use(database, mine)
    assert (opened.chave, opened.cadeia, opened.impressao) == (
        certificate.chave, certificate.cadeia, certificate.impressao,
    )  # fmt: skip
    assert "BEGIN" not in repr(opened)
    assert "BEGIN" not in repr(certificate)
    assert await database.pool.fetchval("SELECT certificado_vence FROM empresa WHERE id = $1", mine) == (
        certificate.vence
    )


async def test_another_takes_its_place_and_the_old_one_is_put_aside(database: Database) -> None:
    """The old one's row loses its seals in the same transaction; dates and fingerprints stay."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    assert await keep(database, mine, a1("second")) is True
    before, now = await rows(database, mine)
    assert [before[name] for name in _SEALED] == [None, None, None]
    assert before["destruido_em"] is not None
    assert before["substituido_em"] is not None
    assert before["impressao"] == a1().impressao
    assert now["destruido_em"] is None
    assert (await use(database, mine)).impressao == a1("second").impressao


async def test_the_former_one_comes_back_whatever_took_its_place(database: Database) -> None:
    """Two bad ones in turn do not push it out, nor does a new master key; the bad ones' keys are destroyed."""
    start, mine = await last_audit(database), await new_company(database)
    await keep(database, mine, a1())
    await keep(database, mine, a1("second"))
    await keep(database, mine, a1("third"))
    assert await rekey(database, Vault((NEW, OLD))) == (2, [])
    assert await forget(database) == 0
    assert await bring_back(database, mine) == a1().vence
    assert (await use(database, mine, Vault((NEW,)))).chave == a1().chave
    first, *bad = await rows(database, mine)
    assert (first["destruido_em"], first["substituido_em"]) == (None, None)
    assert [row[name] for row in bad for name in _SEALED] == [None] * 6
    assert await bring_back(database, mine) is None
    [said] = [
        row for row in await database.pool.fetch(_AUDIT, start) if row["acao"] == "voltou ao certificado anterior"
    ]
    assert said["detalhe"] == {"impressao": a1().impressao, "substituida": a1("third").impressao}


async def test_the_former_one_sent_again_leaves_the_newer_one_aside(database: Database) -> None:
    """What the company had last is what a way back leads to."""
    mine = await new_company(database)
    for name in ("company", "second", "company"):
        await keep(database, mine, a1(name))
    assert await bring_back(database, mine) == a1("second").vence
    assert (await use(database, mine)).impressao == a1("second").impressao


@pytest.mark.parametrize(
    ("signer", "sent", "status", "gone"),
    [
        ("second", "1 hour", "concluido", 1),
        ("company", "1 hour", "concluido", 0),
        ("second", "-1 hour", "concluido", 0),
        ("second", "1 hour", "rejeitado", 0),
    ],
)
async def test_the_former_one_goes_once_the_new_one_was_accepted(
    database: Database, signer: str, sent: str, status: str, gone: int
) -> None:
    """By a note that was sent since then, signed with the new one and authorised; by nothing less."""
    mine, note = await new_company(database), f"{signer}-{sent.replace(' ', '')}-{status}"
    for name in ("company", "second"):
        await keep(database, mine, a1(name))
        if name == signer:
            await use(database, mine, nota=note)
    when = await database.pool.fetchval(f"SELECT now() + interval '{sent}'")
    await emission(database, prestador_id=mine, id_integracao=note, status=status, enviado_em=when)
    assert await forget(database) == gone
    assert (await bring_back(database, mine) is None) is bool(gone)


async def test_the_former_one_goes_after_seven_days(database: Database) -> None:
    """A company that issues nothing has as long to notice; the current one stays."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    await keep(database, mine, a1("second"))
    aged = "UPDATE empresa_certificado_anterior SET substituido_em = now() - interval '{}'"
    await database.pool.execute(aged.format("6 days 23 hours"))
    assert await forget(database) == 0
    await database.pool.execute(aged.format("7 days 1 minute"))
    assert await forget(database) == 1
    assert await bring_back(database, mine) is None
    assert (await use(database, mine)).impressao == a1("second").impressao


async def test_the_same_one_is_not_kept_twice(database: Database) -> None:
    """It is refused, and the kept one stays."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    with pytest.raises(CertificateRefusedError) as refused:
        await keep(database, mine, a1())
    assert refused.value.motivo is Refusal.ALREADY_OURS
    assert len(await rows(database, mine)) == 1
    assert (await use(database, mine)).impressao == a1().impressao


async def test_two_that_come_at_once_leave_one(database: Database) -> None:
    """One waits for the other; the company has one certificate of now."""
    mine = await new_company(database)
    assert sorted(await asyncio.gather(keep(database, mine, a1()), keep(database, mine, a1("second")))) == [False, True]
    assert [row["destruido_em"] is None for row in await rows(database, mine)].count(True) == 1


async def test_a_destroyed_certificate_does_not_open(database: Database) -> None:
    """Nothing sealed is left, of the former one neither; the date is forgotten, and nothing more is to destroy."""
    mine = await new_company(database)
    await keep(database, mine, a1("second"))
    await keep(database, mine, a1())
    assert await destroy(database, mine) is True
    former, row = await rows(database, mine)
    assert [each[name] for each in (former, row) for name in _SEALED] == [None] * 6
    assert row["substituido_em"] is None
    assert await bring_back(database, mine) is None
    assert await database.pool.fetchval("SELECT certificado_vence FROM empresa WHERE id = $1", mine) is None
    with pytest.raises(NoCertificateError):
        await use(database, mine)
    assert await destroy(database, mine) is False


async def test_a_date_that_is_not_its_own_outlives_it(database: Database) -> None:
    """Somebody noted the date of the certificate at the gateway: that one still ends then."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    await database.pool.execute("UPDATE empresa SET certificado_vence = '2031-01-01' WHERE id = $1", mine)
    await destroy(database, mine)
    assert str(await database.pool.fetchval("SELECT certificado_vence FROM empresa WHERE id = $1", mine)) == (
        "2031-01-01"
    )


async def test_a_deleted_company_takes_its_data_key_along(database: Database) -> None:
    """No sealed row outlives its company."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    await keep(database, mine, a1("second"))
    await database.pool.execute("DELETE FROM empresa WHERE id = $1", mine)
    assert await rows(database, mine) == []
    assert await database.pool.fetchval("SELECT count(*) FROM empresa_certificado_anterior") == 0


async def test_the_database_holds_no_half_of_a_certificate(database: Database) -> None:
    """A row has all that is sealed or none of it, whoever writes it."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    with pytest.raises(asyncpg.CheckViolationError):
        await database.pool.execute("UPDATE empresa_certificado SET chave = NULL")
    with pytest.raises(asyncpg.CheckViolationError):
        await database.pool.execute("UPDATE empresa_certificado SET destruido_em = now()")


async def test_a_row_of_another_company_does_not_open(database: Database) -> None:
    """Whoever can write rows cannot make one company sign with another's key."""
    mine, other = await new_company(database), await new_company(database, "12345678000195")
    await keep(database, mine, a1())
    await database.pool.execute("UPDATE empresa_certificado SET empresa_id = $1", other)
    with pytest.raises(UnreadableSecretError):
        await use(database, other)


async def test_seals_copied_into_another_row_do_not_open(database: Database) -> None:
    """Not even all three of them, which fit together: each is bound to its row."""
    mine, other = await new_company(database), await new_company(database, "12345678000195")
    await keep(database, mine, a1())
    await keep(database, other, a1("second"))
    columns = ", ".join(_SEALED)
    copy = f"UPDATE empresa_certificado t SET ({columns}) = (SELECT {columns} FROM empresa_certificado WHERE empresa_id = $1) WHERE empresa_id = $2"  # noqa: S608, E501 - names of columns
    await database.pool.execute(copy, mine, other)
    with pytest.raises(UnreadableSecretError):
        await use(database, other)


@pytest.mark.parametrize("columns", [("chave", "cadeia"), ("chave", "chave_dados"), ("cadeia", "chave_dados")])
async def test_swapped_columns_do_not_open(database: Database, columns: tuple[str, str]) -> None:
    """A seal is bound to its column too."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    one, another = columns
    await database.pool.execute(f"UPDATE empresa_certificado SET {one} = {another}, {another} = {one}")  # noqa: S608
    with pytest.raises(UnreadableSecretError):
        await use(database, mine)


async def test_rotation_seals_only_the_data_keys_anew(database: Database) -> None:
    """What they seal stays byte for byte; the old master key is no longer needed; a second time nothing is left."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    [before] = await rows(database, mine)
    assert await rekey(database, Vault((NEW, OLD))) == (1, [])
    [after] = await rows(database, mine)
    assert {name for name in before.keys() if before[name] != after[name]} == {"chave_dados"}  # noqa: SIM118 - a Record
    assert (await use(database, mine, Vault((NEW,)))).chave == a1().chave
    with pytest.raises(UnreadableSecretError):
        await use(database, mine)
    assert await rekey(database, Vault((NEW, OLD))) == (0, [])


async def test_rotation_names_what_does_not_open(database: Database) -> None:
    """The others are sealed anew all the same; a destroyed one is nobody's loss."""
    mine, lost, gone = [await new_company(database, cnpj) for cnpj in (COMPANY, "12345678000195", "44555666000181")]
    await keep(database, mine, a1())
    await keep(database, lost, a1("second"), Vault((OTHER,)))
    await keep(database, gone, a1("second"), Vault((OTHER,)))
    await destroy(database, gone)
    assert await rekey(database, Vault((NEW, OLD))) == (1, ["12345678000195"])
    assert (await use(database, mine, Vault((NEW,)))).chave == a1().chave
    assert (await use(database, lost, Vault((OTHER,)))).chave == a1("second").chave


async def test_nothing_is_kept_without_a_master_key(database: Database) -> None:
    """And no certificate of before is lost by the attempt."""
    mine = await new_company(database)
    await keep(database, mine, a1())
    with pytest.raises(NoMasterKeyError):
        await keep(database, mine, a1("second"), Vault(()))
    assert (await use(database, mine)).impressao == a1().impressao


async def test_every_use_is_audited_and_no_row_tells_a_key(database: Database) -> None:
    """Who, for what, for which note and with which certificate; keeping, replacing and destroying likewise."""
    start, mine = await last_audit(database), await new_company(database)
    await keep(database, mine, a1())
    await use(database, mine, nota="s1-r1-1")
    await keep(database, mine, a1("second"))
    await destroy(database, mine)
    found = list(await database.pool.fetch(_AUDIT, start))
    first, second = a1().impressao, a1("second").impressao
    assert [(row["acao"], row["alvo"], row["detalhe"]) for row in found] == [
        ("guardou o certificado", None, {"impressao": first}),
        ("usou o certificado", "s1-r1-1", {"impressao": first, "finalidade": "assinar"}),
        ("trocou o certificado", None, {"impressao": second, "substituida": first}),
        ("destruiu o certificado", None, {"impressao": second}),
    ]
    assert {(row["quem"], row["empresa_id"]) for row in found} == {(WHO, mine)}
    told = " ".join(str(value) for row in found for value in row.values())
    assert [each for each in traces(company()) if each.decode(errors="replace") in told] == []


async def test_a_use_that_is_rolled_back_was_none(database: Database) -> None:
    """The audit row and what the certificate was used for are one transaction."""
    start, mine = await last_audit(database), await new_company(database)
    await keep(database, mine, a1())
    kept = await last_audit(database)

    async def fails() -> None:
        async with database.transaction() as connection:
            await certificate_vault.open_for(connection, COFRE, mine, Purpose.CONNECT, quem=WHO)
            raise LookupError

    with pytest.raises(LookupError):
        await fails()
    assert kept > start
    assert await last_audit(database) == kept
