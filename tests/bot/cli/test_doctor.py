"""``prosa doctor`` against real servers and the simulators: each of its lines says ok, and is seen to say otherwise."""

from __future__ import annotations

import asyncio
import base64
import shutil
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import SecretStr

from bot.cli.doctor import _look
from bot.operator import doctor
from bot.settings import Settings
from gateway.certificate import a1
from operations.company import CompanyForm, add_company
from persistence.db.engine import Database
from proofs.sandbox.world import World
from state_machine.values.local_time import SAO_PAULO
from tests.made_certificates import authority
from tests.owner import as_owner
from tests.road.road_process import environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

    from bot.operator.doctor import Achado

COMPANY = CompanyForm(
    cnpj="11222333000181",
    razao_social="ANA DESIGN ME",
    inscricao_municipal="12345678",
    municipio="3550308",
    usuarios=("5511987654321",),
)


@asynccontextmanager
async def answering(status: int = 200, **headers: str) -> AsyncIterator[str]:
    """A server that answers everything with this; yields its address."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(status=status, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """Meta and gateway, with a webhook registered at a bot that answers."""
    async with answering() as bot, World(bot_url=bot) as opened:
        yield opened


@pytest.fixture
async def settings(
    world: World, database_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """Those of a house in which everything is well, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    key = base64.b64encode(bytes(32)).decode()
    for name, value in environment(world, database_url, redis_url, PROSA_MASTER_KEY=key).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PROSA_HOME", str(tmp_path))
    return Settings()


@pytest.fixture(autouse=True)
async def one_company(database_url: str) -> AsyncIterator[Database]:
    """A company whose certificate is good for a year."""
    database = await Database.open(database_url, size=1)
    await add_company(database, COMPANY)
    await database.pool.execute("UPDATE empresa SET certificado_vence = now()::date + 365")
    yield database
    await database.close()


def lines(found: Iterable[Achado], subject: str) -> list[tuple[str, str]]:
    """Verdict and words of the lines about a subject."""
    return [(each.veredito.value, each.dito) for each in found if each.assunto == subject]


async def test_where_all_is_well_every_line_says_so(settings: Settings) -> None:
    """Each subject has its line, and the tests' own superuser is all there is to say."""
    found = await _look(settings)
    told = [each.assunto for each in found if not each.assunto.startswith("PROSA_")]
    assert told == [
        "arquivo .env", "disco", "Meta: token", "Meta: número", "relógio e Meta", "gateway: token", "relógio e gateway",
        "gateway: webhook", "banco: versão", "banco: tabelas", "relógio e banco", "banco: permissões", "certificados",
        "banco: réplicas", "banco: história", "redis: versão", "redis: persistência",
    ]  # fmt: skip
    wrong = {each.assunto for each in found if each.veredito.value != "ok"}
    assert wrong <= {"banco: permissões", "disco", "PROSA_ICP_BRASIL_CA_FILE"}


async def test_each_setting_has_a_line_and_no_secret_is_shown(settings: Settings) -> None:
    """Set, default or missing; a password in an address is a secret too."""
    found = doctor.about_settings(settings.model_copy(update={"plugnotas_api_key": SecretStr("")}))
    assert [each.assunto for each in found] == [f"PROSA_{name.upper()}" for name in Settings.model_fields]
    assert lines(found, "PROSA_PLUGNOTAS_API_KEY")[0][0] == "falha"
    assert lines(found, "PROSA_WHATSAPP_APP_SECRET") == [("ok", "definida")]
    assert lines(found, "PROSA_SESSION_TTL_SECONDS") == [("ok", "padrão: 3600")]
    assert lines(found, "PROSA_DEBOUNCE_SECONDS") == [("ok", "definida: 0.05")]
    said = " ".join(each.dito for each in found)
    secrets = [value for name in Settings.model_fields if isinstance(value := getattr(settings, name), SecretStr)]
    shown = [secret for secret in secrets if secret.get_secret_value() and secret.get_secret_value() in said]
    assert shown == []
    without = doctor.about_settings(settings.model_copy(update={"master_key": SecretStr("")}))
    assert lines(without, "PROSA_MASTER_KEY")[0][0] == "aviso"
    assert lines(without, "PROSA_ICP_BRASIL_CA_FILE")[0][0] == "aviso"


