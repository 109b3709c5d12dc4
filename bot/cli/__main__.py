"""The command line: reads words, starts what they ask for, says in one sentence what went wrong.

To add a command: what it does is a function in ``operations`` (rows) or ``bot/operator`` (the installation). It
returns the lines to print, raises ``CommandRefusedError`` with a Portuguese sentence, and writes its audit row in the
same transaction. Its words are a function in a module of ``bot/cli``, whose docstring and every ``help`` are the
Portuguese help; ``bot/cli/fiscal.py`` is the pattern. It imports inside the function all but typer and
``bot.cli.opening``. Its name is given here or in the family's ``add_to``; one that needs a simulator stands in
``proofs/commands``, ``proofs/__main__.py`` and ``_OF_CLONES`` of ``bot/cli/words.py``. Then a row in ``docs/cli.md``.
``tests/bot/cli/test_cli.py`` and ``tests/repository/test_docs.py`` name what is missing.
"""

from __future__ import annotations

import re
import sys
from typing import Annotated

import typer

from bot.cli import fiscal as cli_fiscal
from bot.cli import services as cli_services
from bot.cli.doctor import doctor
from bot.cli.opening import fail, on_database, run_part, settings, with_storage
from bot.cli.services import app as lote
from bot.cli.services import cancelar, produtos
from bot.cli.staff import api_app as api
from bot.cli.staff import app as staff
from bot.cli.staff import auditoria, conferir
from bot.cli.staff import pessoa_app as pessoa
from bot.cli.words import run
from bot.process.servers import Storage
from persistence.db.engine import Database

# Modules are imported inside the commands: `prosa --help` must not wait for a database driver.

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Prosa emite notas de serviço e de produto pelo WhatsApp. Experimente sem conta nenhuma: ./prosa demo",
)
empresa = typer.Typer(no_args_is_help=True, help="Empresas que emitem, e quem pode emitir por elas.")
app.add_typer(empresa, name="empresa")
app.add_typer(staff, name="staff")
app.add_typer(pessoa, name="pessoa")
app.add_typer(auditoria, name="auditoria")
app.add_typer(api, name="api")
app.add_typer(lote, name="lote")
app.add_typer(produtos, name="produtos")


def main() -> None:
    """Run the command that was typed; ends the process with its status."""
    run(app)


@app.command()
def serve() -> None:
    """Web e worker em um processo só."""
    run_part("serve")


@app.command()
def web() -> None:
    """Só recebe webhooks (mais réplicas à vontade)."""
    run_part("web")


@app.command()
def worker() -> None:
    """Só processa conversas, emissões e envios (mais réplicas à vontade)."""
    run_part("worker")


app.command()(doctor)


@app.command()
def migrate() -> None:
    """Cria ou atualiza as tabelas do banco."""

    async def work(_storage: Storage) -> None:
        typer.echo("O banco está na versão mais nova.")

    with_storage(settings(quiet=True), work, migrate=True)


@app.command()
def reconcile() -> None:
    """Pergunta agora ao gateway por todas as emissões sem resposta final."""
    chosen = settings(secrets=True, quiet=True)

    async def work(storage: Storage) -> None:
        from bot.house import open_house
        from bot.operator.reconcile import ask_now

        async with open_house(chosen, storage.database_url, storage.redis_url) as house:
            for line in await ask_now(house):
                typer.echo(line)

    with_storage(chosen, work)


