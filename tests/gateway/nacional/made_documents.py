"""Documents of the authority, as far as their readers look at them; unsigned."""

from __future__ import annotations

from gateway.keys import ChaveNFSe
from gateway.nacional.layouts import parse

NS = 'xmlns="http://www.sped.fazenda.gov.br/nfse"'
CHAVE = str(ChaveNFSe("3550308", "2", "2", "12ABC34501DE35", 42, "2611", 123456789))
_NOTE = """<NFSe {ns} versao="1.01"><infNFSe Id="NFS{chave}"><nNFSe>42</nNFSe><cStat>{c_stat}</cStat>
<dhProc>2026-11-21T10:01:05-03:00</dhProc><emit><CNPJ>{cnpj}</CNPJ></emit>{dps}</infNFSe></NFSe>"""


def note_of(dps: bytes, *, chave: str = CHAVE, cnpj: str = "12ABC34501DE35", c_stat: str = "100") -> bytes:
    """Return a note that holds a DPS."""
    parse(dps)
    inner = dps.partition(b"?>")[2].decode()
    return _NOTE.format(ns=NS, chave=chave, cnpj=cnpj, c_stat=c_stat, dps=inner).encode()


def event_of(chave: str = CHAVE, tipo: str = "101101") -> bytes:
    """Return a registered event."""
    return f'<evento {NS} versao="1.01"><infEvento Id="EVT{chave}{tipo}001"/></evento>'.encode()
