"""Writes the table of routes and roles into the documentation, from the routes themselves."""

from __future__ import annotations

from typing import Final

from proofs.diagrams.generated import between, rewrite_pages
from webhooks.console.app import ROTAS

COMMAND: Final = "python -m proofs.scripts.route_table docs/console.md"
_BEGIN, _END = "<!-- rotas: gerado, não edite -->\n", "<!-- fim das rotas -->\n"


def table() -> str:
    """Return the table as Markdown: a route a line, with the least role that may take it (–: nobody logged in)."""
    lines = [f"| `{rota.metodo} /console{rota.caminho}` | {rota.mostra} | {rota.papel or '–'} |" for rota in ROTAS]
    return "\n".join(["| rota | para | a partir de |", "|---|---|---|", *lines]) + "\n"


def refreshed(page: str) -> str:
    """Return ``page`` with today's table between its markers; raises ``ValueError`` without markers."""
    return between(page, _BEGIN, _END, f"\n{table()}\n")


if __name__ == "__main__":
    rewrite_pages(refreshed)
