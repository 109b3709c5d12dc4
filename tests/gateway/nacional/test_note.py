"""What an issued note says, in our words; what is no note says nothing."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import nfelib
import pytest

from gateway.keys import ChaveNFSe
from gateway.nacional.dps import build, id_dps, short_reference
from gateway.nacional.layouts import MAX_BYTES, Layout, check, parse
from gateway.nacional.note import read
from gateway.nacional.signature import sign, verify
from state_machine.protocol.emission import Nota, Situacao

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa

    from gateway.nacional.dps import Circunstancias
    from state_machine.documents import DocumentoServico

CHAVE = ChaveNFSe("3550308", "2", "2", "12ABC34501DE35", 42, "2611", 123456789)
NOTE = """<NFSe xmlns="http://www.sped.fazenda.gov.br/nfse" versao="1.01"><infNFSe Id="NFS{chave}">
<xLocEmi>São Paulo</xLocEmi><xLocPrestacao>São Paulo</xLocPrestacao><nNFSe>42</nNFSe><xTribNac>Análise</xTribNac>
<verAplic>SefinNac_Pre_1.5.0</verAplic><ambGer>2</ambGer><tpEmis>1</tpEmis><cStat>100</cStat>
<dhProc>2026-11-21T10:01:05-03:00</dhProc><nDFSe>99</nDFSe><emit><CNPJ>12ABC34501DE35</CNPJ><xNome>ANA DESIGN</xNome>
<enderNac><xLgr>Rua A</xLgr><nro>1</nro><xBairro>Centro</xBairro><cMun>3550308</cMun><UF>SP</UF><CEP>01001000</CEP>
</enderNac></emit><valores><vBC>1500.00</vBC><vLiq>1500.00</vLiq></valores>{dps}</infNFSe></NFSe>"""


@pytest.fixture
def note(
    intent: DocumentoServico, facts: Circunstancias, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> bytes:
    """A note as SEFIN makes it: our signed DPS inside, signed again over the whole."""
    dps = sign(build(intent, facts), str(id_dps(intent)), *identity).partition(b"?>\n")[2].decode()
    return sign(NOTE.format(chave=CHAVE, dps=dps).encode(), f"NFS{CHAVE}", *identity)


def test_a_note_is_read_whole(note: bytes, intent: DocumentoServico) -> None:
    """Number, key, value, customer, text, competence, code, our DPS and our reference."""
    check(parse(note), "NFSe", Layout())
    found = read(note)
    assert found is not None
    assert found.c_int_contrib == short_reference(intent.id_integracao)
    assert found.nota == Nota(
        id_externo=str(CHAVE),
        id_integracao=str(id_dps(intent)),
        situacao=Situacao.AUTORIZADA,
        prestador="12ABC34501DE35",
        tomador="11144477735",
        valor=Decimal("1500.00"),
        numero="42",
        chave=str(CHAVE),
        c_stat=100,
        data_emissao="2026-11-21T10:01:05-03:00",
        descricao='Consultoria - "novembro"',
        competencia="2026-11-20",
        codigo_servico="010101",
        referencia=short_reference(intent.id_integracao),
    )


def test_the_authoritys_signature_around_ours_is_verified(
    note: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> None:
    """The DPS keeps its own signature inside of what the note's covers."""
    assert verify(note, f"NFS{CHAVE}") == identity[1]
    with pytest.raises(ValueError, match="changed"):
        verify(note.replace(b"<nNFSe>42", b"<nNFSe>43"), f"NFS{CHAVE}")


def test_an_unknown_status_is_never_final(note: bytes) -> None:
    """A code that nobody knows leaves the note in process; 101 to 107 are notes too."""
    for code, situacao in ((b"107", Situacao.AUTORIZADA), (b"999", Situacao.PROCESSANDO), (b"", Situacao.PROCESSANDO)):
        found = read(note.replace(b"<cStat>100<", b"<cStat>" + code + b"<"))
        assert found is not None
        assert found.nota.situacao is situacao


def test_a_dps_of_another_shape_is_none_of_ours(note: bytes, intent: DocumentoServico) -> None:
    """An identity that does not check is no key, and a note without our reference has none."""
    other = note.replace(str(id_dps(intent)).encode(), b"DPS1").replace(b"cIntContrib", b"cOther")
    found = read(other)
    assert found is not None
    assert (found.nota.id_integracao, found.c_int_contrib) == ("", None)


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        (b"<nNFSe>42<", b"<nNFSe>43<"),
        (b"<nNFSe>42<", b"<nNFSe>4x2<"),
        (str(CHAVE).encode(), (str(CHAVE)[:-1] + str((int(CHAVE.digito) + 1) % 10)).encode()),
        (b"infDPS", b"infOther"),
        (b"sped.fazenda.gov.br/nfse", b"other.example/nfse"),
        (b"<nNFSe>42<", b"<!-- --><nNFSe>42<"),
        (b"</NFSe>", b""),
        (b"<xTribNac>", b"<xTribNac>" + b"x" * MAX_BYTES),
    ],
    ids=["number", "no-number", "digit", "no-dps", "namespace", "comment", "cut", "huge"],
)
def test_what_contradicts_itself_is_no_note(note: bytes, what: bytes, instead: bytes) -> None:
    """A number that its key denies, a wrong digit, a foreign namespace: nothing is believed of it."""
    changed = note.replace(what, instead)
    assert changed != note
    assert read(changed) is None


@pytest.mark.parametrize("xml", [b"", b"<html>", b"<a/>"])
def test_what_is_no_document_is_no_note(xml: bytes) -> None:
    """Never an error, never content."""
    assert read(xml) is None


def test_a_text_twice_or_beyond_the_layout_is_silence(note: bytes) -> None:
    """Which of two amounts would count, nobody knows."""
    twice = note.replace(b"<vServ>1500.00</vServ>", b"<vServ>1500.00</vServ><vServ>1.00</vServ>")
    long = twice.replace(b"Consultoria", b"C" * 2001)
    found = read(long)
    assert found is not None
    assert (found.nota.valor, found.nota.descricao) == (None, None)


def test_the_sample_that_comes_with_the_bindings_is_read() -> None:
    """A note that we did not write; its DPS is of a company of zeros, so its identity is none."""
    found = read((Path(nfelib.__file__).parent / "nfse/samples/v1_0/nfse-ibscbs.xml").read_bytes())
    assert found is not None
    assert found.c_int_contrib is None
    nota = found.nota
    assert (nota.numero, nota.valor, nota.situacao) == ("1", Decimal("1000.00"), Situacao.AUTORIZADA)
    assert nota.chave == "42024042200000000000000000000000000126031234567892"
    assert (nota.descricao, nota.competencia) == ("Desenvolvimento de sistema sob encomenda", "2026-03-10")
    assert (nota.codigo_servico, nota.id_integracao, nota.tomador) == ("010101", "", "0" * 14)
