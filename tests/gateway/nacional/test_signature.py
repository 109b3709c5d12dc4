"""What we sign, an independent implementation verifies; what was changed or wrapped, both or ours refuse."""

from __future__ import annotations

import base64
import gzip
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import xmlsec
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from gateway.nacional.dps import build, id_dps
from gateway.nacional.layouts import MAX_BYTES, NS, check, parse
from gateway.nacional.signature import AssinaturaInvalida, pack, sign, unpack, verify
from tests.gateway.nacional.conftest import certificate

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography import x509

    from gateway.nacional.dps import Circunstancias
    from state_machine.documents import DocumentoServico

DS = "http://www.w3.org/2000/09/xmldsig#"
REFERENCE = "DPS3550308212ABC34501DE3500900000000000000007"


@pytest.fixture
def unsigned(intent: DocumentoServico, facts: Circunstancias) -> bytes:
    """The DPS of the invoice."""
    assert str(id_dps(intent)) == REFERENCE
    return build(intent, facts)


@pytest.fixture
def signed(unsigned: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]) -> bytes:
    """The same, signed by the company."""
    return sign(unsigned, REFERENCE, *identity)


def xmlsec_accepts(signed: bytes) -> bool:
    """Ask the independent implementation, with the certificate that the document brings."""
    root = etree.fromstring(signed)
    xmlsec.tree.add_ids(root, ["Id"])
    node = xmlsec.tree.find_node(root, xmlsec.constants.NodeSignature)
    if node is None:
        return False
    der = base64.b64decode(node.findtext(f".//{{{DS}}}X509Certificate") or "")
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(der, xmlsec.constants.KeyDataFormatCertDer)
    try:
        context.verify(node)
    except xmlsec.Error:
        return False
    return True


@pytest.mark.parametrize("digest", ["sha256", "sha1"])
def test_a_signature_is_verified_by_another_implementation_and_by_ours(
    unsigned: bytes,
    facts: Circunstancias,
    identity: tuple[rsa.RSAPrivateKey, x509.Certificate],
    digest: Any,
) -> None:
    """Both hashes; the schema takes the whole; the certificate comes back; the same bytes come out again."""
    signed = sign(unsigned, REFERENCE, *identity, digest)
    assert xmlsec_accepts(signed)
    assert verify(signed, REFERENCE) == identity[1]
    check(parse(signed), "DPS", facts.layout)
    assert sign(unsigned, REFERENCE, *identity, digest) == signed
    assert f"rsa-{digest}".encode() in signed


def test_a_document_of_nt_009_is_signed_as_today(
    intent: DocumentoServico, facts: Circunstancias, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> None:
    """The other shape has the same identity, and both implementations take its signature."""
    layout = replace(facts.layout, nt009=True)
    signed = sign(build(intent, replace(facts, layout=layout)), REFERENCE, *identity, layout.digest)
    assert xmlsec_accepts(signed)
    assert verify(signed, REFERENCE) == identity[1]
    check(parse(signed), "DPS", layout)


def test_the_signature_has_the_layouts_shape(signed: bytes, identity: tuple[Any, x509.Certificate]) -> None:
    """Declared UTF-8, no prefix, after the element, one certificate and no chain."""
    assert signed.startswith(b"<?xml version='1.0' encoding='UTF-8'?>")
    assert b"ds:" not in signed
    root = parse(signed)
    assert [etree.QName(child).localname for child in root] == ["infDPS", "Signature"]
    (only,) = root.iter(f"{{{DS}}}X509Certificate")
    assert base64.b64decode(only.text) == identity[1].public_bytes(Encoding.DER)
    assert next(root.iter(f"{{{DS}}}KeyValue"), None) is None


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        (b"1500.00", b"1500.01"),
        (b"Consultoria", b"consultoria"),
        (b"<tpAmb>2", b"<tpAmb>1"),
        (b"<DigestValue>", b"<DigestValue>AAAA"),
        (b"<SignatureValue>", b"<SignatureValue>AAAA"),
    ],
)
def test_what_was_tampered_with_is_refused_by_both(signed: bytes, what: bytes, instead: bytes) -> None:
    """A centavo, a letter, an environment, the digest, the value."""
    tampered = signed.replace(what, instead)
    assert tampered != signed
    assert not xmlsec_accepts(tampered)
    with pytest.raises(AssinaturaInvalida):
        verify(tampered, REFERENCE)


