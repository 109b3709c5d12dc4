"""Messages to the city: strings as its manual has them, documents as its schemas take them, signatures that hold."""

from __future__ import annotations

import base64
import hashlib
import time
import tomllib
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
import xmlsec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from gateway.keys import ChaveRPS
from gateway.nacional.dps import short_reference
from gateway.nacional.signature import AssinaturaInvalida, verify
from gateway.paulistana import rps
from state_machine.documents import Rps, Tomador
from tests.gateway.paulistana.made_rps import ADDRESS, CNPJ, SCHEMAS, TODAY, complaints, invoice, official
from tests.made_certificates import company, rsa_key

if TYPE_CHECKING:
    from gateway.paulistana.rps import Leiaute

INTERMEDIARY = {"broker": "09999999000106", "broker_retains": True}
PAIR = (rsa_key(), company().certificate)
V1 = "31000000OL03 00000000000120070103TNN00000000205000000000000050000002658100013167474254"
V2 = "123456789012RTNT 00000000000120260101TNN00000000205000000000000050000002658100013167474254"
V2_NIF = "123456789012RTNT 00000000000120260101TNN00000000205000000000000050000002658400000000000000"


@pytest.mark.parametrize(
    ("layout", "changed", "string", "sha1"),
    [
        (1, {}, V1, "bfdea796e99626f324e2174519bc857cc06f5b0d"),
        (1, INTERMEDIARY, V1 + "209999999000106S", None),
        (2, {}, V2, "73af81f677ff545370ed819752850c3497e4a5d1"),
        (2, INTERMEDIARY, V2 + "209999999000106S", "d30ffc47832bb2cd5397acba4393ae00565608cd"),
        (2, {"tomador": "", "foreign": "W123456789"}, V2_NIF + "W123456789", None),
        (2, {"tomador": "", "foreign": "2"}, V2_NIF + "2", None),
        (2, {"tomador": "", "foreign": "W123456789", **INTERMEDIARY}, V2_NIF + "209999999000106SW123456789", None),
    ],
)
def test_the_string_is_the_manuals_own(layout: Leiaute, changed: Any, string: str, sha1: str | None) -> None:
    """Its official examples, character by character."""
    said = official(layout, **changed).signing_text(layout)
    assert said == string
    assert sha1 is None or hashlib.sha1(said.encode(), usedforsecurity=False).hexdigest() == sha1


def test_a_string_that_does_not_fit_is_refused() -> None:
    """Twelve digits of inscription have no place in layout 1, nor has a foreign customer."""
    with pytest.raises(ValueError, match="90 characters"):
        official(2).signing_text(1)
    with pytest.raises(ValueError, match="foreign"):
        official(1, tomador="", foreign="2").signing_text(1)


def test_the_string_of_a_cancellation_is_the_manuals_own() -> None:
    """Twenty characters; twenty-four where the longer inscription is asked for."""
    said = rps.cancellation_text("31000000", 9)
    assert hashlib.sha1(said.encode(), usedforsecurity=False).hexdigest() == "2f74ad0e298e8512f284180bdee66b3973f24272"
    assert rps.cancellation_text("31000000", 9, 12) == "000031000000000000000009"


def messages(layout: Leiaute) -> dict[str, bytes]:
    """Every message that is made, in one layout."""
    made, chave = rps.recibo_of(invoice(), TODAY), ChaveRPS("31000000", "PROSA", 1)
    return {
        "envio": rps.envio(made, layout, *PAIR),
        "empresa": rps.envio(
            rps.recibo_of(invoice(tomador=Tomador("11444777000161", "Cliente", None, ADDRESS)), TODAY), layout, *PAIR
        ),
        "trial": rps.lot_for_test(made, layout, *PAIR),
        "consulta": rps.consulta(chave, CNPJ, layout, *PAIR),
        "nota": rps.consulta_nota("31000000", 9, CNPJ, layout, *PAIR),
        "periodo": rps.periodo(CNPJ, TODAY, TODAY, 1, layout, *PAIR),
        "cnpj": rps.consulta_cnpj(CNPJ, layout, *PAIR),
        "cancelamento": rps.cancelamento("31000000", 9, CNPJ, layout, *PAIR),
    }


