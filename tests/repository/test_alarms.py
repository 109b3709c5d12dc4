"""The alarm rules for Prometheus, held to the metrics in the code and to the words for operators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from telemetry.metrics import Metrics

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs" / "assets" / "alarmes.yml"
RUNBOOK = ROOT / "docs" / "runbook.md"
NAME = re.compile(r"\bprosa_[a-z_]+")
MATCHER = re.compile(r"(prosa_[a-z_]+)\{([^}]*)\}")
BY = re.compile(r"by \(([^)]*)\) \((?:increase\(|rate\()?(prosa_[a-z_]+)")
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def _rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def _exposed() -> dict[str, tuple[str, ...]]:
    """Every time series by name, with its labels."""
    found = {}
    for metric in Metrics().table():
        for suffix in SUFFIXES[metric.kind]:
            found[metric.name + suffix] = (*metric.labels, "le") if suffix == "_bucket" else metric.labels
    return found


def test_every_metric_of_a_rule_exists_with_its_labels() -> None:
    """A renamed metric takes its alarm along: without it the rule would be silent for ever."""
    exposed = _exposed()
    for rule in _rules():
        said = rule["expr"]
        names = set(NAME.findall(said))
        assert names, rule
        assert names <= exposed.keys(), rule
        for name, matched in MATCHER.findall(said):
            assert {part.partition("=")[0].strip() for part in matched.split(",")} <= set(exposed[name]), rule
        for labels, name in BY.findall(said):
            assert set(labels.split(", ")) <= set(exposed[name]), rule
            shown = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
            assert shown <= set(labels.split(", ")), rule


def test_every_rule_says_what_to_do_and_is_named_once() -> None:
    """A name, how urgent it is, and one sentence for whoever is woken up."""
    rules = _rules()
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}, rule
        assert rule["labels"]["severity"] in {"page", "ticket"}, rule
        assert rule["annotations"]["summary"].endswith("."), rule
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m")), rule


def test_the_rules_are_those_that_the_operators_page_names() -> None:
    """Words and file speak of the same metrics."""
    page = RUNBOOK.read_text()
    words = page[page.index("Worth an alarm:") :]
    named = set(NAME.findall(words[: words.index("\n\n")]))
    used = {name.removesuffix("_bucket") for rule in _rules() for name in NAME.findall(rule["expr"])}
    assert named == used
