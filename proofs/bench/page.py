"""A run as one HTML page that needs nothing else: machine, table, one bar chart for each row."""

from __future__ import annotations

import json
from html import escape
from itertools import groupby
from typing import Any

from proofs.bench.figure import number

WIDTH, BAR, LABEL = 860, 22, 330  # px
WORDS = {"reached": "atingida", "missed": "não atingida", "": ""}
PARTS = {  # of a figure, where their name in the JSON file is English
    "load": "carga",
    "simulators": "simuladores",
}
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:960px;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;font-size:14px}
td,th{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
.reached{color:#17692f}.missed{color:#b3261e}svg{width:100%;height:auto}svg text{font-size:12px;fill:#333}
pre{overflow:auto;background:#f5f5f5;padding:1rem;font-size:13px}
"""


def page(result: dict[str, Any]) -> str:
    """Return the whole page."""
    machine, figures = result["machine"], result["figures"]
    facts = f"{machine['date']} · {machine['processor']}, {machine['cores']} núcleos · Python {machine['python']}"
    rows = "".join(_row(figure) for figure in figures)
    charts = "".join(
        f"<h2>{escape(name)}</h2>{''.join(_bars(figure) for figure in group)}"
        for name, group in groupby(figures, key=lambda figure: figure["row"])
    )
    return "".join(
        [
            '<!doctype html><html lang="pt-BR"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width"><title>prosa bench</title>',
            f"<style>{STYLE}</style><h1>prosa bench</h1><p>{escape(facts)}</p>",
            f"<pre>{escape(result['command'])}</pre>",
            "<table><tr><th>medida<th>nosso<th>meta</tr>",
            rows,
            "</table>",
            charts,
            "<h2>Resultado completo (JSON)</h2><pre>",
            escape(json.dumps(result, indent=1, ensure_ascii=False)) + "</pre>",
        ]
    )


def _row(figure: dict[str, Any]) -> str:
    kind = {True: "reached", False: "missed", None: ""}[figure["reached"]]
    cells = (
        figure["name"] + (f" ({figure['note']})" if figure["note"] else ""),
        f"{number(figure['median'])} {figure['unit']}",
    )
    plain = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    bound = (figure["reach"] or "").replace(".", ",")
    return f'<tr>{plain}<td class="{kind}">{escape(bound)} {WORDS[kind]}</td></tr>'


def _bars(figure: dict[str, Any]) -> str:
    """One bar for each round, and one for each part."""
    bars = [("nosso", value, "#2e6e4e") for value in figure["ours"]]
    bars += [(PARTS.get(name, name), value, "#1f6f8b") for name, value in figure["parts"].items()]
    top = max((value for _, value, _ in bars), default=1.0) or 1.0
    drawn = "".join(
        f'<text x="0" y="{place * BAR + 15}">{escape(name)}</text><rect x="{LABEL}" y="{place * BAR + 3}" '
        f'width="{max(1.0, (WIDTH - LABEL - 90) * value / top):.1f}" height="{BAR - 6}" fill="{colour}"/>'
        f'<text x="{LABEL + (WIDTH - LABEL - 90) * value / top + 6:.1f}" y="{place * BAR + 15}">{number(value)}</text>'
        for place, (name, value, colour) in enumerate(bars)
    )
    title = f"{figure['name']}, {figure['unit']}" if figure["unit"] else figure["name"]
    return f'<p>{escape(title)}</p><svg viewBox="0 0 {WIDTH} {len(bars) * BAR + 4}" role="img">{drawn}</svg>'
