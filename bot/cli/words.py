"""Portuguese for what the command line's library says by itself: panels, the help option, wrong words.

Turns what keeps the program from starting or going on into one sentence for an operator.
"""

from __future__ import annotations

import difflib
import gc
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import asyncpg
import typer
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from bot.loops.pump import LoopEndedError, origin
from bot.process.servers import DoorError
from persistence.db.migrate import SchemaError
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


WRONG_WORDS: Final = 2  # the status of a command that was typed wrongly, as everywhere
_PANELS: Final = {
    "ARGUMENTS_PANEL_TITLE": "Argumentos",
    "OPTIONS_PANEL_TITLE": "Opções",
    "COMMANDS_PANEL_TITLE": "Comandos",
    "DEFAULT_STRING": "[padrão: {}]",
    "ENVVAR_STRING": "[variável: {}]",
    "REQUIRED_LONG_STRING": "[obrigatório]",
    "DEPRECATED_STRING": "(em desuso) ",
}
# The help lists commands under these titles; what is in none of them is for every day.
_GROUPS: Final = {
    "Processos": ("serve", "web", "worker", "api", "migrate"),
    "Notas": ("reconcile", "cancelar", "conferir", "reprocessar", "enviar", "numeracao", "restaurado", "idempotencia"),
    "Provas": ("test", "storm", "bench", "evaluate", "treinar"),
}
# By the name of the library's error; ``{hint}`` is the option or argument as it is typed.
_WRONG: Final = {
    "MissingParameter": "Falta {hint}.",
    "BadParameter": "O valor de {hint} não serve.",
    "NoSuchOption": "A opção {hint} não existe.",
    "BadOptionUsage": "A opção {hint} foi usada de um jeito que não serve.",
}
# What a value is, by the library's name for its type.
_TYPES: Final = {"str": "texto", "int": "inteiro", "float": "número", "path": "caminho"}
_OF_CLONES: Final = frozenset({"demo", "chat", "storm", "bench", "evaluate"})  # they need the simulators
_ANY: Final = "Não há esse comando, ou sobrou uma palavra."


# How many objects are made before the cycle collector looks at them, and how often before it looks at older ones too.
# With Python's own (700, 10, 10) it took a seventh of the imports' time, and looked 111 times during 40,000 webhooks,
# 0.8 ms each, for nothing.
COLLECT: Final = (50_000, 20, 100)


def run(app: typer.Typer) -> None:
    """Run the command that was typed, and end the process with its status."""
    gc.set_threshold(*COLLECT)
    command: Any = typer.main.get_command(app)
    _translate(command)
    try:
        status = command(prog_name="prosa", standalone_mode=False)
    except ModuleNotFoundError as error:
        typer.secho(complaint(error), fg="red", err=True)
        sys.exit(1)
    except typer.Abort:
        typer.secho("Interrompido.", fg="red", err=True)
        sys.exit(1)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a word typed wrongly: a defect, with its traceback
            raise
        _tell(error)
        sys.exit(WRONG_WORDS)
    sys.exit(status if isinstance(status, int) else 0)


def _help_in_portuguese(write: Callable[..., None]) -> Callable[..., None]:
    """Name the panels when a help is written: a process that serves loads no library of panels."""

    def written(*arguments: Any) -> None:
        from typer import rich_utils

        for name, words in _PANELS.items():
            setattr(rich_utils, name, words)
        write(*arguments)

    return written


def _translate(command: Any) -> None:
    context = command.context_class
    context.formatter_class = _formatter(context.formatter_class)
    for title, names in _GROUPS.items():
        for name in command.commands.keys() & names:
            command.commands[name].rich_help_panel = title
    for each in _tree(command):
        each.options_metavar = "[OPÇÕES]"
        each.format_help = _help_in_portuguese(each.format_help)
        if hasattr(each, "subcommand_metavar"):
            each.subcommand_metavar = "COMANDO [ARGUMENTOS]..."
        option = each.get_help_option(context(each))
        if option is not None:
            option.help = "Mostra esta ajuda e termina."
        for parameter in each.get_params(context(each)):
            _translate_parameter(parameter)


def _translate_parameter(parameter: Any) -> None:
    """Name its type in Portuguese; a switch has none, and a hidden argument is left out of the usage too."""
    shown = parameter.display_type_rich

    def kind(ctx: Any) -> str | None:
        name = (shown(ctx=ctx) or "").strip("<>").removesuffix(" range")
        several = name.startswith("list[")
        name = name.removeprefix("list[").removesuffix("]")
        if name == "bool":
            return None
        return f"<{_TYPES.get(name, name)}>" + ("..." if several else "")

    parameter.display_type_rich = kind
    if getattr(parameter, "hidden", False):
        parameter.get_usage_pieces = lambda _: []


def _tree(command: Any) -> Iterator[Any]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from _tree(inner)


def _formatter(kind: Any) -> Any:
    class Portuguese(kind):  # type: ignore[misc] # the library's own class, whichever it is
        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            super().write_usage(prog, args, prefix or "Uso: ")

    return Portuguese


def _tell(error: Any) -> None:
    """Say what was wrong with the words, and where the right ones are."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":  # the help itself
        typer.echo(error.format_message(), err=True)
        return
    context = getattr(error, "ctx", None)
    hint = getattr(error, "option_name", None) or getattr(error, "param_hint", None)
    parameter = getattr(error, "param", None)
    if hint is None and parameter is not None:
        hint = parameter.get_error_hint()
    said = _WRONG.get(kind, _ANY).format(hint=str(hint or "uma opção").replace("'", ""))
    typer.secho(_no_command(error, context) or said, fg="red", err=True)
    path = context.command_path if context is not None else "prosa"
    typer.echo(f"Nada foi feito. Veja as palavras certas com: {path} --help", err=True)


def _no_command(error: Any, context: Any) -> str | None:
    """Say which command was typed and is none: one of a clone, or nearly one that is."""
    known = getattr(getattr(context, "command", None), "commands", {})
    typed = re.search(r"'([^']+)'", error.format_message())
    if typed is None:
        return None
    if typed[1] in _OF_CLONES - known.keys() and context.parent is None:
        return f"Nesta instalação não há o comando {typed[1]}: ele roda de um clone do repositório, com ./prosa."
    close = difflib.get_close_matches(typed[1], known, 1)
    return f"Não há o comando {typed[1]}. Seria {close[0]}?" if close else None
