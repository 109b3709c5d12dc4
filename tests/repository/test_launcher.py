"""The script `prosa`: from a bare clone to the command, from anywhere, once."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import children

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.timeout(900)  # environments are made, some tests make two
ROOT = Path(__file__).parents[2]
INSTALLS = 400.0  # seconds that an environment may take on a machine that does other things besides
CLI = "import proofs, sys; print(proofs.__file__, sys.argv[1:])\n"


def miniature(path: Path) -> Path:
    """A clone in miniature: the real script, a command that says where it is, and locks that ask for nothing."""
    (path / "proofs").mkdir(parents=True)
    (path / "proofs" / "__init__.py").touch()
    (path / "proofs" / "__main__.py").write_text(CLI)
    (path / "requirements").mkdir()
    for name in ("base", "demo", "dev"):
        (path / "requirements" / f"{name}.lock").write_text(f"# nothing for {name}\n")
    shutil.copy2(ROOT / "prosa", path)
    return path


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone that was never started, in a path with a space."""
    return miniature(tmp_path / "a clone")


@pytest.fixture(scope="module")
def started_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone that was started before; only ever copied."""
    path = miniature(tmp_path_factory.mktemp("started") / "a clone")
    assert launch(path / "prosa", cwd=path).returncode == 0
    return path


@pytest.fixture
def started(started_once: Path, tmp_path: Path) -> Path:
    """A clone that was started before, and moved since."""
    return shutil.copytree(started_once, tmp_path / "a clone", symlinks=True)


@pytest.fixture
def bare(started: Path) -> Path:
    """A clone whose environment is made, with nothing installed."""
    forget(started)
    return started


def forget(clone: Path) -> None:
    """Take away the stamps of what was installed."""
    for stamp in (clone / ".venv").glob("*.lock"):
        stamp.unlink()


def launch(script: Path, *arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script as a person would, without the environment of this test run."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PROSA_PYTHON": sys.executable, **environment}
    return children.run([script, *arguments], cwd=cwd, env=clean, capture_output=True, text=True, timeout=INSTALLS)


def test_it_makes_its_environment_once_and_starts_at_once_afterwards(clone: Path, tmp_path: Path) -> None:
    """The first start says what it does on stderr only; the next does nothing but start."""
    first = launch(clone / "prosa", "--help", cwd=tmp_path)
    assert first.stdout == f"{clone / 'proofs' / '__init__.py'} ['--help']\n", first.stderr
    assert "criando .venv" in first.stderr
    assert "instalando requirements/demo.lock" in first.stderr
    made = (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    again = launch(clone / "prosa", "--help", cwd=tmp_path)
    assert (again.stdout, again.stderr) == (first.stdout, "")
    assert (clone / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == made


def test_it_installs_again_when_the_lock_changed_or_an_installation_was_interrupted(started: Path) -> None:
    """The stamp is written last and holds the lock itself, so neither a change nor an interruption is missed."""
    (started / "requirements" / "demo.lock").write_text("# nothing, but newer\n")
    changed = launch(started / "prosa", cwd=started)
    assert "instalando requirements/demo.lock" in changed.stderr
    assert "criando .venv" not in changed.stderr
    (started / ".venv" / "demo.lock").unlink()
    assert "instalando requirements/demo.lock" in launch(started / "prosa", cwd=started).stderr
    assert launch(started / "prosa", cwd=started).stderr == ""


def test_an_environment_that_was_only_half_made_is_made_again(clone: Path) -> None:
    """Killed while venv still brought pip in, the next start begins anew instead of failing for ever."""
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "unfinished").touch()
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    done = launch(clone / "prosa", cwd=clone)
    assert "criando .venv" in done.stderr
    assert done.returncode == 0
    assert not (clone / ".venv" / "unfinished").exists()


def test_it_finds_its_clone_through_links_and_never_anothers_proofs(started: Path, tmp_path: Path) -> None:
    """Called by a link of a link, from a directory that has `proofs` of its own, it still runs its own clone."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "prosa").symlink_to("../a clone/prosa")
    (tmp_path / "short").symlink_to("bin/prosa")
    (tmp_path / "proofs").mkdir()
    (tmp_path / "proofs" / "__init__.py").write_text("raise SystemExit('the wrong proofs')\n")
    found = launch(tmp_path / "short", "x", "y z", cwd=tmp_path)
    assert found.stdout == f"{started / 'proofs' / '__init__.py'} ['x', 'y z']\n", found.stderr


