"""What opening a PKCS #12 file would cost is read from it before anything is opened."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat

from gateway.certificate.a1 import MOST_ROUNDS, UnreadableDerError, read, rounds
from state_machine.values.certificate import CertificateRefusedError, Refusal
from tests.made_certificates import COMPANY, NOW, SENHA, pfx

SEEN = 70_000
DATA = bytes.fromhex("06092a864886f70d010701")
PBKDF2 = bytes.fromhex("06092a864886f70d01050c")
SCRYPT = bytes.fromhex("06092b06010401da47040b")
MOST = b"\x02\x04\x7f\xff\xff\xff"  # 2^31-1, the most that a file may say


def _der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return bytes([tag]) + (bytes([len(body)]) if len(body) < 0x80 else b"\x82" + len(body).to_bytes(2)) + body


def _endless(tag: int, *parts: bytes) -> bytes:
    return bytes([tag]) + b"\x80" + b"".join(parts) + b"\0\0"


def _file(safe: bytes, *mac: bytes) -> bytes:
    return _der(0x30, b"\x02\x01\x03", _der(0x30, DATA, _der(0xA0, _der(0x04, safe))), *mac)


def _mac(*iterations: bytes) -> bytes:
    digest = _der(0x30, _der(0x30, bytes.fromhex("06052b0e03021a")), _der(0x04, bytes(20)))
    return _der(0x30, digest, _der(0x04, bytes(8)), *iterations)


def _pbkdf2(count: bytes = MOST) -> bytes:
    return _der(0x30, PBKDF2, _der(0x30, _der(0x04, bytes(8)), count, b"\x02\x01\x20"))


def test_the_rounds_of_key_certificates_and_mac_are_added() -> None:
    """A file of the library names them for both bags; its MAC has rounds of its own, and one where it names none."""
    scheme = PrivateFormat.PKCS12.encryption_builder().kdf_rounds(SEEN).build(SENHA.encode())
    made = pfx(encryption=scheme)
    assert 2 * SEEN < rounds(made) < MOST_ROUNDS
    assert read(made, SENHA, COMPANY, NOW).cnpj == COMPANY
    assert rounds(_file(b"")) == 0
    assert rounds(_file(b"", _mac())) == 1
    assert rounds(_file(b"", _mac(b"\x02\x02\x08\x00"))) == 2048


@pytest.mark.parametrize(
    "arquivo",
    [
        pfx(
            encryption=PrivateFormat.PKCS12.encryption_builder().kdf_rounds(SEEN).build(SENHA.encode())
        ).replace(SEEN.to_bytes(3), b"\x7f\xff\xff", 1),
        _file(b"", _mac(MOST)),
        _file(_der(0x30, _pbkdf2())),
        _file(_der(0x30, *[_pbkdf2(b"\x02\x03\x0f\x42\x40")] * 5)),
        _file(_der(0x30, _der(0x30, DATA, _der(0xA0, _der(0x04, _der(0x30, _pbkdf2())))))),
        _file(_der(0x30, SCRYPT, _der(0x30, _der(0x04, bytes(8)), *[b"\x02\x02\x40\x00"] * 2, b"\x02\x01\x01"))),
        _endless(0x30, b"\x02\x01\x03", _endless(0x30, DATA, _endless(0xA0, _endless(
            0x24, *(_der(0x04, bytes([each])) for each in _der(0x30, _pbkdf2()))
        )))),
    ],
    ids=["library", "mac", "key", "many", "nested", "scrypt", "pieces"],
)  # fmt: skip
def test_a_file_that_orders_too_much_is_not_opened(arquivo: bytes) -> None:
    """Wherever it says so, once or in sum, also where BER cuts it into pieces; the sentence is its own."""
    assert rounds(arquivo) > MOST_ROUNDS
    with pytest.raises(CertificateRefusedError, match="contas demais") as refused:
        read(arquivo, SENHA, COMPANY, NOW)
    assert refused.value.motivo is Refusal.TOO_MUCH_WORK


@pytest.mark.parametrize(
    "arquivo",
    [b"", b"\x30", b"\x30\x05\x02\x01\x03", b"\x30\x80\x02\x01\x03", b"\x02\x80\0\0", b"\x3f\x81\x01\0",
     b"\x30\x80" * 100, _der(0x30, _der(0x30, PBKDF2, _der(0x30, _der(0x04, bytes(8)))))],
    ids=["empty", "half", "cut", "no end", "endless number", "long tag", "deep", "no rounds"],
)  # fmt: skip
def test_what_cannot_be_read_is_said(arquivo: bytes) -> None:
    """Nothing is guessed of a file that is cut, nested without end, or hides its rounds."""
    with pytest.raises(UnreadableDerError):
        rounds(arquivo)
