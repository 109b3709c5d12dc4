"""The container files, checked without a container: nothing secret inside, everything watched, names that exist."""

from __future__ import annotations

import os
import re
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
import yaml

from bot.settings import Settings
from persistence.embedded import valkey
from tests import children
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
LOCKS = ("base", "demo", "dev")
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY")
MUST_BE_GIVEN = re.compile(r"\$\{[A-Z_]+:\?[^}]+\}")  # compose stops with the message when the value is missing

# Set where they belong: the image has HOST and PORT, where the API is too, workers alone open PROBE_PORT, HOME is for
# embedded servers, and only migrations know the owner of the tables.
NOT_PASSED = {f"PROSA_{name}" for name in ("HOST", "PORT", "API_PORT", "PROBE_PORT", "HOME", "DATABASE_OWNER_URL")}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """`docker-compose.yml`, parsed."""
    parsed: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return parsed


@pytest.fixture(scope="module")
def dockerfile() -> list[list[str]]:
    """The instructions of the image's last stage, each as [name, rest]."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    instructions = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    last = max(number for number, (name, _) in enumerate(instructions) if name == "FROM")
    return instructions[last:]


def test_there_is_no_default_secret(compose: dict[str, Any]) -> None:
    """Every secret must be given by the operator; the only ones without a demand have no value at all."""
    checked = 0
    for service in compose["services"].values():
        for name, value in service["environment"].items():
            if SECRET.search(name) and value is not None:
                assert MUST_BE_GIVEN.fullmatch(value), name
                checked += 1
            for address in re.findall(r"://[^@/]*@", value or ""):
                assert MUST_BE_GIVEN.search(address), name
                checked += 1
    assert checked > 10


def test_everything_that_stays_up_is_watched(compose: dict[str, Any]) -> None:
    """Each service has a health check, but for the migration, which ends by itself and is awaited."""
    for name, service in compose["services"].items():
        if name == "migrate":
            assert service["restart"] == "no"
            assert service["healthcheck"] == {"disable": True}
        else:
            assert service["healthcheck"]["test"], name
            assert service["restart"] == "unless-stopped"


def test_nothing_starts_before_the_schema_is_there(compose: dict[str, Any]) -> None:
    """Web and workers wait for the migration's success, and the migration for a healthy PostgreSQL."""
    services = compose["services"]
    for name in ("web", "worker"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[name]["command"] == [name]
    assert services["migrate"]["command"] == ["migrate"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_two_workers_share_the_work(compose: dict[str, Any]) -> None:
    """The worker runs twice, so that one may be killed."""
    assert compose["services"]["worker"]["deploy"]["replicas"] == 2


def test_what_strangers_reach_cannot_take_all_the_memory(compose: dict[str, Any]) -> None:
    """Web and workers have a limit of memory."""
    assert all(compose["services"][name]["mem_limit"] == "1g" for name in ("web", "worker"))


@pytest.mark.parametrize("service", ["web", "worker", "migrate", "postgres", "redis"])
def test_a_container_can_do_no_more_than_its_work(compose: dict[str, Any], service: str) -> None:
    """No capability that it does not name, no new ones, no core file, bounded memory, processes and scratch space."""
    bounds = compose["services"][service]
    assert bounds["cap_drop"] == ["ALL"]
    assert set(bounds.get("cap_add", ())) <= {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
    assert bounds["security_opt"] == ["no-new-privileges:true"]
    assert bounds["ulimits"] == {"core": 0}
    assert bounds["mem_limit"]
    assert bounds["pids_limit"] <= 512
    assert all("size=" in mount for mount in bounds.get("tmpfs", ()))


def test_every_setting_named_exists(compose: dict[str, Any], dockerfile: list[list[str]]) -> None:
    """No PROSA_ name in the container files is unknown to `bot.settings`."""
    named = set(re.findall(r"\bPROSA_[A-Z0-9_]+", str(compose) + str(dockerfile)))
    assert {"PROSA_DATABASE_URL", "PROSA_HOST"} <= named
    assert named <= {f"PROSA_{field.upper()}" for field in Settings.model_fields}


@pytest.mark.parametrize("service", ["web", "worker", "migrate"])
def test_every_setting_is_passed(compose: dict[str, Any], service: str) -> None:
    """What an operator writes in .env reaches every process; what does not is left out on purpose."""
    passed = {name for name in compose["services"][service]["environment"] if name != "PROSA_PROBE_PORT"}
    assert passed - {"PROSA_DATABASE_OWNER_URL"} == {f"PROSA_{f.upper()}" for f in Settings.model_fields} - NOT_PASSED
    assert ("PROSA_DATABASE_OWNER_URL" in passed) is (service == "migrate")


def test_no_password_is_an_argument(compose: dict[str, Any]) -> None:
    """Every account of the host reads arguments, those of containers too."""
    for name, service in compose["services"].items():
        *arguments, script = service.get("command", [""])
        program, _, _ = script.partition("<<END")
        assert "PASSWORD" not in f"{arguments} {program}", name
        assert not re.search(r"\s(?:-a|--pass|--requirepass)\b", str(service.get("healthcheck"))), name


def test_the_account_in_valkey_does_its_work_and_no_more(compose: dict[str, Any], tmp_path: Path) -> None:
    """The command of the compose file starts a real Valkey, in which the account has Prosa's keys alone."""
    *shell, script = compose["services"]["redis"]["command"]
    programs = valkey.installation()
    door, password = tmp_path / "s", "of-the-tests-0123456789"
    script = script.replace("$$", "$").replace("\nEND\n", f"\nport 0\nunixsocket {door}\nEND\n")
    path = f"{(programs.base / programs.program).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "REDIS_PASSWORD": password}
    with children.started([*shell, script], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as server:
        until = time.monotonic() + PATIENCE
        while not door.exists():
            assert server.poll() is None
            assert time.monotonic() < until
        assert password not in " ".join(psutil.Process(server.pid).cmdline())
        with redis.Redis(unix_socket_path=str(door), username="prosa", password=password) as ours:
            ours.set("prosa:sessao:1", "x", ex=60)
            assert ours.get("prosa:sessao:1") == b"x"
            ours.delete("prosa:sessao:1")
            assert ours.config_get("appendonly") == {"appendonly": "yes"}
            ours.bgrewriteaof()
            for forbidden in (ours.flushall, lambda: ours.config_set("dir", "/"), lambda: ours.get("another:key")):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    forbidden()
        with (
            redis.Redis(unix_socket_path=str(door)) as stranger,
            pytest.raises(redis.exceptions.AuthenticationError),
        ):
            stranger.ping()


def test_the_databases_are_not_open_to_the_world(compose: dict[str, Any]) -> None:
    """PostgreSQL and Valkey publish no port and live on a network without a way out; the web port is local."""
    assert compose["networks"]["data"] == {"internal": True}
    for name in ("postgres", "redis"):
        assert compose["services"][name]["networks"] == ["data"]
        assert "ports" not in compose["services"][name]
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["web"]["ports"])


def test_the_image_runs_as_an_ordinary_user_and_tells_its_health(dockerfile: list[list[str]]) -> None:
    """The last stage drops to a numeric user that is not root, and asks /healthz."""
    instructions = {name: rest for name, rest in dockerfile if name in {"USER", "HEALTHCHECK"}}
    user, group = instructions["USER"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert "/healthz" in instructions["HEALTHCHECK"]


def test_the_image_is_built_from_the_locks(dockerfile: list[list[str]]) -> None:
    """Packages come with hashes from the lock, and the context lets in what the wheel has of ours, nothing else."""
    assert "--require-hashes --no-deps" in (ROOT / "Dockerfile").read_text()
    assert ["COPY", "--from=packages /opt/prosa/venv /opt/prosa/venv"] in dockerfile
    everything, *lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert everything == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    ours = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert allowed == {*ours, "requirements/base.lock", "LICENSE"}


@pytest.mark.parametrize("name", LOCKS)
def test_the_locks_name_no_place(name: str) -> None:
    """A lock holds names, versions and hashes: no address, no index, no path."""
    for line in (ROOT / "requirements" / f"{name}.lock").read_text().splitlines():
        assert re.fullmatch(r"[a-z0-9-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_each_lock_holds_the_same_versions() -> None:
    """What is tested is what runs: every package of the base lock is in the others, at the same version."""
    base, demo, dev = (
        {
            line.split()[0]
            for line in (ROOT / "requirements" / f"{name}.lock").read_text().splitlines()
            if "==" in line.split()[0]
        }
        for name in LOCKS
    )
    assert base < demo
    assert demo < dev