def test_a_certificate_put_in_the_place_of_another_is_refused_by_both(signed: bytes) -> None:
    """The value was made by another key."""
    other = certificate(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    root = parse(signed)
    next(root.iter(f"{{{DS}}}X509Certificate")).text = base64.b64encode(other.public_bytes(Encoding.DER)).decode()
    tampered = etree.tostring(root)
    assert not xmlsec_accepts(tampered)
    with pytest.raises(AssinaturaInvalida):
        verify(tampered, REFERENCE)


def _forged(root: Any) -> Any:
    """A copy of the signed element with another amount."""
    forged = etree.fromstring(etree.tostring(root[0]))
    forged.find(f".//{{{NS}}}vServ").text = "999999.00"
    return forged


def _evil_first_with_its_own_id(root: Any) -> None:
    forged = _forged(root)
    forged.set("Id", "DPS0")
    root.insert(0, forged)


def _evil_first_with_the_same_id(root: Any) -> None:
    root.insert(0, _forged(root))


def _original_moved_into_the_signature(root: Any) -> None:
    forged, original, signature = _forged(root), root[0], root[1]
    root.remove(original)
    root.insert(0, forged)
    etree.SubElement(signature, f"{{{DS}}}Object").append(original)


def _original_moved_into_the_forged_one(root: Any) -> None:
    forged, original = _forged(root), root[0]
    root.remove(original)
    forged.append(original)
    root.insert(0, forged)


def _original_under_a_wrapper(root: Any) -> None:
    original = root[0]
    root.remove(original)
    wrapper = etree.Element(f"{{{NS}}}infDPS")
    wrapper.append(original)
    root.insert(0, wrapper)


def _second_signature(root: Any) -> None:
    root.append(etree.fromstring(etree.tostring(root[1])))


def _signature_inside(root: Any) -> None:
    root[0].append(etree.fromstring(etree.tostring(root[1])))


def _signature_first(root: Any) -> None:
    root.insert(0, root[1])


def _no_signature(root: Any) -> None:
    root.remove(root[1])


def _second_reference(root: Any) -> None:
    reference = next(root.iter(f"{{{DS}}}Reference"))
    reference.getparent().append(etree.fromstring(etree.tostring(reference)))


def _reference(uri: str) -> Callable[[Any], None]:
    return lambda root: next(root.iter(f"{{{DS}}}Reference")).set("URI", uri)


def _algorithm(element: str, algorithm: str) -> Callable[[Any], None]:
    return lambda root: next(root.iter(f"{{{DS}}}{element}")).set("Algorithm", algorithm)


def _third_transform(root: Any) -> None:
    transforms = next(root.iter(f"{{{DS}}}Transforms"))
    etree.SubElement(transforms, f"{{{DS}}}Transform").set("Algorithm", "http://www.w3.org/TR/1999/REC-xpath-19991116")


def _parameter(root: Any) -> None:
    method = next(root.iter(f"{{{DS}}}CanonicalizationMethod"))
    etree.SubElement(method, f"{{{DS}}}InclusiveNamespaces").set("PrefixList", "x")


def _other_part(root: Any) -> None:
    next(root.iter(f"{{{DS}}}DigestMethod")).tag = f"{{{DS}}}Method"


def _foreign_namespace(root: Any) -> None:
    root[0].tag = "{http://other.example/nfse}infDPS"


ATTACKS: list[Callable[[Any], None]] = [
    _evil_first_with_its_own_id,
    _evil_first_with_the_same_id,
    _original_moved_into_the_signature,
    _original_moved_into_the_forged_one,
    _original_under_a_wrapper,
    _second_signature,
    _signature_inside,
    _signature_first,
    _no_signature,
    _foreign_namespace,
]


SHAPES: list[Callable[[Any], None]] = [
    _second_reference,
    _reference(""),
    _reference("#DPS0"),
    _algorithm("SignatureMethod", "http://www.w3.org/2000/09/xmldsig#hmac-sha1"),
    _algorithm("DigestMethod", "http://www.w3.org/2001/04/xmldsig-more#md5"),
    _algorithm("CanonicalizationMethod", "http://www.w3.org/2001/10/xml-exc-c14n#"),
    _algorithm("Transform", "http://www.w3.org/2000/09/xmldsig#base64"),
    _third_transform,
    _parameter,
    _other_part,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__qualname__)
def test_wrapping_and_other_shapes_are_refused(signed: bytes, attack: Callable[[Any], None]) -> None:
    """The signed element is the root's own child, once, and the signature has the one shape of the layout."""
    root = parse(signed)
    attack(root)
    with pytest.raises(AssinaturaInvalida):
        verify(etree.tostring(root), REFERENCE)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__qualname__)
