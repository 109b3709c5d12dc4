"""``prosa demo``: the whole product on one machine, with simulators in the place of Meta, gateway and register."""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic import SecretStr

from bot.house import House, open_house
from bot.master_key import keep_demo_key, vault_of
from bot.process.run import answering
from bot.process.servers import bound, listening
from gateway.registry import REGISTRY
from operations.api import make_key
from operations.certificate import keep_certificate
from operations.company import CompanyForm, add_company
from operations.goods import add as add_product
from persistence.access.accounts import Papel
from persistence.batches import suppression
from persistence.people.certificate_links import PATH
from persistence.people.certificates import KeptCertificates
from proofs.demo.erp import DemoErp
from proofs.demo.inside import Inside
from proofs.sandbox.mailbox import Mailbox
from proofs.sandbox.meta.meta import MetaConfig
from proofs.sandbox.nacional.sefin import NacionalConfig
from proofs.sandbox.phone.app import Phone
from proofs.sandbox.phone.chat import MetaChat
from proofs.sandbox.phone.inbox import Inbox
from proofs.sandbox.phone.ports import DemoCertificate, DemoUser
from proofs.sandbox.phone.security import guard, harden, is_ours, refusal
from proofs.sandbox.phone.switches import GatewaySwitches
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig
from proofs.sandbox.sefaz.rules import SefazConfig
from proofs.sandbox.world import World, WorldConfig
from state_machine.documents import Endereco
from state_machine.protocol.channel import Ambiente
from webhooks.api.submission import PREFIX as API
from webhooks.console.access.accounts import Enrolment, enrol
from webhooks.console.deps import new_password, new_secret

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Sequence

    from aiohttp.typedefs import Handler, Middleware

    from bot.process.servers import Storage
    from bot.settings import Settings

COMPANY = CompanyForm(
    cnpj="11222333000181",
    razao_social="ANA DESIGN ME",
    inscricao_municipal="12345678",
    municipio="3550308",  # São Paulo
    usuarios=("5511987654321", "5511976543210"),
)
ACCOUNTANT = "contadora@escritorio.example"
NATIONAL_COMPANY = CompanyForm(
    cnpj="99000011000139",
    razao_social="CERRADO SOFTWARE FICTÍCIO LTDA",
    inscricao_municipal="87654321",
    municipio="5208707",  # Goiânia
    usuarios=("5562991234567",),
    codigo_servico="010101",
    canal="nacional",
    tributos_sn="6",
)
SELLER = replace(NATIONAL_COMPANY, mercado=("nfe", "nfce"), inscricao_estadual="101234561")
SHOP = Endereco("Avenida Goiás", "100", "Centro", "5208707", "Goiânia", "GO", "74005010")
_GOODS_OF_MEI = {"cfop": "5102", "csosn": "102", "unidade": "UN"}
GOODS = (
    {"codigo": "P1", "texto": "Caneca", "ncm": "69120000", "preco": "35,00", **_GOODS_OF_MEI},
    {"codigo": "P2", "texto": "Camiseta", "ncm": "61091000", "preco": "80,00", **_GOODS_OF_MEI},
)
USERS = (
    DemoUser("5511987654321", "Ana", "dona da Ana Design, pode emitir"),
    DemoUser("5511976543210", "Bruno", "sócio da Ana Design, pode emitir"),
    DemoUser("5521998877665", "Carla", "número que nenhuma empresa cadastrou"),
    DemoUser("5562991234567", "Davi", "dono da Cerrado Software, que emite direto na SEFIN Nacional e vende canecas"),
)
MACHINE_PATHS = ("/webhooks/", "/healthz", "/readyz", "/metrics")
CONSOLE = "/console"
OWN_PATHS = (CONSOLE, API, PATH, suppression.PATH)  # each has a guard of its own
STAFF = "demo"
MAILS_FROM = "notas@prosa.example.com"
STRANGERS_CNPJ = "99000099000199"  # of a made-up A1 that is no company's of the demo
SENHA = "demonstracao"  # of the made-up A1 files; the page shows it
PROCESSING_SECONDS = 1.5  # of the simulated city: slow enough to be seen


