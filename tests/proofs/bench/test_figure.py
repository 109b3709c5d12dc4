from __future__ import annotations

from proofs.bench.command import as_dict
from proofs.bench.figure import Figure, at_least, at_most, percentile
from proofs.bench.page import page
from proofs.bench.plan import Plan


async def test_sides_are_measured_in_turns() -> None:
    """A B, A B: whatever drifts meets all sides alike."""
    order: list[str] = []

    def side(name: str):
        async def measured() -> str:
            order.append(name)
            return f"{name}{len(order)}"

        return measured

    plan = Plan(1, 3, 1, step=lambda _: None)
    found = await plan.in_turns({"a": side("a"), "b": side("b")})
    assert order == ["a", "b"] * 3
    assert found == {"a": ["a1", "a3", "a5"], "b": ["b2", "b4", "b6"]}


def test_the_median_of_the_rounds_is_held_against_the_bound() -> None:
    """One slow round is no verdict, and without a bound there is none."""
    assert Figure(row="x", name="x", unit="ms", ours=(10, 20, 90), reach=at_most(20)).reached is True
    assert Figure(row="x", name="x", unit="/s", ours=(1.0,), reach=at_least(2)).reached is False
    assert Figure(row="x", name="x", unit="/s", ours=(1.0,)).reached is None


def test_percentiles_are_values_that_were_measured() -> None:
    """Nearest rank: no value is invented between two."""
    assert percentile([3.0, 1.0, 2.0, 100.0], 0.5) == 3.0
    assert percentile(list(map(float, range(100))), 0.99) == 99.0
    assert percentile([], 0.5) == 0.0


def test_the_page_tells_figure_machine_and_verdict() -> None:
    """A reader of the page alone sees what was missed, on what, and by which command."""
    missed = Figure(
        row="turns", name="turns <b>", unit="/s", ours=(1.0, 3.0), reach=at_least(250), parts={"load": 1234.5}
    )
    plan = Plan(2, 2, 10, step=lambda _: None)
    result = as_dict(["turns"], plan, [missed], {})
    text = page(result)
    assert result["figures"][0]["reached"] is False
    assert "turns &lt;b&gt;" in text
    assert "≥ 250 não atingida" in text
    assert '<html lang="pt-BR">' in text
    assert ">carga<" in text
    assert ">1.234<" in text
    assert result["machine"]["processor"] in text
    assert "--only turns --seconds 2 --rounds 2" in text
