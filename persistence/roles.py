"""Gives the run-time account what running needs and no more, and tells which account can do more."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Any

import asyncpg
from sqlalchemy.engine import make_url

from persistence.db.engine import for_asyncpg
from state_machine.values.errors import ProsaError

GRANT_LOCK = 7_015_023  # any constant; two that grant at once would change the same catalogue rows
CONNECT_SECONDS = 5.0  # a database that is away must be told soon
SCRAM_ITERATIONS = 4096  # PostgreSQL's own default (scram_iterations)

WRITTEN_BY_OTHERS = ("auditoria_elo", "alembic_version")  # by a trigger, by migrations: the run-time account only reads

# Rows are read and written, tables are not made, emptied or changed. The audit only grows, its chain is written by a
# trigger that runs as the owner, and the schema's version is the migrations' alone.
_GRANTS = (
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}",
    "GRANT USAGE ON SCHEMA public TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}",
    "REVOKE UPDATE, DELETE ON auditoria FROM {role}",
    f"REVOKE INSERT, UPDATE, DELETE ON {', '.join(WRITTEN_BY_OTHERS)} FROM {{role}}",
)
_EXCESS = """
SELECT r.rolsuper OR r.rolcreaterole OR r.rolcreatedb OR r.rolreplication
    OR has_schema_privilege('public', 'CREATE') OR has_table_privilege('auditoria', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
FROM pg_roles r WHERE r.rolname = current_user
"""


class RoleError(ProsaError):
    """The run-time account could not be made or given its rights; the message says what to do."""

    code = "role"


async def grant(owner_dsn: str, run_time_dsn: str) -> None:
    """Let the account of ``run_time_dsn`` run Prosa on the newest schema; it is made if the server has none.

    Idempotent, and does nothing where both addresses name one account. Raises ``RoleError``.
    """
    run_time = make_url(run_time_dsn)
    if run_time.username is None or run_time.username == make_url(owner_dsn).username:
        return
    connection = await asyncpg.connect(for_asyncpg(owner_dsn), timeout=CONNECT_SECONDS)
    try:
        async with connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({GRANT_LOCK})")
            role: str = await connection.fetchval("SELECT quote_ident($1)", run_time.username)
            if not await connection.fetchval("SELECT to_regrole($1) IS NOT NULL", role):
                await connection.execute(
                    f"CREATE ROLE {role} LOGIN PASSWORD '{_verifier(str(run_time.password or ''))}'"
                )
            for statement in _GRANTS:
                await connection.execute(statement.format(role=role))
    except asyncpg.InsufficientPrivilegeError as error:
        raise RoleError(
            f"A conta de PROSA_DATABASE_OWNER_URL não pode criar a conta {run_time.username} ou dar direitos a ela. "
            "As tabelas estão em dia; os direitos ficaram como estavam. Crie a conta (CREATE ROLE … LOGIN PASSWORD …) "
            "com um administrador do servidor, use a conta dona das tabelas e rode prosa migrate de novo."
        ) from error
    finally:
        await connection.close()


async def is_too_strong(dsn: str) -> bool:
    """Tell whether the account can rewrite the audit, change tables or make accounts, which running never needs."""
    connection: Any = await asyncpg.connect(for_asyncpg(dsn), timeout=CONNECT_SECONDS)
    try:
        return await exceeds(connection)
    finally:
        await connection.close()


async def exceeds(connection: Any) -> bool:
    """Tell the same of the account of an open connection."""
    return bool(await connection.fetchval(_EXCESS))


def _verifier(password: str) -> str:
    """Return what PostgreSQL keeps of a password (RFC 5803), so that the password itself stands in no statement."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, SCRAM_ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    salt64, stored64, server64 = (base64.b64encode(part).decode() for part in (salt, stored, server))
    return f"SCRAM-SHA-256${SCRAM_ITERATIONS}:{salt64}${stored64}:{server64}"
