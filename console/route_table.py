"""Writes the table of routes and roles into the documentation, from the routes themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from console.routes import ROTAS
from persistence.staff import Papel

COMMAND: Final = "python -m console.route_table docs/console.md"
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
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"no markers for the table: {_BEGIN.strip()} … {_END.strip()}")
    return f"{before}{begin}\n{table()}\n{end}{after}"


def main() -> None:
    """Rewrite the table in the pages named on the command line."""
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
