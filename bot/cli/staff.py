"""``prosa staff …``: the words by which an operator gives people access to the console.

``prosa pessoa …``: the words by which an operator answers an LGPD request.

``prosa api``: the API as a process, and the words by which an operator gives other systems keys of it.

The words of ``prosa conferir`` and ``prosa auditoria``: prints what was found, and ends with its status.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.opening import DEMO, database_of, fail, on_database, run_part, settings, with_storage
from bot.process.servers import Storage
from bot.settings import Settings
from operations.person import Ensaio
from persistence.db.engine import Database
from webhooks.console.access.accounts import Enrolment

app = typer.Typer(no_args_is_help=True, help="Quem atende: contas do console, com papel e empresas.")


@app.command("add")
def add(
    nome: Annotated[str, typer.Argument(help="Nome de entrada, em minúsculas, como ana.souza.")],
    papel: Annotated[str, typer.Option(help="leitura, suporte, supervisor ou admin.")],
    empresa: Annotated[list[str] | None, typer.Option(help="CNPJ que atende; repetível. Sem isto, todas.")] = None,
    exibicao: Annotated[
        str | None,
        typer.Option(help="Nome que o cliente lê. Sem isto, o de antes ou o de entrada: ana.souza, Ana Souza."),
    ] = None,
) -> None:
    """Cria a conta ou a refaz (senha e código novos, sessões encerradas) e mostra o que a pessoa precisa, uma vez."""
    from bot.master_key import vault_of
    from persistence.access.accounts import Papel
    from webhooks.console.access.accounts import enrol

    if papel not in {item.value for item in Papel}:
        fail(f"--papel é um destes: {', '.join(Papel)}. Nada mudou.")

    chosen = _where()

    async def work(database: Database) -> None:
        show(await enrol(database, vault_of(chosen), nome, Papel(papel), empresa or (), exibicao=exibicao))

    on_database(work, chosen)


@app.command("name")
def name(
    nome: Annotated[str, typer.Argument(help="Nome de entrada.")],
    exibicao: Annotated[str, typer.Argument(help='Nome que o cliente lê, como "Ana Souza".')],
) -> None:
    """Muda o nome que o cliente lê; a senha, o código e as sessões continuam."""
    from webhooks.console.access.accounts import rename

    async def work(database: Database) -> list[str]:
        return [f"{nome} aparece para o cliente como {await rename(database, nome, exibicao)}."]

    on_database(work, _where())


@app.command("list")
def list_() -> None:
    """Lista as contas."""
    from rich.console import Console
    from rich.table import Table

    from persistence.access import accounts as staff

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            rows = await staff.everybody(connection)
        table = Table("Nome", "O cliente lê", "Papel", "Empresas", "Situação", title="Contas do console")
        for row in rows:
            empresas = "todas" if row.todas_empresas else ", ".join(row.cnpjs or ())
            table.add_row(row.nome, row.exibido, row.papel, empresas, "desativada" if row.desativado_em else "ativa")
        Console().print(table)

    on_database(work, _where())


@app.command("off")
def off(nome: Annotated[str, typer.Argument(help="Nome de entrada.")]) -> None:
    """Desativa uma conta: as sessões terminam e as conversas assumidas voltam para a Prosa."""
    from persistence.access import accounts as staff
    from persistence.audit import records as audit

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            if not await staff.switch_off(connection, nome.strip().lower()):
                fail(f"Não há conta ativa com o nome {nome}. Nada mudou.")
            await audit.write(connection, staff_id=None, quem="linha de comando", acao="conta desativada", alvo=nome)
        typer.echo(f"{nome} não entra mais.")

    on_database(work, _where())


@app.command("desbloquear")
def desbloquear(nome: Annotated[str, typer.Argument(help="Nome de entrada.")]) -> None:
    """Esquece as tentativas erradas de entrar em uma conta: a próxima é conferida sem espera."""
    from webhooks.console.access.accounts import unblock

    async def work(database: Database) -> None:
        if not await unblock(database, nome):
            fail(f"Não há conta ativa com o nome {nome}. Nada mudou.")
        typer.echo(
            f"A próxima entrada de {nome} é conferida sem espera. "
            "Só um endereço que tentou muitas contas ainda espera, até um minuto."
        )

    on_database(work, _where())


@app.command("rekey")
def rekey() -> None:
    """Cifra de novo, com a chave mais nova de PROSA_MASTER_KEY, os segredos das contas e as chaves dos certificados."""
    from bot.master_key import vault_of
    from persistence.api import hooks
    from persistence.audit import records as audit
    from persistence.crypto import NoMasterKeyError
    from persistence.people import certificate_vault
    from webhooks.console.access.accounts import rekey as seal_anew

    chosen = _where()

    async def work(database: Database) -> None:
        cofre = vault_of(chosen)
        try:
            done, lost = await seal_anew(database, cofre)
        except NoMasterKeyError:
            fail("Falta PROSA_MASTER_KEY. Nada mudou.")
        async with database.transaction() as connection:
            certificates, closed = await certificate_vault.rekey(connection, cofre)
            secrets, deaf = await hooks.rekey(connection, cofre)
            done += certificates + secrets
            detalhe = {"refeitos": done, "ilegiveis": len(lost) + len(closed) + len(deaf)}
            await audit.write(
                connection, staff_id=None, quem="linha de comando", acao="trocou a chave", detalhe=detalhe
            )
        typer.echo(f"{done} cifrados de novo.")
        advice = []
        if lost:
            advice.append(f"Sem a chave antiga não se leem os de: {', '.join(lost)}. Refaça com prosa staff add.")
        if closed:
            advice.append(
                f"Sem a chave antiga não se abrem os certificados de: {', '.join(closed)}. "
                "Guarde de novo com prosa empresa certificado CNPJ --pfx."
            )
        if deaf:
            advice.append(f"Sem a chave antiga não se assina para: {', '.join(deaf)}. Crie de novo os webhooks.")
        if advice:
            fail(" ".join(advice))

    on_database(work, chosen)


@app.command("code")
def code(segredo: Annotated[str | None, typer.Argument(hidden=True)] = None) -> None:
    """Mostra o código deste momento, para quem experimenta sem um autenticador; pede o segredo, ou o lê da entrada."""
    import binascii

    import pyotp

    if segredo is not None:
        fail(
            "O segredo não vai na linha de comando, que fica no histórico e na lista de processos. "
            "Rode prosa staff code e digite o segredo quando for pedido. Se ele era real, refaça com prosa staff add."
        )
    typed = typer.prompt("Segredo", hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    try:
        typer.echo(pyotp.TOTP(typed.replace(" ", "").strip().upper()).now())
    except (binascii.Error, ValueError):
        fail("Isto não é um segredo em base32.")


def show(enrolment: Enrolment) -> None:
    """Print what the new member of staff needs, and the QR code."""
    import segno

    typer.echo(f"\nConta {enrolment.nome}: entre em /console e troque a senha.\n")
    typer.echo(f"  senha provisória   {enrolment.senha}")
    typer.echo(f"  segredo do código  {enrolment.segredo}")
    typer.echo(f"  endereço do QR     {enrolment.uri}\n")
    segno.make(enrolment.uri, error="l").terminal(compact=True)
    typer.echo(
        "\nIsto não será mostrado de novo. Leia o QR com um autenticador e entregue a senha por um canal seguro."
    )


def _where() -> Settings:
    """Return the settings of the database to work on: the demo's while it alone runs, for it has a key of its own."""
    from persistence.embedded.supervisor import running

    chosen = settings(quiet=True)
    demo = chosen.home / DEMO
    if chosen.database_url is not None or running(chosen.home) or not running(demo):
        return chosen
    typer.echo("Usando a demonstração que está no ar.")
    return chosen.model_copy(update={"home": demo, "redis_url": None})


