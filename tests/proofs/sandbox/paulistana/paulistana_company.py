"""A company before the simulated city: it writes its messages by hand, as the city's manual shows them."""

from __future__ import annotations

import base64
import html
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import httpx
import xmlsec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree

from gateway.certificate.connections import client_context
from proofs.sandbox.paulistana.lotenfe import BASE, PaulistanaSimulator

if TYPE_CHECKING:
    from proofs.sandbox.nacional.authority import Authority, Made
    from proofs.sandbox.paulistana.rules import PaulistanaConfig

ANA: Final = "11222333000181"
OTHER: Final = "12345678000195"
CCM: Final = "31000000"
NS: Final = "http://www.prefeitura.sp.gov.br/nfe"
ACTIONS: Final = {
    "EnvioRPS": "envioRPS",
    "TesteEnvioLoteRPS": "testeenvio",
    "ConsultaNFe": "consultaNFe",
    "ConsultaNFeEmitidas": "consultaNFeEmitidas",
    "CancelamentoNFe": "cancelamentoNFe",
    "ConsultaCNPJ": "consultaCNPJ",
}
_SOAP: Final = {
    "soap11": ("http://schemas.xmlsoap.org/soap/envelope/", "text/xml; charset=utf-8"),
    "soap12-header": ("http://www.w3.org/2003/05/soap-envelope", "application/soap+xml; charset=utf-8"),
    "soap12-action": ("http://www.w3.org/2003/05/soap-envelope", 'application/soap+xml; charset=utf-8; action="{}"'),
}
_TOMADOR: Final = "<CPFCNPJTomador><CPF>13167474254</CPF></CPFCNPJTomador><RazaoSocialTomador>João</RazaoSocialTomador>"
_TAXES: Final = "".join(f"<Valor{name}>0</Valor{name}>" for name in ("PIS", "COFINS", "INSS", "IR", "CSLL"))
_AFTER: Final = (
    "<ValorFinalCobrado>100.00</ValorFinalCobrado><ValorIPI>0</ValorIPI><ExigibilidadeSuspensa>0</ExigibilidadeSuspensa>"
    "<NBS>118054000</NBS><cLocPrestacao>3550308</cLocPrestacao><IBSCBS><finNFSe>0</finNFSe><indFinal>0</indFinal>"
    "<cIndOp>100301</cIndOp><indDest>0</indDest><valores><trib><gIBSCBS><cClassTrib>000001</cClassTrib></gIBSCBS></trib>"
    "</valores></IBSCBS>"
)


def today() -> str:
    """The city's day."""
    return (datetime.now(UTC) - timedelta(hours=3)).date().isoformat()


