"""All simulators together: opens them, connects their webhooks to one bot, names their addresses."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from proofs.sandbox.cnpj_register import CnpjRegister, closed_companies, company_names
from proofs.sandbox.courier import BULKY
from proofs.sandbox.faults import Faults
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.meta.meta import MetaConfig, MetaSimulator
from proofs.sandbox.model import ModelSimulator
from proofs.sandbox.nacional.adn import AdnSimulator
from proofs.sandbox.nacional.authority import Authority
from proofs.sandbox.nacional.sefin import BASE, NacionalConfig, SefinSimulator, sefin_faults
from proofs.sandbox.paulistana.lotenfe import BASE as LOTENFE
from proofs.sandbox.paulistana.lotenfe import PaulistanaSimulator, paulistana_faults
from proofs.sandbox.paulistana.rules import PaulistanaConfig
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator
from proofs.sandbox.sefaz.rules import SefazConfig
from proofs.sandbox.sefaz.sefaz import BASE as SEFAZ
from proofs.sandbox.sefaz.sefaz import SefazSimulator

if TYPE_CHECKING:
    from types import TracebackType

    from proofs.sandbox.server import Simulator


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports on 127.0.0.1; 0 takes a free one."""

    meta: int = 0
    plugnotas: int = 0
    cnpj: int = 0
    model: int = 0
    sefin: int = 0
    adn: int = 0
    paulistana: int = 0
    sefaz: int = 0


@dataclass(frozen=True, slots=True)
class Urls:
    """What to give the bot, named as its settings: ``whatsapp_api`` has the Graph version, ``openai_base`` the /v1.

    The last five are there only in a world with their channel; ``nacional_ca_file`` is a path, of all of these.
    """

    whatsapp_api: str
    plugnotas: str
    cnpj_api: str
    cep: str
    openai_base: str
    nacional_sefin: str | None = None
    nacional_adn: str | None = None
    nacional_ca_file: str | None = None
    paulistana: str | None = None
    sefaz_url: str | None = None

    def as_dict(self) -> dict[str, str]:
        """Return a JSON shape of those that are there."""
        return {name: url for name, url in asdict(self).items() if url is not None}


@dataclass(frozen=True, slots=True)
class WorldConfig:
    """How the world behaves; ``seed`` is that of all faults, ``knows_all`` the register's.

    ``nacional`` opens SEFIN and ADN too, ``paulistana`` the city of São Paulo, ``sefaz`` that of NF-e and NFC-e; each
    makes their authority, and without them a world starts as fast as ever.
    """

    meta: MetaConfig = field(default_factory=MetaConfig)
    plugnotas: PlugNotasConfig = field(default_factory=PlugNotasConfig)
    nacional: NacionalConfig | None = None
    paulistana: PaulistanaConfig | None = None
    sefaz: SefazConfig | None = None
    ports: Ports = field(default_factory=Ports)
    seed: int = 0
    fsync: bool = False
    knows_all: bool = False


