"""Keeps each company's A1 certificate sealed under a data key of its own, and opens it for a named purpose."""

from __future__ import annotations

import base64
import secrets
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import sqlalchemy as sa

from persistence.audit import records as audit
from persistence.crypto import KEY_BYTES, Lugar, UnreadableSecretError, Vault
from persistence.db.connection import Connection
from persistence.fiscal import suspension
from persistence.tables import auditoria, empresa, empresa_certificado, empresa_certificado_anterior, nfse_emissao
from state_machine.protocol.emission import StatusEmissao
from state_machine.values.certificate import A1, CertificateRefusedError, Refusal
from state_machine.values.errors import ProsaError
from state_machine.values.local_time import SAO_PAULO

TABLE: Final = "empresa_certificado"
FORMER_KEPT: Final = timedelta(days=7)  # a company that issues nothing for a week still hears of a bad one
_C = empresa_certificado.c
_F = empresa_certificado_anterior.c
_E = nfse_emissao.c
_USED: Final = "usou o certificado"
_CURRENT = sa.select(empresa_certificado, (_C.valido_ate > sa.func.now()).label("vale")).where(
    _C.destruido_em.is_(None)
)
_FORMER = sa.select(empresa_certificado_anterior, _C.impressao, _C.valido_ate).join_from(
    empresa_certificado_anterior, empresa_certificado, _C.id == _F.id
)
# A note that was first sent since then, and signed with it, is authorised: no other certificate can have done that.
_PROVED = (
    sa.exists()
    .where(_C.empresa_id == _F.empresa_id, _C.destruido_em.is_(None))
    .where(_E.prestador_id == _C.empresa_id, _E.enviado_em >= _C.criado_em, _E.status == StatusEmissao.CONCLUIDO)
    .where(auditoria.c.alvo == _E.id_integracao, auditoria.c.acao == _USED)
    .where(auditoria.c.detalhe.contains({"finalidade": "assinar"}))
    .where(auditoria.c.detalhe["impressao"].astext == _C.impressao)
)
_OVERDUE = sa.or_(_F.substituido_em < sa.func.now() - FORMER_KEPT, _PROVED)


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


async def keep(
    connection: Connection, cofre: Vault, empresa_id: int, a1: A1, *, quem: str, replaces: bool = True
) -> bool:
    """Store the certificate in place of the one before; tell whether there was one.

    The one before stays aside, sealed, until ``forget_former``. Where one is aside already, that one stays: the one
    before never proved itself, and its data key is destroyed. The company's expiry date becomes this certificate's.
    All of it is audited. Raises ``NoMasterKeyError``, and ``CertificateRefusedError`` where it is the one that the
    company has, or the company has a good one that it may not replace (``replaces``).
    """
    await _lock(connection, empresa_id)
    before = await _current(connection, empresa_id)
    if before is not None and before.impressao == a1.impressao:
        raise CertificateRefusedError(Refusal.ALREADY_OURS, f"{a1.vence:%d/%m/%Y}")
    if before is not None and before.vale and not replaces:
        last_day = before.valido_ate.astimezone(SAO_PAULO)
        raise CertificateRefusedError(Refusal.UNCHECKED_ISSUER, f"{last_day:%d/%m/%Y}")
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
        await _put_aside(connection, before, a1.impressao)
    await connection.execute(empresa_certificado.insert().values(row))
    await _now_good(connection, empresa_id, a1.vence)
    await audit.write(
        connection,
        staff_id=None,
        quem=quem,
        acao="guardou o certificado" if before is None else "trocou o certificado",
        empresa_id=empresa_id,
        detalhe={"impressao": a1.impressao} | ({"substituida": before.impressao} if before else {}),
    )
    return before is not None


async def bring_back(connection: Connection, empresa_id: int, *, quem: str) -> date | None:
    """Have the company's former certificate be its certificate again, audited; return its last day.

    The data key of the one that had taken its place is destroyed. ``None``: none is aside, and nothing changed.
    """
    await _lock(connection, empresa_id)
    former = await _former(connection, empresa_id)
    if former is None:
        return None
    bad = await _current(connection, empresa_id)
    if bad is not None:
        await _destroy(connection, bad.id, substituido_em=sa.func.now())
    again = {"chave_dados": former.chave_dados, "chave": former.chave, "cadeia": former.cadeia}
    again |= {"destruido_em": None, "substituido_em": None}
    await connection.execute(empresa_certificado.update().where(_C.id == former.id).values(again))
    await _drop_former(connection, empresa_id)
    vence: date = former.valido_ate.astimezone(SAO_PAULO).date()
    await _now_good(connection, empresa_id, vence)
    await audit.write(
        connection,
        staff_id=None,
        quem=quem,
        acao="voltou ao certificado anterior",
        empresa_id=empresa_id,
        detalhe={"impressao": former.impressao} | ({"substituida": bad.impressao} if bad else {}),
    )
    return vence