async def test_roots_of_which_none_is_icp_brasils_are_told(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root that anybody made would answer for a certificate that anybody made: it is named by its fingerprint."""
    made = tmp_path / "roots.pem"
    pem = authority().certificate.public_bytes(Encoding.PEM)
    made.write_bytes(pem)
    chosen = settings.model_copy(update={"icp_brasil_ca_file": made})
    [(fingerprint, name)] = a1.roots_of(pem)
    assert name is None
    [(verdict, said)] = lines(doctor.about_settings(chosen), "PROSA_ICP_BRASIL_CA_FILE")
    assert (verdict, fingerprint in said) == ("aviso", True)
    monkeypatch.setitem(a1.ICP_BRASIL_ROOTS, fingerprint, "ICP-Brasilv99")
    assert lines(doctor.about_settings(chosen), "PROSA_ICP_BRASIL_CA_FILE") == [("ok", "definida: ICP-Brasilv99")]


@pytest.mark.parametrize(("mode", "verdict"), [(0o600, "ok"), (0o644, "aviso"), (0o640, "aviso")])
def test_a_file_of_secrets_that_others_read(tmp_path: Path, mode: int, verdict: str) -> None:
    """What ``cp .env.example .env`` leaves behind is told with the command that mends it."""
    path = tmp_path / ".env"
    path.touch()
    path.chmod(mode)
    [line] = doctor.about_env_file(path)
    assert line.veredito == verdict
    assert ("chmod 600" in line.dito) == (verdict == "aviso")


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(doctor.LITTLE_BYTES, "ok"), (doctor.LITTLE_BYTES - 1, "aviso"), (doctor.NO_BYTES - 1, "falha")],
)
def test_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: str) -> None:
    """The disk of the home is looked at, also before the home exists."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: (path, type("Usage", (), {"free": free}))[1])
    [line] = doctor.about_disk(tmp_path / "none" / "yet")
    assert line.veredito == verdict
    assert str(tmp_path) in line.dito


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(0, "ok"), (5, "ok"), (6, "aviso"), (-6, "aviso"), (31, "falha"), (-31, "falha")]
)
def test_a_clock_that_is_off(seconds: int, verdict: str) -> None:
    """Ahead or behind, a clock says by how much."""
    now = datetime.now(UTC)
    line = doctor.about_clock("banco", now, now + timedelta(seconds=seconds))
    assert (line.veredito, f"{abs(seconds)} s" in line.dito) == (verdict, True)


@pytest.mark.parametrize(
    ("change", "subject", "verdict", "word"),
    [
        ({"whatsapp_access_token": SecretStr("another-token-of-mine")}, "Meta: token", "falha", "ACCESS_TOKEN"),
        ({"whatsapp_phone_number_id": "12345"}, "Meta: número", "falha", "PHONE_NUMBER_ID"),
        ({"whatsapp_api_url": "http://127.0.0.1:1/v25.0"}, "Meta", "falha", "PROSA_WHATSAPP_API_URL"),
        ({"whatsapp_access_token": SecretStr("")}, "Meta", "falha", "faltam"),
    ],
)
async def test_meta_refuses(settings: Settings, change: dict[str, Any], subject: str, verdict: str, word: str) -> None:
    """A wrong token, a wrong id, nobody there, nothing to ask with: each names its setting."""
    [(said, words)] = lines(await doctor.about_meta(settings.model_copy(update=change)), subject)
    assert (said, word in words) == (verdict, True)


NATIONAL = {"gateway": "nacional", "plugnotas_api_key": SecretStr(""), "gateway_webhook_secret": SecretStr("")}


def _no_hook(world: World) -> None:
    world.plugnotas.courier.url = None


