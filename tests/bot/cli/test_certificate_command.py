"""``prosa empresa certificado`` as a person runs it, and where its secrets would be found if any were left."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
import threading
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any, Self

import asyncpg
import psutil
import pytest

from operations.company import CompanyForm, add_company
from persistence.crypto import KEY_BYTES, Vault
from persistence.db.engine import Database
from persistence.people import certificate_vault
from persistence.people.certificate_vault import Purpose
from tests import children
from tests.made_certificates import COMPANY, SENHA, company, pfx, rsa_key, traces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.bot.cli.conftest import Prosa

OLD, NEW = bytes(range(KEY_BYTES)), bytes(KEY_BYTES)
KEYS = {"PROSA_MASTER_KEY": base64.b64encode(OLD).decode()}
BOTH = {"PROSA_MASTER_KEY": f"{base64.b64encode(NEW).decode()},{KEYS['PROSA_MASTER_KEY']}"}
GIVEN = {**KEYS, "PROSA_PFX_SENHA": SENHA}
UNCHECKED = {"PROSA_ICP_BRASIL_UNCHECKED_REPLACES": "True"}
FORM = CompanyForm(cnpj=COMPANY, razao_social="ANA DESIGN ME", inscricao_municipal="12345678", municipio="3550308")
COMMAND = ("empresa", "certificado", COMPANY)
READER = "gateway.certificate.reading_process"
# Gives a terminal to a command, whose input and output are this process's.
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.fixture
def vault(database_url: str) -> Callable[..., Any]:
    """Make a company without a certificate; what comes back asks the database something."""

    def ask(work: Callable[[Database], Awaitable[Any]]) -> Any:
        async def asked() -> Any:
            database = await Database.open(database_url, size=1)
            try:
                return await work(database)
            finally:
                await database.close()

        return asyncio.run(asked())

    async def afresh(database: Database) -> None:
        await add_company(database, FORM)
        await database.pool.execute("DELETE FROM empresa_certificado")
        await database.pool.execute("UPDATE empresa SET certificado_vence = NULL")

    ask(afresh)
    return ask


@pytest.fixture
def arquivo(tmp_path: Path) -> Path:
    """A company's file."""
    path = tmp_path / "ana.pfx"
    path.write_bytes(pfx())
    return path


async def kept(database: Database) -> list[tuple[Any, ...]]:
    """Return everything that the command may change."""
    rows = await database.pool.fetch(
        "SELECT e.certificado_vence, e.versao, c.id, c.destruido_em, c.chave_dados, c.chave, c.impressao"
        " FROM empresa e LEFT JOIN empresa_certificado c ON c.empresa_id = e.id ORDER BY c.criado_em"
    )
    return [tuple(row) for row in rows]


async def fingerprint(database: Database) -> str | None:
    """Return the fingerprint of the certificate that the company has now."""
    now = "SELECT impressao FROM empresa_certificado WHERE destruido_em IS NULL"
    found: str | None = await database.pool.fetchval(now)
    return found


def test_a_file_is_kept_with_the_password_of_the_environment(
    prosa: Prosa, vault: Callable[..., Any], arquivo: Path
) -> None:
    """Whose it is and until when are said; the password is not, and the same file again is refused."""
    said = prosa(*COMMAND, f"--pfx={arquivo}", **GIVEN)
    assert said.returncode == 0, said.stderr
    assert "o certificado de ANA DESIGN ME:11222333000181 foi conferido e guardado, cifrado; a senha não foi." in (
        said.stdout
    )
    assert "Vale até" in said.stdout
    assert vault(fingerprint) is not None
    before = vault(kept)
    again = prosa(*COMMAND, f"--pfx={arquivo}", **GIVEN)
    assert again.returncode == 1
    assert "já está guardado para esta empresa" in again.stderr
    assert vault(kept) == before


