"""Documents of the national NFS-e: what it costs to make a DPS and to draw a note, and how long the loop waits then."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import psutil
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from gateway.keys.nfse import ChaveNFSe
from gateway.nacional.dps import Circunstancias, build, id_dps
from gateway.nacional.layouts import Layout
from gateway.nacional.processes.danfse import PROCESSES, DanfsePool
from gateway.nacional.signature import sign
from gateway.port import InvoiceIntent, Prestador, Rps, Tomador
from proofs.bench.figure import Figure, at_most
from proofs.bench.machine.cpu import Meter
from state_machine.protocol.channel import Ambiente

if TYPE_CHECKING:
    from proofs.bench.machine.place import Place
    from proofs.bench.plan import Plan

ROW = "nacional"
NOTES = 50  # of each kind in a round
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
_INTENT: Final = InvoiceIntent(
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
    ),
    tomador=Tomador("11144477735", "João da Silva"),
    valor=Decimal("1500.00"),
    descricao="Consultoria de novembro",
    competencia=datetime(2026, 11, 20, tzinfo=UTC).date(),
    rps=Rps("900", 1),
)


async def measure(_: Place, plan: Plan) -> list[Figure]:
    """Return the row's figures; raises ``DanfseError`` when a note cannot be drawn."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    maker = _Maker(key, _certificate(key))
    dps = maker.dps(1).partition(b"?>")[2].decode()  # warm: schema and bindings are loaded
    note = _NOTE.format(chave=CHAVE, cnpj=CNPJ, dps=dps).encode()
    others = set(psutil.Process().children())
    pool = DanfsePool()
    try:
        await asyncio.gather(*(pool.render(note) for _ in range(2 * PROCESSES)))
        family = {str(child.pid): child.pid for child in set(psutil.Process().children()) - others}

        async def made() -> tuple[float, float]:
            return maker.cost(), 0.0

        async def drawn() -> tuple[float, float]:
            return await _drawn(pool, note, family)

        rounds = await plan.in_turns({"DPS": made, "DANFSe": drawn})
    finally:
        await pool.aclose()
    costs, waits = zip(*rounds["DANFSe"], strict=True)
    return [
        Figure(row=ROW, name="CPU de uma DPS: montar, conferir no XSD, assinar", unit="ms",
               ours=tuple(cost for cost, _ in rounds["DPS"]), reach=at_most(12), note=f"{NOTES} por rodada"),
        Figure(row=ROW, name="CPU de um DANFSe", unit="ms", ours=costs,
               note=f"{PROCESSES} processos, {NOTES} por rodada"),
        Figure(row=ROW, name="maior espera do laço de eventos enquanto os DANFSe são desenhados", unit="ms",
               ours=waits, reach=at_most(5), note=f"{NOTES} por rodada, tarefa que acorda a cada milissegundo"),
    ]  # fmt: skip


class _Maker:
    def __init__(self, key: rsa.RSAPrivateKey, certificate: x509.Certificate) -> None:
        self._identity = key, certificate
        self._number = 0

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
    waits = [0.0]

    async def beat() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(BEAT)
            now = time.perf_counter()
            waits.append(now - last - BEAT)
            last = now

    meter = Meter(family)
    heart = asyncio.create_task(beat())
    await asyncio.gather(*(pool.render(note) for _ in range(NOTES)))
    heart.cancel()
    return sum(meter.read().values()) / NOTES * 1000, max(waits) * 1000


def _certificate(key: rsa.RSAPrivateKey) -> x509.Certificate:
    """Return a certificate of a made-up company, signed by itself."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"ANA DESIGN:{CNPJ}")])
    now = datetime.now(UTC)
    begun = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    return begun.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