def _another_secret(world: World) -> None:
    world.plugnotas.courier.url = "https://example.com/webhooks/gateway/another"


def _nobody_there(world: World) -> None:
    world.plugnotas.courier.url = f"http://127.0.0.1:1/webhooks/gateway/{world.config.plugnotas.webhook_secret}"


@pytest.mark.parametrize(
    ("change", "verdict", "word"),
    [
        (_no_hook, "aviso", "nenhum cadastrado"),
        (_another_secret, "aviso", "não termina"),
        (_nobody_there, "falha", "ninguém atende"),
    ],
)
async def test_a_webhook_that_does_not_arrive(
    world: World, settings: Settings, change: Callable[[World], None], verdict: str, word: str
) -> None:
    """None registered, another's, one behind which nobody listens; the gateway's word alone is no failure."""
    change(world)
    [(said, words)] = lines(await doctor.about_gateway(settings), "gateway: webhook")
    assert (said, word in words) == (verdict, True)
    assert ("não conferida com o serviço real" in words) == (verdict == "aviso")


async def test_a_webhook_that_our_proxy_refuses(world: World, settings: Settings) -> None:
    """Somebody answers at the registered address, and not with 200."""
    async with answering(502) as proxy:
        world.plugnotas.courier.url = f"{proxy}/webhooks/gateway/{world.config.plugnotas.webhook_secret}"
        [(said, words)] = lines(await doctor.about_gateway(settings), "gateway: webhook")
    assert (said, "HTTP 502" in words) == ("falha", True)


@pytest.mark.parametrize(
    ("change", "subject", "verdict", "word"),
    [
        ({"plugnotas_api_key": SecretStr("another-key-of-mine")}, "gateway: token", "aviso", "PROSA_PLUGNOTAS_API_KEY"),
        ({"plugnotas_api_key": SecretStr("")}, "gateway", "falha", "falta PROSA_PLUGNOTAS_API_KEY"),
        ({"plugnotas_url": "http://127.0.0.1:1"}, "gateway", "falha", "PROSA_PLUGNOTAS_URL"),
        (NATIONAL, "gateway", "ok", "sem PlugNotas"),
        (NATIONAL | {"gateway_webhook_secret": SecretStr("of-nobody-at-all-but")}, "gateway", "falha", "falta PROSA_"),
    ],
)
async def test_the_gateway_refuses(
    settings: Settings, change: dict[str, Any], subject: str, verdict: str, word: str
) -> None:
    """A wrong token, none, half of them, nobody there: each names its setting; without PlugNotas none is missing."""
    [(said, words)] = lines(await doctor.about_gateway(settings.model_copy(update=change)), subject)
    assert (said, word in words) == (verdict, True)


async def test_a_clock_that_differs_from_metas(settings: Settings) -> None:
    """The Date header of an answer is what this machine's clock is held against, whatever the answer was."""
    async with answering(500, Date=format_datetime(datetime.now(UTC) - timedelta(minutes=5))) as late:
        changed = settings.model_copy(update={"whatsapp_api_url": late, "plugnotas_url": late})
        meta = lines(await doctor.about_meta(changed), "relógio e Meta")
        gateway = await doctor.about_gateway(changed)
    assert [verdict for verdict, _ in meta] == ["falha"]
    assert [verdict for verdict, _ in lines(gateway, "relógio e gateway")] == ["falha"]
    assert [verdict for verdict, _ in lines(gateway, "gateway: token")] == ["aviso"]


@pytest.mark.parametrize(
    ("days", "subject", "verdict"),
    [
        (31, "certificados", "ok"),
        (30, "certificado de ANA DESIGN ME", "aviso"),
        (-1, "certificado de ANA DESIGN ME", "falha"),
        (None, "certificados", "aviso"),
    ],
)
async def test_certificates_end(
    one_company: Database, settings: Settings, days: int | None, subject: str, verdict: str
) -> None:
    """Soon, or already, or on a day that nobody noted."""
    today = "(now() AT TIME ZONE 'America/Sao_Paulo')::date"
    await one_company.pool.execute(f"UPDATE empresa SET certificado_vence = {today} + $1::int", days)  # noqa: S608
    assert [said for said, _ in lines(await doctor.about_database(settings), subject)] == [verdict]


