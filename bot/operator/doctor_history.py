"""What ``prosa doctor`` says of commits that may be lost: replicas that lag, and a history that is in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import asyncpg

from bot.operator.doctor import SECONDS, aviso, falha, ok
from persistence.db.dsn import for_asyncpg
from persistence.embedded.supervisor import running

if TYPE_CHECKING:
    from bot.operator.doctor import Achado
    from bot.settings import Settings

_REPLICAS: Final = """
SELECT (SELECT count(*) FROM pg_stat_replication) AS replicas, current_setting('synchronous_standby_names') AS named
"""
_DOUBT: Final = "SELECT suspeita FROM historia WHERE suspeita IS NOT NULL"
_MOST: Final = 5  # companies that are named
_HELD: Final = "SELECT razao_social FROM empresa WHERE restauro_desde IS NOT NULL ORDER BY id"
_COST: Final = (
    "Se ela assumir, as últimas confirmações podem se perder: onde a Prosa numera, os envios param até prosa "
    "restaurado. Defina synchronous_standby_names no servidor"
)


async def about_history(settings: Settings) -> list[Achado]:
    """Say whether a replica may lack what was confirmed, and whether the database may; nothing where it is away."""
    url = settings.database_url.get_secret_value() if settings.database_url else None
    if url is None:
        servers = running(settings.home)
        if servers is None:
            return []
        url = servers.database_url
    try:
        connection = await asyncpg.connect(for_asyncpg(url), timeout=SECONDS, command_timeout=SECONDS)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return []  # the line about the database says so
    try:
        return await lines_of(connection)
    except asyncpg.UndefinedTableError:
        return []  # an older schema, which another line tells
    finally:
        await connection.close(timeout=SECONDS)


async def lines_of(connection: Any) -> list[Achado]:
    """Say it of an open connection."""
    row = await connection.fetchrow(_REPLICAS)
    doubt = await connection.fetchval(_DOUBT)
    held = [each["razao_social"] for each in await connection.fetch(_HELD)]
    return [about_replicas(row["replicas"], row["named"]), _about_doubt(doubt, held)]


def about_replicas(replicas: int, named: str) -> Achado:
    """Say what the loss of the primary would cost; ``named`` is ``synchronous_standby_names``."""
    if not replicas:
        return ok("banco: réplicas", "nenhuma ligada agora")
    if not named.strip():
        return aviso("banco: réplicas", f"{replicas}, sem confirmação síncrona. {_COST}")
    return ok("banco: réplicas", f"{replicas}; confirmações esperam por {named}")


def _about_doubt(doubt: str | None, held: list[str]) -> Achado:
    if doubt is None and held:
        names = f"{', '.join(held[:_MOST])}{' …' * (len(held) > _MOST)}"
        said = f"o que já saiu de {len(held)} empresas não foi perguntado; nada delas sai. Rode: prosa restaurado"
        return falha("banco: história", f"{said} ({names})")
    if doubt is None:
        return ok("banco: história", "é a que a Prosa deixou")
    said = f"o banco pode ter esquecido notas enviadas ({doubt}); onde a Prosa numera nada sai. Rode: prosa restaurado"
    return falha("banco: história", said)
