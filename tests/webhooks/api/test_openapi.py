"""The API's description: made of what the API does, and judged against it by a program of others."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.children import start
from tests.nightly import size
from tests.webhooks.api import test_batches_api, test_notes_api, test_submission
from webhooks.api.app import ROUTES
from webhooks.api.problems import PROBLEMAS

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

REPOSITORY = Path(__file__).resolve().parents[3]
EXAMPLES = size(5, 300)  # of one operation and phase


async def test_schemathesis_finds_nothing(erp: Erp, tmp_path: Path) -> None:
    """All its checks, in all its phases, from a fixed seed: on bad data and good, schemas, statuses, headers, keys."""
    proposta, _ = await test_notes_api._issued(erp)
    await test_submission._sells(erp)
    lote = (await test_batches_api._send(erp)).body["id"]
    cliente = (await erp.ask("GET", f"/propostas/{proposta}")).body["cliente_id"]
    known = json.dumps({"clientes": cliente, "propostas": proposta, "lotes": lote})
    said = {**os.environ, "KNOWN": known, "PYTHONPATH": str(REPOSITORY)}
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'hooks = "tests.webhooks.api.judge"\n[auth.openapi.chave]\nbearer = "{erp.ours}"\n')
    words = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config), "run"]
    words += [f"{erp.base}/api/v1/openapi.json", "--checks", "all", "--seed", "1", "--max-examples", str(EXAMPLES)]
    words += ["--generation-database", "none", "--workers", "1"]
    child = await start(*words, env=said, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    assert child.returncode == 0, out.decode()
    assert f"Tested: {sum(map(len, ROUTES.values()))}" in out.decode()


async def test_anybody_may_read_it(erp: Erp) -> None:
    """Without a key, which every operation that it tells of asks for, of one scope."""
    answer = await erp.ask("GET", "/openapi.json", headers={"Authorization": ""})
    assert (answer.status, answer.body["openapi"]) == (200, "3.1.0")
    told = [each["security"] for path in answer.body["paths"].values() for each in path.values() if "security" in each]
    assert told == [[{"chave": [route.escopo]}] for acts in ROUTES.values() for route in acts.values()]


async def test_it_tells_of_every_refusal(erp: Erp) -> None:
    """But for a method that no operation is."""
    paths = (await erp.ask("GET", "/openapi.json")).body["paths"].values()
    operations = [each for path in paths for each in path.values() if "responses" in each]
    told = set()
    for status, answer in [found for each in operations for found in each["responses"].items()]:
        if (problem := answer["content"].get("application/problem+json")) is not None:
            codes = problem["schema"]["allOf"][1]["properties"]["codigo"]["enum"]
            assert {PROBLEMAS[code][0] for code in codes} == {int(status)}
            told |= {*codes}
    assert told == PROBLEMAS.keys() - {"metodo_nao_permitido"}
