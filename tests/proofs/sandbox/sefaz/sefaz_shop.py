"""A shop before the simulated SEFAZ: its documents are made by the gateway, its answers are read by name alone."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree

from gateway.certificate.connections import client_context
from gateway.keys import ChaveNFe
from gateway.nacional.signature import sign
from gateway.nfe import document
from gateway.nfe.layouts import NS
from proofs.sandbox.ledger import Ledger
from proofs.sandbox.sefaz.sefaz import BASE, SefazSimulator
from state_machine.protocol.channel import Ambiente
from tests.gateway.nfe.made_sale import CNPJ, NOW, sale

if TYPE_CHECKING:
    from datetime import datetime

    from proofs.sandbox.nacional.authority import Authority, Made
    from proofs.sandbox.sefaz.rules import SefazConfig

HOUR, MINUTE, DAY = timedelta(hours=1), timedelta(minutes=1), timedelta(days=1)
PROD = Ambiente.PRODUCAO


@dataclass
class Clock:
    """SEFAZ's time: stands until it is moved."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        """Return the present."""
        return self.at

    def move(self, by: timedelta) -> None:
        """Let time pass."""
        self.at += by


@dataclass
class Shop:
    """Who issues: a certificate, and the calls that it makes with it."""

    sefaz: SefazSimulator
    made: Made
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def http(self) -> httpx.AsyncClient:
        """A client with the certificate."""
        chain = self.made.certificate.public_bytes(Encoding.PEM)
        context = client_context(self.made.key_pem, chain, also_trusted=self.sefaz.authority.ca_file)
        return httpx.AsyncClient(base_url=self.sefaz.url + BASE, verify=context)

    @property
    def signer(self) -> document.Signer:
        """What events and closed numbers are signed with."""
        return document.Signer(self.made.rsa, self.made.certificate, "3550308", PROD)

    def note(self, modelo: str = "55", key: ChaveNFe | None = None, **changed: Any) -> bytes:
        """A signed sale of now."""
        changed.setdefault("emissao", self.clock.at)
        made = sale(modelo, chave=key or chave(modelo), **changed)
        return document.signed(made, self.made.rsa, self.made.certificate)

    def altered(self, note: bytes, *changes: tuple[str, str]) -> bytes:
        """Another document with a good signature: each pattern must be there."""
        text = re.sub(r"<Signature .*</Signature>", "", note.decode())
        for old, new in changes:
            text, count = re.subn(old, new, text)
            assert count, old
        identity = re.search(r'Id="(NFe\w{44})"', text)
        assert identity is not None
        return sign(text.encode(), identity[1], self.made.rsa, self.made.certificate, "sha1", compact=True)

    async def post(self, service: str, message: bytes, **headers: str) -> httpx.Response:
        """Send a message in its envelope."""
        body, usual = document.wrapped(service, message)
        return await self.http.post(f"/{service}", content=body, headers={**usual, **headers})

    async def asked(self, service: str, message: bytes) -> Any:
        """Send a message that must be answered; return the root of the answer."""
        answer = await self.post(service, message)
        assert answer.status_code == 200, answer.text
        return etree.fromstring(answer.content).find(".//{*}nfeResultMsg")[0]

    async def send(self, note: bytes) -> Any:
        """Send a note."""
        return await self.asked("NFeAutorizacao4", document.lot(note, 1))

    async def consult(self, key: object) -> Any:
        """Ask for a key."""
        text = f'<consSitNFe xmlns="{NS}" versao="4.00"><tpAmb>1</tpAmb><xServ>CONSULTAR</xServ>'
        return await self.asked("NFeConsultaProtocolo4", f"{text}<chNFe>{key}</chNFe></consSitNFe>".encode())

    async def cancel(self, key: ChaveNFe, nprot: str, quando: datetime | None = None) -> Any:
        """Cancel a note."""
        event = document.cancelamento(key, nprot, "Erro no valor do produto", quando or self.clock.at, self.signer)
        return await self.asked("NFeRecepcaoEvento4", event)

    async def correct(self, key: ChaveNFe, sequencia: int = 1) -> Any:
        """Send a letter of correction."""
        event = document.correcao(key, "O endereço certo é outro", sequencia, self.clock.at, self.signer)
        return await self.asked("NFeRecepcaoEvento4", event)

    async def close_numbers(self, numeros: range, modelo: str = "55", **about: Any) -> Any:
        """Ask that numbers become none."""
        told = document.inutilizacao(
            about.get("cnpj", CNPJ), modelo, 77, numeros, "Falha do sistema emissor", 2026, self.signer
        )
        return await self.asked("NFeInutilizacao4", told)


def chave(modelo: str = "55", numero: int = 42, codigo: int = 40_713_582, aamm: str = "2611", **other: Any) -> ChaveNFe:
    """A key of the shop."""
    return ChaveNFe("35", aamm, other.get("cnpj", CNPJ), modelo, other.get("serie", 77), numero, 1, codigo)


def stat(answer: Any) -> str:
    """The most telling cStat of an answer: that of the note or event where there is one."""
    inner = answer.find("{*}protNFe/{*}infProt/{*}cStat")
    if inner is None or answer.tag.endswith("retConsSitNFe"):
        inner = answer.find("{*}retEvento/{*}infEvento/{*}cStat")
    if inner is None:
        inner = answer.find(".//{*}cStat")
    return str(inner.text)


def said(answer: Any, name: str) -> str | None:
    """The first text of a name in an answer."""
    found = answer.find(f".//{{*}}{name}")
    return None if found is None else found.text


@asynccontextmanager
async def opened(authority: Authority, config: SefazConfig | None = None, **server: Any):
    """SEFAZ under a configuration, at 12:00 of São Paulo, and the shop before it."""
    clock = Clock()
    server.setdefault("ledger", Ledger(clock=clock))
    async with SefazSimulator(authority, config, **server) as sefaz:
        shop = Shop(sefaz, authority.company(CNPJ, "ANA BOLOS LTDA"), clock)
        try:
            yield shop
        finally:
            await shop.http.aclose()
