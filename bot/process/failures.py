"""Turns what keeps the program from starting or going on into one sentence for an operator."""

from __future__ import annotations

import asyncpg
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from bot.loops.supervision import LoopEndedError, origin
from bot.process.listening import DoorError
from bot.process.servers import SchemaError
from persistence.embedded.home import DISK_FULL, EmbeddedError, HomeError
from persistence.roles import RoleError

_DATABASE = "Confira PROSA_DATABASE_URL (postgresql://usuario:senha@servidor:porta/banco) e se o servidor está no ar."
_KEPT = "Nada mudou: conversas e notas ficaram como estavam."
_SENTENCES: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((DoorError, LoopEndedError, SchemaError, RoleError, EmbeddedError), "{error}"),
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        f"O PostgreSQL recusou o usuário ou a senha. {_DATABASE} {_KEPT}",
    ),
    ((asyncpg.InvalidCatalogNameError,), f"O PostgreSQL não tem um banco com esse nome. {_DATABASE} {_KEPT}"),
    (
        (asyncpg.ProtocolViolationError,),
        (
            "PROSA_DATABASE_URL leva a um pooler (PgBouncer) que não aceita a conexão: {error}. A Prosa precisa de uma "
            f"sessão inteira do PostgreSQL: aponte para ele, ou use pool_mode=session. {_KEPT}"
        ),
    ),
    (
        (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, SQLAlchemyError),
        f"O banco de dados não aceita o trabalho ({{kind}}). {_DATABASE} {_KEPT}",
    ),
    (
        (ModuleNotFoundError,),
        (
            "Esta instalação não traz o que o comando usa ({error.name}): demo, chat, storm e bench rodam de um clone "
            f"do repositório, com ./prosa. {_KEPT}"
        ),
    ),
    ((RedisError,), f"O Redis não aceita o trabalho ({{kind}}). Confira PROSA_REDIS_URL. {_KEPT}"),
    ((TimeoutError,), f"O banco de dados não respondeu a tempo. {_DATABASE} {_KEPT}"),
    ((OSError,), f"Não foi possível chegar ao banco de dados ({{error}}). {_DATABASE} {_KEPT}"),
    ((ValueError,), f"Uma configuração não serve: {{error}}. {_KEPT}"),
)  # the first that fits; a start asks no server but the database


def complaint(error: BaseException, home: str = "PROSA_HOME") -> str | None:
    """Return the sentence for ``error``, or ``None`` for one that nobody foresaw.

    ``home`` is the option or setting that chooses where files are kept.
    """
    if isinstance(error, BaseExceptionGroup):
        return next((said for inner in error.exceptions if (said := complaint(inner, home))), None)
    said = next((said for kinds, said in _SENTENCES if isinstance(error, kinds)), None)
    return _of_files(error, home) or (said and said.format(error=error, kind=type(error).__name__))


def unforeseen(error: BaseException) -> str:
    """Return what to say when ``complaint`` knows nothing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return (
        f"Erro inesperado: {type(error).__name__} em {origin(error)}. O que estava gravado ficou como estava. "
        "Tente de novo; se repetir, leve esta linha a quem mantém a Prosa."
    )


def _of_files(error: BaseException, home: str) -> str | None:
    match error:
        case HomeError():
            return f"{error}, ou use outro diretório com {home}."
        case OSError() if error.errno in DISK_FULL:
            return f"O disco está cheio. {_KEPT} Libere espaço, ou use outro diretório com {home}."
        case OSError() if error.filename is not None:
            return (
                f"Não foi possível usar {error.filename} ({error.strerror}). {_KEPT} "
                f"Rode com a conta dona desse arquivo, ou use outro diretório com {home}."
            )
        case _:
            return None
