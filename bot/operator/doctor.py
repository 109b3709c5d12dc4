"""``prosa doctor``: looks at all that Prosa needs and says of each what is wrong and what to do.

What ``prosa doctor`` says of commits that may be lost: replicas that lag, and a history that is in doubt.

What ``prosa doctor`` asks Meta and the gateway: tokens, ids, webhook and clock.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import asyncpg
import redis.asyncio as aioredis
from pydantic import SecretStr
from redis.exceptions import RedisError
from sqlalchemy.exc import ArgumentError
from yarl import URL

from bot.settings import Settings
from gateway.certificate.a1 import roots_of
from gateway.http.client import Destination, origin
from gateway.http.wire import Answer, NoAnswerError
from gateway.nacional.layouts import deadlines, nt009_from
from gateway.nacional.payload import TOLD_SINCE
from operations.channel import company_of
from persistence import roles
from persistence.access.accounts import Alcance
from persistence.db.engine import Database, for_asyncpg
from persistence.db.migrate import Schema, newest, standing
from persistence.embedded.supervisor import running
from persistence.people import certificates, channels
from persistence.tables import metadata
from state_machine.protocol.channel import Ambiente
from state_machine.values.local_time import SAO_PAULO

SECONDS: Final = 10.0  # for each question: an operator waits, and what takes longer is told as away
LATE_SECONDS: Final = 5.0  # a Date header has whole seconds and travels; beyond this clocks differ
WRONG_SECONDS: Final = 30.0  # an authenticator's code lives as long
OLDEST_POSTGRES: Final = 14  # the oldest that its makers still mend
TESTED_POSTGRES: Final = 18
LITTLE_BYTES: Final = 2 * 1024**3  # some 15,000 messages fill 16 MB; two days of a busy office and its logs
NO_BYTES: Final = 200 * 1024**2  # PostgreSQL stops when it cannot write its log
LAYOUT_WARNED: Final = timedelta(days=30)
_UNSURE_DAY: Final = "as fontes dizem 01/12/2026 ou 01/01/2027. Veja a NT 009 e ponha PROSA_NACIONAL_NT009_PRODUCAO"
_SIMPLES: Final = (
    "falta até 01/01/2027 o que a nota leva de IBS e CBS em empresas do Simples ({empresas}). Veja quais em Empresas, "
    "no console, e o quê com prosa empresa verificar"
)
_NATIONAL: Final = """
SELECT coalesce(c.ambiente, $1) AS ambiente, count(*) FILTER (WHERE e.regime = 'normal' AND (
    EXISTS (SELECT FROM empresa_servico s WHERE s.empresa_id = e.id AND (s.nbs IS NULL OR s.ind_op IS NULL))
    OR NOT EXISTS (
        SELECT FROM empresa_servico s WHERE s.empresa_id = e.id AND s.codigo = replace(e.codigo_servico, '.', '')
    )
)) AS sem_grupo, count(*) FILTER (WHERE e.regime IN ('simples', 'simples-pendente') AND (
    e.apuracao_ibscbs IS NULL
    OR EXISTS (
        SELECT FROM empresa_servico s
        WHERE s.empresa_id = e.id AND (s.nbs IS NULL OR s.ind_op IS NULL OR s.atividade_sn IS NULL)
    )
    OR NOT EXISTS (
        SELECT FROM empresa_servico s WHERE s.empresa_id = e.id AND s.codigo = replace(e.codigo_servico, '.', '')
    )
)) AS simples FROM empresa_canal c JOIN empresa e ON e.id = c.empresa_id
WHERE c.tipo = 'servico' AND c.canal = 'nacional' GROUP BY 1 ORDER BY 1
"""
_MARK: Final = "17s"  # a parameter of the connection, as the product sets some: a pooler drops or refuses it
_POOLER: Final = (
    "um pooler (PgBouncer) entre a Prosa e o PostgreSQL não passa os parâmetros da conexão. Aponte PROSA_DATABASE_URL "
    "para o PostgreSQL, ou use pool_mode=session sem ignore_startup_parameters"
)
_RIGHTS: Final = ("SELECT", "INSERT")  # on every table; not all of them may be changed
_AWAY: Final = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, ArgumentError, ValueError)


class Veredito(StrEnum):
    """How something stands, in the order of weight."""

    OK = "ok"
    AVISO = "aviso"
    FALHA = "falha"


@dataclass(frozen=True, slots=True)
class Achado:
    """One line of the report: what was looked at, how it stands, and what to do about it."""

    veredito: Veredito
    assunto: str
    dito: str


def ok(assunto: str, dito: str) -> Achado:
    """Return a line about what is as it should be."""
    return Achado(Veredito.OK, assunto, dito)


def aviso(assunto: str, dito: str) -> Achado:
    """Return a line about what works and should be looked at."""
    return Achado(Veredito.AVISO, assunto, dito)


def falha(assunto: str, dito: str) -> Achado:
    """Return a line about what keeps Prosa from working."""
    return Achado(Veredito.FALHA, assunto, dito)


def about_settings(settings: Settings) -> list[Achado]:
    """Say of each setting whether it was set; a secret's value is never shown."""
    missing = set(settings.missing())
    lines = []
    for name in type(settings).model_fields:
        variable = f"PROSA_{name.upper()}"
        value = getattr(settings, name)
        if variable in missing:
            lines.append(falha(variable, "falta; docs/settings.md diz de onde vem"))
        elif name not in settings.model_fields_set or not _filled(value):
            lines.append(_left_out(name, value))
        elif name == "icp_brasil_ca_file":
            lines.append(_roots(variable, settings.company_roots()))
        else:
            lines.append(ok(variable, "definida" if isinstance(value, SecretStr) else f"definida: {value}"))
    return lines


