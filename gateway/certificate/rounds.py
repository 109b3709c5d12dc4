"""Reads from a PKCS #12 file how many rounds of hashing its passwords cost, before any of them is done."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from state_machine.values.errors import ProsaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    Content = bytes | list["Node"]
    Node = tuple[int, Content]  # tag, and what stands in it

_INTEGER, _OCTETS, _OID = 0x02, 0x04, 0x06
_CONSTRUCTED: Final = 0x20
_LONG_TAG: Final = 0x1F
_INDEFINITE: Final = 0x80  # a length: up to two zero bytes, as issuers' Java writes it (X.690, 8.1.3)
_DEEPEST: Final = 40  # a file of ours has 14 levels
_SCRYPT: Final = bytes.fromhex("2b06010401da47040b")
_PBKDF2: Final = bytes.fromhex("2a864886f70d01050c")  # PBES2 and PBMAC1 name it
_PKCS12: Final = [bytes.fromhex("2a864886f70d010c01") + bytes([each]) for each in range(1, 7)]  # pkcs-12PbeIds
_NAMES: Final = frozenset({_PBKDF2, _SCRYPT, *_PKCS12})
_MAC: Final = 2  # where MacData stands in a PFX: after version and content


class UnreadableDerError(ProsaError, ValueError):
    """The bytes are no BER, or nested deeper than a certificate's file is."""

    code = "unreadable_der"


def rounds(arquivo: bytes) -> int:
    """Return the rounds of all passwords that the file names outside of what it encrypts: its MAC's and its keys'.

    Of scrypt the product of its parameters counts. Raises ``UnreadableDerError``.
    """
    pfx = _whole(arquivo)
    _, parts = pfx
    mac = parts[_MAC] if isinstance(parts, list) and len(parts) > _MAC else None
    return (max(_integers(mac), default=1) if mac else 0) + sum(_derivations(pfx, 0))


def _derivations(node: Node, depth: int) -> Iterator[int]:
    """Yield the rounds of each algorithm that makes a key of a password, wherever it stands."""
    tag, parts = node
    if isinstance(parts, bytes):
        if tag != _OCTETS or depth > _DEEPEST:
            return
        try:
            inside = _whole(parts)
        except UnreadableDerError:
            return  # a salt, a digest, what is encrypted
        yield from _derivations(inside, depth + 1)
        return
    if len(parts) > 1 and parts[0][0] == _OID and parts[0][1] in _NAMES:
        yield _cost(parts[0][1], parts[1])
    for part in parts:
        yield from _derivations(part, depth + 1)


def _cost(name: Content, parameters: Node) -> int:
    numbers = _integers(parameters)
    if not numbers:
        raise UnreadableDerError("an algorithm without its rounds")
    return prod(max(1, number) for number in numbers) if name == _SCRYPT else max(numbers)


def _integers(node: Node) -> list[int]:
    _, parts = node
    if isinstance(parts, bytes):
        return []
    return [int.from_bytes(each) for tag, each in parts if tag == _INTEGER and isinstance(each, bytes)]


def _whole(data: bytes) -> Node:
    return _element(data, 0, len(data), 0)[0]


def _element(data: bytes, at: int, end: int, depth: int) -> tuple[Node, int]:
    """Return the element that begins at ``at``, and where the next one does."""
    if depth > _DEEPEST or at + 2 > end or data[at] & _LONG_TAG == _LONG_TAG:
        raise UnreadableDerError(f"no element at {at}")
    tag, length, at = data[at], data[at + 1], at + 2
    open_end = length == _INDEFINITE
    if length > _INDEFINITE:
        more = at + (length & 0x7F)
        length, at = int.from_bytes(data[at:more]), more
    last = end if open_end else at + length
    if last > end or (open_end and not tag & _CONSTRUCTED):
        raise UnreadableDerError(f"cut at {end}")
    if not tag & _CONSTRUCTED:
        return (tag, data[at:last]), last
    parts: list[Node] = []
    while at != last:
        if open_end and data[at : at + 2] == b"\0\0":
            return _joined(tag, parts), at + 2
        part, at = _element(data, at, last, depth + 1)
        parts.append(part)
    if open_end:
        raise UnreadableDerError(f"no end at {last}")
    return _joined(tag, parts), last


def _joined(tag: int, parts: list[Node]) -> Node:
    """Put the pieces of an OCTET STRING together, which BER may cut anywhere."""
    if tag != _OCTETS | _CONSTRUCTED:
        return tag, parts
    return _OCTETS, b"".join(content for _, content in parts if isinstance(content, bytes))
