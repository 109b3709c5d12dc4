"""The words of ``prosa conferir``: reads them, prints what the audit found, and ends with its status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli_opening import settings, with_storage

if TYPE_CHECKING:
    from bot.storage import Storage

_DIAS = 3
_MAX_DIAS = 366


def conferir(
    dias: Annotated[int, typer.Option(min=1, max=_MAX_DIAS, help="Quantos dias, contando hoje.")] = _DIAS,
    cnpj: Annotated[str | None, typer.Option(help="Só a empresa deste CNPJ.")] = None,
) -> None:
    """Compara as nossas notas com a lista do gateway; sai com 1 se algo difere, 2 se o gateway não soube dizer."""
    from state_machine.documents import normaliza

    chosen = settings(secrets=True, quiet=True)

    async def work(storage: Storage) -> None:
        from bot.audit_report import UNKNOWN, lines, status_of
        from bot.house import open_house

        async with open_house(chosen, storage.database_url, storage.redis_url) as house:
            conferidas = await house.audit.run(dias, normaliza(cnpj) if cnpj else None)
        if cnpj and not conferidas:
            typer.secho(f"Nenhuma empresa com o CNPJ {cnpj}; nada foi comparado.", fg="red", err=True)
            raise typer.Exit(UNKNOWN)
        for line in lines(conferidas):
            typer.echo(line)
        raise typer.Exit(status_of(conferidas))

    with_storage(chosen, work)
