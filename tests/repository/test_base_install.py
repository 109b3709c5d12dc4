"""The base install: what production runs needs nothing of the extras, and says so where something is missing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from bot.cli.words import WRONG_WORDS
from proofs.scripts import sbom
from tests import children

ROOT = Path(__file__).parents[2]
LET_IN = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
PRODUCTION = sorted(name for name in LET_IN if (ROOT / name).is_dir())  # what the image has of ours
NOT_IMPORTED = "persistence.migrations"  # read by alembic alone

# Refuses every distribution that only a larger lock names, and every folder of ours that the image lacks.
HIDE = """
import sys
from importlib.machinery import PathFinder
from importlib.metadata import packages_distributions

hidden = set(sys.argv[1].split())
names = {top: {dist.lower().replace("_", "-") for dist in dists} for top, dists in packages_distributions().items()}
tops = {top for top, dists in names.items() if dists <= hidden}
tops.update(sys.argv[2].split())


class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in tops else super().find_spec(name, path, target)


sys.meta_path[:] = [Installed if finder is PathFinder else finder for finder in sys.meta_path]
"""


def packages(lock: str) -> set[str]:
    """The names in one lock."""
    return set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / f"{lock}.lock").read_text(), re.MULTILINE))


def without_extras(code: str, *arguments: str) -> tuple[int, str]:
    """Run code with the base lock and the image's folders alone; returns its status and all that it printed."""
    hidden = " ".join(sorted((packages("dev") | packages("demo")) - packages("base")))
    absent = " ".join(path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in PRODUCTION)
    command = [sys.executable, "-P", "-c", HIDE + code, hidden, absent, *arguments]
    done = children.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_all_that_production_runs_is_imported_without_the_extras() -> None:
    """Every module that the image has, with the packages of the base lock and nothing else of ours."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in PRODUCTION
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    ours = [name for name in modules if not name.startswith(NOT_IMPORTED) and not name.endswith("__main__")]
    status, said = without_extras(f"import importlib\nfor name in {ours!r}: importlib.import_module(name)")
    assert status == 0, said


def test_a_command_of_the_simulators_says_what_is_missing() -> None:
    """In the image `prosa storm` and `prosa demo` end with a sentence, as a command that is typed wrongly does."""
    start = "from bot.cli.__main__ import main\nsys.argv = ['prosa', *sys.argv[3:]]\nmain()"
    for command in ("storm", "demo"):
        status, said = without_extras(start, command)
        assert status == WRONG_WORDS
        assert "roda de um clone do repositório" in said
        assert "Traceback" not in said


def test_without_servers_of_ours_the_missing_address_is_named() -> None:
    """Where the wheel of the embedded servers is missing, the sentence names the setting to use instead."""
    code = "from persistence.embedded import valkey\ntry: valkey.installation()\nexcept Exception as e: print(e)"
    status, said = without_extras(code)
    assert status == 0
    assert "PROSA_REDIS_URL" in said


def test_the_bill_of_materials_is_what_is_installed() -> None:
    """Each locked package with its hashes; another version than the one that stands here is named."""
    lock = sbom.LOCK.read_text(encoding="utf-8")
    bill = sbom.document(lock)["components"]
    assert len(bill) == len({each["purl"] for each in bill}) == sum("==" in line for line in lock.splitlines())
    assert all(each["externalReferences"] for each in bill)
    assert sbom.differences(lock) == []
    version = next(each["version"] for each in bill if each["name"] == "aiohttp")
    other = lock.replace(f"aiohttp=={version}", "aiohttp==0.0.1")
    assert sbom.differences(other) == [f"aiohttp: 0.0.1 locked, {version} here"]