def _roots(variable: str, raizes: bytes) -> Achado:
    """Say which roots answer for a company's certificate, and which of them are none of ICP-Brasil's that we know."""
    found = roots_of(raizes)
    known = sorted({name for _, name in found if name})
    if others := [fingerprint for fingerprint, name in found if not name]:
        said = f"{len(others)} de {len(found)} raízes não são da ICP-Brasil que conheço: confira na página do ITI"
        return aviso(variable, f"{said} ({', '.join(others)})")
    return ok(variable, f"definida: {', '.join(known)}") if known else aviso(variable, "não tem raiz, só autoridades")


def _filled(value: Any) -> bool:
    return bool(value.get_secret_value()) if isinstance(value, SecretStr) else value not in {"", None}


def _left_out(name: str, value: Any) -> Achado:
    variable = f"PROSA_{name.upper()}"
    if name == "master_key":
        return aviso(variable, "falta: ninguém entra no console. Faça uma com: openssl rand -base64 32")
    if name == "icp_brasil_ca_file":
        return aviso(
            variable,
            "falta: não confiro quem emitiu um certificado; nenhum troca o que vale. Ponha as raízes do ITI",
        )
    return ok(variable, f"padrão: {value}" if _filled(value) else "não definida, e não faz falta")


def about_env_file(path: Path) -> list[Achado]:
    """Say whether other accounts of the machine can read the file of secrets."""
    if not path.is_file():
        return [ok("arquivo .env", f"não há em {path.resolve().parent}")]
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return [aviso("arquivo .env", f"outras contas desta máquina podem ler os segredos. Rode: chmod 600 {path}")]
    return [ok("arquivo .env", "só a sua conta lê")]