def test_without_the_variable_the_password_is_asked_for_without_echo(
    prosa_environment: dict[str, str], vault: Callable[..., Any], arquivo: Path
) -> None:
    """On a terminal: what is typed does not appear on it."""
    words = (sys.executable, "-c", TERMINAL, sys.executable, "-m", "bot.cli", *COMMAND, f"--pfx={arquivo}")
    with children.started(
        words, env={**prosa_environment, **KEYS}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = b""
        while not said.endswith(b"Senha do arquivo: "):  # written when the echo is off
            part = process.stdout.read(1)
            assert part, said
            said += part
        process.stdin.write(SENHA.encode() + b"\n")
        process.stdin.flush()
        said += process.stdout.read()
        assert process.wait() == 0, said
    assert "conferido e guardado" in said.decode()
    assert SENHA not in said.decode()
    assert vault(fingerprint) is not None


def test_without_a_terminal_the_password_is_a_line_of_the_input(
    prosa: Prosa, vault: Callable[..., Any], arquivo: Path
) -> None:
    """As a program that keeps passwords pipes it."""
    said = prosa(*COMMAND, f"--pfx={arquivo}", typed=f"{SENHA}\n", **KEYS)
    assert said.returncode == 0, said.stderr
    assert vault(fingerprint) is not None


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        ((*COMMAND, "--pfx=ana.pfx"), {**GIVEN, "PROSA_PFX_SENHA": "errada"}, "A senha não abre este arquivo."),
        ((*COMMAND, "--pfx=outra.pfx"), GIVEN, "é de outra empresa, a de CNPJ 12.345.678/0001-95"),
        ((*COMMAND, "--pfx=nota.pdf"), GIVEN, "não é um certificado A1"),
        ((*COMMAND, "--pfx=nenhum.pfx"), GIVEN, "Não foi possível ler nenhum.pfx"),
        ((*COMMAND, "--pfx=ana.pfx"), {**GIVEN, "PROSA_MASTER_KEY": ""}, "Falta PROSA_MASTER_KEY"),
        (("empresa", "certificado", "12345678000195", "--pfx=ana.pfx"), GIVEN, "Nenhuma empresa com o CNPJ"),
        (("empresa", "certificado", "123", "--pfx=ana.pfx"), GIVEN, "123 não é um CNPJ válido"),
        ((*COMMAND, "2027-03-14", "--pfx=ana.pfx"), GIVEN, "Diga uma coisa só"),
        (COMMAND, GIVEN, "Diga uma coisa só"),
        ((*COMMAND, "--destruir"), GIVEN, "não tem certificado guardado aqui"),
        ((*COMMAND, "--anterior"), GIVEN, "não tem certificado anterior guardado"),
    ],
)
def test_what_is_refused_has_its_sentence_and_changes_nothing(
    prosa: Prosa,
    vault: Callable[..., Any],
    arquivo: Path,
    words: tuple[str, ...],
    env: dict[str, str],
    said: str,
) -> None:
    """The exit status says no, one sentence says why, and that nothing was kept."""
    (arquivo.parent / "outra.pfx").write_bytes(pfx(company(cnpj="12345678000195")))
    (arquivo.parent / "nota.pdf").write_bytes(b"%PDF-1.7 " + bytes(100))
    before = vault(kept)
    told = prosa(*words, **env)
    assert told.returncode == 1
    assert told.stdout == ""
    assert said in told.stderr
    assert any(words in told.stderr.lower() for words in ("nada mudou", "nada foi guardado"))
    assert SENHA not in told.stderr
    assert vault(kept) == before


def test_the_date_of_the_gateways_certificate_is_noted_as_before(prosa: Prosa, vault: Callable[..., Any]) -> None:
    """The command's first form goes on, and asks for no password and no master key."""
    said = prosa(*COMMAND, "2027-03-14")
    assert said.returncode == 0, said.stderr
    assert "o certificado vale até 14/03/2027" in said.stdout
    [(vence, *_)] = vault(kept)
    assert str(vence) == "2027-03-14"
    assert prosa(*COMMAND, "").returncode == 0
    assert vault(kept)[0][0] is None


def test_the_way_back_to_the_former_certificate(prosa: Prosa, vault: Callable[..., Any], arquivo: Path) -> None:
    """The replacement, which without roots a setting must allow, names it; it needs no file, password or master key."""
    (arquivo.parent / "second.pfx").write_bytes(pfx(company(key=rsa_key("second"))))
    assert prosa(*COMMAND, f"--pfx={arquivo}", **GIVEN).returncode == 0
    first = vault(fingerprint)
    refused = prosa(*COMMAND, "--pfx=second.pfx", **GIVEN)
    assert refused.returncode == 1
    assert "não há como conferir quem emitiu este" in refused.stderr
    assert vault(fingerprint) == first
    replaced = prosa(*COMMAND, "--pfx=second.pfx", **GIVEN, **UNCHECKED)
    assert "Quem o emitiu não foi conferido" in replaced.stdout
    assert "prosa empresa certificado CNPJ --anterior" in replaced.stdout
    assert vault(fingerprint) != first
    back = prosa(*COMMAND, "--anterior")
    assert (back.returncode, back.stderr) == (0, "")
    assert "o certificado anterior voltou a valer, até" in back.stdout
    assert vault(fingerprint) == first