@dataclass(frozen=True, slots=True)
class Demo:
    """What is open while the demo runs."""

    address: str
    house: House
    world: World
    login: Enrolment
    chave: str

    def exports(self) -> list[str]:
        """Return what a shell needs for the examples of ``docs/api.md``, and for commands that meet the demo's data."""
        home = self.house.settings.home.absolute()
        return [f"export API={self.address}{API}", f"export CHAVE={self.chave}", f"export PROSA_HOME={home}"]


def demo_settings(base: Settings, world: World, port: int) -> Settings:
    """Return settings that point the production adapters at the simulators; secrets are the simulators'."""
    meta, gateway, urls = world.config.meta, world.config.plugnotas, world.urls
    national: dict[str, object] = {"nacional_sefin_url": urls.nacional_sefin, "nacional_adn_url": urls.nacional_adn}
    national["nacional_ca_file"] = Path(urls.nacional_ca_file) if urls.nacional_ca_file else None
    national["paulistana_url"], national["sefaz_url"] = urls.paulistana, urls.sefaz_url
    national["icp_brasil_ca_file"] = national["nacional_ca_file"]  # the same made-up authority
    return base.model_copy(
        update={
            **{name: value for name, value in national.items() if value is not None},
            "port": port,
            "whatsapp_api_url": urls.whatsapp_api,
            "whatsapp_phone_number_id": meta.account.phone_number_id,
            "whatsapp_access_token": SecretStr(meta.access_token),
            "whatsapp_app_secret": SecretStr(meta.app_secret),
            "whatsapp_verify_token": SecretStr(meta.verify_token),
            "plugnotas_url": urls.plugnotas,
            "plugnotas_api_key": SecretStr(gateway.api_key),
            "gateway_webhook_secret": SecretStr(gateway.webhook_secret),
            "cnpj_api_url": urls.cnpj_api,
            "cep_url": urls.cep,
        }
    )


def demo_secrets(home: Path) -> WorldConfig:
    """Return the simulators' secrets: invented at the first start, kept so that a restart goes on with them."""
    path = home / "demo.json"
    names = ("access_token", "app_secret", "verify_token", "api_key", "webhook_secret")
    if path.exists():
        kept = json.loads(path.read_text())
    else:
        kept = {name: secrets.token_urlsafe(24) for name in names}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps(kept))
    meta = MetaConfig(
        access_token=kept["access_token"], app_secret=kept["app_secret"], verify_token=kept["verify_token"]
    )
    gateway = PlugNotasConfig(
        api_key=kept["api_key"], webhook_secret=kept["webhook_secret"], processing=PROCESSING_SECONDS
    )
    return WorldConfig(meta=meta, plugnotas=gateway)


def demo_login(home: Path) -> Enrolment:
    """Return who may enter the demo's console: invented at the first start, and kept."""
    path = home / "console.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(json.dumps({"senha": new_password(), "segredo": new_secret()}))
    kept = json.loads(path.read_text())
    return Enrolment(STAFF, kept["senha"], kept["segredo"])