REDIS_SECONDS = 5.0  # for one answer of Redis

pessoa_app = typer.Typer(no_args_is_help=True, help="Pedidos da LGPD: a cópia e o apagamento dos dados de uma pessoa.")

Quem = Annotated[str, typer.Argument(help="Telefone com país, CPF, e-mail, ou o código de uma conversa.")]


@pessoa_app.command("exportar")
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


@pessoa_app.command("apagar")
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
        from persistence.conversations.sessions import LiveSessions, RedisLine, connect

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


api_app = typer.Typer(invoke_without_command=True)
chave = typer.Typer(no_args_is_help=True, help="Chaves da API: cada uma age por uma ou mais empresas.")
api_app.add_typer(chave, name="chave")


@api_app.callback()
def api(context: typer.Context) -> None:
    """Só a API para outros sistemas (mais réplicas à vontade); ou as chaves dela."""
    if context.invoked_subcommand is None:
        run_part("api")


@api_app.command("aprovador")
def aprovador(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
    telefone: Annotated[
        str | None, typer.Option(help="Telefone de quem aprova, entre quem emite; sem ele, só mostra.")
    ] = None,
) -> None:
    """Mostra ou escolhe quem aprova no WhatsApp o que outros sistemas propõem; sem escolha, a primeira pessoa."""
    from operations.api import choose_approver

    on_database(lambda database: choose_approver(database, empresa, telefone))