async def forget_former(connection: Connection) -> int:
    """Destroy the former certificates whose successor was accepted once, or is seven days old; say how many."""
    overdue = empresa_certificado_anterior.delete().where(_OVERDUE)
    return (await connection.execute(overdue)).rowcount


async def destroy(connection: Connection, empresa_id: int, *, quem: str) -> bool:
    """Destroy the data key of the company's certificate and what it sealed, audited; False when it has none.

    What is aside of its former one goes too. The expiry date is forgotten where it is this certificate's.
    """
    await _lock(connection, empresa_id)
    await _drop_former(connection, empresa_id)
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
        acao=_USED,
        alvo=nota,
        empresa_id=empresa_id,
        detalhe={"finalidade": purpose.value, "impressao": row.impressao},
    )
    return opened


async def rekey(connection: Connection, cofre: Vault) -> tuple[int, list[str]]:
    """Seal every data key under the newest master key; returns how many, and the CNPJs of those that do not open.

    What the data keys seal stays as it is. Raises ``NoMasterKeyError``.
    """
    done: int = 0
    lost: list[str] = []
    for table in (empresa_certificado, empresa_certificado_anterior):
        found = sa.select(table.c.id, table.c.empresa_id, table.c.chave_dados, empresa.c.cnpj)
        sealed = found.join_from(table, empresa, empresa.c.id == table.c.empresa_id)
        sealed = sealed.where(table.c.chave_dados.is_not(None)).with_for_update(of=table)
        for row in list(await connection.execute(sealed)):
            place = _place("chave_dados", row.empresa_id, row.id)
            try:
                data_key = cofre.open(row.chave_dados, place)
            except UnreadableSecretError:
                lost.append(row.cnpj)
                continue
            if cofre.is_stale(row.chave_dados):
                anew = table.update().where(table.c.id == row.id).values(chave_dados=cofre.seal(data_key, place))
                await connection.execute(anew)
                done += 1
    return done, list(dict.fromkeys(lost))


async def _lock(connection: Connection, empresa_id: int) -> None:
    """Have two who change one company's certificate go one after the other."""
    await connection.execute(sa.select(empresa.c.id).where(empresa.c.id == empresa_id).with_for_update())


async def _current(connection: Connection, empresa_id: int) -> Any:
    return (await connection.execute(_CURRENT.where(_C.empresa_id == empresa_id))).one_or_none()


async def _former(connection: Connection, empresa_id: int) -> Any:
    return (await connection.execute(_FORMER.where(_F.empresa_id == empresa_id))).one_or_none()


async def _drop_former(connection: Connection, empresa_id: int, *ended: sa.ColumnElement[bool]) -> None:
    await connection.execute(empresa_certificado_anterior.delete().where(_F.empresa_id == empresa_id, *ended))


async def _put_aside(connection: Connection, before: Any, impressao: str) -> None:
    """Take the current certificate's seals out of its row; they stay aside unless an older one is there.

    ``impressao``: of the one that comes. Where it is the one that is aside, that one need not be.
    """
    await _drop_former(connection, before.empresa_id, _OVERDUE)
    former = await _former(connection, before.empresa_id)
    if former is not None and former.impressao == impressao:
        await _drop_former(connection, before.empresa_id)
        former = None
    if former is None:
        seals = {"chave_dados": before.chave_dados, "chave": before.chave, "cadeia": before.cadeia}
        row = {"id": before.id, "empresa_id": before.empresa_id, **seals}
        await connection.execute(empresa_certificado_anterior.insert().values(row))
    else:
        again = empresa_certificado_anterior.update().where(_F.id == former.id)
        await connection.execute(again.values(substituido_em=sa.func.now()))
    await _destroy(connection, before.id, substituido_em=sa.func.now())


async def _now_good(connection: Connection, empresa_id: int, vence: date) -> None:
    await connection.execute(empresa.update().where(empresa.c.id == empresa_id).values(certificado_vence=vence))
    await suspension.lift(connection, empresa_id)  # what waited for a good one is due now


async def _destroy(connection: Connection, id_: uuid.UUID, **also: Any) -> None:
    gone = {"chave_dados": None, "chave": None, "cadeia": None, "destruido_em": sa.func.now(), **also}
    await connection.execute(empresa_certificado.update().where(_C.id == id_).values(gone))


def _place(coluna: str, empresa_id: int, id_: uuid.UUID) -> Lugar:
    """Bind a seal to company and row: copied to another of either, it does not open."""
    return Lugar(TABLE, coluna, f"{empresa_id}/{id_}")
