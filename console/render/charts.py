"""Charts as SVG elements: bars with their figures written on them, readable without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from console.render.format import number

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH: Final = 460
_ROW: Final = 34
_LABEL_AT: Final = 12
_BAR: Final = 12
_HEIGHT: Final = 120


def bars(rows: Sequence[tuple[str, int]], *, de: int | None = None) -> Markup:
    """Return horizontal bars, a label and its figure above each; with ``de`` the figure has its share of that whole."""
    top = max((value for _, value in rows), default=0) or 1
    parts = [Markup('<svg viewBox="0 0 {} {}" role="img" aria-hidden="true">').format(WIDTH, len(rows) * _ROW)]
    for place, (label, value) in enumerate(rows):
        y = place * _ROW
        share = f" · {value / de:.0%}" if de else ""
        parts.append(Markup('<text x="0" y="{}">{}</text>').format(y + _LABEL_AT, label[:52]))
        shown = f"{number(value)}{share}"
        parts.append(
            Markup('<text class="value" x="{}" y="{}" text-anchor="end">{}</text>').format(WIDTH, y + _LABEL_AT, shown)
        )
        bar = Markup('<rect class="{}" x="0" y="{}" width="{}" height="{}" rx="3"/>')
        parts.append(bar.format("rail", y + 17, WIDTH, _BAR))
        parts.append(bar.format("bar", y + 17, max(2 if value else 0, round(WIDTH * value / top)), _BAR))
    return Markup("").join([*parts, Markup("</svg>")])


def columns(rows: Sequence[tuple[str, int]]) -> Markup:
    """Return one column for each day (``AAAA-MM-DD``); the first, the last and the highest are named."""
    top = max((value for _, value in rows), default=0) or 1
    step = WIDTH / max(len(rows), 1)
    parts = [Markup('<svg viewBox="0 0 {} {}" role="img" aria-hidden="true">').format(WIDTH, _HEIGHT + 36)]
    for place, (day, value) in enumerate(rows):
        height = round(_HEIGHT * value / top)
        column = Markup('<rect class="bar" x="{}" y="{}" width="{}" height="{}" rx="1"><title>{}: {}</title></rect>')
        x = round(place * step, 1)
        parts.append(column.format(x, 16 + _HEIGHT - height, round(max(step - 2, 1), 1), height, _day(day), value))
    if rows:
        text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
        parts.append(text.format(0, _HEIGHT + 32, "start", _day(rows[0][0])))
        parts.append(text.format(WIDTH, _HEIGHT + 32, "end", _day(rows[-1][0])))
        parts.append(text.format(0, 11, "start", f"até {number(top)} por dia"))
    return Markup("").join([*parts, Markup("</svg>")])


def _day(day: str) -> str:
    return f"{day[8:10]}/{day[5:7]}"
