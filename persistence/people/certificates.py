"""Tells until when each company's certificate is good: the one that is kept here, or as somebody noted it.

Opens a company's certificate for a channel, in a transaction of its own that audits the use.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final

import sqlalchemy as sa
import structlog

from persistence.access.accounts import Alcance
from persistence.crypto import NoMasterKeyError, UnreadableSecretError, Vault
from persistence.db.connection import Connection
from persistence.db.engine import Database
from persistence.people.certificate_vault import NoCertificateError, OpenedCertificate, Purpose, open_for
from persistence.tables import conversas, empresa, empresa_certificado, inbox, usuario

WARN_DAYS: Final = 30  # a new A1 takes days: money, an appointment, somebody who is on holiday
LISTED: Final = 100  # companies
_E = empresa.c
_TODAY = sa.cast(sa.func.timezone("America/Sao_Paulo", sa.func.now()), sa.Date)
_C = empresa_certificado.c
_LAST_DAY = sa.cast(sa.func.timezone("America/Sao_Paulo", _C.valido_ate), sa.Date)
_KEPT = sa.and_(_C.empresa_id == _E.id, _C.destruido_em.is_(None))
_ENDS = sa.func.least(_LAST_DAY, _E.certificado_vence)  # of two dates the earlier one; of one, that one

STAGES: Final = (1, 7, 30)  # days before the last one at which people are warned, once each
WARNED_AT_ONCE: Final = 500
WINDOW: Final = sa.text("interval '23 hours'")  # Meta takes what we begin for 24 hours after a person's last message
_LEFT = _LAST_DAY - _TODAY
_STAGE = sa.case(*((stage >= _LEFT, stage) for stage in STAGES))
_KEY = sa.func.concat("certificado:", _C.id, ":", _STAGE, ":", conversas.c.codigo)
_DUE = (
    sa.select(_E.razao_social, _LAST_DAY.label("vence"), conversas.c.conversa, _KEY.label("chave"))
    .join_from(empresa_certificado, empresa, _KEPT)
    .join(usuario, usuario.c.empresa_id == _E.id)
    .join(conversas, conversas.c.usuario_id == usuario.c.id)
    .where(_LEFT.between(0, STAGES[-1]), conversas.c.atendente_id.is_(None))
    .where(conversas.c.ultima_entrada_em > sa.func.now() - WINDOW)
    .where(~sa.exists().where(inbox.c.chave == _KEY))
    .order_by(_LAST_DAY, conversas.c.conversa)
    .limit(WARNED_AT_ONCE)
)


async def note(connection: Connection, cnpj: str, vence: date | None) -> str | None:
    """Store the last good day, or forget it; returns the company's name, ``None`` when nobody has this (bare) CNPJ.

    The company's version stays: a date changes nothing that is sent, so summaries that were shown stay good.
    """
    told = empresa.update().where(_E.cnpj == cnpj).values(certificado_vence=vence).returning(_E.razao_social)
    nome: str | None = (await connection.execute(told)).scalar_one_or_none()
    return nome


def with_certificate(*columns: Any) -> sa.Select[Any]:
    """Return a statement on companies that also has (vence, dias, guardado) of each certificate, as ``expiring``.

    Without any date the three are null.
    """
    kept = sa.case((_ENDS.is_not(None), sa.func.coalesce(_LAST_DAY == _ENDS, sa.false()))).label("guardado")
    statement = sa.select(*columns, _ENDS.label("vence"), (_ENDS - _TODAY).label("dias"), kept)
    return statement.join_from(empresa, empresa_certificado, _KEPT, isouter=True)


async def expiring(connection: Connection, alcance: Alcance) -> list[Any]:
    """List (id, razao_social, vence, dias, guardado) of what ends within 30 days or has ended, the worst first.

    ``dias`` counts from today in Brazil: 0 is the last good day, below it has ended. ``guardado``: the date is that of
    the certificate that is kept here; else somebody noted it.
    """
    statement = with_certificate(_E.id, _E.razao_social).where(alcance.em(_E.id), _ENDS - _TODAY <= WARN_DAYS)
    statement = statement.order_by(_ENDS, _E.id).limit(LISTED)
    return list(await connection.execute(statement))


async def undated(connection: Connection, alcance: Alcance) -> int:
    """Count the companies that have none here, and of whose certificate nobody told us the date."""
    statement = sa.select(sa.func.count()).select_from(empresa)
    statement = statement.where(alcance.em(_E.id), _E.certificado_vence.is_(None), ~sa.exists().where(_KEPT))
    return int((await connection.execute(statement)).scalar_one())


async def talking(connection: Connection, empresa_id: int) -> list[str]:
    """List the conversations of the company's people that Meta still delivers to."""
    own = sa.select(conversas.c.conversa).join(usuario, usuario.c.id == conversas.c.usuario_id)
    lately = own.where(usuario.c.empresa_id == empresa_id, conversas.c.ultima_entrada_em > sa.func.now() - WINDOW)
    return list((await connection.execute(lately.order_by(conversas.c.conversa))).scalars())


