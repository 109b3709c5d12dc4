"""Owns the signature of the national documents, their verification, and the form in which they travel."""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree
from signxml import methods
from signxml.signer import XMLSigner

from gateway.nacional.layouts import MAX_BYTES, NS, Digest, parse
from state_machine.values.errors import ProsaError

_DS: Final = "http://www.w3.org/2000/09/xmldsig#"
_C14N: Final = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
_ENVELOPED: Final = _DS + "enveloped-signature"
_SIGNATURE: Final = f"{{{_DS}}}Signature"
# Signature method and digest method that go together; nothing else is accepted.
_HASHES: Final = {
    ("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2001/04/xmlenc#sha256"): hashes.SHA256,
    (_DS + "rsa-sha1", _DS + "sha1"): hashes.SHA1,
}
_MIN_KEY: Final = 2048  # bits; ICP-Brasil issues none below
_BESIDE: Final = "{http://www.portalfiscal.inf.br/nfe}infNFeSupl"  # an NFC-e's QR code, which nobody signs
# Documents of the national authority that hold one of ours with its own signature; an NF-e's event holds none.
_HOLD_SIGNED: Final = frozenset({f"{{{NS}}}NFSe", f"{{{NS}}}evento"})


class AssinaturaInvalida(ProsaError, ValueError):  # noqa: N818 - accounting words stay Portuguese, see docs/glossario.md
    """The document is not signed, not as the layout asks, or was changed afterwards."""

    code = "assinatura_invalida"


class _Signer(XMLSigner):
    """Takes SHA-1 too: schema 1.00 and some cities ask for it, and the layout decides."""

    def check_deprecated_methods(self) -> None:
        """Leave the choice to the layout."""


def sign(
    xml: bytes,
    reference: str | None,
    key: rsa.RSAPrivateKey,
    certificate: x509.Certificate,
    digest: Digest = "sha256",
    *,
    compact: bool = False,
) -> bytes:
    """Return the document with an enveloped signature over its element of ``Id`` ``reference``; ``None``: over all.

    ``compact``: without a declaration and on one line, as a city and SEFAZ ask; one over all is made so.

    The certificate stands in it alone, without its chain. Raises ``ValueError`` for XML that has no such element, or a
    signature already, and for a key of another certificate; the same arguments give the same bytes (RSA PKCS#1 v1.5).
    """
    root = parse(xml)
    if reference is not None:
        _signed_element(root, reference, children=1)
    elif next(root.iter(_SIGNATURE), None) is not None:
        raise AssinaturaInvalida("the document has a signature already")
    if certificate.public_key() != key.public_key():
        raise AssinaturaInvalida("key and certificate are not a pair")
    signer = _Signer(
        method=methods.enveloped,
        signature_algorithm=f"rsa-{digest}",
        digest_algorithm=digest,
        c14n_algorithm=_C14N,
    )
    signer.namespaces = {None: _DS}  # type: ignore[dict-item]  # a prefix is refused: E1228, E6155
    if reference is None:
        signed = signer.sign(root, key=key, cert=[certificate])
    else:
        signed = signer.sign(root, key=key, cert=[certificate], reference_uri=f"#{reference}", id_attribute="Id")
    if compact or reference is None:
        for part in signed.iter("{*}X509Certificate", "{*}SignatureValue"):  # neither is signed itself
            part.text = "".join(part.text.split())  # neither a city nor SEFAZ takes line ends
        whole: bytes = etree.tostring(signed, encoding="UTF-8", xml_declaration=False)
        return whole
    document: bytes = etree.tostring(signed, xml_declaration=True, encoding="UTF-8")
    return document


