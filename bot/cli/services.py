"""The words of the commands about national service codes: which one everyday words mean, which ones a company has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.opening import fail, on_database

if TYPE_CHECKING:
    from state_machine.services.search import ServiceHit


def add_to(app: typer.Typer, empresa: typer.Typer) -> None:
    """Put the commands of this module where they belong."""
    app.command()(servico)
    empresa.command("servico")(empresa_servico)


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


def empresa_servico(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    add: Annotated[str | None, typer.Option("--add", help="Código a dar à empresa, como 01.07.01.")] = None,
    remove: Annotated[str | None, typer.Option("--remove", help="Código a tirar da empresa.")] = None,
    listar: Annotated[bool, typer.Option("--list", help="Só mostra os códigos; é o que faz sem opção.")] = False,
    descricao: Annotated[str | None, typer.Option(help="Como a empresa chama este serviço; ajuda a escolher.")] = None,
    nbs: Annotated[str | None, typer.Option(help="cNBS deste serviço, como 1.1506.10.00.")] = None,
    ind_op: Annotated[str | None, typer.Option(help="cIndOp do IBS e da CBS, 6 dígitos; pede o NBS.")] = None,
    cst: Annotated[str | None, typer.Option(help="CST do IBS e da CBS; sem ele, 000, o caso comum.")] = None,
    class_trib: Annotated[str | None, typer.Option(help="cClassTrib; sem ele, 000001, o caso comum.")] = None,
    atividade_sn: Annotated[
        str | None, typer.Option(help="Simples: a atividade deste código (cAtvSN), como 07.")
    ] = None,
    principal: Annotated[bool, typer.Option("--principal", help="O código de --add passa a ser o principal.")] = False,
) -> None:
    """Mostra ou muda os códigos de serviço da empresa no emissor nacional; a conversa escolhe entre eles."""
    from operations import services

    if [add is not None, remove is not None, listar].count(True) > 1:
        fail("Diga uma coisa só: --add, --remove ou --list. Nada mudou.")
    if add is None and (
        principal or any(said is not None for said in (descricao, nbs, ind_op, cst, class_trib, atividade_sn))
    ):
        fail(
            "--descricao, --nbs, --ind-op, --cst, --class-trib, --atividade-sn e --principal vão com --add. Nada mudou."
        )
    if add is not None:
        form = services.ServiceForm(
            codigo=add,
            descricao=descricao,
            nbs=nbs,
            principal=principal,
            ind_op=ind_op,
            cst=cst,
            class_trib=class_trib,
            atividade_sn=atividade_sn,
        )
        on_database(lambda database: services.add(database, cnpj, form))
    elif remove is not None:
        said = remove
        on_database(lambda database: services.remove(database, cnpj, said))
    else:
        on_database(lambda database: services.show(database, cnpj))


def _told(hit: ServiceHit) -> str:
    from state_machine.services.codes import dotted

    return f"{dotted(hit.codigo)}  {hit.texto}  [{', '.join(hit.palavras)}]"
