"""``prosa staff …``: the words by which an operator gives people access to the console."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import DEMO, fail, on_database, settings

if TYPE_CHECKING:
    from bot.settings import Settings
    from console.access.accounts import Enrolment
    from persistence.db.engine import Database

app = typer.Typer(no_args_is_help=True, help="Quem atende: contas do console, com papel e empresas.")


@app.command("add")
def add(
    nome: Annotated[str, typer.Argument(help="Nome de entrada, em minúsculas, como ana.souza.")],
    papel: Annotated[str, typer.Option(help="leitura, suporte, supervisor ou admin.")],
    empresa: Annotated[list[str] | None, typer.Option(help="CNPJ que atende; repetível. Sem isto, todas.")] = None,
    exibicao: Annotated[
        str | None,
        typer.Option(help="Nome que o cliente lê. Sem isto, o de antes ou o de entrada: ana.souza, Ana Souza."),
    ] = None,
) -> None:
    """Cria a conta ou a refaz (senha e código novos, sessões encerradas) e mostra o que a pessoa precisa, uma vez."""
    from bot.master_key import vault_of
    from console.access.accounts import enrol
    from persistence.access.accounts import Papel

    if papel not in {item.value for item in Papel}:
        fail(f"--papel é um destes: {', '.join(Papel)}. Nada mudou.")

    chosen = _where()

    async def work(database: Database) -> None:
        show(await enrol(database, vault_of(chosen), nome, Papel(papel), empresa or (), exibicao=exibicao))

    on_database(work, chosen)


@app.command("name")
def name(
    nome: Annotated[str, typer.Argument(help="Nome de entrada.")],
    exibicao: Annotated[str, typer.Argument(help='Nome que o cliente lê, como "Ana Souza".')],
) -> None:
    """Muda o nome que o cliente lê; a senha, o código e as sessões continuam."""
    from console.access.accounts import rename

    async def work(database: Database) -> list[str]:
        return [f"{nome} aparece para o cliente como {await rename(database, nome, exibicao)}."]

    on_database(work, _where())


@app.command("list")
def list_() -> None:
    """Lista as contas."""
    from rich.console import Console
    from rich.table import Table

    from persistence.access import accounts as staff

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            rows = await staff.everybody(connection)
        table = Table("Nome", "O cliente lê", "Papel", "Empresas", "Situação", title="Contas do console")
        for row in rows:
            empresas = "todas" if row.todas_empresas else ", ".join(row.cnpjs or ())
            table.add_row(row.nome, row.exibido, row.papel, empresas, "desativada" if row.desativado_em else "ativa")
        Console().print(table)

    on_database(work, _where())


@app.command("off")
def off(nome: Annotated[str, typer.Argument(help="Nome de entrada.")]) -> None:
    """Desativa uma conta: as sessões terminam e as conversas assumidas voltam para a Prosa."""
    from persistence.access import accounts as staff
    from persistence.audit import records as audit

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            if not await staff.switch_off(connection, nome.strip().lower()):
                fail(f"Não há conta ativa com o nome {nome}. Nada mudou.")
            await audit.write(connection, staff_id=None, quem="linha de comando", acao="conta desativada", alvo=nome)
        typer.echo(f"{nome} não entra mais.")

    on_database(work, _where())


@app.command("desbloquear")
def desbloquear(nome: Annotated[str, typer.Argument(help="Nome de entrada.")]) -> None:
    """Esquece as tentativas erradas de entrar em uma conta: a próxima é conferida sem espera."""
    from console.access.accounts import unblock

    async def work(database: Database) -> None:
        if not await unblock(database, nome):
            fail(f"Não há conta ativa com o nome {nome}. Nada mudou.")
        typer.echo(
            f"A próxima entrada de {nome} é conferida sem espera. "
            "Só um endereço que tentou muitas contas ainda espera, até um minuto."
        )

    on_database(work, _where())


@app.command("rekey")
def rekey() -> None:
    """Cifra de novo, com a chave mais nova de PROSA_MASTER_KEY, os segredos das contas e as chaves dos certificados."""
    from bot.master_key import vault_of
    from console.access.accounts import rekey as seal_anew
    from persistence.audit import records as audit
    from persistence.crypto import NoMasterKeyError
    from persistence.people import certificate_vault

    chosen = _where()

    async def work(database: Database) -> None:
        cofre = vault_of(chosen)
        try:
            done, lost = await seal_anew(database, cofre)
        except NoMasterKeyError:
            fail("Falta PROSA_MASTER_KEY. Nada mudou.")
        async with database.transaction() as connection:
            certificates, closed = await certificate_vault.rekey(connection, cofre)
            detalhe = {"refeitos": done + certificates, "ilegiveis": len(lost) + len(closed)}
            await audit.write(
                connection, staff_id=None, quem="linha de comando", acao="trocou a chave", detalhe=detalhe
            )
        typer.echo(f"{done + certificates} cifrados de novo.")
        advice = []
        if lost:
            advice.append(f"Sem a chave antiga não se leem os de: {', '.join(lost)}. Refaça com prosa staff add.")
        if closed:
            advice.append(
                f"Sem a chave antiga não se abrem os certificados de: {', '.join(closed)}. "
                "Guarde de novo com prosa empresa certificado CNPJ --pfx."
            )
        if advice:
            fail(" ".join(advice))

    on_database(work, chosen)


@app.command("code")
def code(segredo: Annotated[str | None, typer.Argument(hidden=True)] = None) -> None:
    """Mostra o código deste momento, para quem experimenta sem um autenticador; pede o segredo, ou o lê da entrada."""
    import binascii

    import pyotp

    if segredo is not None:
        fail(
            "O segredo não vai na linha de comando, que fica no histórico e na lista de processos. "
            "Rode prosa staff code e digite o segredo quando for pedido. Se ele era real, refaça com prosa staff add."
        )
    typed = typer.prompt("Segredo", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    try:
        typer.echo(pyotp.TOTP(typed.replace(" ", "").strip().upper()).now())
    except (binascii.Error, ValueError):
        fail("Isto não é um segredo em base32.")


def show(enrolment: Enrolment) -> None:
    """Print what the new member of staff needs, and the QR code."""
    import segno

    typer.echo(f"\nConta {enrolment.nome}: entre em /console e troque a senha.\n")
    typer.echo(f"  senha provisória   {enrolment.senha}")
    typer.echo(f"  segredo do código  {enrolment.segredo}")
    typer.echo(f"  endereço do QR     {enrolment.uri}\n")
    segno.make(enrolment.uri, error="l").terminal(compact=True)
    typer.echo(
        "\nIsto não será mostrado de novo. Leia o QR com um autenticador e entregue a senha por um canal seguro."
    )


def _where() -> Settings:
    """Return the settings of the database to work on: the demo's while it alone runs, for it has a key of its own."""
    from persistence.embedded.supervisor import running

    chosen = settings(quiet=True)
    demo = chosen.home / DEMO
    if chosen.database_url is not None or running(chosen.home) or not running(demo):
        return chosen
    typer.echo("Usando a demonstração que está no ar.")
    return chosen.model_copy(update={"home": demo, "redis_url": None})
