from __future__ import annotations

import json

import pytest

from extractor.contract import Ato, Extraction
from extractor.rules import RulesExtractor
from proofs.reading.evaluate import evaluate, run
from proofs.reading.scoring import is_whole, matches
from state_machine.invoice.fields import Campo, Candidate

CASES = [
    {
        "id": "a",
        "tags": ["x"],
        "turns": [
            {
                "user": "nota de 500 pro 11.222.333/0001-81",
                "expect": {"documento": "11222333000181", "valor": "500.00"},
            },
            {"user": "consultoria", "expect": {"descricao": {"is": ["consultoria"]}, "intent": "informar"}},
            {"user": "sim", "expect": {"valor": "500.00", "intent": "confirmar"}},
        ],
    },
    {
        "id": "b",
        "tags": ["x", "y"],
        "history": [{"role": "bot", "text": "Qual o valor do serviço?"}],
        "turns": [{"user": "3x de 200", "expect": {"valor": None, "ask": ["valor"]}}],
    },
]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(c) + "\n" for c in CASES))
    return path


class Wrong:
    """Reads every turn as a thousand reais."""

    async def extract(self, texto, contexto) -> Extraction:
        """Invent an amount."""
        return Extraction(Ato.DADOS, (Candidate(Campo.VALOR, "1000.00", texto),))


@pytest.mark.parametrize("ato", list(Ato))
async def test_every_act_is_judged(corpus, ato: Ato):
    """What only a model names has no word in the corpora: it counts as another act, and the run goes on."""

    class Named:
        async def extract(self, texto, contexto) -> Extraction:
            return Extraction(ato, ())

    report = (await evaluate(corpus, Named())).as_json()
    assert (report["cases"][0]["turns"][2]["intent"] == "confirmar") is (ato is Ato.CONFIRMA)


async def test_turns_are_merged_as_the_bot_merges_them(corpus):
    """Fields stand until replaced, and the JSON says what stood after each turn."""
    report = (await evaluate(corpus, RulesExtractor())).as_json()
    assert report["exact_case"] == 1.0
    assert report["critical_wrong"] == []
    first, second, third = report["cases"][0]["turns"]
    assert (first["valor"], second["descricao"], third["documento"]) == ("500.00", "consultoria", "11222333000181")
    assert report["cases"][1]["turns"][0]["ask"] == ["valor"]
    assert report["fields"]["valor"] == {"n": 3, "correct": 3, "accuracy": 1.0}


async def test_a_wrong_amount_is_critical_even_where_none_was_expected(corpus):
    """Both cases are critically wrong for a reader that invents an amount."""
    report = await evaluate(corpus, Wrong())
    assert report.critical_wrong == ["a", "b"]
    assert {f.campo for f in report.failures} >= {"valor", "ask", "documento"}


@pytest.mark.parametrize(
    ("campo", "expected", "got", "same"),
    [
        ("documento", "11.222.333/0001-81", "11222333000181", True),
        ("valor", None, None, True),
        ("valor", "1.00", None, False),
        ("descricao", None, "x", False),
        ("descricao", {"is": ["manutenção do ar"]}, "Manutencao do ar", True),
        ("descricao", {"is": ["manutenção do ar"]}, "pintura", False),
        ("descricao", {"has": ["ar"], "not": ["500"]}, "conserto do ar", True),
        ("descricao", {"has": ["ar"], "not": ["500"]}, "conserto do ar 500", False),
        ("nome", "José da Silva", "jose da silva", True),
    ],
)
def test_labels_are_compared_as_the_format_says(campo, expected, got, same):
    """Documents by number, descriptions by words, names without accents, amounts exactly."""
    assert matches(campo, expected, got) is same


@pytest.mark.parametrize(
    ("said", "got", "others", "whole"),
    [
        ("manutenção de elevadores", "Manutenção dos elevadores", (), True),
        ("manutenção de elevadores", "manutenção de elevadores do bloco B", (), True),
        ("manutenção de elevadores", "manutenção", (), False),
        ("consultoria Lei 14.133", "consultoria Lei", (), False),
        ("consultoria Lei 14.133", "consultoria Lei 14", (), False),
        ("consultoria", "consultoria para Ana Souza", ("Ana Souza",), False),
        ("aula da Ana", "aula da Ana", ("Ana Souza",), True),
        ("consultoria", "consultoria 1.500", ("1.500",), False),
        ("de", "de", (), False),
    ],
)
def test_a_service_is_right_when_it_is_whole(said, got, others, whole):
    """Every content word of the label is in it, and none of another field that the label has not."""
    assert is_whole(said, got, others) is whole


def test_the_exit_code_tells_a_pipeline(corpus, tmp_path):
    """0 when good, 1 under the threshold."""
    assert run(corpus, "rules", tmp_path / "out.json", 0.9) == 0
    assert json.loads((tmp_path / "out.json").read_text())["exact_case"] == 1.0
    assert run(corpus, "rules", None, 1.1) == 1
