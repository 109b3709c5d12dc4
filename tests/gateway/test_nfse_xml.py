"""What the XML of an issued note says of its content, in the layouts that cities speak."""

from __future__ import annotations

import pytest

from gateway.plugnotas.adapter import with_content
from state_machine.protocol.emission import Nota, Situacao

NOTA = Nota("ext", "ref", Situacao.AUTORIZADA)
NATIONAL = """<?xml version="1.0" encoding="UTF-8"?>
<NFSe xmlns="http://www.sped.fazenda.gov.br/nfse" versao="1.01"><infNFSe Id="NFS1"><cStat>100</cStat>
<DPS versao="1.01"><infDPS Id="DPS1">
<nDPS>760</nDPS>
<dCompet>2026-11-21</dCompet><serv><cServ><cTribNac>171201</cTribNac><xDescServ>Gestão de condomínio</xDescServ></cServ>
</serv></infDPS></DPS></infNFSe></NFSe>"""
ABRASF = """<CompNfse xmlns="http://www.abrasf.org.br/nfse.xsd"><Nfse><InfNfse><Numero>12</Numero>
<IdentificacaoRps><Numero>760</Numero><Serie>7</Serie><Tipo>1</Tipo></IdentificacaoRps>
<Competencia>2026-11-01T00:00:00</Competencia>
<Servico><ItemListaServico>17.12</ItemListaServico><Discriminacao>Gestão de condomínio</Discriminacao></Servico>
</InfNfse></Nfse></CompNfse>"""


@pytest.mark.parametrize(
    ("xml", "codigo"),
    [(NATIONAL.encode(), "171201"), (ABRASF.encode(), "17.12"), (ABRASF.encode("utf-16"), "17.12")],
    ids=["national", "abrasf", "utf-16"],
)
def test_text_month_code_and_issuers_number_are_read(xml: bytes, codigo: str) -> None:
    """Both families of layouts, whatever the encoding and the namespace."""
    nota = with_content(NOTA, xml)
    assert (nota.descricao, nota.codigo_servico) == ("Gestão de condomínio", codigo)
    assert (nota.competencia or "")[:7] == "2026-11"
    assert nota.numero_rps == 760
    assert nota.c_stat == (100 if codigo == "171201" else None)  # ABRASF knows none


@pytest.mark.parametrize(
    "xml",
    [
        b"",
        b"<html>",
        b"<a></a>",
        NATIONAL[:-10].encode(),
        b'<?xml version="1.0" encoding="klingon"?><a/>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a><xDescServ>&x;</xDescServ></a>',
        b"<a>" + b"<b>" * 50 + b"</b>" * 50 + b"</a>",
        b"<a><xDescServ>" + b"x" * 1_000_000 + b"</xDescServ></a>",
    ],
    ids=["nothing", "page", "empty", "cut", "encoding", "entities", "deep", "huge"],
)
def test_what_is_no_note_says_nothing(xml: bytes) -> None:
    """Cut, foreign, huge or hostile XML is silence, never an error and never content."""
    assert with_content(NOTA, xml) == NOTA


def test_two_services_in_one_note_are_silence_about_the_service() -> None:
    """A note of ours has one: which of two would be compared, nobody knows."""
    twice = ABRASF.replace("</InfNfse>", "<Servico><Discriminacao>Outro</Discriminacao></Servico></InfNfse>")
    assert with_content(NOTA, twice.encode()).descricao is None
