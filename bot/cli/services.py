"""The words of the commands about national service codes: which one everyday words mean, which ones a company has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from state_machine.services.search import ServiceHit


def add_to(app: typer.Typer, _empresa: typer.Typer) -> None:
    """Put the commands of this module where they belong."""
    app.command()(servico)


def servico(
    busca: Annotated[list[str], typer.Argument(help="Palavras do dia a dia, como conserto de celular; ou um código.")],
    quantos: Annotated[int, typer.Option(help="Quantos códigos mostrar.", min=1)] = 8,
) -> None:
    """Procura na lista nacional o código de um serviço, pelas palavras que as pessoas usam."""
    from state_machine.services.codes import table
    from state_machine.services.search import search

    found = search(" ".join(busca), quantos)
    tabela = table()
    for line in map(_told, found):
        typer.echo(line)
    if not found:
        typer.echo("Nenhum código tem essas palavras. Tente outras, como o nome da profissão.")
    typer.echo(f"Lista nacional de {len(tabela.codigos)} códigos, Anexo I versão {tabela.versao}.")
    typer.echo("A busca só sugere: quem decide o código é a contabilidade.")


def _told(hit: ServiceHit) -> str:
    from state_machine.services.codes import dotted

    return f"{dotted(hit.codigo)}  {hit.texto}  [{', '.join(hit.palavras)}]"
