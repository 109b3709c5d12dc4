"""Documents of the national NFS-e: what it costs to make and to draw them, and who waits while that is done."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from gateway.certificate.connections import client_context_apart
from gateway.keys import ChaveNFSe
from gateway.nacional import payload
from gateway.nacional.dps import Circunstancias, build, id_dps
from gateway.nacional.layouts import Layout
from gateway.nacional.processes.danfse import PROCESSES, DanfsePool
from gateway.nacional.processes.signing_process import Signed, Signers
from gateway.nacional.signature import sign
from proofs.bench.figure import Figure, at_most, percentile
from proofs.bench.machine.cpu import Meter
from state_machine.documents import DocumentoServico, Prestador, Rps, Tomador
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "nacional"
NOTES = 50  # of each kind in a round
CONTEXTS: Final = 5  # TLS contexts that are made beside ``NOTES`` documents: one for each company that comes back
BEAT: Final = 0.001  # seconds between two looks at the clock
CNPJ: Final = "12ABC34501DE35"
CHAVE: Final = str(ChaveNFSe("3550308", "2", "2", CNPJ, 42, "2611", 123456789))
_NOTE: Final = """<NFSe xmlns="http://www.sped.fazenda.gov.br/nfse" versao="1.01"><infNFSe Id="NFS{chave}">
<xLocEmi>São Paulo</xLocEmi><nNFSe>42</nNFSe><xTribNac>Análise</xTribNac><ambGer>2</ambGer><cStat>100</cStat>
<dhProc>2026-11-21T10:01:05-03:00</dhProc><emit><CNPJ>{cnpj}</CNPJ><xNome>ANA DESIGN</xNome></emit>
<valores><vLiq>1500.00</vLiq></valores>{dps}</infNFSe></NFSe>"""
_FACTS: Final = Circunstancias(
    Layout(), Ambiente.HOMOLOGACAO, datetime(2026, 11, 21, 13, 0, tzinfo=UTC), p_tot_trib_sn=Decimal(6)
)
_INTENT: Final = DocumentoServico(
    id_integracao="zap-01JD-1",
    prestador=Prestador(
        cnpj=CNPJ,
        razao_social="ANA DESIGN",
        inscricao_municipal="123456",
        municipio_ibge="3550308",
        regime="simples",
        codigo_servico="01.01.01",
        cnae=None,
        aliquota=None,
        tributos_sn=Decimal(6),
    ),
    tomador=Tomador("11144477735", "João da Silva"),
    valor=Decimal("1500.00"),
    descricao="Consultoria de novembro",
    competencia=datetime(2026, 11, 20, tzinfo=UTC).date(),
    rps=Rps("900", 1),
)


@dataclass(frozen=True, slots=True)
class _OpenA1:
    impressao: str
    valido_ate: datetime
    chave: bytes
    cadeia: bytes


async def measure(_: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``DanfseError`` and ``SigningError`` when a document cannot be made."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    maker = _Maker(key, _certificate(key))
    dps = maker.dps(1).partition(b"?>")[2].decode()  # warm: schema and bindings are loaded
    note = _NOTE.format(chave=CHAVE, cnpj=CNPJ, dps=dps).encode()
    others = set(psutil.Process().children())
    pool, signers, a1 = DanfsePool(), Signers(), maker.opened()
    try:
        await _signed(signers, a1, 2 * signers.most)
        await asyncio.gather(*(pool.render(note) for _ in range(2 * PROCESSES)))
        family = {str(child.pid): child.pid for child in set(psutil.Process().children()) - others}

        async def made() -> tuple[float, float]:
            return maker.cost(), 0.0

        async def drawn() -> tuple[float, float]:
            return await _drawn(pool, note, family)

        async def signed() -> tuple[float, float]:
            async with _waits() as waits:
                contexts = (client_context_apart(a1.chave, a1.cadeia) for _ in range(CONTEXTS))
                await asyncio.gather(_signed(signers, a1, NOTES), *contexts)
            return percentile(waits, 0.99), 0.0

        rounds = await plan.in_turns({"DPS": made, "DANFSe": drawn, "assinatura": signed})
    finally:
        await pool.aclose()
        await signers.aclose()
    costs, waits = zip(*rounds["DANFSe"], strict=True)
    return [
        Figure(row=ROW, name="CPU de uma DPS: montar, conferir no XSD, assinar", unit="ms",
               ours=tuple(cost for cost, _ in rounds["DPS"]), reach=at_most(12), note=f"{NOTES} por rodada"),
        Figure(row=ROW, name="CPU de um DANFSe", unit="ms", ours=costs,
               note=f"{PROCESSES} processos, {NOTES} por rodada"),
        Figure(row=ROW, name="maior espera do laço de eventos enquanto os DANFSe são desenhados", unit="ms",
               ours=waits, reach=at_most(5), note=f"{NOTES} por rodada, tarefa que acorda a cada milissegundo"),
        Figure(row=ROW, name="espera do laço de eventos enquanto se assina, p99", unit="ms",
               ours=tuple(wait for wait, _ in rounds["assinatura"]), reach=at_most(5),
               note=f"{NOTES} DPS e {CONTEXTS} contextos TLS por rodada"),
    ]  # fmt: skip


class _Maker:
    def __init__(self, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> None:
        self._identity = key, certificate
        self._number = 0

    def opened(self) -> _OpenA1:
        """Return the certificate as the vault gives it to whoever signs."""
        key, certificate = self._identity
        chave = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return _OpenA1("", certificate.not_valid_after_utc, chave, certificate.public_bytes(Encoding.PEM))

    def dps(self, number: int) -> bytes:
        intent = replace(_INTENT, rps=Rps("900", number))
        return sign(build(intent, _FACTS), str(id_dps(intent)), *self._identity)

    def cost(self) -> float:
        """Make ``NOTES`` of them; returns CPU milliseconds of one."""
        begun = time.process_time()
        for _ in range(NOTES):
            self._number += 1
            self.dps(self._number)
        return (time.process_time() - begun) / NOTES * 1000


async def _drawn(pool: DanfsePool, note: bytes, family: dict[str, int]) -> tuple[float, float]:
    """Draw ``NOTES``; returns CPU milliseconds of one and the longest wait of the event loop, in milliseconds."""
    meter = Meter(family)
    async with _waits() as waits:
        await asyncio.gather(*(pool.render(note) for _ in range(NOTES)))
    return sum(meter.read().values()) / NOTES * 1000, max(waits)


async def _signed(signers: Signers, a1: _OpenA1, documents: int) -> None:
    """Have so many documents signed, as many at a time as there are processes."""
    stored = payload.encode(_INTENT)
    made = [signers.dps(stored, Ambiente.HOMOLOGACAO, _FACTS.dh_emi, a1) for _ in range(documents)]
    if not all(isinstance(one, Signed) for one in await asyncio.gather(*made)):
        raise RuntimeError("uma DPS não foi assinada")


@asynccontextmanager
async def _waits() -> AsyncIterator[list[float]]:
    """Collect how many milliseconds too late a task wakes that wants to every ``BEAT``."""
    waits = [0.0]

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            waits.append((now - last - BEAT) * 1000)
            last = now

    heart = asyncio.create_task(beat())
    try:
        yield waits
    finally:
        heart.cancel()


def _certificate(key: rsa.RSAPrivateKey) -> x509.Certificate:
    """Return a certificate of a made-up company, signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"ANA DESIGN:{CNPJ}")])
    now = datetime.now(UTC)
    begun = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    return begun.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
