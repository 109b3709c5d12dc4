"""A company of São Paulo, an invoice and an RPS of it, and the city's schemas."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from lxml import etree

from gateway.keys import ChaveRPS
from gateway.paulistana.rps import Recibo
from proofs.sandbox.paulistana import wire
from state_machine.documents import DocumentoServico, Endereco, Prestador, Rps, Tomador
from state_machine.services.codes import IbsCbs

SCHEMAS = Path(wire.__file__).parent / "schemas"
TODAY = date(2026, 11, 28)
CNPJ = "11222333000181"
ADDRESS = Endereco("Rua Augusta", "100", "Consolação", "3550308", "São Paulo", "SP", "01305000")


def invoice(**changed: Any) -> DocumentoServico:
    """An invoice of a company of the normal regime to a person."""
    made = DocumentoServico(
        id_integracao="zap-01JD-1",
        rps=Rps("PROSA", 1),
        prestador=Prestador(
            cnpj=CNPJ,
            razao_social="ANA CONSULTORIA LTDA",
            inscricao_municipal="31000000",
            municipio_ibge="3550308",
            regime="normal",
            codigo_servico="02658",
            cnae=None,
            aliquota=Decimal(5),
            codigo_nbs="118054000",
            ibs_cbs=IbsCbs("100301", "000", "000001"),
        ),
        tomador=Tomador("13167474254", "João da Silva & Cia"),
        valor=Decimal("1500.00"),
        competencia=TODAY,
        descricao="Consultoria em novembro",
    )
    return replace(made, **changed)


def official(layout: int, **changed: Any) -> Recibo:
    """The RPS of the manual's own examples."""
    chave, dia = (
        (ChaveRPS("31000000", "OL03", 1), date(2007, 1, 3))
        if layout == 1
        else (ChaveRPS("123456789012", "RTNT", 1), date(2026, 1, 1))
    )
    made = Recibo(
        chave=chave,
        cnpj=CNPJ,
        data=dia,
        valor=2_050_000,
        deductions=500_000,
        codigo="2658",
        aliquota=Decimal(5),
        texto="Desenvolvimento",
        tomador="13167474254",
    )
    return replace(made, **changed)


def complaints(message: bytes) -> list[str]:
    """What the city's schema says against a message."""
    root = etree.fromstring(message)
    checked = wire.schema(etree.QName(root).localname, int(root[0].get("Versao")))
    checked.validate(root)
    return [entry.message for entry in checked.error_log]
