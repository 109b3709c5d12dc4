"""The words of the fiscal commands: stopped companies, numbering, attempts, operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import fail, settings, with_storage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.process.servers import Storage
    from persistence.db.engine import Database


def add_to(app: typer.Typer, empresa: typer.Typer) -> None:
    """Put the commands of this module where they belong."""
    empresa.command("liberar")(liberar)
    empresa.command("certificado")(certificado)
    empresa.command("canal")(canal)
    app.command()(reprocessar)
    app.command()(enviar)
    app.command()(numeracao)
    app.command()(restaurado)
    app.command()(idempotencia)


def _on_database(work: Callable[[Database], Awaitable[list[str]]]) -> None:
    """Run ``work`` on the product's database and print its lines."""
    from operations.protocol import CommandRefusedError

    async def session(storage: Storage) -> None:
        from persistence.db.engine import Database

        database = await Database.open(storage.database_url, size=1)
        try:
            for line in await work(database):
                typer.echo(line)
        except CommandRefusedError as error:
            fail(str(error))
        finally:
            await database.close()

    with_storage(settings(quiet=True), session)


def liberar(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa cujos envios estão parados.")],
) -> None:
    """Volta a enviar as notas de uma empresa que o gateway recusava (401 ou 403)."""
    from operations.protocol import release

    _on_database(lambda database: release(database, cnpj))


def certificado(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    vence: Annotated[str, typer.Argument(help='Último dia em que o certificado vale, como 2027-03-14; "" esquece.')],
) -> None:
    """Anota até quando vale o certificado que a empresa tem no gateway; o console avisa antes."""
    from operations.certificate import note_expiry

    _on_database(lambda database: note_expiry(database, cnpj, vence))


def canal(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    nome: Annotated[str | None, typer.Argument(help="Canal das próximas notas; sem ele, mostra o de agora.")] = None,
    ambiente: Annotated[
        str | None, typer.Option(help="producao ou homologacao; sem ele, o de PROSA_FISCAL_ENVIRONMENT.")
    ] = None,
    documento: Annotated[str, typer.Option(help="De que documentos: servico ou produto.")] = "servico",
) -> None:
    """Mostra ou muda o canal pelo qual a empresa emite; notas já confirmadas seguem no canal em que nasceram."""
    from gateway.registry import REGISTRY
    from operations.channel import choose, show

    natures = {name: row.natureza for name, row in REGISTRY.items()}
    if nome is None:
        _on_database(lambda database: show(database, natures, cnpj, documento))
    else:
        _on_database(lambda database: choose(database, natures, cnpj, documento, nome, ambiente))


def reprocessar(
    id_integracao: Annotated[str, typer.Argument(help="Referência da tentativa recusada, como 211126-07f40961-r1-1.")],
) -> None:
    """Tenta de novo uma nota recusada por culpa nossa, depois de acertado o cadastro; nunca duplica."""
    from operations.protocol import reprocess

    _on_database(lambda database: reprocess(database, id_integracao))


def enviar(
    id_integracao: Annotated[str, typer.Argument(help="Referência da emissão parada, como 211126-07f40961-r1-1.")],
) -> None:
    """Envia de novo os dados guardados de uma nota que certamente ninguém aceitou; recusa se houver dúvida."""
    from operations.protocol import send_stored

    _on_database(lambda database: send_stored(database, id_integracao))


def numeracao(
    explicar: Annotated[str | None, typer.Option(help="Números a explicar, como 12 ou 12-14.")] = None,
    sequencia: Annotated[int | None, typer.Option(help="De qual sequência (o número da primeira coluna).")] = None,
    motivo: Annotated[str, typer.Option(help="Por que esses números nunca terão nota, ou por que bloquear.")] = "",
    bloquear: Annotated[bool, typer.Option("--bloquear", help="Não dá mais números desta sequência.")] = False,
    desbloquear: Annotated[bool, typer.Option("--desbloquear", help="Volta a dar números desta sequência.")] = False,
) -> None:
    """Mostra as sequências de RPS e seus buracos; ou explica um buraco, bloqueia ou libera uma sequência."""
    from operations.numbering import block, explain, report

    if bloquear or desbloquear:
        _on_database(lambda database: block(database, sequencia, motivo if bloquear else None))
    elif explicar is None:
        _on_database(report)
    else:
        _on_database(lambda database: explain(database, sequencia, explicar, motivo))


def restaurado(
    rps: Annotated[
        list[str] | None, typer.Option(help="SEQUÊNCIA:ÚLTIMO, o último RPS que o gateway conhece; repetível.")
    ] = None,
) -> None:
    """Depois de restaurar uma cópia do banco, antes de abrir as portas: nada sai sem perguntar antes ao gateway."""
    from operations.restored import restore

    _on_database(lambda database: restore(database, rps or ()))


def idempotencia(
    processo: Annotated[
        str | None, typer.Option(help="Só as desta sessão ou deste cliente, também as terminadas.")
    ] = None,
) -> None:
    """Lista as operações de que ninguém sabe como terminaram; ou todas as de um processo."""
    from operations.idempotency import report

    _on_database(lambda database: report(database, processo))
