"""The examples of ``docs/api.md`` do what is written beside them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

from proofs.demo.world import Demo
from tests.children import start
from tests.webhooks.api.test_submission import _person

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "api.md"


async def test_the_python_example_submits_a_proposal(erp: Erp) -> None:
    """With a client made before it, the program as it is written prints what its comments say."""
    [program] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    await _person(erp)
    program = program.replace('"cliente_id": 1', f'"cliente_id": {await erp.client()}')
    said = {**os.environ, "API": f"{erp.base}/api/v1", "CHAVE": erp.ours}
    child = await start(sys.executable, "-c", program, env=said, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    made, sent, now = out.decode().splitlines()
    assert child.returncode == 0
    assert made.split()[1:] == ["rascunho", "1500.00"]
    assert (sent, now) == ("enviada", "enviada")


async def test_the_shell_example_makes_client_and_proposal(erp: Erp) -> None:
    """As they are written, but for key, address and numbers that were given, they go from client to submission."""
    await _person(erp)
    block = re.findall(r"```sh\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[0]
    exports, made, proposed, submitted, shown = block.split("\n\n")
    given = Demo(erp.base, Mock(), Mock(), Mock(), erp.ours).exports()
    written = exports.splitlines()[1:]
    assert [line.partition("=")[0] for line in written] == [line.partition("=")[0] for line in given]
    assert written[1].startswith(f"{given[1].partition('=')[0]}=prosa_test_")
    exports = "\n".join([exports.splitlines()[0], *given])

    async def answer(lines: str) -> dict[str, Any]:
        child = await start("/bin/sh", "-euc", f"{exports}\n{lines}", stdout=asyncio.subprocess.PIPE)
        out, _ = await child.communicate()
        assert child.returncode == 0
        found = json.loads(out)
        assert isinstance(found, dict)
        return found

    client = await answer(made)
    assert (client["nome"], client["documento"]) == ("João Silva", "12345678909")
    proposal = await answer(proposed.replace('"cliente_id": 1', f'"cliente_id": {client["id"]}'))
    assert (proposal["estado"], proposal["valor"]) == ("rascunho", "1500.00")
    number = f"/propostas/{proposal['id']}"
    assert (await answer(submitted.replace("/propostas/1", number)))["estado"] == "enviada"
    assert (await answer(shown.replace("/propostas/1", number)))["estado"] == "enviada"
