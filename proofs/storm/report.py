"""A storm as one HTML page that needs nothing else: verdict, figures and two charts."""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from proofs.storm.judge.verdict import BROKEN, KEPT, NOT_PROVEN
from proofs.storm.labels import KINDS, LABELS, written
from proofs.storm.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proofs.storm.run import Result

WIDTH, HEIGHT, MARGIN = 860, 240, 36  # px of a chart
WORDS = {KEPT: "CUMPRIDA", BROKEN: "QUEBRADA", NOT_PROVEN: "NÃO PROVADA"}  # the promise
COLOURS = {
    Kind.KILL_WORKER: "#c0392b",
    Kind.KILL_WEB: "#d98324",
    Kind.FREEZE: "#7d5ba6",
    Kind.DATABASE: "#1f6f8b",
    Kind.FLUSH: "#8a8a8a",
    Kind.CERTIFICATE: "#b5872b",
    Kind.RESTORE: "#111111",
    Kind.FAILOVER: "#444444",
}
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:900px;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}
td,th{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #ddd;vertical-align:top}
.kept{color:#17692f}.broken{color:#b3261e}.not-proven{color:#8a5a00}
svg{width:100%;height:auto}svg text{font-size:11px;fill:#555}
pre{overflow:auto;background:#f5f5f5;padding:1rem;font-size:13px}
"""


def rows(result: Result) -> dict[str, str]:
    """Return the verdict and the figures as terminal and page show them."""
    verdict, figures = result.verdict, result.figures
    drained = "não dentro do limite" if result.drained_after is None else f"{written(result.drained_after, '.1f')} s"
    tap, gateway = figures["tap_to_note_seconds"], figures["gateway"]
    return {
        "confirmadas / notas / mensagens": f"{verdict.confirmed} / {verdict.notes} / {verdict.sent}",
        **{LABELS[name]: str(len(found)) for name, found in verdict.faults.items()},
        **{f"conferido: {LABELS[what]}": str(count) for what, count in verdict.judged.items()},
        **{f"exercitado: {LABELS[what]}": str(count) for what, count in verdict.exercised.items()},
        "golpes": ", ".join(f"{count} × {KINDS[kind]}" for kind, count in result.as_dict()["blows"].items()),
        "mortes": f"{figures['kills']} ({written(figures['kills_per_emission'])} por nota)",
        "chamadas ao gateway com falha": f"{gateway['faulty']} de {gateway['calls']}",
        "tudo resolvido depois das falhas": drained,
        "do toque à nota": _spread(tap),
        "duração": f"{written(result.seconds, '.0f')} s",
    }


def page(result: Result) -> str:
    """Return the whole page."""
    verdict, kind = result.verdict, result.word.lower().replace(" ", "-")
    examples = [f"{LABELS[name]}: {line}" for name, found in verdict.faults.items() for line in found]
    examples += [f"sem prova: {line}" for line in (*verdict.unusable, *verdict.lacking)]
    examples += [f"a própria prova falhou: {line}" for line in result.broken]
    return "".join(
        [
            '<!doctype html><html lang="pt-BR"><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width"><title>prosa storm</title>',
            f"<style>{STYLE}</style><h1>prosa storm, semente {result.plan.seed}: ",
            f'<span class="{kind}">{WORDS[result.word]}</span></h1>',
            _rows(rows(result)),
            "<h2>Do toque ao número da nota</h2>",
            _scatter(result),
            "<h2>Notas emitidas ao longo do tempo</h2>",
            _steps(result),
            "<h2>Recuperação: segundos até a próxima mensagem nossa</h2>",
            _rows(
                {
                    KINDS[blow]: f"{_spread(seconds)}; golpes: {seconds['count']}"
                    for blow, seconds in result.figures["recovery_seconds"].items()
                }
            ),
            "<h2>O que está errado</h2><pre>" + escape("\n".join(examples) or "nada") + "</pre>",
            "<h2>Resultado completo (JSON)</h2><pre>",
            escape(json.dumps(result.as_dict(), indent=1, ensure_ascii=False)) + "</pre>",
        ]
    )


def _spread(seconds: Mapping[str, float]) -> str:
    p50, p95, most = (written(seconds[name]) for name in ("p50", "p95", "max"))
    return f"mediana {p50} s, p95 {p95} s, máximo {most} s"


def _rows(values: Mapping[str, str]) -> str:
    body = "".join(f"<tr><td>{escape(what)}</td><td>{escape(value)}</td></tr>" for what, value in values.items())
    return f"<table>{body}</table>"


def _scatter(result: Result) -> str:
    """One dot per note (when it was confirmed, how long it took); a line for each blow."""
    top = max((seconds for _, seconds in result.settled), default=1.0) or 1.0
    end = _end(result)
    dots = [
        f'<circle cx="{_x(at, end):.1f}" cy="{_y(seconds, top):.1f}" r="2.5" fill="#2e6e4e" fill-opacity=".6"/>'
        for at, seconds in result.settled
    ]
    lines = [
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{MARGIN / 2}" y2="{HEIGHT - MARGIN}" stroke="{COLOURS[blow.kind]}"'
        f' stroke-opacity=".35"><title>{escape(KINDS[blow.kind])}</title></line>'
        for blow in result.struck
        for x in [_x((blow.at - result.started_at).total_seconds(), end)]
    ]
    kinds = Counter(blow.kind for blow in result.struck)
    legend = " · ".join(
        f'<span style="color:{COLOURS[kind]}">{escape(KINDS[kind])} ({count})</span>' for kind, count in kinds.items()
    )
    return _chart([*lines, *dots], f"{top:.0f} s", f"{end:.0f} s") + f"<p>{legend}</p>"


def _steps(result: Result) -> str:
    times = sorted(at + seconds for at, seconds in result.settled)
    end = _end(result)
    points = " ".join(f"{_x(at, end):.1f},{_y(n, len(times)):.1f}" for n, at in enumerate(times, start=1))
    line = f'<polyline points="{points}" fill="none" stroke="#2e6e4e" stroke-width="2"/>'
    return _chart([line], f"{len(times)} notas", f"{end:.0f} s")


def _chart(marks: Iterable[str], top: str, right: str) -> str:
    axis = HEIGHT - MARGIN
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{axis}" '
        f'y2="{axis}" stroke="#999"/><text x="{MARGIN}" y="12">{escape(top)}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 10}" text-anchor="end">{escape(right)}</text>{"".join(marks)}</svg>'
    )


def _end(result: Result) -> float:
    return max((at + seconds for at, seconds in result.settled), default=1.0)


def _x(seconds: float, end: float) -> float:
    return MARGIN + (WIDTH - 2 * MARGIN) * seconds / end


def _y(value: float, top: float) -> float:
    return HEIGHT - MARGIN - (HEIGHT - 1.5 * MARGIN) * value / top
