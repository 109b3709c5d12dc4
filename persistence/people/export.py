"""Copies out everything held about a person, as plain data for a JSON file; masks nothing and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from persistence.people.person import statement

if TYPE_CHECKING:
    from persistence.db.connection import Connection
    from persistence.people.person import Pessoa

# Bytes leave as what they are: the request as its JSON text, a file in base64.
_ROW = {
    "nfse_emissao": "to_jsonb(t) || jsonb_build_object('payload_enviado', convert_from(t.payload_enviado, 'UTF8'))",
    "nfse_documento": "to_jsonb(t) || jsonb_build_object('conteudo', encode(t.conteudo, 'base64'))",
}


async def export(connection: Connection, pessoa: Pessoa) -> dict[str, list[Any]]:
    """Return the rows of each part, by its name."""
    copied: dict[str, list[Any]] = {}
    for parte in pessoa.partes:
        row = _ROW.get(parte.tabela, "to_jsonb(t)")
        found = statement(f"SELECT {row} FROM {parte.tabela} t WHERE {parte.onde}", pessoa.valores)  # noqa: S608 - ours
        copied[parte.nome] = list((await connection.execute(found)).scalars())
    return copied