@asynccontextmanager
async def open_demo(
    settings: Settings, storage: Storage, sockets: Sequence[socket.socket] | None = None
) -> AsyncIterator[Demo]:
    """Open simulators, product, page and all background loops; closes in reverse order.

    Without ``sockets`` that listen it opens the port of ``settings``. A loop that dies interrupts whoever is inside,
    and is raised in an ``ExceptionGroup``.
    """
    home = settings.home
    async with AsyncExitStack() as stack:
        if sockets is None:
            sockets = stack.enter_context(listening(settings.host, settings.port, port="PROSA_PORT"))
        national = NacionalConfig(ambiente=Ambiente.HOMOLOGACAO, processing=PROCESSING_SECONDS)
        config = replace(demo_secrets(home), nacional=national, sefaz=SefazConfig(processing=PROCESSING_SECONDS))
        world = await stack.enter_async_context(World(home / "sandbox", config=config))
        address = bound(sockets, settings.host)
        box = Mailbox()
        reach = await stack.enter_async_context(box.listening())
        of_demo = {
            "public_url": address,
            "fiscal_environment": "homologacao",  # no document of it may look real
            "smtp_url": SecretStr(f"smtp+plain://127.0.0.1:{reach}"),
            "smtp_from": MAILS_FROM,
        }
        configured = demo_settings(settings, world, settings.port).model_copy(update=of_demo)
        keep_demo_key(home)
        house = await stack.enter_async_context(open_house(configured, storage.database_url, storage.redis_url))
        await add_company(house.database, replace(COMPANY, email_contador=ACCOUNTANT))
        await add_company(house.database, SELLER, rows=REGISTRY, endereco=SHOP)
        for dados in GOODS:
            await add_product(house.database, SELLER.cnpj, dados)
        await _certify(house, configured, world)
        login = demo_login(home)
        await enrol(house.database, vault_of(configured), STAFF, Papel.ADMIN, known=login)
        [chave] = await make_key(house.database, [COMPANY.cnpj], [], Ambiente(configured.fiscal_environment), tudo=True)
        erp = DemoErp(address, chave)
        stack.push_async_callback(erp.close)
        app = house.web_app(https=False)
        app.middlewares.append(_page_guard(settings.host))
        app.on_response_prepare.append(_page_headers)
        Phone(
            MetaChat(world.meta, USERS),
            Inside(house.database),
            GatewaySwitches(world.plugnotas, world.sefin, world.sefaz),
            console=CONSOLE,
            certificates=_offers(world),
            mails=Inbox(box),
            erp=erp,
        ).mount(app)
        await stack.enter_async_context(answering(app, sockets))
        world.connect(address)
        stop = asyncio.Event()
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(house.work(stop))
        stack.callback(stop.set)
        yield Demo(address, house, world, login, chave)


async def _certify(house: House, settings: Settings, world: World) -> None:
    """Give the national company its certificate, unless it has one."""
    cofre, company = vault_of(settings), NATIONAL_COMPANY
    if await KeptCertificates(house.database, cofre).current(company.cnpj) is None:
        made = world.authority.pfx_for(company.cnpj, SENHA, company.razao_social)
        await keep_certificate(house.database, cofre, cnpj=company.cnpj, arquivo=made, senha=SENHA)


def _offers(world: World) -> list[DemoCertificate]:
    """Return the made-up A1 files: a good one of each company, then one that has ended and one of nobody's here."""
    national = NATIONAL_COMPANY
    return [
        *(_offer(world, each.cnpj, each.razao_social, each.cnpj, each.razao_social) for each in (national, COMPANY)),
        _offer(world, "vencido", f"Vencido, de {national.razao_social}", national.cnpj, national.razao_social, days=-1),
        _offer(world, "de-outra", "De uma empresa que não está aqui", STRANGERS_CNPJ, "OUTRA EMPRESA FICTÍCIA LTDA"),
    ]


def _offer(
    world: World, arquivo: str, dito: str, cnpj: str, razao_social: str, *, days: float = 365
) -> DemoCertificate:
    make = partial(world.authority.pfx_for, cnpj, SENHA, razao_social, days=days)
    return DemoCertificate(arquivo, dito, SENHA, make)


def _has_own_guard(request: web.Request) -> bool:
    return request.path.startswith((*MACHINE_PATHS, *(f"{path}/" for path in OWN_PATHS))) or request.path == CONSOLE


def _page_guard(host: str) -> Middleware:
    """Guard the page as strictly as if it stood alone; webhooks, console, API and public pages have theirs."""

    @web.middleware
    async def stand(request: web.Request, handler: Handler) -> web.StreamResponse:
        if _has_own_guard(request):
            return await handler(request)
        if not is_ours(request, host):
            return refusal(421, "Abra esta página por 127.0.0.1 ou localhost.")
        return await guard(request, handler)

    return stand


async def _page_headers(request: web.Request, response: web.StreamResponse) -> None:
    if not _has_own_guard(request):
        await harden(request, response)