async def test_an_account_without_its_rights(
    one_company: Database, settings: Settings, database_url: str, owner_url: str
) -> None:
    """What the account may not do is named; the owner's account is a warning; an ordinary one is well."""
    assert [said for said, _ in lines(await doctor.about_database(settings), "banco: permissões")] == ["ok"]
    owner = settings.model_copy(update={"database_url": SecretStr(owner_url)})
    assert lines(await doctor.about_database(owner), "banco: permissões")[0][0] == "aviso"
    await as_owner(one_company.pool, "CREATE ROLE lesser LOGIN PASSWORD 'of-the-tests-0123'")
    parts = urlsplit(database_url)
    lesser = parts._replace(netloc=f"lesser:of-the-tests-0123@{parts.hostname}:{parts.port}").geturl()
    changed = settings.model_copy(update={"database_url": SecretStr(lesser)})
    try:
        await as_owner(one_company.pool, "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO lesser")
        assert [said for said, _ in lines(await doctor.about_database(changed), "banco: permissões")] == ["ok"]
        await as_owner(one_company.pool, "REVOKE INSERT ON outbox FROM lesser")
        [(said, words)] = lines(await doctor.about_database(changed), "banco: permissões")
        assert (said, "INSERT em outbox" in words) == ("falha", True)
    finally:
        await as_owner(one_company.pool, "DROP OWNED BY lesser; DROP ROLE lesser")


async def test_a_schema_that_is_not_ours(one_company: Database, settings: Settings) -> None:
    """Older asks for the migration, newer for the program."""
    head = await one_company.pool.fetchval("SELECT version_num FROM alembic_version")
    for revision, verdict, word in (("0001", "falha", "prosa migrate"), ("9999", "falha", "mais nova")):
        await as_owner(one_company.pool, f"UPDATE alembic_version SET version_num = '{revision}'")  # noqa: S608 - ours
        [(said, words)] = lines(await doctor.about_database(settings), "banco: tabelas")
        assert (said, word in words) == (verdict, True)
    await as_owner(one_company.pool, f"UPDATE alembic_version SET version_num = '{head}'")  # noqa: S608 - ours


@pytest.mark.parametrize(("version", "verdict"), [(13, "falha"), (14, "aviso"), (17, "aviso"), (18, "ok")])
def test_the_servers_version(version: int, verdict: str) -> None:
    """One that nobody mends any more, one that the tests don't know, the one they do."""
    assert doctor._server(version).veredito == verdict


@pytest.mark.parametrize("url", ["postgresql://a:b@127.0.0.1:1/c", "mysql://a:hidden@b/c"])
async def test_a_database_that_is_away(settings: Settings, url: str) -> None:
    """Nobody there, or not a PostgreSQL: one line, which shows no password."""
    [line] = await doctor.about_database(settings.model_copy(update={"database_url": SecretStr(url)}))
    assert (line.veredito, "PROSA_DATABASE_URL" in line.dito, "hidden" in line.dito) == ("falha", True, False)