def test_a_rightful_signature_of_another_shape_is_refused(
    signed: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate], shape: Callable[[Any], None]
) -> None:
    """Other references, transforms and algorithms, signed by who has the key: the list is closed."""
    root = parse(signed)
    shape(root)
    info = parse(etree.tostring(next(root.iter(f"{{{DS}}}SignedInfo")), with_tail=False))
    value = identity[0].sign(etree.tostring(info, method="c14n"), PKCS1v15(), SHA256())
    next(root.iter(f"{{{DS}}}SignatureValue")).text = base64.b64encode(value).decode()
    with pytest.raises(AssinaturaInvalida):
        verify(etree.tostring(root), REFERENCE)


def test_another_id_and_a_weak_key_are_refused(
    unsigned: bytes, signed: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> None:
    """The caller says what must be signed; a key that ICP-Brasil would not issue signs nothing."""
    with pytest.raises(AssinaturaInvalida):
        verify(signed, REFERENCE[:-1] + "8")
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - refusing it is the point
    with pytest.raises(AssinaturaInvalida, match="2048"):
        verify(sign(unsigned, REFERENCE, weak, certificate(weak)), REFERENCE)


def test_only_an_unsigned_document_with_that_element_is_signed(
    unsigned: bytes, signed: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> None:
    """Twice signed, over nothing, or over what stands there twice is an error before a key is used."""
    twice, inside, foreign = parse(unsigned), parse(unsigned), parse(unsigned)
    twice[0][0].set("Id", REFERENCE)
    inside[0].append(parse(signed)[1])
    _foreign_namespace(foreign)
    ambiguous = [(etree.tostring(root), REFERENCE) for root in (twice, inside, foreign)]
    for xml, reference in ((signed, REFERENCE), (unsigned, "DPS0"), *ambiguous):
        with pytest.raises(AssinaturaInvalida):
            sign(xml, reference, *identity)


def test_a_key_signs_only_with_its_own_certificate(
    unsigned: bytes, identity: tuple[rsa.RSAPrivateKey, x509.Certificate]
) -> None:
    """What nobody could verify is not made, so it is never stored."""
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with pytest.raises(AssinaturaInvalida, match="pair"):
        sign(unsigned, REFERENCE, other, identity[1])


@given(st.binary(max_size=2000))
def test_what_is_packed_comes_out_again(content: bytes) -> None:
    """Same bytes, same text, and back."""
    assert unpack(pack(content)) == content
    assert pack(content) == pack(content)


@pytest.mark.parametrize(
    "packed",
    [
        "",
        "é",
        "not base64!",
        base64.b64encode(b"no gzip").decode(),
        pack(b"cut")[:-8],
        base64.b64encode(gzip.compress(b"a") + gzip.compress(b"b")).decode(),
        pack(b"x" * (MAX_BYTES + 1)),
        pack(b"\0" * 20_000_000),
        "A" * (2 * MAX_BYTES + 4),
    ],
    ids=["nothing", "letter", "text", "plain", "cut", "followed", "huge", "bomb", "long"],
)
def test_what_does_not_unpack_within_bounds_is_refused(packed: str) -> None:
    """Also twenty megabytes in twenty kilobytes."""
    with pytest.raises(ValueError, match=r"base64|packed|bytes"):
        unpack(packed)


def test_a_bomb_is_not_inflated_before_it_is_refused() -> None:
    """What grows beyond the bound never takes much more memory than the bound."""
    packed = pack(b"\0" * 20_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="bytes"):
            unpack(packed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * MAX_BYTES