class World:
    """``async with World(home, bot_url=...) as world``: Meta, PlugNotas, the CNPJ register and a model, all over HTTP.

    With ``config.nacional`` also SEFIN Nacional and the ADN, with ``config.paulistana`` the city of São Paulo, with
    ``config.sefaz`` SEFAZ, over HTTPS with ``authority``'s certificates.

    With a ``home`` the ledgers and files are kept there, and opening it again goes on; without, all is in memory.
    ``bot_url`` ("http://127.0.0.1:8080") may come later with ``connect``: webhooks wait until then.
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        bot_url: str | None = None,
        config: WorldConfig | None = None,
    ) -> None:
        self.config = config or WorldConfig()
        ports, seed = self.config.ports, self.config.seed
        gateway = self.config.plugnotas
        gateway = replace(
            gateway, closed=gateway.closed | closed_companies(), names={**company_names(), **gateway.names}
        )

        def ledger(name: str) -> Ledger:
            path = home / f"{name}.jsonl" if home else None
            # without a file, what is dropped from memory would be lost for a reopening
            return Ledger(path, fsync=self.config.fsync, forget=BULKY if path else frozenset())

        self.meta = MetaSimulator(
            self.config.meta,
            home=home / "media" if home else None,
            ledger=ledger("meta"),
            faults=Faults(seed=seed),
            port=ports.meta,
        )
        self.plugnotas = PlugNotasSimulator(
            gateway, ledger=ledger("plugnotas"), faults=Faults(seed=seed), port=ports.plugnotas
        )
        self.cnpj = CnpjRegister(
            ledger=ledger("cnpj"), faults=Faults(seed=seed), port=ports.cnpj, knows_all=self.config.knows_all
        )
        self.model = ModelSimulator(ledger=ledger("model"), faults=Faults(seed=seed), port=ports.model)
        self._nacional: tuple[SefinSimulator, AdnSimulator] | None = None
        self._paulistana: PaulistanaSimulator | None = None
        self._sefaz: SefazSimulator | None = None
        self._authority: Authority | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        city, goods = self.config.paulistana, self.config.sefaz
        if self.config.nacional is not None or city is not None or goods is not None:
            if home is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="nacional-")
            self._authority = Authority(
                home / "nacional" if home else Path(self._scratch.name if self._scratch else "")
            )
        if self.config.nacional is not None:
            national = replace(self.config.nacional, closed=self.config.nacional.closed | closed_companies())
            sefin = SefinSimulator(
                self.authority,
                national,
                ledger=ledger("sefin"),
                faults=sefin_faults(national, seed=seed),
                port=ports.sefin,
            )
            adn = AdnSimulator(sefin, ledger=ledger("adn"), faults=Faults(seed=seed), port=ports.adn)
            self._nacional = sefin, adn
        if city is not None:
            city = replace(city, closed=city.closed | closed_companies())
            self._paulistana = PaulistanaSimulator(
                self.authority,
                city,
                ledger=ledger("paulistana"),
                faults=paulistana_faults(city, seed=seed),
                port=ports.paulistana,
            )
        if goods is not None:
            self._sefaz = SefazSimulator(
                self.authority, goods, ledger=ledger("sefaz"), faults=Faults(seed=seed), port=ports.sefaz
            )
        self._opened = AsyncExitStack()
        if bot_url is not None:
            self.connect(bot_url)

    @property
    def simulators(self) -> tuple[Simulator, ...]:
        """All of them, in the order they open."""
        more = (one for one in (self._paulistana, self._sefaz) if one is not None)
        return (self.meta, self.plugnotas, self.cnpj, self.model, *(self._nacional or ()), *more)

    @property
    def sefin(self) -> SefinSimulator:
        """SEFIN Nacional. Raises ``LookupError`` in a world without the national channel."""
        return self._national()[0]

    @property
    def adn(self) -> AdnSimulator:
        """The ADN. Raises ``LookupError`` in a world without the national channel."""
        return self._national()[1]

    @property
    def authority(self) -> Authority:
        """Who makes A1 files that these services take. Raises ``LookupError`` in a world without them."""
        if self._authority is None:
            raise LookupError("this world has no national channel, no city and no SEFAZ: give WorldConfig one")
        return self._authority

    @property
    def paulistana(self) -> PaulistanaSimulator:
        """The city of São Paulo. Raises ``LookupError`` in a world without its channel."""
        if self._paulistana is None:
            raise LookupError("this world has no city: give WorldConfig(paulistana=PaulistanaConfig())")
        return self._paulistana

    @property
    def sefaz(self) -> SefazSimulator:
        """SEFAZ. Raises ``LookupError`` in a world without its channels."""
        if self._sefaz is None:
            raise LookupError("this world has no SEFAZ: give WorldConfig(sefaz=SefazConfig())")
        return self._sefaz

    def _national(self) -> tuple[SefinSimulator, AdnSimulator]:
        if self._nacional is None:
            raise LookupError("this world has no national channel: give WorldConfig(nacional=NacionalConfig())")
        return self._nacional

    @property
    def urls(self) -> Urls:
        """The addresses; known once open."""
        return Urls(
            whatsapp_api=f"{self.meta.url}/v26.0",
            plugnotas=self.plugnotas.url,
            cnpj_api=f"{self.cnpj.url}/api/cnpj/v1",
            cep=self.cnpj.url,
            openai_base=f"{self.model.url}/v1",
            nacional_sefin=f"{self.sefin.url}{BASE}" if self._nacional else None,
            nacional_adn=self.adn.url if self._nacional else None,
            nacional_ca_file=str(self._authority.ca_file) if self._authority else None,
            paulistana=f"{self.paulistana.url}{LOTENFE}" if self._paulistana else None,
            sefaz_url=f"{self.sefaz.url}{SEFAZ}" if self._sefaz else None,
        )

    def connect(self, bot_url: str) -> None:
        """Say where the bot listens: webhooks go to its routes from now on."""
        base = bot_url.rstrip("/")
        self.meta.courier.url = f"{base}/webhooks/whatsapp"
        self.plugnotas.courier.url = f"{base}/webhooks/gateway/{self.config.plugnotas.webhook_secret}"

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            if self._scratch is not None:
                stack.callback(self._scratch.cleanup)
            # when one cannot be opened, those before it are closed
            for simulator in self.simulators:
                stack.callback(simulator.ledger.close)
                await stack.enter_async_context(simulator)
            self._opened = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._opened.aclose()
