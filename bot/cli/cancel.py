"""The words of ``prosa cancelar``: its options, made into an order to cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import fail, settings, with_storage

if TYPE_CHECKING:
    from bot.process.servers import Storage


def cancelar(
    nota: Annotated[str, typer.Argument(help="Número da nota, nossa referência ou id no gateway.")],
    motivo: Annotated[str, typer.Option(help="Por que, em uma frase de 15 a 255 letras.")],
    codigo: Annotated[str, typer.Option(help="1 erro na emissão, 2 serviço não prestado, 9 outros.")] = "9",
    empresa: Annotated[
        str | None, typer.Option(help="CNPJ de quem emitiu, se o número existir em mais de uma.")
    ] = None,
    chave: Annotated[str | None, typer.Option(help="Chave de idempotência: a mesma chave, a mesma resposta.")] = None,
) -> None:
    """Pede o cancelamento de uma nota emitida; repetir o comando não pede outra vez."""
    chosen = settings(secrets=True, quiet=True)

    async def work(storage: Storage) -> None:
        from bot.house import open_house
        from operations.cancel_order import CancelError, Ordem, cancel, standing

        async with open_house(chosen, storage.database_url, storage.redis_url) as house:
            try:
                feito = await cancel(
                    house.database, Ordem(nota=nota, motivo=motivo, codigo=codigo, empresa=empresa, chave=chave)
                )
            except CancelError as error:
                fail(str(error))
            typer.echo(feito.resposta)
            await house.pumps["cancellations"].run_once()  # at once, also where no worker runs
            typer.echo(await standing(house.database, feito.emissao_id))

    with_storage(chosen, work)
