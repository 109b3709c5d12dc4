"""The words of the commands about national service codes: which one everyday words mean, which ones a company has.

The words of ``prosa cancelar``: its options, made into an order to cancel.

``prosa produtos``: what a company sells.

``prosa lote``: a list of addresses is read, sent after a yes, asked about, stopped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.opening import fail, on_database, settings, with_storage
from bot.process.servers import Storage
from state_machine.services.search import ServiceHit


def add_to(app: typer.Typer, empresa: typer.Typer) -> None:
    """Put the commands of this module where they belong."""
    app.command()(servico)
    empresa.command("servico")(empresa_servico)


produtos = typer.Typer(no_args_is_help=True, help="O que uma empresa vende por NF-e e NFC-e.")
_Cnpj = Annotated[str, typer.Argument(help="CNPJ da empresa.")]


@produtos.command("add")
def produtos_add(
    cnpj: _Cnpj,
    codigo: Annotated[str, typer.Option(help="Código do produto na empresa.")],
    texto: Annotated[str, typer.Option(help="Como sai na nota, até 120 letras.")],
    ncm: Annotated[str, typer.Option(help="NCM, 8 algarismos.")],
    preco: Annotated[str, typer.Option(help="Preço de uma unidade, como 12,50.")],
    cfop: Annotated[str, typer.Option(help="CFOP de venda no estado: 5101, 5102 ou 5405.")] = "5102",
    csosn: Annotated[str, typer.Option(help="CSOSN, como 102; a contabilidade sabe.")] = "102",
    unidade: Annotated[str, typer.Option(help="Unidade, como UN ou KG.")] = "UN",
) -> None:
    """Guarda um produto, ou muda o que tem este código."""
    from operations.goods import add

    said = {"codigo": codigo, "texto": texto, "ncm": ncm, "cfop": cfop}
    said |= {"csosn": csosn, "unidade": unidade, "preco": preco}
    on_database(lambda database: add(database, cnpj, said))


@produtos.command("importar")
def produtos_importar(
    cnpj: _Cnpj,
    arquivo: Annotated[
        Path, typer.Argument(help="CSV com ; ou XLSX: codigo texto ncm cfop csosn unidade preco, com vírgula decimal.")
    ],
) -> None:
    """Guarda todos os produtos de uma lista, ou nenhum, dizendo linha e campo do que não serve."""
    from operations.goods import import_file

    on_database(lambda database: import_file(database, cnpj, arquivo))


@produtos.command("listar")
def produtos_listar(cnpj: _Cnpj) -> None:
    """Mostra os produtos da empresa."""
    from operations.goods import show

    on_database(lambda database: show(database, cnpj))


@produtos.command("remover")
def produtos_remover(cnpj: _Cnpj, codigo: Annotated[str, typer.Argument(help="Código do produto na empresa.")]) -> None:
    """Deixa de oferecer um produto; as notas já emitidas ficam como são."""
    from operations.goods import remove

    on_database(lambda database: remove(database, cnpj, codigo))


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
    from operations.batches import Upload, send_list
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
    from operations.batches import show_batch

    on_database(lambda database: show_batch(database, lote))


@app.command("parar")
def parar(lote: Annotated[int, typer.Argument(help="Número do lote.")]) -> None:
    """Para um lote: o que não saiu não sai mais."""
    from operations.batches import stop_batch

    on_database(lambda database: stop_batch(database, lote))


@app.command("liberar")
def liberar(
    email: Annotated[str, typer.Argument(help="Endereço que não recebe mais.")],
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa que envia.")],
    motivo: Annotated[str, typer.Option(help="Quem pediu, e quando; fica na auditoria.")],
) -> None:
    """Deixa um endereço que saiu dos envios receber de novo, a pedido de quem o lê."""
    from operations.batches import release

    on_database(lambda database: release(database, empresa, email, motivo))