@empresa.command("add")
def empresa_add(
    cnpj: Annotated[str, typer.Option(help="CNPJ da empresa que emite.")],
    razao_social: Annotated[str, typer.Option(help="Razão social, como no cartão CNPJ.")],
    inscricao_municipal: Annotated[str, typer.Option(help="Inscrição municipal.")],
    municipio: Annotated[str, typer.Option(help="Código IBGE do município, 7 dígitos.")],
    usuario: Annotated[list[str], typer.Option(help="Telefone de quem pode emitir, como +5511912345678; repetível.")],
    regime: Annotated[str | None, typer.Option(help="mei (padrão), simples, simples-pendente ou normal.")] = None,
    codigo_servico: Annotated[
        str | None, typer.Option(help="6 dígitos da lista nacional (padrão 170101), ou item da LC 116.")
    ] = None,
    atividade_sn: Annotated[
        str | None, typer.Option(help="Simples: a atividade deste código (cAtvSN), como 07; a contabilidade diz.")
    ] = None,
    cnae: Annotated[str | None, typer.Option(help="CNAE, 7 dígitos.")] = None,
    aliquota: Annotated[str | None, typer.Option(help="Alíquota do ISS em %, como 2.5.")] = None,
    serie_rps: Annotated[
        str | None, typer.Option(help="A Prosa numera os RPS nesta série; vazia: o gateway numera (padrão).")
    ] = None,
    primeiro_rps: Annotated[int | None, typer.Option(help="Primeiro RPS de uma série nova (padrão 1).")] = None,
    mei_transporte: Annotated[
        bool | None,
        typer.Option(
            "--mei-transporte/--mei-geral",
            help="O MEI é de transporte de carga (caminhoneiro), com limite anual próprio, ou não é (padrão).",
        ),
    ] = None,
    canal: Annotated[
        list[str] | None,
        typer.Option(
            help="Canal das próximas notas; um de serviços (plugnotas, nacional, paulistana; padrão: PROSA_GATEWAY) e, "
            "para produtos, nfe, nfce ou os dois; repetível."
        ),
    ] = None,
    inscricao_estadual: Annotated[str | None, typer.Option(help="Produtos: inscrição estadual.")] = None,
    serie_nfe: Annotated[int | None, typer.Option(help="NF-e: série só da Prosa, 1 a 889 (padrão 1).")] = None,
    primeiro_nfe: Annotated[int | None, typer.Option(help="NF-e: primeiro número da série (padrão 1).")] = None,
    serie_nfce: Annotated[int | None, typer.Option(help="NFC-e: série só da Prosa, 1 a 889 (padrão 1).")] = None,
    primeiro_nfce: Annotated[int | None, typer.Option(help="NFC-e: primeiro número da série (padrão 1).")] = None,
    csc: Annotated[
        str | None,
        typer.Option(help="NFC-e: CSC como ID:TOKEN; só o QR code versão 2 o usa (PROSA_SEFAZ_CSC_FILE)."),
    ] = None,
    tributos_sn: Annotated[
        str | None, typer.Option(help="Alíquota efetiva do Simples em %, como 6; o canal nacional pede.")
    ] = None,
    reg_apuracao_ibscbs: Annotated[
        str | None,
        typer.Option(help="Simples, em 2027: 1 paga IBS e CBS no Simples, 2 só a CBS, 3 os dois fora dele."),
    ] = None,
    tributos_federal: Annotated[
        str | None, typer.Option(help="Regime normal: carga aproximada de tributos federais em %, como 13.45.")
    ] = None,
    tributos_estadual: Annotated[str | None, typer.Option(help="O mesmo, estaduais.")] = None,
    tributos_municipal: Annotated[str | None, typer.Option(help="O mesmo, municipais.")] = None,
    nbs: Annotated[str | None, typer.Option(help="Canal paulistana: NBS do serviço, 9 dígitos.")] = None,
    cindop: Annotated[str | None, typer.Option(help="Canal paulistana: cIndOp do serviço, 6 dígitos.")] = None,
    cclasstrib: Annotated[str | None, typer.Option(help="Canal paulistana: cClassTrib, 6 dígitos.")] = None,
    informa_im: Annotated[
        bool | None,
        typer.Option(
            "--informa-im/--sem-im",
            help="Canal nacional: a nota leva a inscrição municipal, que a cidade registrou no CNC; ou não (padrão).",
        ),
    ] = None,
    email_contador: Annotated[
        str | None, typer.Option(help='E-mail que recebe o fechamento do mês, quando a pessoa pede; "" esquece.')
    ] = None,
) -> None:
    """Cadastra uma empresa e quem pode emitir por ela; rodar de novo atualiza o que for dito."""
    from bot.operator.doctor import layout_of
    from gateway.nfe.sale import CSC
    from gateway.register import CNPJRegister, CompanyEntry
    from gateway.registry import rows_for
    from operations.channel import left_out_of
    from operations.company import CompanyForm, add_company
    from state_machine.protocol.channel import Canal

    chosen = settings(quiet=True)
    known = rows_for(chosen)
    of_goods = [nome for nome in canal or () if nome in known and known[nome].natureza.documento != "servico"]
    of_services = [nome for nome in canal or () if nome not in of_goods]
    if len(of_services) > 1:
        fail(f"--canal: um só para serviços, e vieram {', '.join(of_services)}. Nada foi gravado.")
    if csc is not None and not CSC.fullmatch(csc):
        fail("--csc é o código e o token da Sefaz, como 1:0123456789ABCDEF. Nada foi gravado.")
    form = CompanyForm(
        cnpj=cnpj,
        razao_social=razao_social,
        inscricao_municipal=inscricao_municipal,
        municipio=municipio,
        usuarios=tuple(usuario),
        regime=regime,
        codigo_servico=codigo_servico,
        cnae=cnae,
        aliquota=aliquota,
        serie_rps=serie_rps,
        primeiro_rps=primeiro_rps,
        mei_transporte=mei_transporte,
        canal=of_services[0] if of_services else None,
        mercado=tuple(dict.fromkeys(of_goods)),
        inscricao_estadual=inscricao_estadual,
        serie_nfe=serie_nfe,
        primeiro_nfe=primeiro_nfe,
        serie_nfce=serie_nfce,
        primeiro_nfce=primeiro_nfce,
        tributos_sn=tributos_sn,
        tributos_federal=tributos_federal,
        tributos_estadual=tributos_estadual,
        tributos_municipal=tributos_municipal,
        informa_im=informa_im,
        apuracao_ibscbs=reg_apuracao_ibscbs,
        atividade_sn=atividade_sn,
        nbs=nbs,
        ind_op=cindop,
        class_trib=cclasstrib,
        email_contador=email_contador,
    )

    async def work(database: Database) -> list[str]:
        register = CNPJRegister(chosen.cnpj_api_url, timeout=chosen.cnpj_api_timeout_seconds, guard=lambda: None)
        async with register:
            entry = await register.lookup(re.sub(r"\W", "", cnpj).upper()) if of_goods else None
        endereco = entry.endereco if isinstance(entry, CompanyEntry) else None
        await add_company(database, form, Canal(chosen.gateway), known, endereco)
        said = f"{razao_social} pode emitir; telefones autorizados nesta chamada: {len(usuario)}."
        lacks = await left_out_of(database, known, cnpj)
        if csc is not None:
            lacks.append("O CSC não foi guardado: o QR code é o da versão 3, que não o usa.")
        if of_goods and endereco is None:
            lacks.append(
                "O cadastro do CNPJ não disse o endereço da empresa, que a nota leva: rode de novo mais tarde."
            )
        return [said, *await layout_of(database, chosen, cnpj), *lacks]

    on_database(work, chosen)