@chave.command("criar")
def criar(
    empresa: Annotated[list[str], typer.Option(help="CNPJ da empresa pela qual a chave age; repetível.")],
    escopo: Annotated[
        list[str] | None,
        typer.Option(help="O que poderá fazer, como propostas:escrever ou lotes:*; repetível."),
    ] = None,
    tudo: Annotated[bool, typer.Option("--tudo", help="A chave poderá fazer tudo pela empresa.")] = False,
    validade: Annotated[int, typer.Option(min=1, max=3650, help="Por quantos dias a chave vale.")] = 365,
) -> None:
    """Cria uma chave e a mostra, só ela e só desta vez; guarda-se apenas o resumo SHA-256."""
    from operations.api import make_key
    from state_machine.protocol.channel import Ambiente

    chosen = settings(quiet=True)
    own = Ambiente(chosen.fiscal_environment)
    on_database(lambda database: make_key(database, empresa, escopo or (), own, tudo=tudo, dias=validade), chosen)


@chave.command("listar")
def listar(
    empresa: Annotated[str, typer.Option(help="CNPJ da empresa.")],
) -> None:
    """Lista as chaves de uma empresa pelo começo: quando foram criadas, usadas e revogadas."""
    from operations.api import list_keys

    on_database(lambda database: list_keys(database, empresa))


@chave.command("revogar")
def revogar(
    prefixo: Annotated[str, typer.Argument(help="Começo da chave, como prosa_live_a1B2c3D4.")],
) -> None:
    """Faz uma chave não valer mais, na hora."""
    from operations.api import revoke_key

    on_database(lambda database: revoke_key(database, prefixo))


_DIAS = 3
_MAX_DIAS = 366

auditoria = typer.Typer(no_args_is_help=True, help="O registro do que a equipe fez.")


@auditoria.command("verificar")
def verificar(
    cabeca: Annotated[
        str | None, typer.Option(help="Cabeça guardada de uma verificação anterior, como 120:ab12….")
    ] = None,
) -> None:
    """Confere se a auditoria está como foi escrita; sai com 1 se não está. Guarde a cabeça fora deste servidor."""
    from persistence.audit.records import Cabeca, UnreadableHeadError, verify

    try:
        guardada = Cabeca.read(cabeca) if cabeca else None
    except UnreadableHeadError:
        fail("--cabeca é o que este comando mostrou, como 120:ab12…; nada foi conferido.")

    async def work(database: Database) -> None:
        async with database.transaction() as connection:
            visto = await verify(connection, guardada)
        typer.echo(
            f"Linhas conferidas: {visto.linhas}. Anteriores à cadeia, conferidas desde a migração: {visto.de_antes}."
        )
        if visto.quebra:
            onde = "no fim" if visto.quebra.linha is None else f"na linha {visto.quebra.linha}"
            fail(f"A auditoria não está como foi escrita. Primeira quebra {onde}: {visto.quebra.porque}. Nada mudou.")
        typer.echo(f"Cabeça: {visto.cabeca or 'nenhuma linha ainda'}")

    on_database(work)


def conferir(
    dias: Annotated[int, typer.Option(min=1, max=_MAX_DIAS, help="Quantos dias, contando hoje.")] = _DIAS,
    cnpj: Annotated[str | None, typer.Option(help="Só a empresa deste CNPJ.")] = None,
    canal: Annotated[str | None, typer.Option(help="Só as empresas deste canal, como nacional.")] = None,
) -> None:
    """Compara as nossas notas com a lista do gateway; sai com 1 se algo difere, 2 se o gateway não soube dizer."""
    from state_machine.values.documents import normaliza

    chosen = settings(secrets=True, quiet=True)

    async def work(storage: Storage) -> None:
        from bot.house import open_house
        from bot.operator.reconcile import UNKNOWN, lines, status_of

        async with open_house(chosen, storage.database_url, storage.redis_url) as house:
            conferidas = await house.audit.run(dias, normaliza(cnpj) if cnpj else None, canal)
        if (cnpj or canal) and not conferidas:
            which = " ".join([*([f"com o CNPJ {cnpj}"] if cnpj else []), *([f"no canal {canal}"] if canal else [])])
            typer.secho(f"Nenhuma empresa {which}; nada foi comparado.", fg="red", err=True)
            raise typer.Exit(UNKNOWN)
        for line in lines(conferidas):
            typer.echo(line)
        raise typer.Exit(status_of(conferidas))

    with_storage(chosen, work)