def about_disk(home: Path) -> list[Achado]:
    """Say how much room there is where the embedded servers and the process write."""
    there = next(path for path in (home.absolute(), *home.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    room = f"{free / 1024**3:.1f} GB livres em {there}"
    if free < NO_BYTES:
        return [falha("disco", f"{room}. Libere espaço antes de iniciar")]
    if free < LITTLE_BYTES:
        return [aviso("disco", f"{room}. Libere espaço, ou use um disco maior")]
    return [ok("disco", room)]


def about_clock(against: str, theirs: datetime, ours: datetime) -> Achado:
    """Say by how much this machine's clock differs from another's; both are aware."""
    apart = (ours - theirs).total_seconds()
    subject = f"relógio e {against}"
    said = f"diferença de {abs(apart):.0f} s"
    if abs(apart) > WRONG_SECONDS:
        return falha(subject, f"{said}: códigos de acesso e datas saem errados. Ligue a sincronização (NTP)")
    if abs(apart) > LATE_SECONDS:
        return aviso(subject, f"{said}. Ligue a sincronização do relógio (NTP)")
    return ok(subject, said)


async def about_database(settings: Settings) -> list[Achado]:
    """Say which server it is, whether its schema is ours, what our account may do, what certificates end soon."""
    url = settings.database_url.get_secret_value() if settings.database_url else None
    if url is None:
        servers = running(settings.home)
        if servers is None:
            return [ok("banco", f"embutido, em {settings.home}; sobe com a Prosa e agora está parado")]
        url = servers.database_url
    try:
        connection = await asyncpg.connect(
            for_asyncpg(url), timeout=SECONDS, command_timeout=SECONDS, server_settings={"lock_timeout": _MARK}
        )
    except asyncpg.ProtocolViolationError as error:
        return [falha("banco", f"{_POOLER} ({error})")]
    except _AWAY as error:
        what = f"não aceita a conexão ({type(error).__name__}). Confira PROSA_DATABASE_URL e se o servidor está no ar"
        return [falha("banco", what)]
    try:
        if await connection.fetchval("SHOW lock_timeout") != _MARK:
            return [falha("banco", _POOLER)]
        level = await standing(connection)
        return [
            _server(connection.get_server_version().major),
            _schema(level),
            about_clock("banco", await connection.fetchval("SELECT clock_timestamp()"), datetime.now(UTC)),
            *([] if level is Schema.BEHIND else await _content(connection, url, settings)),
        ]
    except _AWAY as error:
        return [falha("banco", f"parou de responder no meio da consulta ({type(error).__name__})")]
    finally:
        await connection.close(timeout=SECONDS)


async def _content(connection: Any, url: str, settings: Settings) -> list[Achado]:
    return [
        await _rights(connection, ours=settings.database_url is None),
        *await about_certificates(url),
        *await about_layouts(connection, settings),
    ]


async def about_layouts(connection: Any, settings: Settings) -> list[Achado]:
    """Say of each environment in which a company issues on the national channel until when its layout is made here."""
    used = await connection.fetch(_NATIONAL, settings.fiscal_environment)
    hoje = datetime.now(SAO_PAULO).date()
    lines = []
    for row in used:
        ambiente = Ambiente(row["ambiente"])
        lines += [_layout(settings, ambiente, hoje), *_group(settings, ambiente, row["sem_grupo"], hoje)]
        if row["simples"] and hoje >= TOLD_SINCE:
            lines.append(aviso(f"Simples em 2027: {ambiente}", _SIMPLES.format(empresas=row["simples"])))
    return lines


async def layout_of(database: Database, settings: Settings, cnpj: str) -> list[str]:
    """Say until when the layout holds in which a company's notes go out; nothing on a channel of one layout."""
    async with database.transaction() as connection:
        company = await company_of(connection, cnpj)
        chosen = await channels.chosen(connection, company.id)
    if chosen.nome != "nacional":
        return []
    line = _layout(settings, chosen.ambiente or Ambiente(settings.fiscal_environment), datetime.now(SAO_PAULO).date())
    return [f"{line.assunto[0].upper()}{line.assunto[1:]}: {line.dito}."]


def _group(settings: Settings, ambiente: Ambiente, empresas: int, hoje: date) -> list[Achado]:
    must = deadlines(settings, ambiente).ibs_cbs
    if not empresas or must is None:
        return []
    said = (
        f"falta em serviços de empresas do regime normal ({empresas}); a partir de {must:%d/%m/%Y} nada é confirmado "
        "sem ele. Veja com prosa empresa verificar, e guarde com prosa empresa servico"
    )
    return [(falha if must <= hoje else aviso)(f"grupo IBS/CBS: {ambiente}", said)]


def _layout(settings: Settings, ambiente: Ambiente, hoje: date) -> Achado:
    subject, nt009 = f"leiaute nacional: {ambiente}", nt009_from(settings, ambiente)
    if nt009 is None:
        return ok(subject, "o servidor não é o do emissor nacional, e tem calendário próprio")
    chosen = ambiente is not Ambiente.PRODUCAO or settings.nacional_nt009_producao is not None
    sure = "" if chosen else f". A data não está confirmada: {_UNSURE_DAY}"
    if nt009 <= hoje:
        return (ok if chosen else aviso)(subject, f"o da NT 009, desde {nt009:%d/%m/%Y}{sure}")
    told = f"o 1.01; passa sozinho ao da NT 009 em {nt009:%d/%m/%Y}{sure}"
    return (aviso if nt009 - hoje <= LAYOUT_WARNED or not chosen else ok)(subject, told)


def _server(version: int) -> Achado:
    if version < OLDEST_POSTGRES:
        return falha("banco: versão", f"PostgreSQL {version} não recebe mais correções. Use o {TESTED_POSTGRES}")
    if version < TESTED_POSTGRES:
        return aviso("banco: versão", f"PostgreSQL {version}; os testes da Prosa rodam no {TESTED_POSTGRES}")
    return ok("banco: versão", f"PostgreSQL {version}")


def _schema(level: Schema) -> Achado:
    match level:
        case Schema.BEHIND:
            return falha("banco: tabelas", f"não estão na versão {newest()}. Rode: prosa migrate")
        case Schema.AHEAD:
            return falha("banco: tabelas", "são de uma versão mais nova da Prosa. Atualize este programa")
        case Schema.CURRENT:
            return ok("banco: tabelas", f"na versão {newest()}")


async def _rights(connection: Any, *, ours: bool) -> Achado:
    refused = await connection.fetch(
        "SELECT name, what FROM unnest($1::text[]) AS name, unnest($2::text[]) AS what "
        "WHERE NOT has_table_privilege(name, what) AND NOT (what = 'INSERT' AND name = ANY($3)) ORDER BY 1, 2",
        list(metadata.tables),
        list(_RIGHTS),
        list(roles.WRITTEN_BY_OTHERS),
    )
    if refused:
        named = ", ".join(f"{row['what']} em {row['name']}" for row in refused[:3])
        more = f" e mais {len(refused) - 3}" if len(refused) > 3 else ""  # noqa: PLR2004 - those named above
        return falha("banco: permissões", f"faltam à conta da Prosa: {named}{more}. Dê com GRANT")
    if not ours and await roles.exceeds(connection):
        said = "a conta da Prosa pode mais do que precisa (a auditoria, as tabelas). Migre com PROSA_DATABASE_OWNER_URL"
        return aviso("banco: permissões", said)
    return ok("banco: permissões", "a conta lê e grava as tabelas")


async def about_certificates(database_url: str) -> list[Achado]:
    """Say which companies' certificates end within 30 days or have ended, as far as their dates are known."""
    everybody = Alcance(todas=True)
    database = await Database.open(database_url, size=1)
    try:
        async with database.transaction() as connection:
            ending = await certificates.expiring(connection, everybody)
            undated = await certificates.undated(connection, everybody)
    finally:
        await database.close()
    lines = [
        (falha if row.dias < 0 else aviso)(
            f"certificado de {row.razao_social}",
            f"{'venceu' if row.dias < 0 else 'vence'} em {row.vence:%d/%m/%Y}. "
            + ("Renove e guarde o novo" if row.guardado else "Renove no gateway e anote")
            + ": prosa empresa certificado",
        )
        for row in ending
    ]
    if undated:
        said = f"{undated} empresa(s) sem a data anotada. Anote com: prosa empresa certificado"
        lines.append(aviso("certificados", said))
    return lines or [ok("certificados", "nenhum vence nos próximos 30 dias")]


@asynccontextmanager
async def _line_to(url: str) -> AsyncIterator[Any]:
    client = aioredis.Redis.from_url(url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS)
    try:
        yield client
    finally:
        await client.aclose()


async def about_redis(settings: Settings) -> list[Achado]:
    """Say which server it is, and whether it takes writes and what it keeps on its disk."""
    url = settings.redis_url.get_secret_value() if settings.redis_url else None
    if url is None:
        servers = running(settings.home)
        if servers is None:
            return [ok("redis", f"embutido, em {settings.home}; sobe com a Prosa e agora está parado")]
        url = servers.redis_url
    try:
        async with _line_to(url) as client:
            await client.ping()
            try:
                said = await client.info()
            except RedisError:
                what = "responde, mas não diz versão nem persistência. Dê à conta: +info"
                return [aviso("redis: versão", what)]
    except (RedisError, OSError, TimeoutError, ValueError) as error:
        what = f"não responde ({type(error).__name__}): as conversas andam mais devagar. Confira PROSA_REDIS_URL"
        return [falha("redis", what)]
    version = said.get("valkey_version") or said.get("redis_version")
    return [ok("redis: versão", f"{said.get('server_name', 'redis')} {version}"), _persistence(said)]


def _persistence(said: dict[str, Any]) -> Achado:
    failed = [name for name in ("rdb_last_bgsave_status", "aof_last_write_status") if said.get(name, "ok") != "ok"]
    if failed:
        return falha("redis: persistência", f"a última gravação em disco falhou ({failed[0]}). Veja o disco do Redis")
    if said.get("role") not in {None, "master"}:
        return falha("redis: persistência", "é uma réplica, que não aceita gravação. Aponte para o principal")
    kept = "ligada (appendonly)" if said.get("aof_enabled") else "sem appendonly"
    return ok("redis: persistência", f"{kept}; a Prosa só deixa lá o que pode se perder")


_REPLICAS: Final = """
SELECT (SELECT count(*) FROM pg_stat_replication) AS replicas, current_setting('synchronous_standby_names') AS named
"""
_DOUBT: Final = "SELECT suspeita FROM historia WHERE suspeita IS NOT NULL"
_MOST: Final = 5  # companies that are named
_HELD: Final = "SELECT razao_social FROM empresa WHERE restauro_desde IS NOT NULL ORDER BY id"
_COST: Final = (
    "Se ela assumir, as últimas confirmações podem se perder: onde a Prosa numera, os envios param até prosa "
    "restaurado. Defina synchronous_standby_names no servidor"
)


async def about_history(settings: Settings) -> list[Achado]:
    """Say whether a replica may lack what was confirmed, and whether the database may; nothing where it is away."""
    url = settings.database_url.get_secret_value() if settings.database_url else None
    if url is None:
        servers = running(settings.home)
        if servers is None:
            return []
        url = servers.database_url
    try:
        connection = await asyncpg.connect(for_asyncpg(url), timeout=SECONDS, command_timeout=SECONDS)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return []  # the line about the database says so
    try:
        return await lines_of(connection)
    except asyncpg.UndefinedTableError:
        return []  # an older schema, which another line tells
    finally:
        await connection.close(timeout=SECONDS)


async def lines_of(connection: Any) -> list[Achado]:
    """Say it of an open connection."""
    row = await connection.fetchrow(_REPLICAS)
    doubt = await connection.fetchval(_DOUBT)
    held = [each["razao_social"] for each in await connection.fetch(_HELD)]
    return [about_replicas(row["replicas"], row["named"]), _about_doubt(doubt, held)]


def about_replicas(replicas: int, named: str) -> Achado:
    """Say what the loss of the primary would cost; ``named`` is ``synchronous_standby_names``."""
    if not replicas:
        return ok("banco: réplicas", "nenhuma ligada agora")
    if not named.strip():
        return aviso("banco: réplicas", f"{replicas}, sem confirmação síncrona. {_COST}")
    return ok("banco: réplicas", f"{replicas}; confirmações esperam por {named}")


def _about_doubt(doubt: str | None, held: list[str]) -> Achado:
    if doubt is None and held:
        names = f"{', '.join(held[:_MOST])}{' …' * (len(held) > _MOST)}"
        said = f"o que já saiu de {len(held)} empresas não foi perguntado; nada delas sai. Rode: prosa restaurado"
        return falha("banco: história", f"{said} ({names})")
    if doubt is None:
        return ok("banco: história", "é a que a Prosa deixou")
    said = f"o banco pode ter esquecido notas enviadas ({doubt}); onde a Prosa numera nada sai. Rode: prosa restaurado"
    return falha("banco: história", said)


_REFUSED: Final = {401, 403}
_OK: Final = 200
_NOT_FOUND: Final = 404
_WRONG_TOKEN: Final = 190  # Meta's code of an access token that is wrong, expired or revoked
_HOOK: Final = "/webhooks/gateway/"
# Nobody has put this question to the real service yet: what rests on its answer alone is no failure.
_UNSURE: Final = ". Pergunta ainda não conferida com o serviço real: confirme no painel dele"


def _nothing_open() -> None:
    """Guard of the calls: this command opens no transaction while it asks."""


async def _ask(base: str, path: str, headers: dict[str, str]) -> Answer | str:
    """Return the answer, or the name of what went wrong."""
    try:
        async with Destination(base, timeout=SECONDS, guard=_nothing_open, headers=headers) as way:
            return await way.request("GET", path)
    except NoAnswerError as error:
        return error.reason
    except ValueError as error:  # an address that is none
        return type(error).__name__


def _clock(against: str, answer: Answer) -> list[Achado]:
    ours = datetime.now(UTC)
    try:
        theirs = parsedate_to_datetime(answer.headers["date"])
    except (KeyError, ValueError, TypeError):
        return [aviso(f"relógio e {against}", "a resposta veio sem data; compare o relógio de outro modo")]
    return [about_clock(against, theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC), ours)]


async def about_meta(settings: Settings) -> list[Achado]:
    """Say whether Meta takes the token, and knows the number under it."""
    token, number = settings.whatsapp_access_token.get_secret_value(), settings.whatsapp_phone_number_id
    if not (token and number):
        return [falha("Meta", "não perguntei: faltam PROSA_WHATSAPP_ACCESS_TOKEN ou PROSA_WHATSAPP_PHONE_NUMBER_ID")]
    path = f"/{number}?fields=display_phone_number,verified_name"
    answer = await _ask(settings.whatsapp_api_url, path, {"authorization": f"Bearer {token}"})
    if isinstance(answer, str):
        return [falha("Meta", f"sem resposta ({answer}). Confira PROSA_WHATSAPP_API_URL e a saída para a internet")]
    said = _json(answer)
    error = said.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if answer.status in _REFUSED or code == _WRONG_TOKEN:
        why = "a Meta recusou o token. Gere um permanente do usuário do sistema: PROSA_WHATSAPP_ACCESS_TOKEN"
        return [falha("Meta: token", why), *_clock("Meta", answer)]
    if answer.status != _OK:
        why = (
            f"a Meta não conhece este id (HTTP {answer.status}, código {code}). Confira PROSA_WHATSAPP_PHONE_NUMBER_ID"
        )
        return [ok("Meta: token", "aceito"), falha("Meta: número", why), *_clock("Meta", answer)]
    phone = said.get("display_phone_number") or "sem número à mostra"
    return [ok("Meta: token", "aceito"), ok("Meta: número", str(phone)), *_clock("Meta", answer)]


async def about_gateway(settings: Settings) -> list[Achado]:
    """Say whether the gateway takes the token, and whether the webhook registered there is ours and answers."""
    key = settings.plugnotas_api_key.get_secret_value()
    if not key and "PROSA_PLUGNOTAS_API_KEY" not in settings.missing():
        return [ok("gateway", "sem PlugNotas: empresa nesse canal não emite até haver PROSA_PLUGNOTAS_API_KEY")]
    if not key:
        return [falha("gateway", "não perguntei: falta PROSA_PLUGNOTAS_API_KEY")]
    answer = await _ask(settings.plugnotas_url, "/webhook", {"x-api-key": key, "accept": "application/json"})
    if isinstance(answer, str):
        return [falha("gateway", f"sem resposta ({answer}). Confira PROSA_PLUGNOTAS_URL e a saída para a internet")]
    if answer.status in _REFUSED:
        why = f"recusado em GET /webhook (HTTP {answer.status}). Confira PROSA_PLUGNOTAS_API_KEY{_UNSURE}"
        return [aviso("gateway: token", why), *_clock("gateway", answer)]
    if answer.status not in {_OK, _NOT_FOUND}:
        why = f"o gateway respondeu HTTP {answer.status}; tente de novo daqui a pouco{_UNSURE}"
        return [aviso("gateway: token", why), *_clock("gateway", answer)]
    return [ok("gateway: token", "aceito"), *_clock("gateway", answer), await _webhook(settings, _address(answer))]


def _address(answer: Answer) -> str:
    """Return the registered address; PlugNotas shows one object, other accounts a list of them."""
    said: Any = _json(answer)
    said = said.get("data", said) if isinstance(said, dict) else said
    said = said[0] if isinstance(said, list) and said else said
    return str(said.get("url") or "") if isinstance(said, dict) else ""


async def _webhook(settings: Settings, address: str) -> Achado:
    """Knock at the registered address, if it is ours: what the gateway reaches, this machine reaches too."""
    subject = "gateway: webhook"
    if not address:
        why = "não vi nenhum cadastrado no gateway; sem ele as notas só andam pelas consultas (docs/install.md, 4)"
        return aviso(subject, f"{why}{_UNSURE}")
    if not any(address.endswith(f"{_HOOK}{part.decode()}") for part in settings.gateway_paths):
        why = "o cadastrado não termina em /webhooks/gateway/ e o segredo daqui. Cadastre de novo (docs/install.md, 4)"
        return aviso(subject, f"{why}{_UNSURE}")
    url = URL(address)
    answer = await _ask(origin(url), url.raw_path, {})
    if isinstance(answer, str):
        return falha(
            subject, f"cadastrado, mas ninguém atende em {url.host} ({answer}). A Prosa e o proxy estão no ar?"
        )
    if answer.status != _OK:
        return falha(subject, f"cadastrado, mas {url.host} respondeu HTTP {answer.status}. Confira o proxy")
    return ok(subject, f"cadastrado, e {url.host} atende")


def _json(answer: Answer) -> Any:
    try:
        said = json.loads(answer.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict | list) else {}
