"""Reads a certificate in a process of its own, with bounds on its time and memory, that opens no file.

Has files read one at a time for each company, few at once, and refuses what would wait behind too many.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Final

import cryptography.hazmat.backends.openssl.backend  # noqa: F401 - an elliptic curve's root asks for it: too late then
from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from gateway import process_apart
from gateway.certificate.a1 import read
from state_machine.values.certificate import A1, LARGEST_FILE, LONGEST_PASSWORD, CertificateRefusedError, Refusal
from state_machine.values.errors import ProsaError

DEADLINE: Final = 120.0  # seconds; a reading takes half a second, most of it to start Python
# The file says how many rounds its password's hash has, up to 2^31; a reading takes 40 million bytes.
LIMITS: Final = {
    **process_apart.limits(cpu=2, memory=256 * 1024 * 1024),
    resource.RLIMIT_NOFILE: 0,  # whoever takes the parser over opens no file, not /proc either, and no connection
}
NICE: Final = 10  # what a stranger's file orders takes no processor from conversations
WORDS: Final = process_apart.words("gateway.certificate.reading_process")
_LONGEST_ANSWER: Final = 128 * 1024  # bytes; key and chain of the largest file fit

_Pem = Annotated[str, StringConstraints(pattern=r"^-----BEGIN [A-Z ]+-----\n[A-Za-z0-9+/=\n -]+\n$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)  # an error must not show a key


class _Refused(_Strict):
    motivo: Refusal
    detalhe: Annotated[str, StringConstraints(pattern=r"^[0-9A-Z./-]{0,20}$")]


class _Accepted(_Strict):
    chave: _Pem
    cadeia: _Pem
    impressao: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    valido_de: AwareDatetime
    valido_ate: AwareDatetime
    cnpj: Annotated[str, StringConstraints(pattern=r"^[0-9A-Z]{12}[0-9]{2}$")]
    titular: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f]{0,200}$")]  # it is shown on terminals


_ANSWER: Final[TypeAdapter[_Refused | _Accepted]] = TypeAdapter(_Refused | _Accepted)


async def read_apart(
    arquivo: bytes,
    senha: str,
    cnpj: str,
    agora: datetime,
    raizes: bytes = b"",
    *,
    words: Sequence[str] = WORDS,
    deadline: float = DEADLINE,
) -> A1:
    """Return the certificate that ``read`` returns, read by another process. Raises ``CertificateRefusedError``.

    A process that crashes, meets a limit, is late (``deadline``, seconds) or answers anything else has refused.
    """
    if len(arquivo) > LARGEST_FILE:
        raise CertificateRefusedError(Refusal.TOO_LARGE)
    if len(senha) > LONGEST_PASSWORD:
        raise CertificateRefusedError(Refusal.WRONG_PASSWORD)
    asked = {
        "arquivo": base64.b64encode(arquivo).decode(),
        "senha": senha,
        "cnpj": cnpj,
        "agora": agora.isoformat(),
        "raizes": raizes.decode(),
    }
    raw = await _exchange(json.dumps(asked).encode(), words, deadline)
    try:
        answer = _ANSWER.validate_json(raw)
    except ValidationError:
        raise CertificateRefusedError(Refusal.UNREADABLE) from None
    if isinstance(answer, _Refused):
        raise CertificateRefusedError(answer.motivo, answer.detalhe)
    return A1(
        chave=answer.chave.encode(),
        cadeia=answer.cadeia.encode(),
        impressao=answer.impressao,
        valido_de=answer.valido_de,
        valido_ate=answer.valido_ate,
        cnpj=answer.cnpj,
        titular=answer.titular,
    )


async def _exchange(asked: bytes, words: Sequence[str], deadline: float) -> bytes:
    """Give the process its question, and return all that it answers; empty where it failed."""
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=process_apart.ENVIRONMENT,
    )
    answer = b""
    try:
        async with asyncio.timeout(deadline):
            answer = await _talk(process, asked)
            if await process.wait() != 0:
                answer = b""
    except (TimeoutError, OSError):
        answer = b""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return answer


async def _talk(process: asyncio.subprocess.Process, asked: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        return b""
    process.stdin.write(asked)
    await process.stdin.drain()
    process.stdin.close()
    try:
        await process.stdout.readexactly(_LONGEST_ANSWER + 1)
    except asyncio.IncompleteReadError as whole:
        return whole.partial
    process.kill()  # it says more than any certificate needs
    return b""


def restrict() -> None:
    """Bind this process to ``LIMITS``, and let others go first, for the rest of its life."""
    os.nice(NICE)
    process_apart.restrict(LIMITS)


def main() -> None:
    """Answer the question on standard input; what goes wrong ends the process, which says enough."""
    restrict()
    asked = json.loads(sys.stdin.buffer.read())
    try:
        found = read(
            base64.b64decode(asked["arquivo"]),
            asked["senha"],
            asked["cnpj"],
            datetime.fromisoformat(asked["agora"]),
            asked["raizes"].encode(),
        )
    except CertificateRefusedError as refused:
        answer = {"motivo": refused.motivo.value, "detalhe": refused.detalhe}
    else:
        answer = {
            "chave": found.chave.decode(),
            "cadeia": found.cadeia.decode(),
            "impressao": found.impressao,
            "valido_de": found.valido_de.isoformat(),
            "valido_ate": found.valido_ate.isoformat(),
            "cnpj": found.cnpj,
            "titular": found.titular,
        }
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()


READERS: Final = 2  # files that one process has read at once, each by half a second of a processor
WAITING: Final = 32  # files of 64 kB that wait or are read; the last of them waits a minute at worst
OF_ONE: Final = 10  # of one company: two links' tries


class ReadersBusyError(ProsaError, RuntimeError):
    """As many files as may wait are waiting."""

    code = "readers_busy"


@dataclass(slots=True)
class Turns:
    """The turns of one process, by company."""

    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(READERS))
    most: int = WAITING
    most_of_one: int = OF_ONE
    _waiting: Counter[int] = field(default_factory=Counter)
    _companies: dict[int, asyncio.Lock] = field(default_factory=dict)

    def check(self, company: int) -> None:
        """Raise ``ReadersBusyError`` where ``of`` would now."""
        if self._waiting.total() >= self.most or self._waiting[company] >= self.most_of_one:
            raise ReadersBusyError

    @asynccontextmanager
    async def of(self, company: int) -> AsyncIterator[None]:
        """Wait for the company's turn, then for a reader. Raises ``ReadersBusyError`` at once."""
        self.check(company)
        self._waiting[company] += 1
        try:
            async with self._companies.setdefault(company, asyncio.Lock()), self.readers:
                yield
        finally:
            self._waiting[company] -= 1
            if not self._waiting[company]:
                del self._waiting[company], self._companies[company]