async def test_a_redis_that_is_away(settings: Settings) -> None:
    """The line says what follows."""
    [line] = await doctor.about_redis(settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")}))
    assert (line.veredito, "PROSA_REDIS_URL" in line.dito) == ("falha", True)


@pytest.mark.parametrize(
    ("said", "verdict", "word"),
    [
        ({"aof_enabled": 1, "role": "master"}, "ok", "ligada"),
        ({"aof_enabled": 0}, "ok", "sem appendonly"),
        ({"rdb_last_bgsave_status": "err"}, "falha", "rdb_last_bgsave_status"),
        ({"aof_last_write_status": "err"}, "falha", "aof_last_write_status"),
        ({"role": "slave"}, "falha", "réplica"),
    ],
)
def test_what_redis_keeps(said: dict[str, Any], verdict: str, word: str) -> None:
    """A write to its disk that failed makes it refuse writes; a replica refuses them always."""
    line = doctor._persistence(said)
    assert (line.veredito, word in line.dito) == (verdict, True)


async def test_embedded_servers_that_rest(settings: Settings, tmp_path: Path) -> None:
    """Looking starts nothing and makes no file."""
    changed = settings.model_copy(update={"database_url": None, "redis_url": None, "home": tmp_path / "home"})
    assert [each.veredito for each in (*await doctor.about_database(changed), *await doctor.about_redis(changed))] == [
        "ok"
    ] * 2
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("days", "verdict"),
    [(31, "ok"), (30, "aviso"), (1, "aviso"), (0, "ok"), (None, "aviso")],
    ids=["far", "near", "tomorrow", "today", "unset"],
)
async def test_the_change_of_the_national_layout_is_told_a_month_before(
    settings: Settings, one_company: Database, days: int | None, verdict: str
) -> None:
    """Only where a company issues there; a day that nobody has set is told as unsure."""
    subject, hoje = "leiaute nacional: producao", datetime.now(SAO_PAULO).date()
    nt009 = hoje + timedelta(days=days) if days is not None else None
    changed = settings.model_copy(update={"nacional_nt009_producao": nt009, "fiscal_environment": "producao"})
    pool = one_company.pool
    assert await doctor.about_layouts(pool, changed) == []
    await pool.execute(
        "INSERT INTO empresa_canal (empresa_id, tipo, canal) SELECT id, 'servico', 'nacional' FROM empresa"
    )
    [line] = await doctor.about_layouts(pool, changed)
    told = await doctor.layout_of(one_company, changed, await pool.fetchval("SELECT cnpj FROM empresa"))
    await pool.execute("UPDATE empresa SET regime = 'normal'")
    wanting = [
        (await doctor.about_layouts(pool, changed.model_copy(update={"nacional_ibs_cbs_obrigatorio": day})))[1]
        for day in (hoje + timedelta(days=1), hoje)
    ]
    await pool.execute(
        "INSERT INTO empresa_servico (empresa_id, codigo, nbs, ind_op, cst, class_trib) "
        "SELECT id, replace(codigo_servico, '.', ''), '115061000', '030101', '000', '000001' FROM empresa"
    )
    assert len(await doctor.about_layouts(pool, changed)) == 1
    await pool.execute("UPDATE empresa SET regime = 'mei'; DELETE FROM empresa_servico; DELETE FROM empresa_canal")
    assert [(each.assunto, each.veredito) for each in wanting] == [
        ("grupo IBS/CBS: producao", "aviso"),
        ("grupo IBS/CBS: producao", "falha"),
    ]
    assert (line.assunto, line.veredito) == (subject, verdict)
    assert told == [f"L{subject[1:]}: {line.dito}."]
    assert ("PROSA_NACIONAL_NT009_PRODUCAO" in line.dito) is (days is None)


async def test_a_pooler_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that refuses the parameters of a connection, and one that drops them."""

    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        said = b"SERROR\0C08P01\0Munsupported startup parameter: lock_timeout\0\0"
        writer.write(b"E" + (len(said) + 4).to_bytes(4, "big") + said)
        writer.close()

    async with await asyncio.start_server(refuses, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = SecretStr(f"postgresql://prosa:x@127.0.0.1:{port}/prosa?sslmode=disable")
        [(said, words)] = lines(await doctor.about_database(settings.model_copy(update={"database_url": url})), "banco")
    assert (said, "PgBouncer" in words, "lock_timeout" in words) == ("falha", True, True)
    monkeypatch.setattr(doctor, "_MARK", "17000ms")  # the server says 17s: as if it had not been passed on
    [(said, words)] = lines(await doctor.about_database(settings), "banco")
    assert (said, "PgBouncer" in words) == ("falha", True)