def test_a_new_master_key_and_the_end_of_a_certificate(prosa: Prosa, vault: Callable[..., Any], arquivo: Path) -> None:
    """``staff rekey`` takes certificates over, and names those it cannot; ``--destruir`` leaves nothing to open."""
    assert prosa(*COMMAND, f"--pfx={arquivo}", **GIVEN).returncode == 0
    done = prosa("staff", "rekey", **BOTH)
    assert (done.returncode, done.stdout) == (0, "1 cifrados de novo.\n"), done.stderr
    lost = prosa("staff", "rekey", **KEYS)
    assert lost.returncode == 1
    assert f"Sem a chave antiga não se abrem os certificados de: {COMPANY}." in lost.stderr
    gone = prosa(*COMMAND, "--destruir", **BOTH)
    assert gone.returncode == 0, gone.stderr
    assert "a chave do certificado foi destruída" in gone.stdout
    assert vault(fingerprint) is None


class Watched:
    """Arguments and environments of this process's children and theirs, looked at again and again by a thread."""

    def __init__(self) -> None:
        self.reader: set[bytes] = set()  # of the process that reads a file
        self.others: set[bytes] = set()  # of the rest, but not the environment of the command itself
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        me = psutil.Process()
        while not self._end.wait(0.005):
            for child in me.children(recursive=True):
                with suppress(OSError, psutil.Error):
                    words, environment = self._file(child, "cmdline"), self._file(child, "environ")
                    if READER.encode() in words:
                        self.reader |= {words, environment}
                    else:
                        self.others.add(words)

    @staticmethod
    def _file(process: psutil.Process, name: str) -> bytes:
        with open(f"/proc/{process.pid}/{name}", "rb") as file:  # noqa: PTH123 - no path of a file
            return file.read()


async def dumped(url: str) -> bytes:
    """Return every row of every table as text."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        whole = BytesIO()
        for (table,) in tables:
            await connection.copy_from_table(table, output=whole)
        return whole.getvalue()
    finally:
        await connection.close()


def files(*places: Path) -> dict[str, bytes]:
    """Return what every file below these places holds."""
    return {str(path): path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_key_and_no_password_is_left_anywhere(
    prosa: Prosa, vault: Callable[..., Any], owner_url: str, arquivo: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A certificate is kept, replaced, used, sealed anew and refused: every place is searched afterwards.

    What the commands say and log at the noisiest level, the database's rows, the temporary and the home directory, the
    arguments of every process, and the environment of the one that reads the file.
    """
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    temporary, home = elsewhere / "tmp", elsewhere / "home"
    for place in (temporary, home):
        place.mkdir()
    env = {"TMPDIR": str(temporary), "HOME": str(home), "PROSA_LOG_LEVEL": "DEBUG", **UNCHECKED}
    second = company(key=rsa_key("second"))
    (arquivo.parent / "second.pfx").write_bytes(pfx(second))
    said: list[subprocess.CompletedProcess[str]] = []
    with Watched() as watched:
        said.append(prosa(*COMMAND, f"--pfx={arquivo}", **GIVEN, **env))
        said.append(prosa(*COMMAND, "--pfx=second.pfx", typed=f"{SENHA}\n", **KEYS, **env))
        said.append(prosa("staff", "rekey", **BOTH, **env))
        said.append(prosa(*COMMAND, f"--pfx={arquivo}", typed="errada\n", **BOTH, **env))
    assert [each.returncode for each in said] == [0, 0, 0, 1], said
    assert watched.reader

    async def sign(database: Database) -> str:
        async with database.transaction() as connection:
            empresa_id = await database.pool.fetchval("SELECT empresa_id FROM empresa_certificado LIMIT 1")
            opened = await certificate_vault.open_for(
                connection, Vault((NEW,)), empresa_id, Purpose.SIGN, quem="teste", nota="s1-r1-1"
            )
        return opened.impressao

    assert vault(sign) == second.fingerprint
    places = {
        "what was said": "".join(each.stdout + each.stderr for each in said).encode(),
        "database": asyncio.run(dumped(owner_url)),
        "the reader": b"\0".join(watched.reader),
        "arguments": b"\0".join(watched.others),
        **{path: held for path, held in files(temporary, home, arquivo.parent).items() if not path.endswith(".pfx")},
    }
    assert second.fingerprint.encode() in places["database"]
    secrets = {*traces(company()), *traces(second)}
    assert [(place, secret) for place, held in places.items() for secret in secrets if secret in held] == []
