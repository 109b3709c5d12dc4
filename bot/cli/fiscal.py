"""The words of the fiscal commands: stopped companies, numbering, attempts, operations."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.opening import fail, on_database, settings
from persistence.db.engine import Database

PASSWORD: Final = "PROSA_PFX_SENHA"  # noqa: S105 - the name of a variable, which no setting has: it is for one command


def add_to(app: typer.Typer, empresa: typer.Typer) -> None:
    """Put the commands of this module where they belong."""
    empresa.command("liberar")(liberar)
    empresa.command("certificado")(certificado)
    empresa.command("canal")(canal)
    empresa.command("verificar")(verificar)
    app.command()(reprocessar)
    app.command()(enviar)
    app.add_typer(numeros, name="numeracao")
    app.command()(corrigir)
    app.command()(restaurado)
    app.command()(idempotencia)
    app.command()(fechamento)


def liberar(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa cujos envios estão parados.")],
) -> None:
    """Volta a enviar as notas de uma empresa que o gateway recusava (401 ou 403)."""
    from operations.protocol import release

    on_database(lambda database: release(database, cnpj))


def certificado(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    vence: Annotated[
        str | None,
        typer.Argument(help='Último dia do certificado que está no gateway, como 2027-03-14; "" esquece.'),
    ] = None,
    pfx: Annotated[
        Path | None,
        typer.Option(help=f"Arquivo do A1 (.pfx ou .p12) a guardar, cifrado. A senha vem de {PASSWORD}, ou é pedida."),
    ] = None,
    destruir: Annotated[bool, typer.Option("--destruir", help="Destrói a chave do certificado guardado.")] = False,
    anterior: Annotated[
        bool, typer.Option("--anterior", help="Volta ao certificado de antes da última troca, se ainda está guardado.")
    ] = False,
) -> None:
    """Guarda o certificado A1 da empresa, ou só anota até quando vale o do gateway; o console avisa antes."""
    from operations.certificate import destroy_certificate, former_certificate, keep_certificate, note_expiry

    senha = os.environ.pop(PASSWORD, None)  # no process that is started from here on gets it
    if [vence is not None, pfx is not None, destruir, anterior].count(True) != 1:
        fail("Diga uma coisa só: a data em que vence, ou --pfx ARQUIVO, ou --anterior, ou --destruir. Nada mudou.")
    if vence is not None:
        said = vence
        on_database(lambda database: note_expiry(database, cnpj, said))
    elif pfx is None:
        work = destroy_certificate if destruir else former_certificate
        on_database(lambda database: work(database, cnpj))
    else:
        from bot.master_key import vault_of
        from gateway import process_apart

        process_apart.leave_no_core()  # the key would be in it
        arquivo = _file(pfx)
        typed = _password() if senha is None else senha
        chosen = settings(quiet=True)
        cofre, raizes = vault_of(chosen), chosen.company_roots()
        on_database(
            lambda database: keep_certificate(
                database,
                cofre,
                cnpj=cnpj,
                arquivo=arquivo,
                senha=typed,
                raizes=raizes,
                unchecked=chosen.icp_brasil_unchecked_replaces,
            ),
            chosen,
        )


def _file(pfx: Path) -> bytes:
    from state_machine.values.certificate import LARGEST_FILE

    try:
        with pfx.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        fail(f"Não foi possível ler {pfx}: {error.strerror}. Nada mudou.")


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Senha do arquivo", hide_input=True))
    return sys.stdin.readline().rstrip("\r\n")


def canal(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    nome: Annotated[str | None, typer.Argument(help="Canal das próximas notas; sem ele, mostra o de agora.")] = None,
    ambiente: Annotated[
        str | None, typer.Option(help="producao ou homologacao; sem ele, o de PROSA_FISCAL_ENVIRONMENT.")
    ] = None,
    documento: Annotated[str, typer.Option(help="De que documentos: servico ou produto.")] = "servico",
) -> None:
    """Mostra ou muda o canal pelo qual a empresa emite; notas já confirmadas seguem no canal em que nasceram."""
    from gateway.registry import rows_for
    from operations.channel import choose, show

    chosen = settings(quiet=True)
    rows = rows_for(chosen)
    natures = {name: row.natureza for name, row in rows.items()}
    if nome is None:
        on_database(lambda database: show(database, natures, cnpj, documento), chosen)
    else:
        on_database(
            lambda database: choose(
                database, natures, cnpj=cnpj, documento=documento, nome=nome, ambiente=ambiente, rows=rows
            ),
            chosen,
        )


def verificar(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    canario: Annotated[
        bool, typer.Option("--canario", help="Pergunta à SEFIN qual leiaute ela aceita, com o que não pode virar nota.")
    ] = False,
) -> None:
    """Diz se a empresa pode emitir agora pelo canal nacional ou paulistana; termina com 0 só se pode."""
    from operations.national.verify import verify

    chosen = settings(quiet=True)
    able: list[bool] = []

    async def work(database: Database) -> list[str]:
        from bot.operator.reconcile import channels_of

        async with channels_of(chosen, database) as channels:
            found = await verify(database, channels, cnpj, canario=canario)
        able.append(all(each.serve for each in found))
        return [each.dito for each in found]

    on_database(work, chosen)
    if able != [True]:
        raise typer.Exit(1)


def fechamento(
    cnpj: Annotated[str, typer.Argument(help="CNPJ da empresa.")],
    mes: Annotated[str, typer.Argument(help="Mês de competência, como 2026-11.")],
    para: Annotated[Path, typer.Option(help="Pasta em que os arquivos ficam.")] = Path(),
) -> None:
    """Grava o mês da empresa para a contabilidade: ZIP com PDF e XML de cada nota, CSV e XLSX, sem somar canceladas."""
    from operations.month import close_month

    chosen = settings(quiet=True)

    async def work(database: Database) -> list[str]:
        from bot.delivery.mailing import Documents
        from bot.operator.reconcile import channels_of

        async with channels_of(chosen, database) as channels:
            return await close_month(database, Documents(database, channels).fetch, cnpj=cnpj, mes=mes, para=para)

    on_database(work, chosen)


def reprocessar(
    id_integracao: Annotated[str, typer.Argument(help="Referência da tentativa recusada, como 211126-07f40961-r1-1.")],
) -> None:
    """Tenta de novo uma nota recusada por culpa nossa, depois de acertado o cadastro; nunca duplica."""
    from operations.protocol import reprocess

    on_database(lambda database: reprocess(database, id_integracao))


def enviar(
    id_integracao: Annotated[str, typer.Argument(help="Referência da emissão parada, como 211126-07f40961-r1-1.")],
) -> None:
    """Envia de novo os dados guardados de uma nota que certamente ninguém aceitou; recusa se houver dúvida."""
    from operations.protocol import send_stored

    on_database(lambda database: send_stored(database, id_integracao))


numeros = typer.Typer(help="Mostra as sequências de números e seus buracos; explica, bloqueia, inutiliza.")


@numeros.callback(invoke_without_command=True)
def numeracao(
    ctx: typer.Context,
    explicar: Annotated[str | None, typer.Option(help="Números a explicar, como 12 ou 12-14.")] = None,
    sequencia: Annotated[int | None, typer.Option(help="De qual sequência (o número da primeira coluna).")] = None,
    motivo: Annotated[str, typer.Option(help="Por que esses números nunca terão nota, ou por que bloquear.")] = "",
    bloquear: Annotated[bool, typer.Option("--bloquear", help="Não dá mais números desta sequência.")] = False,
    desbloquear: Annotated[bool, typer.Option("--desbloquear", help="Volta a dar números desta sequência.")] = False,
) -> None:
    """Mostra as sequências de números e seus buracos; ou explica um buraco, bloqueia ou libera uma sequência."""
    if ctx.invoked_subcommand is not None:
        return
    from operations.protocol import block, explain
    from operations.protocol import numbering_report as of_numbers

    if bloquear or desbloquear:
        on_database(lambda database: block(database, sequencia, motivo if bloquear else None))
    elif explicar is None:
        on_database(of_numbers)
    else:
        on_database(lambda database: explain(database, sequencia, explicar, motivo))


@numeros.command("inutilizar")
def inutilizar(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
    modelo: Annotated[str, typer.Option(help="55 (NF-e) ou 65 (NFC-e).")],
    serie: Annotated[int, typer.Option(help="Série, como 1.", min=1, max=889)],
    numeros: Annotated[str, typer.Option(help="Números sem nota, como 5 ou 5-6.")],
    motivo: Annotated[str, typer.Option(help="Por quê, em 15 a 255 letras; vai para a Sefaz.")],
) -> None:
    """Fecha na Sefaz números que nunca terão nota; termina com 0 só se ela respondeu 102."""
    from operations.goods import close_numbers
    from operations.protocol import number_range

    found = number_range(numeros)
    if found is None or modelo not in {"55", "65"}:
        fail("Diga --modelo 55 ou 65 e --numeros 5 ou 5-6. Nada mudou.")
    chosen = settings(quiet=True)

    async def work(database: Database) -> list[str]:
        from bot.operator.reconcile import channels_of

        async with channels_of(chosen, database) as channels:
            return await close_numbers(
                database, channels, cnpj=empresa, modelo=modelo, serie=serie, numeros=found, motivo=motivo
            )

    on_database(work, chosen)


def corrigir(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
    nota: Annotated[str, typer.Option(help="Número da NF-e, ou a chave.")],
    texto: Annotated[str, typer.Option(help="A correção, em 15 a 1000 letras; não muda valor, imposto nem cliente.")],
) -> None:
    """Registra na Sefaz uma carta de correção (CC-e) de uma NF-e; vale a última."""
    from operations.goods import correct

    chosen = settings(quiet=True)

    async def work(database: Database) -> list[str]:
        from bot.operator.reconcile import channels_of

        async with channels_of(chosen, database) as channels:
            return await correct(database, channels, cnpj=empresa, numero=nota, texto=texto)

    on_database(work, chosen)


def restaurado(
    rps: Annotated[
        list[str] | None, typer.Option(help="SEQUÊNCIA:ÚLTIMO, o último RPS que o gateway conhece; repetível.")
    ] = None,
    ausencias: Annotated[
        int, typer.Option(min=1, max=1000, help="Quantos números seguidos sem nota mostram que depois não há nenhuma.")
    ] = 20,
    sem_perguntar: Annotated[
        bool, typer.Option("--sem-perguntar", help="Não pergunta à SEFIN: vale o que --rps diz, por sua conta.")
    ] = False,
    tudo: Annotated[
        bool, typer.Option("--tudo", help="Pergunta de todas as empresas, também se a última vez só deixou algumas.")
    ] = False,
) -> None:
    """Depois de restaurar ou trocar o banco: acha na SEFIN as notas que ele esqueceu, e deixa os envios seguirem."""
    from operations.restored import restore

    chosen = settings(quiet=True)

    async def work(database: Database) -> list[str]:
        from bot.operator.reconcile import channels_of

        if sem_perguntar:
            return await restore(database, rps or (), tudo=tudo)
        async with channels_of(chosen, database) as channels:
            return await restore(database, rps or (), channels, ausencias, _settling, tudo=tudo)

    on_database(work, chosen)


async def _settling(seconds: float) -> None:
    typer.echo(f"Espero {seconds:.0f} s: a SEFIN ainda pode aceitar o que saiu antes.")
    await asyncio.sleep(seconds)


def idempotencia(
    processo: Annotated[
        str | None, typer.Option(help="Só as desta sessão ou deste cliente, também as terminadas.")
    ] = None,
) -> None:
    """Lista as operações de que ninguém sabe como terminaram; ou todas as de um processo."""
    from operations.protocol import idempotency_report

    on_database(lambda database: idempotency_report(database, processo))
