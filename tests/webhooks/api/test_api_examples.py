"""The blocks of ``docs/api.md`` do what is written beside them, pasted as they stand and in their order."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from proofs.demo.world import Demo
from tests import stored_work
from tests.bot.delivery.test_hooks import tell, worker
from tests.children import kill_group, start
from tests.road.road_people import until
from tests.webhooks.api.test_submission import OURS, _person

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator

    from tests.webhooks.api.conftest import Erp

DOCUMENT = (Path(__file__).resolve().parents[3] / "docs" / "api.md").read_text()
PYTHON = Path(sys.executable)
STARTS = "while ! (: </dev/tcp/127.0.0.1/9009) 2>/dev/null; do sleep 0.05; done\n"


class Shell:
    """A shell into which somebody pastes what stands in the document, in a folder of its own."""

    def __init__(self, erp: Erp, folder: Path) -> None:
        given = Demo(erp.base, Mock(), Mock(), Mock(), erp.ours).exports()
        said = dict(line.removeprefix("export ").split("=", 1) for line in given)
        path = f"{PYTHON.parent}:{os.environ['PATH']}"
        self._env, self._folder = {**os.environ, **said, "PATH": path}, folder
        self._started: list[Process] = []

    async def paste(self, text: str, *words: str) -> str:
        """Have it run; return what it printed once it is through."""
        out = self._folder / "out"
        with out.open("w") as heard:
            child = await start(
                *(words or ("/bin/bash", "-euc")), text, env=self._env, cwd=self._folder, stdout=heard, stderr=heard
            )
            self._started.append(child)
            assert await child.wait() == 0, out.read_text()
        return out.read_text()

    def close(self) -> None:
        """End what runs on behind it."""
        for child in self._started:
            kill_group(child.pid)


@pytest.fixture
async def shell(erp: Erp, tmp_path: Path) -> AsyncIterator[Shell]:
    await _person(erp)
    await erp.database.pool.execute("DELETE FROM webhook")
    found = Shell(erp, tmp_path)
    yield found
    found.close()


async def test_the_shell_blocks_run_as_they_stand(erp: Erp, shell: Shell, tmp_path: Path) -> None:
    """From the client to the submission, a receiver that verifies what it hears, and a list that asks a person."""
    blocks = re.findall(r"```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    printed = await shell.paste("".join(blocks) + STARTS)
    said = [json.loads(each) for each in re.sub(r"}(?={)", "}\n", printed).splitlines()]
    submitted, shown, confirmed, rows = said
    assert [each["estado"] for each in (submitted, shown)] == ["enviada", "enviada"]
    assert shown["valor"] == "1500.00"
    assert confirmed["espera"]["enderecos_novos"] == 2
    assert [each["email"] for each in rows["itens"]] == ["joao@example.com", "maria@example.com"]
    company = await erp.database.pool.fetchval("SELECT id FROM empresa WHERE cnpj = $1", OURS)
    emissao_id = await stored_work.emission(erp.database, prestador_id=company)
    await tell(erp.database, emissao_id)
    assert await worker(erp.database).run_once() == 1
    assert await erp.database.pool.fetchval("SELECT estado FROM webhook_entrega") == "entregue"

    async def heard() -> bool:
        return "'type': 'nota.autorizada'" in (tmp_path / "out").read_text()

    await until(heard)


async def test_the_python_block_submits_a_proposal(shell: Shell) -> None:
    """The program as it is written prints what its comments say; and again, when it is pasted again."""
    [program] = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    made, sent = (await shell.paste(program, str(PYTHON), "-c")).splitlines()
    assert made.split()[1:] == ["rascunho", "1500.00"]
    assert sent == "enviada"
    assert (await shell.paste(program, str(PYTHON), "-c")).splitlines()[1:] == ["enviada"]
