from __future__ import annotations

import base64
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import PBES
from cryptography.x509 import load_pem_x509_certificates

from gateway.certificate import a1
from gateway.certificate.a1 import read
from state_machine.values.certificate import LARGEST_FILE, LARGEST_KEY, CertificateRefusedError, Refusal
from tests.made_certificates import COMPANY, NOW, SENHA, authority, company, pfx, rsa_key

if TYPE_CHECKING:
    from tests.made_certificates import Key, Made

BRANCH = "11222333000262"
OTHER = "12345678000195"
# Made by `openssl pkcs12 -export -legacy`: certificate under RC2 of 40 bits, key under 3DES; the password is "antiga".
RC2 = base64.b64decode("""
MIIDegIBAzCCA0AGCSqGSIb3DQEHAaCCAzEEggMtMIIDKTCCAh8GCSqGSIb3DQEHBqCCAhAwggIMAgEAMIICBQYJKoZIhvcNAQcB
MBwGCiqGSIb3DQEMAQYwDgQIwgyFRNtprUYCAggAgIIB2ODvpeEoeK6BDy1xvsfzqFF1sRNX4ip/1e5CqI0YQpbG5djEoIapCrqG
9NPF7PYijvCw+UobVBIJaxJrSDVyzW0hb7p+B/JqVZ4SXHGY4TaLNy6fG70NufvpmN9i7f9ZWL++u4YXiR3wOarb5IUtaGB/doot
HUYEygRQ2Axoawgk1EXgArXK86jrhe2enzf4xw15V0zEJ/Bwb3cXBAjFZURF8tR8AKtjvMpc+aaGfECyWTEGQzdDcEbwwry18gli
gt4eY/s8a0GFvNuweVijleVVG+fnmsogIadEgjx0Uo7uthJk1LSfnlNnpDtHzyofcXjjhRuyZX5OO3gPqVRq7XGUgN8g8kefkKRz
MB9hEzB7m9MKvRcnFdjKs8gyEWj1gh4OYdqbjgMRzxVp8mGk/zL471Djay53Ix8+bNNsNNShbpmFzzzM4BjmQf1eWMAIUn++4G2q
FjynepPQz7RgS5rAGkyKGGZt6GaJmiJwVoFhNAP6/Qfc+Kc6i230gbjzfdGTgbwqnjwfZ9IW6ATfVpANwf56uJLmTyxsHx6mu8RO
kUJ0LbVpc5OzH9yJjfKDReZp/UqhAENzBHEHxf4Gk22rV2ImD1E1THRj78yFyktTQ2ZeuES276kwggECBgkqhkiG9w0BBwGggfQE
gfEwge4wgesGCyqGSIb3DQEMCgECoIG0MIGxMBwGCiqGSIb3DQEMAQMwDgQIZrIxPaLxBt8CAggABIGQIeOfZnlxCCGRprBKS0mr
eC0fvyskDdDniZr+RJ7qVYxcRm+XhUp8TD1wp7NFyFaU4YbdbjO9w2fX1NIKdsxpkfRYLnhxQTetAS11HLY73DUR50/oJjcv3CNN
mKgIkw/W6M6BigjrkpyjG1LkC8oFQLeuEAsvSOxROV7mMSIzM27MUBMhwOnGfi2qwTZDjAS/MSUwIwYJKoZIhvcNAQkVMRYEFMsh
hO2/66iX3eXQG0e3WflSbafAMDEwITAJBgUrDgMCGgUABBRLKtudc32BqPsWCbQPNYnbprxDXwQIvZcgiV4aydcCAggA
""")


def _why(arquivo: bytes, senha: str = SENHA, cnpj: str = COMPANY) -> Refusal:
    with pytest.raises(CertificateRefusedError) as refused:
        read(arquivo, senha, cnpj, NOW)
    assert "Nada mudou" in str(refused.value)
    assert "{}" not in str(refused.value)
    return refused.value.motivo


