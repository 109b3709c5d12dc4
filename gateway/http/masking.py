"""Owns the masking of secrets and personal numbers in what the outside answered; refuses to guess at anything else."""

from __future__ import annotations

import re

from telemetry.logs import CNPJ_SHAPE

# Names under which APIs echo secrets: PlugNotas repeats the certificate's password in ``data.senha``.
_NAMES = "senha|password|passwd|(?:access_)?token|(?:x-)?api[-_]?key|authorization|(?:client_)?secret|segredo"
_NAME = re.compile(_NAMES, re.IGNORECASE)
_QUOTED = re.compile(rf'("(?:{_NAMES})"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^,}}\]\s]+)', re.IGNORECASE)
_LOOSE = re.compile(rf"\b((?:{_NAMES})\s*[=:]\s*)(?!\")(?:bearer\s+)?[^\s,;&\"'<>{{}}]+", re.IGNORECASE)
_BEARER = re.compile(r"\bbearer\s+[\w.~+/=-]+", re.IGNORECASE)
# A mailbox has 64 characters at most (RFC 5321); unbounded, a long word is read again from each of its letters.
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_LONG_NUMBER = re.compile(rf"{CNPJ_SHAPE}|\d(?:[ ./()-]{{0,2}}\d){{6,}}")  # phones, CPF, CNPJ, masked or bare
_WAMID = re.compile(r"wamid\.[\w+/=-]+")  # holds the phone number in base64


def is_secret(name: str) -> bool:
    """Tell whether what stands under this name in an answer is a password, a token or a key."""
    return _NAME.fullmatch(name) is not None


def scrub(text: str) -> str:
    """Return ``text`` without passwords, tokens and keys; safe to store."""
    text = _QUOTED.sub(r'\1"***"', text)
    text = _LOOSE.sub(r"\1***", text)
    return _BEARER.sub("Bearer ***", text)


def mask(text: str) -> str:
    """Return ``text`` without secrets, e-mail addresses, long numbers and wamids; safe to log."""
    text = _WAMID.sub("wamid.***", scrub(text))
    return _LONG_NUMBER.sub("***", _EMAIL.sub("***", text))
