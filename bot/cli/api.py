"""``prosa api``: the API as a process, and the words by which an operator gives other systems keys of it."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli.opening import on_database, run_part, settings

app = typer.Typer(invoke_without_command=True)
chave = typer.Typer(no_args_is_help=True, help="Chaves da API: cada uma age por uma ou mais empresas.")
app.add_typer(chave, name="chave")


@app.callback()
def api(context: typer.Context) -> None:
    """Só a API para outros sistemas (mais réplicas à vontade); ou as chaves dela."""
    if context.invoked_subcommand is None:
        run_part("api")


@app.command("aprovador")
def aprovador(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
    telefone: Annotated[
        str | None, typer.Option(help="Telefone de quem aprova, entre quem emite; sem ele, só mostra.")
    ] = None,
) -> None:
    """Mostra ou escolhe quem aprova no WhatsApp o que outros sistemas propõem; sem escolha, a primeira pessoa."""
    from operations.api.approver import choose_approver

    on_database(lambda database: choose_approver(database, empresa, telefone))


@chave.command("criar")
def criar(
    empresa: Annotated[list[str], typer.Option(help="CNPJ da empresa pela qual a chave age; repetível.")],
    escopo: Annotated[
        list[str] | None,
        typer.Option(help="O que poderá fazer, como propostas:escrever ou lotes:*; repetível."),
    ] = None,
    tudo: Annotated[bool, typer.Option("--tudo", help="A chave poderá fazer tudo pela empresa.")] = False,
    validade: Annotated[int, typer.Option(min=1, max=3650, help="Por quantos dias a chave vale.")] = 365,
) -> None:
    """Cria uma chave e a mostra, só ela e só desta vez; guarda-se apenas o resumo SHA-256."""
    from operations.api.keys import make_key
    from state_machine.protocol.channel import Ambiente

    chosen = settings(quiet=True)
    own = Ambiente(chosen.fiscal_environment)
    on_database(lambda database: make_key(database, empresa, escopo or (), own, tudo=tudo, dias=validade), chosen)


@chave.command("listar")
def listar(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
) -> None:
    """Lista as chaves de uma empresa pelo começo: quando foram criadas, usadas e revogadas."""
    from operations.api.keys import list_keys

    on_database(lambda database: list_keys(database, empresa))


@chave.command("revogar")
def revogar(
    prefixo: Annotated[str, typer.Argument(help="Começo da chave, como prosa_live_a1B2c3D4.")],
) -> None:
    """Faz uma chave não valer mais, na hora."""
    from operations.api.keys import revoke_key

    on_database(lambda database: revoke_key(database, prefixo))