def test_a_companys_certificate_is_read() -> None:
    """Key, chain, fingerprint, dates, CNPJ and name are those of the file; neither key nor chain is shown."""
    made = company()
    found = read(pfx(made), SENHA, COMPANY, NOW)
    key = load_pem_private_key(found.chave, None)
    assert key.public_key() == made.key.public_key()
    assert load_pem_x509_certificates(found.cadeia) == [made.certificate, authority().certificate]
    assert found.impressao == made.fingerprint
    assert (found.valido_de, found.valido_ate) == (NOW - timedelta(days=1), NOW + timedelta(days=200))
    assert (found.cnpj, found.titular) == (COMPANY, f"ANA DESIGN ME:{COMPANY}")
    assert "PRIVATE" not in repr(found)
    assert "CERTIFICATE" not in repr(found)


@pytest.mark.parametrize("tag", [b"\x04", b"\x0c", b"\x13", b"\x16"])
def test_the_cnpj_is_read_from_each_kind_of_string(tag: bytes) -> None:
    """Authorities write it as OCTET STRING or as one of three kinds of text."""
    made = company(value=tag + b"\x0e" + COMPANY.encode())
    assert read(pfx(made), SENHA, COMPANY, NOW).cnpj == COMPANY


def test_the_head_offices_certificate_serves_a_branch() -> None:
    """Only the first eight characters of the CNPJ must agree."""
    assert read(pfx(company()), SENHA, BRANCH, NOW).cnpj == COMPANY


def test_a_file_under_3des_is_opened() -> None:
    """It is what Windows exports by default, and every OpenSSL opens it."""
    scheme = PrivateFormat.PKCS12.encryption_builder().key_cert_algorithm(PBES.PBESv1SHA1And3KeyTripleDESCBC)
    made = company()
    assert read(pfx(made, encryption=scheme.build(SENHA.encode())), SENHA, COMPANY, NOW).impressao == made.fingerprint


def test_a_wrong_password_is_told() -> None:
    """Also an empty one."""
    assert _why(pfx(), "outra") is Refusal.WRONG_PASSWORD
    assert _why(pfx(), "") is Refusal.WRONG_PASSWORD


@pytest.mark.parametrize("senha", ["antiga", "errada"])
def test_an_old_cipher_is_no_wrong_password(senha: str) -> None:
    """Whoever has such a file would try passwords for ever: it is told by the algorithm that the file names."""
    assert _why(RC2, senha) is Refusal.LEGACY


@pytest.mark.parametrize(
    ("arquivo", "why"),
    [
        (b"", Refusal.NOT_PKCS12),
        (b"\xff\xd8\xff\xe0 a photo", Refusal.NOT_PKCS12),
        (authority().certificate.public_bytes(Encoding.PEM), Refusal.NOT_PKCS12),
        (authority().certificate.public_bytes(Encoding.DER), Refusal.NOT_PKCS12),
        (pfx()[:-1], Refusal.NOT_PKCS12),
        (pfx() + bytes(LARGEST_FILE), Refusal.TOO_LARGE),
    ],
    ids=["empty", "photo", "pem", "der", "truncated", "large"],
)
def test_what_is_no_whole_pkcs12_is_told_before_it_is_opened(arquivo: bytes, why: Refusal) -> None:
    """Another kind of file, a part of one, one that is too large."""
    assert _why(arquivo) is why


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (company(ca=True), Refusal.AUTHORITY),
        (company(key=ec.generate_private_key(ec.SECP256R1())), Refusal.NOT_RSA),
        (company(key=rsa_key("short", 1024)), Refusal.SMALL_KEY),
        (company(oid=None), Refusal.NOT_COMPANY),
        (company(oid="2.16.76.1.3.1"), Refusal.NOT_COMPANY),
        (company(value=b"\x04\x0e11222333000182"), Refusal.NOT_COMPANY),
        (company(value=b"\x04\x0b11222333000"), Refusal.NOT_COMPANY),
        (company(cnpj=OTHER), Refusal.OTHER_COMPANY),
        (company(begins=NOW + timedelta(seconds=1)), Refusal.NOT_YET),
        (company(ends=NOW - timedelta(seconds=1)), Refusal.EXPIRED),
    ],
    ids=["ca", "ec", "1024", "no_names", "e_cpf", "digits", "short", "other", "not_yet", "expired"],
)
def test_a_certificate_that_cannot_issue_for_the_company_is_told(made: Made, why: Refusal) -> None:
    """Each kind by its own sentence."""
    assert _why(pfx(made)) is why


