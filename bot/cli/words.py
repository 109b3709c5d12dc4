"""Portuguese for what the command line's library says by itself: panels, the help option, wrong words."""

from __future__ import annotations

import difflib
import re
import sys
from typing import TYPE_CHECKING, Any, Final

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def run(app: typer.Typer) -> None:
    """Run the command that was typed, and end the process with its status."""
    command: Any = typer.main.get_command(app)
    _translate(command)
    try:
        status = command(prog_name="prosa", standalone_mode=False)
    except ModuleNotFoundError as error:
        from bot.process.failures import complaint

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
