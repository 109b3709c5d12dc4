"""A number that was given out is never another thing's: not after a restore, which takes sequences back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from webhooks.api.app import ROUTES

if TYPE_CHECKING:
    from tests.webhooks.api.conftest import Erp

SHOWN = sorted({found[1] for path in ROUTES if (found := re.match(r"/(\w+)/\{id", path))})
EXACT = 2**53  # beyond it JSON's readers round
SECONDS = "SELECT floor(extract(epoch FROM clock_timestamp())) - 1767225600"
INSERTS = {
    "clientes": "INSERT INTO clientes (empresa_id, nome) SELECT id, 'Ana' FROM empresa LIMIT 1 RETURNING id",
    "propostas": "INSERT INTO propostas (empresa_id, cliente_id, valor) SELECT empresa_id, id, 1 FROM clientes LIMIT 1"
    " RETURNING id",
    "lotes": "INSERT INTO lotes (empresa_id, tipo, nome_arquivo, sha256, revisao) SELECT id, 'envio', 'a.csv', '', ''"
    " FROM empresa LIMIT 1 RETURNING id",
}


@pytest.mark.parametrize("table", SHOWN)
async def test_a_number_is_of_the_clock(erp: Erp, table: str) -> None:
    """The sequence only tells apart what is made in one second."""
    pool = erp.database.pool
    if table == "propostas":
        await pool.fetchval(INSERTS["clientes"])
    before = await pool.fetchval(SECONDS)
    number = await pool.fetchval(INSERTS[table])
    assert before <= number // 1000 <= await pool.fetchval(SECONDS)
    assert number < EXACT