@dataclass
class Company:
    """Who issues: a certificate, and the calls that it makes with it."""

    city: PaulistanaSimulator
    made: Made
    versao: int = 2
    remetente: str = ANA

    @cached_property
    def http(self) -> httpx.AsyncClient:
        """A client with the certificate."""
        chain = self.made.certificate.public_bytes(Encoding.PEM)
        context = client_context(self.made.key_pem, chain, also_trusted=self.city.authority.ca_file)
        return httpx.AsyncClient(base_url=self.city.url, verify=context)

    def seal(self, text: str) -> str:
        """The base64 of a string's signature."""
        return base64.b64encode(self.made.rsa.sign(text.encode(), padding.PKCS1v15(), hashes.SHA1())).decode()  # noqa: S303 - the city's

    def rps(self, numero: int = 1) -> str:
        """An RPS of 100.00 to a person, with its own signature."""
        day, wide = today(), 8 if self.versao == 1 else 12
        what = (
            f"{CCM.zfill(wide)}PROSA{numero:012d}{day.replace('-', '')}TNN{10000:015d}{0:015d}026581{13167474254:014d}"
        )
        old = self.versao == 1
        return (
            f"<Assinatura>{self.seal(what)}</Assinatura><ChaveRPS><InscricaoPrestador>{CCM}</InscricaoPrestador>"
            f"<SerieRPS>PROSA</SerieRPS><NumeroRPS>{numero}</NumeroRPS></ChaveRPS><TipoRPS>RPS</TipoRPS>"
            f"<DataEmissao>{day}</DataEmissao><StatusRPS>N</StatusRPS><TributacaoRPS>T</TributacaoRPS>"
            f"{'<ValorServicos>100.00</ValorServicos>' if old else ''}<ValorDeducoes>0</ValorDeducoes>"
            f"{'' if old else _TAXES}<CodigoServico>2658</CodigoServico><AliquotaServicos>0.05</AliquotaServicos>"
            f"<ISSRetido>false</ISSRetido>{_TOMADOR}<Discriminacao>Consultoria|nov/2026</Discriminacao>"
            f"{'' if old else _AFTER}"
        )

    def message(self, root: str, *parts: str, cabecalho: str = "") -> str:
        """A message with the company's signature over all of it: each part is a child of the root."""
        sender = f"<CPFCNPJRemetente><CNPJ>{self.remetente}</CNPJ></CPFCNPJRemetente>"
        head = f'<Cabecalho xmlns="" Versao="{self.versao}">{sender}{cabecalho}</Cabecalho>'
        return self.signed(f'<{root} xmlns="{NS}">{head}{"".join(parts)}</{root}>')

    def signed(self, text: str) -> str:
        """Put the signature of another implementation than the simulator's at the end of a document."""
        root = etree.fromstring(text)
        node = xmlsec.template.create(root, xmlsec.constants.TransformInclC14N, xmlsec.constants.TransformRsaSha1)
        reference = xmlsec.template.add_reference(node, xmlsec.constants.TransformSha1, uri="")
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformEnveloped)
        xmlsec.template.add_transform(reference, xmlsec.constants.TransformInclC14N)
        xmlsec.template.add_x509_data(xmlsec.template.ensure_key_info(node))
        data = node.find(".//{*}X509Data")
        for child in data:
            data.remove(child)
        xmlsec.template.x509_data_add_certificate(data)
        root.append(node)
        _tidy(node)
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(self.made.key_pem, xmlsec.constants.KeyDataFormatPem)
        context.key.load_cert_from_memory(
            self.made.certificate.public_bytes(Encoding.PEM), xmlsec.constants.KeyDataFormatPem
        )
        context.sign(node)
        for name in ("X509Certificate", "SignatureValue", "DigestValue"):
            value = node.find(f".//{{*}}{name}")
            value.text = "".join(value.text.split())
        _tidy(node)
        return str(etree.tostring(root, encoding="unicode"))

    def envio(self, numero: int = 1) -> str:
        """``PedidoEnvioRPS``."""
        return self.message("PedidoEnvioRPS", f'<RPS xmlns="">{self.rps(numero)}</RPS>')

    def consulta(self, numero: int = 1) -> str:
        """``PedidoConsultaNFe`` by RPS."""
        key = f"<InscricaoPrestador>{CCM}</InscricaoPrestador><SerieRPS>PROSA</SerieRPS><NumeroRPS>{numero}</NumeroRPS>"
        return self.message("PedidoConsultaNFe", f'<Detalhe xmlns=""><ChaveRPS>{key}</ChaveRPS></Detalhe>')

    def emitidas(self) -> str:
        """``PedidoConsultaNFePeriodo`` of today."""
        more = f"<CPFCNPJ><CNPJ>{ANA}</CNPJ></CPFCNPJ><dtInicio>{today()}</dtInicio><dtFim>{today()}</dtFim>"
        return self.message("PedidoConsultaNFePeriodo", cabecalho=f"{more}<NumeroPagina>1</NumeroPagina>")

    def cancelamento(self, numero: int = 1, digits: int = 8) -> str:
        """``PedidoCancelamentoNFe``, signed over so many digits of the inscription."""
        key = f"<InscricaoPrestador>{CCM}</InscricaoPrestador><NumeroNFe>{numero}</NumeroNFe>"
        seal = self.seal(f"{CCM.zfill(digits)}{numero:012d}")
        detail = f"<ChaveNFe>{key}</ChaveNFe><AssinaturaCancelamento>{seal}</AssinaturaCancelamento>"
        return self.message(
            "PedidoCancelamentoNFe", f'<Detalhe xmlns="">{detail}</Detalhe>', cabecalho="<transacao>true</transacao>"
        )

    def teste(self) -> str:
        """``PedidoEnvioLoteRPS`` of one RPS."""
        totals = "<ValorTotalServicos>100.00</ValorTotalServicos>" if self.versao == 1 else ""
        dates = f"<dtInicio>{today()}</dtInicio><dtFim>{today()}</dtFim><QtdRPS>1</QtdRPS>"
        return self.message(
            "PedidoEnvioLoteRPS",
            f'<RPS xmlns="">{self.rps()}</RPS>',
            cabecalho=f"<transacao>true</transacao>{dates}{totals}",
        )

    def cnpj(self, asked: str = ANA) -> str:
        """``PedidoConsultaCNPJ``."""
        return self.message("PedidoConsultaCNPJ", f'<CNPJContribuinte xmlns=""><CNPJ>{asked}</CNPJ></CNPJContribuinte>')

    async def post(
        self, operation: str, text: str, binding: str = "soap12-header", versao: int | None = None
    ) -> httpx.Response:
        """Send a message in one of the bindings."""
        (ns, kind), action = _SOAP[binding], f"{NS}/ws/{ACTIONS[operation]}"
        headers = {"Content-Type": kind.format(action)}
        if binding != "soap12-action":
            headers["SOAPAction"] = f'"{action}"' if binding == "soap11" else action
        body = (
            f'<?xml version="1.0" encoding="utf-8"?><soap:Envelope xmlns:soap="{ns}"><soap:Body><{operation}Request '
            f'xmlns="{NS}"><VersaoSchema>{versao or self.versao}</VersaoSchema><MensagemXML>'
            f"{html.escape(text, quote=False)}</MensagemXML></{operation}Request></soap:Body></soap:Envelope>"
        )
        return await self.http.post(BASE, content=body.encode(), headers=headers)

    async def asked(self, operation: str, text: str, **how: Any) -> Any:
        """Send a message that must be answered; returns the root of the answer."""
        answer = await self.post(operation, text, **how)
        assert answer.status_code == 200, answer.text
        inner = etree.fromstring(answer.content).findtext(".//{*}RetornoXML")
        return etree.fromstring(inner.encode())


def codes(retorno: Any, kind: str = "Erro") -> list[str]:
    """The codes of an answer."""
    return [one.findtext("Codigo") for one in retorno.findall(kind)]


def _tidy(node: Any) -> None:
    for one in node.iter():
        one.tail = None
        if len(one):
            one.text = None


@asynccontextmanager
async def opened(authority: Authority, config: PaulistanaConfig | None = None, **server: Any):
    """The city under a configuration, and Ana before it."""
    async with PaulistanaSimulator(authority, config, **server) as city:
        company = Company(city, authority.company(ANA, "ANA DESIGN ME"))
        try:
            yield company
        finally:
            await company.http.aclose()
