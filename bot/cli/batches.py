"""``prosa lote``: a list of addresses is read, sent after a yes, asked about, stopped."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations of commands
from typing import Annotated

import typer

from bot.cli.opening import fail, on_database, settings

app = typer.Typer(no_args_is_help=True, help="Listas que viram e-mails, cada um uma vez.")


@app.command("enviar")
def enviar(
    arquivo: Annotated[Path, typer.Argument(help="Arquivo .csv com uma coluna email no cabeçalho.")],
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa que envia.")],
    tipo: Annotated[str, typer.Option(help="O que as linhas viram: envio.")] = "envio",
    assunto: Annotated[str | None, typer.Option(help="Assunto das linhas que não têm um; {nome} é a coluna.")] = None,
    mensagem: Annotated[str | None, typer.Option(help="Texto das linhas que não têm um; {nome} é a coluna.")] = None,
    confirmar: Annotated[str | None, typer.Option(help="Revisão mostrada; sem ela nada é enviado.")] = None,
    repetir: Annotated[bool, typer.Option("--repetir", help="Mesmo conteúdo com outro nome: outro envio.")] = False,
) -> None:
    """Lê uma lista e mostra o que leu; envia só com a revisão que mostrou."""
    from operations.batches.commands import send_list
    from operations.batches.upload import Upload
    from state_machine.mailing.reading import LARGEST

    try:
        with arquivo.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        fail(f"Não foi possível ler {arquivo}: {error.strerror}. Nada mudou.")
    chosen = settings(quiet=True)
    reachable = bool(chosen.smtp_url.get_secret_value())
    upload = Upload(nome_arquivo=arquivo.name, conteudo=content, assunto=assunto, mensagem=mensagem, repetir=repetir)
    on_database(
        lambda database: send_list(
            database, cnpj=empresa, tipo=tipo, file=upload, confirmar=confirmar, reachable=reachable
        ),
        chosen,
    )


@app.command("estado")
def estado(lote: Annotated[int, typer.Argument(help="Número do lote.")]) -> None:
    """Mostra como está um lote: o que saiu, o que espera, o que foi recusado."""
    from operations.batches.commands import show_batch

    on_database(lambda database: show_batch(database, lote))


@app.command("parar")
def parar(lote: Annotated[int, typer.Argument(help="Número do lote.")]) -> None:
    """Para um lote: o que não saiu não sai mais."""
    from operations.batches.commands import stop_batch

    on_database(lambda database: stop_batch(database, lote))


@app.command("liberar")
def liberar(
    email: Annotated[str, typer.Argument(help="Endereço que não recebe mais.")],
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa que envia.")],
    motivo: Annotated[str, typer.Option(help="Quem pediu, e quando; fica na auditoria.")],
) -> None:
    """Deixa um endereço que saiu dos envios receber de novo, a pedido de quem o lê."""
    from operations.batches.commands import release

    on_database(lambda database: release(database, empresa, email, motivo))