def test_tests_get_their_tools(started: Path) -> None:
    """`prosa test` installs the lock with the tools, once, and passes its arguments on; other commands need no more."""
    done = launch(started / "prosa", "test", "-k", "x", cwd=started)
    assert "instalando requirements/dev.lock" in done.stderr
    assert done.stdout.endswith("['test', '-k', 'x']\n")
    assert launch(started / "prosa", "test", cwd=started).stderr == ""
    assert launch(started / "prosa", "demo", cwd=started).stderr == ""


SERVERS = {"PROSA_DATABASE_URL": "postgresql://of-an-operator/prosa", "PROSA_REDIS_URL": "redis://of-an-operator"}


@pytest.mark.parametrize("missing", [None, *SERVERS])
def test_servers_of_ours_are_installed_where_an_address_is_missing(bare: Path, missing: str | None) -> None:
    """With both addresses the base lock is enough; without one of them the embedded servers come too."""
    given = {name: value for name, value in SERVERS.items() if name != missing}
    lock = "base" if missing is None else "demo"
    assert f"instalando requirements/{lock}.lock" in launch(bare / "prosa", "serve", cwd=bare, **given).stderr
    if missing is None:
        assert launch(bare / "prosa", "staff", cwd=bare, **given).stderr == ""
        assert "instalando requirements/demo.lock" in launch(bare / "prosa", "demo", cwd=bare, **given).stderr


def test_addresses_are_found_where_the_settings_find_them(bare: Path) -> None:
    """The file that the settings are read from counts as much as the environment; a line without a value does not."""
    lines = [f"{name}={value}" for name, value in SERVERS.items()]
    (bare / ".env").write_text("\n".join(["# of the operator", f"export {lines[0]}", "PROSA_REDIS_URL=", ""]))
    assert "instalando requirements/demo.lock" in launch(bare / "prosa", "serve", cwd=bare).stderr
    forget(bare)
    (bare / ".env").write_text("\n".join(lines))
    assert "instalando requirements/base.lock" in launch(bare / "prosa", "serve", cwd=bare).stderr


def test_an_older_commit_is_not_tested_with_newer_packages(started: Path) -> None:
    """After a change of versions by one lock, the other's installation counts no more, though its lock is the same."""
    launch(started / "prosa", "test", cwd=started)
    (started / "requirements" / "demo.lock").write_text("# newer\n")
    launch(started / "prosa", cwd=started)
    assert "instalando requirements/dev.lock" in launch(started / "prosa", "test", cwd=started).stderr


def test_a_package_without_its_hash_is_refused_and_leaves_no_stamp(started: Path) -> None:
    """A lock that was tampered with installs nothing, says so, and the next start tries again."""
    (started / "requirements" / "demo.lock").write_text("sniffio==1.3.1\n")
    done = launch(started / "prosa", cwd=started)
    assert done.returncode != 0
    assert "não foi possível instalar" in done.stderr
    assert not (started / ".venv" / "demo.lock").exists()


def test_without_a_python_it_says_what_to_install(clone: Path, tmp_path: Path) -> None:
    """On a machine without Python 3.11 the message names what is missing, and nothing is made."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("dirname", "readlink", "cmp"):
        (tools / name).symlink_to(shutil.which(name) or name)
    done = launch(clone / "prosa", cwd=clone, PATH=str(tools), PROSA_PYTHON="")
    assert done.returncode == 1
    assert "falta Python 3.11 ou mais novo" in done.stderr
    assert not (clone / ".venv").exists()