def xmlsec_accepts(message: bytes) -> bool:
    """Ask an independent implementation, with the certificate that the message brings."""
    root = etree.fromstring(message)
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


@pytest.mark.parametrize("layout", [1, 2])
def test_every_message_is_what_the_citys_schema_and_an_independent_verifier_take(layout: Leiaute) -> None:
    """One line, signed as a whole; a copy with another digit is refused by both verifiers."""
    for name, message in messages(layout).items():
        assert complaints(message) == [], name
        assert b"\n" not in message
        assert rps.leiaute_de(message) == layout
        assert xmlsec_accepts(message), name
        assert verify(message, None) == PAIR[1]
        tampered = message.replace(CNPJ.encode(), b"11222333000182", 1)
        assert not xmlsec_accepts(tampered), name
        with pytest.raises(AssinaturaInvalida):
            verify(tampered, None)


def test_the_schemas_are_those_that_were_read() -> None:
    """Each file is of the source and the hash that stand beside it, and refuses a message without ``xmlns=""``."""
    listed = tomllib.loads((SCHEMAS / "SOURCES.toml").read_text())
    assert set(listed) == {path.name for path in SCHEMAS.glob("*.xsd")}
    for name, told in listed.items():
        assert hashlib.sha256((SCHEMAS / name).read_bytes()).hexdigest() == told["sha256"], name
    assert complaints(messages(2)["envio"].replace(b'<RPS xmlns="">', b"<RPS>"))


def test_the_string_is_signed_and_not_its_hash() -> None:
    """``Assinatura`` is RSA-SHA1 over the string of the same layout."""
    made = rps.recibo_of(invoice(), TODAY)
    for layout in (1, 2):
        root = etree.fromstring(rps.envio(made, layout, *PAIR))
        value = base64.b64decode(root.findtext(".//Assinatura"))
        said = made.signing_text(layout).encode()
        PAIR[0].public_key().verify(value, said, padding.PKCS1v15(), hashes.SHA1())  # noqa: S303 - the city asks for it


words = st.text(min_size=1, max_size=80).filter(lambda said: any("a" <= char <= "z" for char in said))


@settings(deadline=None)
@given(
    cents=st.integers(1, 10**12),
    descricao=words,
    nome=words,
    numero=st.integers(1, 10**12 - 1),
    percent=st.integers(0, 500),
    retido=st.booleans(),
    layout=st.sampled_from([1, 2]),
    company_=st.booleans(),
)
def test_every_legal_invoice_passes_the_citys_schema(
    cents: int, descricao: str, nome: str, numero: int, percent: int, retido: bool, layout: Leiaute, company_: bool
) -> None:
    """Whatever amounts, rates and words: the document is valid, or refused with the field in front."""
    customer = Tomador("11444777000161", nome, None, ADDRESS) if company_ else Tomador("13167474254", nome)
    intent = invoice(
        valor=Decimal(cents) / 100,
        descricao=descricao,
        tomador=customer,
        rps=Rps("PROSA", numero),
        iss_retido=retido,
        prestador=replace(invoice().prestador, aliquota=Decimal(percent) / 100),
    )
    try:
        made = rps.recibo_of(intent, TODAY)
    except ValueError as error:
        field = str(error).partition(":")[0]
    else:
        field = ""
        assert complaints(rps.envio(made, layout, *PAIR)) == []
    assert field in {"", "descricao", "tomador.razao_social"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"valor": Decimal(0)}, "valor"),
        ({"tomador": Tomador("11444777000161", "Cliente")}, "tomador.endereco"),
        ({"tomador": Tomador(CNPJ, "Eu mesma", None, ADDRESS)}, "tomador.documento"),
        ({"tomador": Tomador("13167474254", None)}, "tomador.razao_social"),
        ({"descricao": "x" * 2000}, "descricao"),
        ({"local": "3304557"}, "local"),
        ({"competencia": date(2026, 12, 1)}, "competencia"),
        ({"prestador": replace(invoice().prestador, aliquota=None)}, "aliquota"),
        ({"prestador": replace(invoice().prestador, codigo_servico="170101")}, "codigo_servico"),
        ({"prestador": replace(invoice().prestador, municipio_ibge="3304557")}, "municipio_ibge"),
    ],
)
def test_what_the_city_would_refuse_is_refused_here(changed: Any, field: str) -> None:
    """The complaint begins with the field."""
    with pytest.raises(ValueError, match=f"^{field}: "):
        rps.recibo_of(invoice(**changed), TODAY)