async def due_warnings(connection: Connection) -> list[Any]:
    """List (razao_social, vence, conversa, chave) of the warnings that are due and were not given yet.

    Told is who may issue for the company and wrote lately. A stage that passed while nobody could be told is left out:
    of a certificate that is kept with five days left, the warnings of seven days and of one day are given.
    """
    return list(await connection.execute(_DUE))


async def count_ending(connection: Connection) -> dict[str, int]:
    """Count the certificates that are kept here by what they have left: ``0`` (ended), ``1``, ``7`` and ``30`` days."""
    stage = sa.case((_LEFT < 0, 0), *((stage >= _LEFT, stage) for stage in STAGES)).label("dias")
    statement = sa.select(stage, sa.func.count().label("quantos")).where(_C.destruido_em.is_(None), STAGES[-1] >= _LEFT)
    found = {row.dias: row.quantos for row in await connection.execute(statement.group_by(stage))}
    return {str(days): found.get(days, 0) for days in (0, *STAGES)}


_BY: Final = "Prosa"  # who acts, in the audit: nobody asked for it by name
_ID: Final = sa.select(empresa.c.id).where(empresa.c.cnpj == sa.bindparam("b_cnpj"))
_CURRENT: Final = (
    sa.select(empresa_certificado.c.impressao)
    .join_from(empresa_certificado, empresa)
    .where(empresa.c.cnpj == sa.bindparam("b_cnpj"), empresa_certificado.c.destruido_em.is_(None))
)

log = structlog.get_logger(__name__)


class KeptCertificates:
    """The companies' certificates, by CNPJ (bare)."""

    def __init__(self, database: Database, cofre: Vault) -> None:
        self._database = database
        self._cofre = cofre

    async def current(self, cnpj: str) -> str | None:
        """Return the fingerprint of the company's certificate, ``None`` where it has none."""
        async with self._database.alone() as connection:
            found = (await connection.execute(_CURRENT, {"b_cnpj": cnpj})).scalar_one_or_none()
        return str(found) if found is not None else None

    async def open(self, cnpj: str, purpose: str, nota: str | None) -> OpenedCertificate | None:
        """Return it in the open, its use audited; ``None`` where there is none, or our master key does not open it."""
        try:
            async with self._database.transaction() as connection:
                empresa_id = (await connection.execute(_ID, {"b_cnpj": cnpj})).scalar_one_or_none()
                if empresa_id is None:
                    return None
                return await open_for(connection, self._cofre, empresa_id, Purpose(purpose), quem=_BY, nota=nota)
        except NoCertificateError:
            return None
        except (NoMasterKeyError, UnreadableSecretError) as error:  # people must set the right PROSA_MASTER_KEY
            log.error("certificate_not_opened", error=type(error).__name__)  # noqa: TRY400 - the kind says it all
            return None
