"""Writes the table of routes and roles into the documentation, from the routes themselves."""

from __future__ import annotations

from typing import Final

from persistence.access.accounts import Papel
from proofs.diagrams.generated import between, rewrite_pages
from webhooks.console.app import ROTAS

COMMAND: Final = "python -m proofs.scripts.route_table docs/console.md"
_BEGIN, _END = "<!-- rotas: gerado, não edite -->\n", "<!-- fim das rotas -->\n"


def table() -> str:
    """Return the table as Markdown: a route a line, a role a column."""
    lines = [f"| rota | para | {' | '.join(Papel)} |", f"|---|---|{'---|' * len(Papel)}"]
    for rota in ROTAS:
        exigido = rota.papel
        cells = ["sim" if exigido is None or papel.alcanca(exigido) else "–" for papel in Papel]
        lines.append(f"| `{rota.metodo} /console{rota.caminho}` | {rota.mostra} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def refreshed(page: str) -> str:
    """Return ``page`` with today's table between its markers; raises ``ValueError`` without markers."""
    return between(page, _BEGIN, _END, f"\n{table()}\n")


if __name__ == "__main__":
    rewrite_pages(refreshed)
