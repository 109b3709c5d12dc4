"""Verifies an enveloped XML signature (XML-DSig, RSA PKCS#1 v1.5, inclusive C14N 1.0) apart from the product's code."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from lxml import etree

DS: Final = "{http://www.w3.org/2000/09/xmldsig#}"
PARSER: Final = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
_SHA1: Final = f"{DS[1:-1]}rsa-sha1"
_SHA256: Final = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"


def signer(document: Any, *, sha1: bool = False) -> x509.Certificate | None:
    """Return the certificate under which the signature over a document's first element holds; None: it does not.

    Whose certificate it is, and whether it may be trusted, is the caller's question. ``sha1``: in place of
    SHA-256, as the layouts of goods ask for.
    """
    signature = document.find(f"{DS}Signature")
    try:
        info = signature.find(f"{DS}SignedInfo")
        (reference,) = info.findall(f"{DS}Reference")
        told = info.find(f"{DS}SignatureMethod").get("Algorithm")
        certificate = x509.load_der_x509_certificate(_decoded(signature, "X509Certificate"))
        key, signed = certificate.public_key(), _canonical(document[0])
        if (
            told != (_SHA1 if sha1 else _SHA256)
            or reference.get("URI") != f"#{document[0].get('Id')}"
            or not isinstance(key, rsa.RSAPublicKey)
        ):
            return None
        if hashlib.new("sha1" if sha1 else "sha256", signed, usedforsecurity=False).digest() != _decoded(
            reference, "DigestValue"
        ):
            return None
        key.verify(
            _decoded(signature, "SignatureValue"),
            _canonical(info),
            padding.PKCS1v15(),
            hashes.SHA1() if sha1 else hashes.SHA256(),  # noqa: S303 - the layout's
        )
    except (AttributeError, TypeError, ValueError, InvalidSignature):  # parts that are missing, or no base64
        return None
    return certificate


def _decoded(element: Any, name: str) -> bytes:
    return base64.b64decode("".join(element.findtext(f".//{DS}{name}").split()), validate=True)


def _canonical(element: Any) -> bytes:
    """Canonicalise a copy: of an element inside its tree, lxml writes ``xmlns=""`` that is not there."""
    alone = etree.fromstring(etree.tostring(element, with_tail=False), PARSER)
    canonical: bytes = etree.tostring(alone, method="c14n", with_comments=False)
    return canonical