@empresa.command("remover-usuario")
def empresa_remover_usuario(
    telefone: Annotated[str, typer.Argument(help="Telefone que não emite mais, como +5511912345678.")],
    motivo: Annotated[str, typer.Option(help="Por quê; fica na auditoria.")] = "pedido da empresa",
) -> None:
    """Tira de um telefone o direito de emitir, na hora; o que já foi confirmado segue até o resultado."""
    from operations.company import remove_user, told
    from persistence.access.accounts import Alcance

    async def work(database: Database) -> list[str]:
        async with database.transaction() as connection:
            everything = Alcance(todas=True)
            done = await remove_user(connection, telefone, motivo, everything, quem="linha de comando", staff_id=None)
        return [told(done)]

    on_database(work)


@app.command()
def contatos() -> None:
    """Lista números que escreveram e não pertencem a nenhuma empresa."""
    from operations.person import show_unknown

    on_database(show_unknown)


@app.command()
def replay(linha: Annotated[int, typer.Argument(help="Número da linha da caixa de entrada em quarentena.")]) -> None:
    """Tenta de novo uma mensagem que ficou em quarentena."""
    from persistence.queue.backlog import Backlog

    async def work(database: Database) -> list[str]:
        if not await Backlog(database).replay(linha):
            fail(f"A linha {linha} não está em quarentena; nada mudou.")
        return [f"A linha {linha} voltou para a fila; um worker vai tentar de novo."]

    on_database(work)


app.command()(cancelar)
app.command()(conferir)
cli_fiscal.add_to(app, empresa)
cli_services.add_to(app, empresa)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def test(context: typer.Context) -> None:
    """Estilo, tipos, camadas e todos os testes; com argumentos, só pytest com eles; --changed: os perto da mudança."""
    from bot.operator.selftest import run

    sys.exit(run(context.args))


if __name__ == "__main__":
    main()
