"""All simulators together: opens them, connects their webhooks to one bot, names their addresses."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Self

from proofs.sandbox.cnpj_register import CnpjRegister, closed_companies, company_names
from proofs.sandbox.courier import BULKY
from proofs.sandbox.faults import Faults
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.meta.meta import MetaConfig, MetaSimulator
from proofs.sandbox.model import ModelSimulator
from proofs.sandbox.plugnotas.plugnotas import PlugNotasConfig, PlugNotasSimulator

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from proofs.sandbox.server import Simulator


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports on 127.0.0.1; 0 takes a free one."""

    meta: int = 0
    plugnotas: int = 0
    cnpj: int = 0
    model: int = 0


@dataclass(frozen=True, slots=True)
class Urls:
    """What to give the bot, named as its settings: ``whatsapp_api`` has the Graph version, ``openai_base`` the /v1."""

    whatsapp_api: str
    plugnotas: str
    cnpj_api: str
    openai_base: str

    def as_dict(self) -> dict[str, str]:
        """Return a JSON shape."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class WorldConfig:
    """How the world behaves; ``seed`` is that of all faults, ``knows_all`` the register's."""

    meta: MetaConfig = field(default_factory=MetaConfig)
    plugnotas: PlugNotasConfig = field(default_factory=PlugNotasConfig)
    ports: Ports = field(default_factory=Ports)
    seed: int = 0
    fsync: bool = False
    knows_all: bool = False


class World:
    """``async with World(home, bot_url=...) as world``: Meta, PlugNotas, the CNPJ register and a model, all over HTTP.

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
        self._opened = AsyncExitStack()
        if bot_url is not None:
            self.connect(bot_url)

    @property
    def simulators(self) -> tuple[Simulator, ...]:
        """All of them, in the order they open."""
        return (self.meta, self.plugnotas, self.cnpj, self.model)

    @property
    def urls(self) -> Urls:
        """The addresses; known once open."""
        return Urls(
            whatsapp_api=f"{self.meta.url}/v26.0",
            plugnotas=self.plugnotas.url,
            cnpj_api=f"{self.cnpj.url}/api/cnpj/v1",
            openai_base=f"{self.model.url}/v1",
        )

    def connect(self, bot_url: str) -> None:
        """Say where the bot listens: webhooks go to its routes from now on."""
        base = bot_url.rstrip("/")
        self.meta.courier.url = f"{base}/webhooks/whatsapp"
        self.plugnotas.courier.url = f"{base}/webhooks/gateway/{self.config.plugnotas.webhook_secret}"

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:  # when one cannot be opened, those before it are closed
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
