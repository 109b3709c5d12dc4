"""A company that shows its certificate to SEFIN, and its invoices."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import httpx
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.certificate.connections import client_context
from gateway.nacional.dps import Circunstancias, build, id_dps
from gateway.nacional.layouts import Layout
from gateway.nacional.signature import pack, sign, unpack
from proofs.sandbox.nacional.sefin import BASE, NacionalConfig, SefinSimulator
from state_machine.documents import DocumentoServico, Prestador, Rps, Tomador
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from proofs.sandbox.nacional.authority import Authority, Made

ANA = "11222333000181"
LETTERS = "12ABC34501DE35"
PADARIA = "12345678000195"


def invoice(numero: int = 1, **changes: Any) -> DocumentoServico:
    """An invoice of Ana's to a bakery; ``changes`` are fields of it, of its ``prestador`` or of its ``tomador``."""
    prestador = {
        "cnpj": ANA,
        "razao_social": "ANA DESIGN ME",
        "inscricao_municipal": "123",
        "municipio_ibge": "3550308",
        "regime": "simples",
        "codigo_servico": "01.01.01",
        "cnae": None,
        "aliquota": None,
        **changes.pop("prestador", {}),
    }
    return DocumentoServico(
        **{
            "id_integracao": f"prosa-{numero}-1",
            "prestador": Prestador(**prestador),
            "tomador": Tomador(PADARIA, "PADARIA DO ZÉ LTDA", None),
            "valor": Decimal("1500.10"),
            "descricao": "Consultoria",
            "competencia": (datetime.now(UTC) - timedelta(hours=4)).date(),
            "rps": Rps("900", numero),
            **changes,
        }
    )


def unsigned(intent: DocumentoServico, **changes: Any) -> bytes:
    """The DPS of an invoice as the product builds it, a minute ago."""
    facts = {
        "layout": Layout(),
        "ambiente": Ambiente.HOMOLOGACAO,
        "dh_emi": datetime.now(UTC) - timedelta(minutes=1),
        "p_tot_trib_sn": Decimal(6),
        **changes,
    }
    return build(intent, Circunstancias(**facts))


@dataclass
class Company:
    """Who issues: a certificate, and the calls that it makes with it."""

    sefin: SefinSimulator
    made: Made

    @cached_property
    def http(self) -> httpx.AsyncClient:
        """A client with the certificate."""
        chain = self.made.certificate.public_bytes(Encoding.PEM)
        context = client_context(self.made.key_pem, chain, also_trusted=self.sefin.authority.ca_file)
        return httpx.AsyncClient(base_url=self.sefin.url + BASE, verify=context)

    def signed(self, intent: DocumentoServico, **changes: Any) -> bytes:
        """The DPS of an invoice, signed."""
        return sign(unsigned(intent, **changes), str(id_dps(intent)), self.made.rsa, self.made.certificate)

    def resigned(self, xml: bytes) -> bytes:
        """Sign an unsigned document by the Id that stands in it."""
        reference = xml.decode().split('Id="', 1)[1].split('"', 1)[0]
        return sign(xml, reference, self.made.rsa, self.made.certificate)

    async def post(self, xml: bytes) -> httpx.Response:
        """Send a signed DPS."""
        return await self.http.post("/nfse", json={"dpsXmlGZipB64": pack(xml)})

    async def issue(self, intent: DocumentoServico | None = None, **changes: Any) -> dict[str, Any]:
        """Send an invoice that must be taken; returns the answer with the note's ``xml``."""
        answer = await self.post(self.signed(intent or invoice(), **changes))
        assert answer.status_code == 201, answer.text
        body: dict[str, Any] = answer.json()
        return {**body, "xml": unpack(body["nfseXmlGZipB64"])}

    async def codes(self, xml: bytes) -> list[str]:
        """Send what must be refused; returns the codes."""
        answer = await self.post(xml)
        assert answer.status_code == 400, answer.text
        refused = self.sefin.ledger.of("refused")[-1]
        found: list[str] = refused.data["codes"]
        return found


@asynccontextmanager
async def opened(authority: Authority, config: NacionalConfig | None = None, **server: Any):
    """SEFIN under a configuration, and Ana before it."""
    async with SefinSimulator(authority, config, **server) as sefin:
        company = Company(sefin, authority.company(ANA, "ANA DESIGN ME"))
        try:
            yield company
        finally:
            await company.http.aclose()
