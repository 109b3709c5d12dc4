"""A company, its certificate and an invoice of it, for the national documents."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from gateway.nacional.dps import Circunstancias
from gateway.nacional.layouts import Layout
from state_machine.documents import DocumentoServico, Prestador, Rps, Tomador
from state_machine.protocol.channel import Ambiente


def certificate(key: rsa.RSAPrivateKey) -> x509.Certificate:
    """A certificate of a made-up company, signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ANA DESIGN:12ABC34501DE35")])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )


@pytest.fixture(scope="session")
def identity() -> tuple[rsa.RSAPrivateKey, x509.Certificate]:
    """The key and certificate of the company; made once, for a key costs more than all else."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key, certificate(key)


@pytest.fixture
def intent() -> DocumentoServico:
    """An invoice of a company of the Simples with letters in its CNPJ."""
    return DocumentoServico(
        id_integracao="zap-01JD-1",
        prestador=Prestador(
            cnpj="12ABC34501DE35",
            razao_social="ANA DESIGN",
            inscricao_municipal="123456",
            municipio_ibge="3550308",
            regime="simples",
            codigo_servico="01.01.01",
            cnae=None,
            aliquota=None,
        ),
        tomador=Tomador("11144477735", "João da Silva & Cia", "joao@exemplo.com"),
        valor=Decimal("1500.00"),
        descricao="Consultoria — “novembro”",
        competencia=date(2026, 11, 20),
        rps=Rps("900", 7),
    )


@pytest.fixture
def facts() -> Circunstancias:
    """Homologation, ten in the morning in São Paulo."""
    return Circunstancias(
        layout=Layout(),
        ambiente=Ambiente.HOMOLOGACAO,
        dh_emi=datetime(2026, 11, 21, 13, 0, tzinfo=UTC),
        p_tot_trib_sn=Decimal(6),
    )