def test_a_key_is_no_larger_than_authorities_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of 4096 bits is taken, a larger one would slow every handshake down: the bound is told."""
    assert LARGEST_KEY == 4096
    monkeypatch.setattr(a1, "LARGEST_KEY", 2048)
    assert read(pfx(), SENHA, COMPANY, NOW).cnpj == COMPANY
    monkeypatch.setattr(a1, "LARGEST_KEY", 2047)
    assert _why(pfx()) is Refusal.LARGE_KEY


def test_an_authority_must_answer_for_it_where_roots_are_known() -> None:
    """A self-made one, and one below an authority of the same name, are refused; without roots nobody is asked."""
    roots = authority().certificate.public_bytes(Encoding.PEM)
    assert read(pfx(), SENHA, COMPANY, NOW, roots).cnpj == COMPANY
    stranger = company(signer=rsa_key("stranger"))
    for made in (stranger, company(ca=False, signer=rsa_key())):
        with pytest.raises(CertificateRefusedError) as refused:
            read(pfx(made), SENHA, COMPANY, NOW, roots)
        assert refused.value.motivo is Refusal.UNKNOWN_ISSUER
    assert read(pfx(stranger), SENHA, COMPANY, NOW).cnpj == COMPANY


def test_the_sentence_names_the_other_company_and_the_day() -> None:
    """An owner of two companies sees which file was taken."""
    with pytest.raises(CertificateRefusedError, match=r"12\.345\.678/0001-95"):
        read(pfx(company(cnpj=OTHER)), SENHA, COMPANY, NOW)
    with pytest.raises(CertificateRefusedError, match=r"venceu em \d\d/\d\d/\d{4}\."):
        read(pfx(company(ends=NOW - timedelta(hours=1))), SENHA, COMPANY, NOW)


def test_every_refusal_has_its_sentence() -> None:
    """None is shared, and none lacks what to do."""
    said = {str(CertificateRefusedError(why, "x")) for why in Refusal}
    assert len(said) == len(Refusal)


def test_the_number_of_keys_is_one() -> None:
    """No key, two, and a key without its certificate; the same file with one key and its certificate is taken."""
    made, other = company(), rsa_key("other")
    assert _why(pfx(with_key=False)) is Refusal.NO_KEY
    assert _why(_unencrypted([made.key, other], made)) is Refusal.SEVERAL_KEYS
    assert _why(_unencrypted([other], made)) is Refusal.NO_CERTIFICATE
    assert _why(_unencrypted([made.key], None)) is Refusal.NO_CERTIFICATE
    assert read(_unencrypted([made.key], made), "", COMPANY, NOW).impressao == made.fingerprint


def _unencrypted(keys: list[Key], made: Made | None) -> bytes:
    """Return a PKCS #12 file (RFC 7292) with these keys in the open and without a MAC: no library writes two."""
    bags = [
        _der(0x30, _oid("0c0a0101"), _der(0xA0, key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())))
        for key in keys
    ]
    if made:
        held = _der(0x04, made.certificate.public_bytes(Encoding.DER))
        bags.append(_der(0x30, _oid("0c0a0103"), _der(0xA0, _der(0x30, _oid("091601"), _der(0xA0, held)))))
    safe = _der(0x30, _oid("0701"), _der(0xA0, _der(0x04, _der(0x30, *bags))))
    return _der(0x30, b"\x02\x01\x03", _der(0x30, _oid("0701"), _der(0xA0, _der(0x04, _der(0x30, safe)))))


def _oid(below_pkcs: str) -> bytes:
    return _der(0x06, bytes.fromhex("2a864886f70d01" + below_pkcs))


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body)
    length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2)
    return bytes([tag]) + length + body