def test_layout_2_asks_for_the_classification_of_the_new_taxes() -> None:
    """Without NBS no document of it is made; layout 1 has no place for one."""
    made = replace(rps.recibo_of(invoice(), TODAY), nbs=None)
    assert complaints(rps.envio(made, 1, *PAIR)) == []
    with pytest.raises(ValueError, match=r"^ibs_cbs: "):
        rps.envio(made, 2, *PAIR)


def test_an_rps_is_dated_today_or_in_the_month_that_was_confirmed() -> None:
    """Never ahead, and never in another month than the person said."""
    assert rps.recibo_of(invoice(competencia=TODAY - timedelta(days=3)), TODAY).data == TODAY
    assert rps.recibo_of(invoice(competencia=date(2026, 10, 20)), TODAY).data == date(2026, 10, 20)


def test_the_text_is_one_line_and_ends_with_our_reference() -> None:
    """What the city reads as a line break is a blank; the reference is read back."""
    made = rps.recibo_of(invoice(descricao="um|dois\ntres"), TODAY)
    said, reference = rps.unmarked(made.texto)
    assert said == "um dois tres"
    assert reference == short_reference("zap-01JD-1")
    assert rps.unmarked("texto de outra pessoa") == ("texto de outra pessoa", None)


@pytest.mark.parametrize(
    ("soap", "kind", "action", "namespace"),
    [
        ("soap11", "text/xml; charset=utf-8", '"http://www.prefeitura.sp.gov.br/nfe/ws/envioRPS"', "xmlsoap"),
        (
            "soap12-header",
            "application/soap+xml; charset=utf-8",
            "http://www.prefeitura.sp.gov.br/nfe/ws/envioRPS",
            "2003/05",
        ),
        (
            "soap12-action",
            'application/soap+xml; charset=utf-8; action="http://www.prefeitura.sp.gov.br/nfe/ws/envioRPS"',
            None,
            "2003/05",
        ),
    ],
)
def test_each_binding_carries_the_message_byte_for_byte(soap: Any, kind: str, action: str, namespace: str) -> None:
    """The signed bytes come out of the envelope as they went in, under the version that they have."""
    message = messages(2)["envio"]
    body, headers = rps.wrapped("EnvioRPS", message, soap)
    assert headers["content-type"] == kind
    assert headers.get("SOAPAction") == action
    root = etree.fromstring(body)
    assert namespace in etree.QName(root).namespace
    assert root.findtext(".//{*}MensagemXML").encode() == message
    assert root.findtext(".//{*}VersaoSchema") == "2"
    assert unescape(body.decode()).count("&amp;") == 1  # of the customer's name


def test_a_test_has_an_action_of_its_own() -> None:
    """It is not called as it is named."""
    _, headers = rps.wrapped("TesteEnvioLoteRPS", messages(2)["trial"], "soap12-header")
    assert headers["SOAPAction"].endswith("/testeenvio")


def test_a_document_is_built_and_signed_within_fifteen_milliseconds_of_cpu() -> None:
    """The best of some tries, for the machine has other work."""
    intent, took = invoice(), []
    for _ in range(10):
        begun = time.process_time()
        message = rps.envio(rps.recibo_of(intent, TODAY), 2, *PAIR)
        assert not complaints(message)
        took.append(time.process_time() - begun)
    assert min(took) <= 0.015
