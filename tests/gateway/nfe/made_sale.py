"""A shop of São Paulo, a sale of it, and an independent verifier of signatures."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import xmlsec
from lxml import etree

from gateway.keys import ChaveNFe
from gateway.nfe.document import Signer
from gateway.nfe.sale import Destinatario, Emitente, ItemProduto, NotaProduto, Pagamento
from state_machine.documents import Endereco
from state_machine.protocol.channel import Ambiente
from tests.made_certificates import company, rsa_key

NOW = datetime(2026, 11, 28, 15, 0, 0, tzinfo=UTC)
CNPJ = "11222333000181"
ADDRESS = Endereco("Rua Augusta", "100", "Consolação", "3550308", "São Paulo", "SP", "01305000")
SHOP = Emitente(
    cnpj=CNPJ,
    razao_social="ANA BOLOS LTDA",
    inscricao_estadual="110042490114",
    regime="simples",
    endereco=ADDRESS,
)
CAKE = ItemProduto(
    codigo="B1",
    texto="Bolo de pote",
    ncm="19059090",
    cfop="5102",
    csosn="102",
    unidade="UN",
    quantidade=Decimal(3),
    preco=Decimal("12.00"),
)
BUYER = Destinatario(documento="13167474254", nome="João da Silva & Cia", endereco=ADDRESS)
PAIR = (rsa_key(), company().certificate)
WITH = Signer(*PAIR, "3550308", Ambiente.HOMOLOGACAO)


def chave(modelo: str = "55", cnpj: str = CNPJ, serie: int = 77, uf: str = "35") -> ChaveNFe:
    """The key of the golden data."""
    return ChaveNFe(uf, "2611", cnpj, modelo, serie, 42, 1, 40_713_582)


def sale(modelo: str = "55", **changed: Any) -> NotaProduto:
    """Three cakes, paid with Pix and taken along."""
    itens = changed.get("itens", (CAKE,))
    made = NotaProduto(
        chave=chave(modelo, changed.get("emitente", SHOP).cnpj),
        emissao=NOW,
        ambiente=Ambiente.PRODUCAO,
        emitente=SHOP,
        destinatario=BUYER if modelo == "55" else None,
        itens=itens,
        pagamentos=(Pagamento("17", sum((each.total for each in itens), Decimal(0))),),
        presenca="1",
        referencia="zap-01JD-1",
    )
    return replace(made, **changed)


def xmlsec_accepts(signed: bytes) -> bool:
    """Ask an independent implementation, with the certificate that the message brings."""
    root = etree.fromstring(signed)
    xmlsec.tree.add_ids(root, ["Id"])
    node = xmlsec.tree.find_node(root, xmlsec.constants.NodeSignature)
    assert node is not None
    der = base64.b64decode(node.findtext(".//{*}X509Certificate"))
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(der, xmlsec.constants.KeyDataFormatCertDer)
    try:
        context.verify(node)
    except xmlsec.Error:
        return False
    return True