def verify(signed: bytes, reference: str | None) -> x509.Certificate:
    """Return the certificate that signed the root's own element of ``Id`` ``reference``; ``None``: the whole document.

    Raises ``AssinaturaInvalida``.

    The shape is the only one that SEFIN makes and takes: the element, then one signature with one reference to it, the
    two transforms, one certificate, algorithms of a closed list. Whether the certificate may be trusted, and whose it
    is, are the caller's questions.
    """
    try:
        root = parse(signed)
        element = root if reference is None else _signed_element(root, reference, children=2)
        info, method, (digest_method, digest), value, certificate = _parts(root, reference)
        if reference is None:
            _take_off(root)
        return _verified(element, info, _HASHES[method, digest_method](), digest, value, certificate)
    except AssinaturaInvalida:
        raise
    except (ValueError, KeyError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise AssinaturaInvalida(str(error) or type(error).__name__) from error


def pack(xml: bytes) -> str:
    """Return gzip and base64 of a document, as it travels: same bytes, same text."""
    return base64.b64encode(gzip.compress(xml, mtime=0)).decode()


def unpack(packed: str) -> bytes:
    """Undo ``pack``. Raises ``ValueError`` for what is none, or grows beyond the bound on a document."""
    if len(packed) > 2 * MAX_BYTES:
        raise ValueError(f"the packed document has more than {2 * MAX_BYTES} characters")
    try:
        inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        xml = inflate.decompress(base64.b64decode(packed, validate=True), MAX_BYTES + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError(f"no gzip in base64: {error}") from error
    if len(xml) > MAX_BYTES:
        raise ValueError(f"the document has more than {MAX_BYTES} bytes")
    if not inflate.eof or inflate.unused_data:
        raise ValueError("the packed document is cut, or something follows it")
    return xml


def _signed_element(root: Any, reference: str, *, children: int) -> Any:
    """Return the root's first child, which must be the one element of that ``Id``.

    A copy elsewhere, and a second signature that a reader could take for the first, make the document ambiguous.
    """
    parts = [child for place, child in enumerate(root) if place != 1 or child.tag != _BESIDE]
    if len(parts) != children or set(root.attrib) - {"versao"}:
        raise AssinaturaInvalida(f"the root has other than {children} children, or unknown attributes")
    element = root[0]
    if element.get("Id") != reference or element.tag.rpartition("}")[0] != root.tag.rpartition("}")[0]:
        raise AssinaturaInvalida(f"the root's child is not {reference}")
    for other in root.iter():
        names = {name.rpartition("}")[2].lower(): value for name, value in other.attrib.items()}
        if other is not element and names.get("id") == reference:
            raise AssinaturaInvalida(f"{reference} stands there twice")
    inside = root.tag in _HOLD_SIGNED
    if not inside and next(element.iter(_SIGNATURE), None) is not None:
        raise AssinaturaInvalida("a signature stands inside of what is signed")
    return element


def _take_off(root: Any) -> None:
    """Leave of a document signed as a whole what its signature is about."""
    root.remove(root[-1])
    if next(root.iter(_SIGNATURE), None) is not None:
        raise AssinaturaInvalida("a signature stands inside of what is signed")


def _parts(root: Any, reference: str | None) -> tuple[Any, str, tuple[str, bytes], bytes, bytes]:
    """Take the signature apart; a part more, a part less or another order is refused."""
    signature = root[-1] if len(root) else root
    if signature.tag != _SIGNATURE or signature.attrib:
        raise AssinaturaInvalida("the root's last child is not the signature")
    info, value, key_info = _children(signature, "SignedInfo", "SignatureValue", "KeyInfo")
    c14n, method, ref = _children(info, "CanonicalizationMethod", "SignatureMethod", "Reference")
    if dict(ref.attrib) != {"URI": "" if reference is None else f"#{reference}"}:
        raise AssinaturaInvalida(f"the signature's reference is not {reference}")
    transforms, digest_method, digest = _children(ref, "Transforms", "DigestMethod", "DigestValue")
    said = [_algorithm(e) for e in (*_children(transforms, "Transform", "Transform"), c14n)]
    if said != [_ENVELOPED, _C14N, _C14N]:
        raise AssinaturaInvalida("transforms and canonicalisation are not the layout's")
    (data,) = _children(key_info, "X509Data")
    (certificate,) = _children(data, "X509Certificate")
    expected = _algorithm(digest_method), _decoded(digest)
    return info, _algorithm(method), expected, _decoded(value), _decoded(certificate)


def _children(element: Any, *names: str) -> list[Any]:
    if [child.tag for child in element] != [f"{{{_DS}}}{name}" for name in names]:
        raise AssinaturaInvalida(f"{etree.QName(element).localname} has other parts than {', '.join(names)}")
    return list(element)


def _algorithm(element: Any) -> str:
    if set(element.attrib) != {"Algorithm"} or len(element):
        raise AssinaturaInvalida(f"{etree.QName(element).localname} has parameters")
    return str(element.get("Algorithm"))


def _decoded(element: Any) -> bytes:
    if len(element) or element.attrib:
        raise AssinaturaInvalida(f"{etree.QName(element).localname} is more than text")
    return base64.b64decode("".join((element.text or "").split()), validate=True)


def _verified(
    element: Any, info: Any, algorithm: hashes.HashAlgorithm, digest: bytes, value: bytes, der: bytes
) -> x509.Certificate:
    certificate = x509.load_der_x509_certificate(der)
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size < _MIN_KEY:
        raise AssinaturaInvalida(f"the certificate has no RSA key of {_MIN_KEY} bits")
    hashed = hashes.Hash(algorithm)
    hashed.update(_canonical(element))
    if hashed.finalize() != digest:
        raise AssinaturaInvalida("the document was changed after it was signed")
    key.verify(value, _canonical(info), padding.PKCS1v15(), algorithm)
    return certificate


def _canonical(element: Any) -> bytes:
    """Canonicalise an element parsed by itself: of one inside a tree, lxml writes ``xmlns=""`` that is not there."""
    alone = parse(etree.tostring(element, with_tail=False))
    canonical: bytes = etree.tostring(alone, method="c14n", with_comments=False)
    return canonical
