"""``prosa pessoa …``: the words by which an operator answers an LGPD request."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import database_of, fail, on_database, settings, with_storage

if TYPE_CHECKING:
    from bot.process.servers import Storage
    from operations.person import Ensaio
    from persistence.db.engine import Database

REDIS_SECONDS = 5.0  # for one answer of Redis

app = typer.Typer(no_args_is_help=True, help="Pedidos da LGPD: a cópia e o apagamento dos dados de uma pessoa.")

Quem = Annotated[str, typer.Argument(help="Telefone com país, CPF, e-mail, ou o código de uma conversa.")]


@app.command("exportar")
def exportar(
    quem: Quem,
    motivo: Annotated[str, typer.Option(help="Por quê; fica na auditoria.")] = "pedido do titular",
    arquivo: Annotated[Path | None, typer.Option(help="Onde gravar; sem isto, na tela.")] = None,
) -> None:
    """Mostra em JSON tudo o que está guardado sobre uma pessoa."""
    import orjson

    from operations.person import Pedinte, copy

    async def work(database: Database) -> list[str]:
        async with database.transaction() as connection:
            text = orjson.dumps(await copy(connection, quem, motivo, Pedinte()), option=orjson.OPT_INDENT_2).decode()
            if arquivo is None:
                return [text]
            arquivo.touch(mode=0o600)  # nobody else on the machine reads it
            arquivo.write_text(text + "\n")
            return [f"Gravado em {arquivo}."]

    on_database(work)


@app.command("apagar")
def apagar(
    quem: Quem,
    motivo: Annotated[str, typer.Option(help="Por quê; fica na auditoria.")],
    sim: Annotated[bool, typer.Option("--sim", help="Não pergunta: apaga.")] = False,
) -> None:
    """Apaga os dados de uma pessoa; as notas fiscais ficam. Mostra antes o que fará e pergunta."""
    from operations.person import Pedinte, rehearse, remove

    async def look(database: Database) -> None:
        async with database.transaction() as connection:
            ensaio = await rehearse(connection, quem)
        _show(ensaio)
        if ensaio.impedimentos:
            fail(" ".join(("Nada foi apagado.", *ensaio.impedimentos)))
        if ensaio.vazio:
            typer.echo("Nada está guardado sobre esta pessoa; nada mudou.")
            raise typer.Exit

    async def work(storage: Storage) -> None:
        from persistence.conversations.redis_line import RedisLine, connect
        from persistence.conversations.sessions import LiveSessions

        async with database_of(storage) as database, database.transaction() as connection:
            done = await remove(connection, quem, motivo, Pedinte())
        async with connect(storage.redis_url, REDIS_SECONDS) as redis:
            erased = await LiveSessions(RedisLine(redis, REDIS_SECONDS), 0).erase(done.conversas)
        typer.echo("Apagado. As notas fiscais e a auditoria ficam.")
        if not erased:
            fail("O Redis não reescreveu seu arquivo: quando ele voltar, rode BGREWRITEAOF nele (redis-cli).")

    on_database(look)
    if not sim and not typer.confirm("Apagar? Não há volta"):
        fail("Nada foi apagado.")
    with_storage(settings(quiet=True), work)


def _show(ensaio: Ensaio) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("O quê", "Linhas", "O que acontece")
    for nome, quantas, destino in ensaio.linhas:
        if quantas:
            table.add_row(nome, str(quantas), destino)
    Console().print(table)
