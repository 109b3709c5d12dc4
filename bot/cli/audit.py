"""The words of ``prosa conferir`` and ``prosa auditoria``: prints what was found, and ends with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import fail, on_database, settings, with_storage

if TYPE_CHECKING:
    from bot.process.servers import Storage
    from persistence.db.engine import Database

_DIAS = 3
_MAX_DIAS = 366

auditoria = typer.Typer(no_args_is_help=True, help="O registro do que a equipe fez.")


@auditoria.command("verificar")
def verificar(
    cabeca: Annotated[
        str | None, typer.Option(help="Cabeça guardada de uma verificação anterior, como 120:ab12….")
    ] = None,
) -> None:
    """Confere se a auditoria está como foi escrita; sai com 1 se não está. Guarde a cabeça fora deste servidor."""
    from persistence.audit.chain import Cabeca, UnreadableHeadError, verify

    try:
        guardada = Cabeca.read(cabeca) if cabeca else None
    except UnreadableHeadError:
        fail("--cabeca é o que este comando mostrou, como 120:ab12…; nada foi conferido.")

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            visto = await verify(connection, guardada)
        typer.echo(
            f"Linhas conferidas: {visto.linhas}. Anteriores à cadeia, conferidas desde a migração: {visto.de_antes}."
        )
        if visto.quebra:
            onde = "no fim" if visto.quebra.linha is None else f"na linha {visto.quebra.linha}"
            fail(f"A auditoria não está como foi escrita. Primeira quebra {onde}: {visto.quebra.porque}. Nada mudou.")
        typer.echo(f"Cabeça: {visto.cabeca or 'nenhuma linha ainda'}")

    on_database(work)


def conferir(
    dias: Annotated[int, typer.Option(min=1, max=_MAX_DIAS, help="Quantos dias, contando hoje.")] = _DIAS,
    cnpj: Annotated[str | None, typer.Option(help="Só a empresa deste CNPJ.")] = None,
    canal: Annotated[str | None, typer.Option(help="Só as empresas deste canal, como nacional.")] = None,
) -> None:
    """Compara as nossas notas com a lista do gateway; sai com 1 se algo difere, 2 se o gateway não soube dizer."""
    from state_machine.values.documents import normaliza

    chosen = settings(secrets=True, quiet=True)

    async def work(storage: Storage) -> None:
        from bot.house import open_house
        from bot.operator.audit_report import UNKNOWN, lines, status_of

        async with open_house(chosen, storage.database_url, storage.redis_url) as house:
            conferidas = await house.audit.run(dias, normaliza(cnpj) if cnpj else None, canal)
        if (cnpj or canal) and not conferidas:
            which = " ".join([*([f"com o CNPJ {cnpj}"] if cnpj else []), *([f"no canal {canal}"] if canal else [])])
            typer.secho(f"Nenhuma empresa {which}; nada foi comparado.", fg="red", err=True)
            raise typer.Exit(UNKNOWN)
        for line in lines(conferidas):
            typer.echo(line)
        raise typer.Exit(status_of(conferidas))

    with_storage(chosen, work)
