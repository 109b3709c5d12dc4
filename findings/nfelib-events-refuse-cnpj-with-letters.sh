#!/bin/sh
# nfelib 3.2.0 (PyPI, MIT; the official XSDs of the NF-e as it ships them), lxml 6.0.2.
#
# Guess: since July 2026 a CNPJ may have letters. nfelib's schema of the NF-e takes such a key, so the schema of the
#   event that cancels that very note takes it too.
# Behaviour: it does not. The NF-e's own schemas (nfe, enviNFe, consSitNFe) have patterns with letters; those of events
#   and of inutilização, in the same release, still have digits only. A note of such a company can be made, sent and
#   asked for, and the same package calls the request to cancel it invalid.
# Seen: the question for a key with letters is valid, the cancellation of that key is not; with digits both are.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/env"
"$place/env/bin/pip" install -q nfelib==3.2.0 lxml==6.0.2
"$place/env/bin/python" - <<'PY'
from pathlib import Path

import nfelib
from lxml import etree

ROOT = Path(nfelib.__file__).parent
NS, DS = "http://www.portalfiscal.inf.br/nfe", "http://www.w3.org/2000/09/xmldsig#"
C14N = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"


def schema(folder: str, name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(next((ROOT / folder).rglob(name)))))


def question(key: str) -> bytes:
    return f'<consSitNFe xmlns="{NS}" versao="4.00"><tpAmb>2</tpAmb><xServ>CONSULTAR</xServ><chNFe>{key}</chNFe></consSitNFe>'.encode()


def cancellation(key: str, cnpj: str) -> bytes:
    identity = f"ID110111{key}01"
    signature = (
        f'<Signature xmlns="{DS}"><SignedInfo><CanonicalizationMethod Algorithm="{C14N}"/>'
        f'<SignatureMethod Algorithm="{DS}rsa-sha1"/><Reference URI="#{identity}"><Transforms>'
        f'<Transform Algorithm="{DS}enveloped-signature"/><Transform Algorithm="{C14N}"/></Transforms>'
        f'<DigestMethod Algorithm="{DS}sha1"/><DigestValue>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</DigestValue></Reference>'
        "</SignedInfo><SignatureValue>AA==</SignatureValue><KeyInfo><X509Data><X509Certificate>AA==</X509Certificate>"
        "</X509Data></KeyInfo></Signature>"
    )
    return (
        f'<envEvento xmlns="{NS}" versao="1.00"><idLote>1</idLote><evento versao="1.00"><infEvento Id="{identity}">'
        f"<cOrgao>35</cOrgao><tpAmb>2</tpAmb><CNPJ>{cnpj}</CNPJ><chNFe>{key}</chNFe>"
        "<dhEvento>2026-11-28T12:00:00-03:00</dhEvento><tpEvento>110111</tpEvento><nSeqEvento>1</nSeqEvento>"
        '<verEvento>1.00</verEvento><detEvento versao="1.00"><descEvento>Cancelamento</descEvento>'
        "<nProt>135260000000001</nProt><xJust>Erro no valor do produto</xJust></detEvento></infEvento>"
        f"{signature}</evento></envEvento>"
    ).encode()


asks = schema("nfe", "consSitNFe_v4.00.xsd")
cancels = schema("nfe_evento_cancel", "envEventoCancNFe_v1.00.xsd")
seen = {}
for kind, cnpj, key in (
    ("digits", "11222333000181", "35261111222333000181550770000000421407135825"),
    ("letters", "12ABC34501DE35", "35261112ABC34501DE35550770000000421407135826"),
):
    seen[kind] = asks.validate(etree.fromstring(question(key))), cancels.validate(etree.fromstring(cancellation(key, cnpj)))
print(seen)
assert seen == {"digits": (True, True), "letters": (True, False)}, "the behaviour has changed"
PY
