from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from gateway.certificate.reading_process import read_apart
from proofs.sandbox.nacional.authority import Authority
from state_machine.values.certificate import CertificateRefusedError, Refusal
from tests import children
from tests.made_certificates import COMPANY, NOW, SENHA, authority, company, pfx, rsa_key
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

# A parser that says "expired" when nothing stops it before: any other refusal is the work of a limit.
BEGIN = "import sys, os, time\nimport gateway.certificate.reading_process as r\n"
ANSWER = """\nprint('{"motivo": "vencido", "detalhe": ""}')\n"""


async def _why(program: str, deadline: float = PATIENCE) -> Refusal:
    words = (sys.executable, "-P", "-s", "-B", "-c", BEGIN + program)
    with pytest.raises(CertificateRefusedError) as refused:
        await read_apart(b"x", SENHA, COMPANY, NOW, words=words, deadline=deadline)
    assert children.apart() == []
    return refused.value.motivo


async def test_a_certificate_is_read_by_another_process() -> None:
    """What comes back is what the file holds."""
    made = company()
    found = await read_apart(pfx(made), SENHA, COMPANY, NOW)
    assert (found.impressao, found.cnpj) == (made.fingerprint, COMPANY)
    assert found.chave.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert found.valido_ate == made.certificate.not_valid_after_utc


async def test_a_root_answers_for_it_whatever_its_key(tmp_path: Path) -> None:
    """One of RSA and one of an elliptic curve: what the check loads is there before no file may be opened."""
    roots = authority().certificate.public_bytes(Encoding.PEM)
    assert (await read_apart(pfx(), SENHA, COMPANY, NOW, roots)).cnpj == COMPANY
    curve, now = Authority(tmp_path), datetime.now(UTC)
    assert isinstance(curve.root.key, EllipticCurvePrivateKey)
    found = await read_apart(curve.pfx_for(COMPANY, SENHA), SENHA, COMPANY, now, curve.ca_file.read_bytes())
    assert found.cnpj == COMPANY


async def test_the_roots_reach_it() -> None:
    """A certificate of another authority is refused by the process that reads it."""
    roots = company().certificate.public_bytes(Encoding.PEM)
    with pytest.raises(CertificateRefusedError, match="Nenhuma autoridade") as refused:
        await read_apart(pfx(company(signer=rsa_key("stranger"))), SENHA, COMPANY, NOW, roots)
    assert refused.value.motivo is Refusal.UNKNOWN_ISSUER


async def test_its_refusal_is_ours() -> None:
    """With the reason and what fills the sentence."""
    with pytest.raises(CertificateRefusedError, match=r"12\.345\.678/0001-95") as refused:
        await read_apart(pfx(company(cnpj="12345678000195")), SENHA, COMPANY, NOW)
    assert refused.value.motivo is Refusal.OTHER_COMPANY
    with pytest.raises(CertificateRefusedError) as refused:
        await read_apart(pfx(), "ção ∞", COMPANY, NOW)
    assert refused.value.motivo is Refusal.WRONG_PASSWORD


async def test_nothing_too_large_reaches_it() -> None:
    """No process is started for a file or a password beyond the bounds."""
    for arquivo, senha, why in (
        (bytes(65537), "x", Refusal.TOO_LARGE),
        (b"x", "x" * 257, Refusal.WRONG_PASSWORD),
    ):
        with pytest.raises(CertificateRefusedError) as refused:
            await read_apart(arquivo, senha, COMPANY, NOW, words=("/nonexistent",))
        assert refused.value.motivo is why


async def test_a_parser_within_its_limits_is_believed() -> None:
    """The made-up parser of these tests answers when nothing stops it."""
    assert await _why("r.restrict()\nsys.stdin.read()" + ANSWER) is Refusal.EXPIRED


async def test_a_parser_that_eats_memory_is_ended() -> None:
    """The limit on its address space refuses what no certificate needs."""
    assert await _why("r.restrict()\nx = bytearray(10**9)" + ANSWER) is Refusal.UNREADABLE


async def test_a_parser_that_computes_without_end_is_ended() -> None:
    """Its seconds of CPU end long before the deadline does."""
    begun = time.monotonic()
    program = "r.LIMITS[r.process_apart.resource.RLIMIT_CPU] = 1\nr.restrict()\nwhile True: pass"
    assert await _why(program, deadline=600) is Refusal.UNREADABLE
    assert time.monotonic() - begun < 600


async def test_a_parser_that_waits_is_ended() -> None:
    """At the deadline it is killed, and nothing of it is left."""
    assert await _why("r.restrict()\ntime.sleep(600)" + ANSWER, deadline=1.0) is Refusal.UNREADABLE


async def test_a_parser_writes_no_file(tmp_path: Path) -> None:
    """Not a byte: no key gets onto a disk, not by a core file either."""
    target = tmp_path / "key"
    program = f"f = open({str(target)!r}, 'wb', 0)\nr.restrict()\nf.write(b'key')"
    assert await _why(program + ANSWER) is Refusal.UNREADABLE
    assert target.stat().st_size == 0
    no_core = "r.restrict()\nassert r.process_apart.resource.getrlimit(r.process_apart.resource.RLIMIT_CORE) == (0, 0)"
    assert await _why(no_core + ANSWER) is Refusal.EXPIRED


@pytest.mark.parametrize("way", ["open('/proc/self/environ')", "socket.socket()", "os.pipe()", "os.listdir('/proc')"])
async def test_who_takes_a_parser_over_finds_no_way_out(way: str) -> None:
    """It opens no file, so it reads no process's environment, and no connection; the same account runs both."""
    assert await _why(f"import socket\n{way}\nr.restrict()" + ANSWER) is Refusal.EXPIRED
    assert await _why(f"import socket\nr.restrict()\n{way}" + ANSWER) is Refusal.UNREADABLE


@pytest.mark.parametrize(
    "program",
    [
        "print('{}')",
        "print('garbage')",
        "",
        "sys.exit(3)",
        ANSWER + "sys.exit(3)",
        "os.kill(os.getpid(), 9)",
        "os.abort()",
        "sys.stdout.write('x' * 10**7)",
        """print('{"motivo": "vencido", "detalhe": "\\\\u001b[2J"}')""",
        """print('{"motivo": "outro", "detalhe": ""}')""",
        "os.close(0)\nprint('{}')",
    ],
)
async def test_any_other_end_is_a_refusal(program: str) -> None:
    """A crash, no answer, garbage, too much of it, text that a terminal would obey."""
    assert await _why(program) is Refusal.UNREADABLE


async def test_no_secret_of_ours_is_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither master key nor password: a hostile file that takes the parser over finds nothing."""
    monkeypatch.setenv("PROSA_MASTER_KEY", "secret")
    monkeypatch.setenv("PROSA_PFX_SENHA", SENHA)
    program = "assert not [name for name in os.environ if 'PROSA' in name]\nassert r.WORDS[0] == sys.executable"
    assert await _why(program + ANSWER) is Refusal.EXPIRED


async def test_others_go_first() -> None:
    """A file that costs all it may takes no processor from conversations, and two seconds at most."""
    polite = "import os\nr.restrict()\nassert os.nice(0) >= r.NICE == 10\nassert r.process_apart.resource.getrlimit("
    assert await _why(f"{polite}r.process_apart.resource.RLIMIT_CPU) == (2, 2)" + ANSWER) is Refusal.EXPIRED
