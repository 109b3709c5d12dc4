"""Opens a company's certificate for a channel, in a transaction of its own that audits the use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
import structlog

from persistence.crypto import NoMasterKeyError, UnreadableSecretError
from persistence.people.certificate_vault import NoCertificateError, Purpose, open_for
from persistence.tables import empresa, empresa_certificado

if TYPE_CHECKING:
    from persistence.crypto import Vault
    from persistence.db.engine import Database
    from persistence.people.certificate_vault import OpenedCertificate

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
