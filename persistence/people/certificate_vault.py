"""Keeps each company's A1 certificate sealed under a data key of its own, and opens it for a named purpose."""

from __future__ import annotations

import base64
import secrets
import uuid
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from persistence.audit import records as audit
from persistence.crypto import KEY_BYTES, Lugar, UnreadableSecretError, Vault
from persistence.fiscal import suspension
from persistence.tables import empresa, empresa_certificado
from state_machine.values.certificate import CertificateRefusedError, Refusal
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

if TYPE_CHECKING:
    from datetime import datetime

    from persistence.db.connection import Connection
    from state_machine.values.certificate import A1

TABLE: Final = "empresa_certificado"
_C = empresa_certificado.c
_CURRENT = sa.select(empresa_certificado).where(_C.destruido_em.is_(None))


class Purpose(StrEnum):
    """What a certificate is opened for."""

    SIGN = "assinar"
    CONNECT = "conectar"


class NoCertificateError(ProsaError, LookupError):
    """The company has no certificate here."""

    code = "no_certificate"


@dataclass(frozen=True, slots=True)
class OpenedCertificate:
    """Key (PEM PKCS #8) and chain (PEM, the company's first) in the open; ``repr`` shows neither."""

    impressao: str
    valido_ate: datetime
    chave: bytes = field(repr=False)
    cadeia: bytes = field(repr=False)


async def keep(connection: Connection, cofre: Vault, empresa_id: int, a1: A1, *, quem: str) -> bool:
    """Store the certificate in place of the one before, whose data key is destroyed; tell whether there was one.

    The company's expiry date becomes this certificate's. All of it is audited. Raises ``NoMasterKeyError``, and
    ``CertificateRefusedError`` where it is the one that the company has.
    """
    await _lock(connection, empresa_id)
    before = await _current(connection, empresa_id)
    if before is not None and before.impressao == a1.impressao:
        raise CertificateRefusedError(Refusal.ALREADY_OURS, f"{a1.vence:%d/%m/%Y}")
    id_ = uuid.uuid4()
    data_key = secrets.token_bytes(KEY_BYTES)
    sealing = Vault((data_key,))
    row = {
        "id": id_,
        "empresa_id": empresa_id,
        "chave_dados": cofre.seal(base64.b64encode(data_key).decode(), _place("chave_dados", empresa_id, id_)),
        "chave": sealing.seal(a1.chave.decode(), _place("chave", empresa_id, id_)),
        "cadeia": sealing.seal(a1.cadeia.decode(), _place("cadeia", empresa_id, id_)),
        "impressao": a1.impressao,
        "titular": a1.titular,
        "valido_de": a1.valido_de,
        "valido_ate": a1.valido_ate,
    }
    if before is not None:
        await _destroy(connection, before.id, substituido_em=sa.func.now())
    await connection.execute(empresa_certificado.insert().values(row))
    await connection.execute(empresa.update().where(empresa.c.id == empresa_id).values(certificado_vence=a1.vence))
    await suspension.lift(connection, empresa_id)  # what waited for a good one is due now
    await audit.write(
        connection,
        staff_id=None,
        quem=quem,
        acao="guardou o certificado" if before is None else "trocou o certificado",
        empresa_id=empresa_id,
        detalhe={"impressao": a1.impressao} | ({"substituida": before.impressao} if before else {}),
    )
    return before is not None


async def destroy(connection: Connection, empresa_id: int, *, quem: str) -> bool:
    """Destroy the data key of the company's certificate and what it sealed, audited; False when it has none.

    The expiry date is forgotten too where it is this certificate's.
    """
    await _lock(connection, empresa_id)
    row = await _current(connection, empresa_id)
    if row is None:
        return False
    await _destroy(connection, row.id)
    last_day = row.valido_ate.astimezone(SAO_PAULO).date()
    its_own = sa.and_(empresa.c.id == empresa_id, empresa.c.certificado_vence == last_day)
    await connection.execute(empresa.update().where(its_own).values(certificado_vence=None))
    await audit.write(
        connection,
        staff_id=None,
        quem=quem,
        acao="destruiu o certificado",
        empresa_id=empresa_id,
        detalhe={"impressao": row.impressao},
    )
    return True


async def open_for(
    connection: Connection, cofre: Vault, empresa_id: int, purpose: Purpose, *, quem: str, nota: str | None = None
) -> OpenedCertificate:
    """Return the company's certificate in the open; this use is an audit row of the same transaction.

    ``nota``: our reference of the note that it is used for. Raises ``NoCertificateError``, ``NoMasterKeyError`` or
    ``UnreadableSecretError``.
    """
    row = await _current(connection, empresa_id)
    if row is None:
        raise NoCertificateError(f"company {empresa_id}")
    data_key = base64.b64decode(cofre.open(row.chave_dados, _place("chave_dados", row.empresa_id, row.id)))
    sealing = Vault((data_key,))
    opened = OpenedCertificate(
        row.impressao,
        row.valido_ate,
        sealing.open(row.chave, _place("chave", row.empresa_id, row.id)).encode(),
        sealing.open(row.cadeia, _place("cadeia", row.empresa_id, row.id)).encode(),
    )
    await audit.write(
        connection,
        staff_id=None,
        quem=quem,
        acao="usou o certificado",
        alvo=nota,
        empresa_id=empresa_id,
        detalhe={"finalidade": purpose.value, "impressao": row.impressao},
    )
    return opened


async def rekey(connection: Connection, cofre: Vault) -> tuple[int, list[str]]:
    """Seal every data key under the newest master key; returns how many, and the CNPJs of those that do not open.

    What the data keys seal stays as it is. Raises ``NoMasterKeyError``.
    """
    done, lost = 0, []
    found = sa.select(_C.id, _C.empresa_id, _C.chave_dados, empresa.c.cnpj).join_from(empresa_certificado, empresa)
    for row in list(
        await connection.execute(found.where(_C.destruido_em.is_(None)).with_for_update(of=empresa_certificado))
    ):
        place = _place("chave_dados", row.empresa_id, row.id)
        try:
            data_key = cofre.open(row.chave_dados, place)
        except UnreadableSecretError:
            lost.append(row.cnpj)
            continue
        if cofre.is_stale(row.chave_dados):
            sealed = cofre.seal(data_key, place)
            await connection.execute(empresa_certificado.update().where(_C.id == row.id).values(chave_dados=sealed))
            done += 1
    return done, lost


async def _lock(connection: Connection, empresa_id: int) -> None:
    """Have two who change one company's certificate go one after the other."""
    await connection.execute(sa.select(empresa.c.id).where(empresa.c.id == empresa_id).with_for_update())


async def _current(connection: Connection, empresa_id: int) -> Any:
    return (await connection.execute(_CURRENT.where(_C.empresa_id == empresa_id))).one_or_none()


async def _destroy(connection: Connection, id_: uuid.UUID, **also: Any) -> None:
    gone = {"chave_dados": None, "chave": None, "cadeia": None, "destruido_em": sa.func.now(), **also}
    await connection.execute(empresa_certificado.update().where(_C.id == id_).values(gone))


def _place(coluna: str, empresa_id: int, id_: uuid.UUID) -> Lugar:
    """Bind a seal to company and row: copied to another of either, it does not open."""
    return Lugar(TABLE, coluna, f"{empresa_id}/{id_}")
