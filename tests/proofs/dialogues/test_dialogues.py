"""Dialogues on the whole product: it is measured as it is, and a sabotaged one is told apart."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bot.settings import Settings
from extractor.two_readers import TwoReaders
from proofs.dialogues.judge import judge
from proofs.dialogues.play import companies, play
from proofs.dialogues.report import measure
from proofs.dialogues.script import dialogues
from proofs.reading.tape import Player, Recorder
from state_machine.invoice.fields import Campo
from tests.nightly import size

if TYPE_CHECKING:
    from extractor.contract import Extraction

CORPUS = Path(__file__).parents[2] / "corpus" / "dialogues"
NOTE = {"documento": "25956721000109", "valor": "260.00", "servico": ["costura"]}
TINY: dict[str, Any] = {
    "familia": "simples",
    "falas": [
        {"texto": "[Confirmar]", "ato": "confirma"},  # skipped: nothing to tap yet
        {
            "texto": "nota de R$ 260,00 para 25.956.721/0001-09, serviço: costura de vestido",
            "ato": "dados",
            "depois": {"valor": "260", "documento": "25.956.721/0001-09", "servico": "costura"},
        },
        {"texto": "[foto]", "depois": {"valor": "260"}},
        {"texto": "[Confirmar]", "ato": "confirma"},
    ],
    "respostas": {"documento": "25956721000109", "valor": "260", "servico": "costura", "outra": "sim"},
    "fim": {"notas": [NOTE], "contem": ["autorizada"]},
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A file with one dialogue that leaves nothing to understand."""
    path = tmp_path / "eu.jsonl"
    path.write_text(json.dumps(TINY) + "\n")
    return path


async def test_a_plain_dialogue_is_right(tiny: Path, database_url: str, redis_url: str) -> None:
    """Each line is said in its order, and the gateway's ledger has the note."""
    (played,) = await play(dialogues(tiny), Settings(), database_url, redis_url)
    verdict = judge(played)
    assert verdict.right, played
    assert [turn.texto for turn in played.turns] == [fala["texto"] for fala in TINY["falas"][1:]]
    assert all(draft.right for draft in verdict.drafts)
    assert (len(verdict.drafts), verdict.beyond, verdict.silent) == (4, 0, ())


async def test_a_product_that_reads_ten_times_the_amount_is_found(
    tiny: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The draft differs from its label, and the note that comes of it is a wrong one."""
    honest = TwoReaders.extract

    async def tenfold(self: TwoReaders, *words: Any, **more: Any) -> Extraction:
        read = await honest(self, *words, **more)
        tens = [replace(c, valor=c.valor.replace(".", "0.")) if c.campo is Campo.VALOR else c for c in read.candidates]
        return replace(read, candidates=type(read.candidates)(tens))

    monkeypatch.setattr(TwoReaders, "extract", tenfold)
    report = await measure(dialogues(tiny), Settings(), database_url, redis_url)
    assert (report.whole.right, report.whole.wrong_notes, report.whole.drafts_wrong) == (0, 1, 2)
    assert report.as_json()["dialogues"][0]["wrong_notes"][0]["valor"] == "2600.00"


async def test_a_recorded_answer_changes_what_a_dialogue_does(
    tmp_path: Path, database_url: str, redis_url: str
) -> None:
    """The service that only a model sees is on the note; the readers alone ask for it, and nobody answers here."""
    fala = {"texto": "500 reais, aquele lance maneiro lá que você me indicou, 25.956.721/0001-09", "ato": "dados"}
    nota = {"documento": "25956721000109", "valor": "500.00", "servico": ["lance"]}
    dialogue = {"familia": "simples", "falas": [fala], "respostas": {}, "fim": {"notas": [nota]}}
    (tmp_path / "eu.jsonl").write_text(json.dumps(dialogue) + "\n")
    scripts, tape = dialogues(tmp_path / "eu.jsonl"), tmp_path / "tape"

    async def played(model: Player) -> tuple[int, int]:
        async with aclosing(model):
            return (await measure(scripts, Settings(), database_url, redis_url, model)).whole.right, model.missed

    assert await played(Recorder(tape)) == (0, 1)
    line = json.loads(tape.read_text())
    assert line["mensagem"].endswith("que você me indicou, [DOC1]")
    spans = {"ato": "informar", "documento": "[DOC1]", "valor": "500 reais", "descricao": "lance maneiro"}
    tape.write_text(json.dumps({**line, "resposta": spans}))
    assert await played(Player(tape)) == (1, 0)


def test_an_issuer_is_nobody_of_the_dialogues(tiny: Path) -> None:
    """A company whose number is in the texts would be taken for the person's own."""
    first = next(companies(dialogues(tiny)))
    tiny.write_text(json.dumps(TINY | {"falas": [{"texto": f"nota pra {first}"}]}) + "\n")
    assert next(companies(dialogues(tiny))) != first


@pytest.mark.parametrize("line", ['{"familia": "x"}', "[]", "nada"])
def test_a_line_that_is_no_dialogue_is_refused(line: str, tmp_path: Path) -> None:
    """A label that nobody reads would be no label."""
    (tmp_path / "x.jsonl").write_text(line)
    with pytest.raises(ValueError, match=r"\S"):
        dialogues(tmp_path)


# Nobody looked at these while the readers were made. What was measured on 26 November 2026 is the floor.
# Two of the wrong fields are of an invoice that stands unmerged while it is asked whether the next order is another.
FRESH = ("fresh", None, 98, 86, 73, 3, 20)
FROZEN = ("test", None, 72, 63, 50, 0, 20)
BLIND = ("blind", None, 100, 95, 84, 0, 22)
WITH_MODEL = ("blind", "dialogues.jsonl", 100, 98, 89, 0, 20)  # a language model that saw prompt and question alone

# Everybody could look at all others; the one wrong field is marked, and its amount is asked about.
OPEN = ("open", None, 276, 256, 216, 1, 22)

UNRECORDED = 2  # questions that nobody has answered since amounts are left open; the readers alone answer there


@pytest.mark.timeout(900)  # 33 seconds on two cores that others use too
@pytest.mark.parametrize(
    ("part", "tape", "of", "right", "strict", "wrong_fields", "words"),
    size((FRESH, WITH_MODEL), (FRESH, WITH_MODEL, FROZEN, BLIND, OPEN)),
)
async def test_authors_end_as_they_wanted(
    part: str,
    tape: str | None,
    of: int,
    right: int,
    strict: int,
    wrong_fields: int,
    words: int,
    database_url: str,
    redis_url: str,
) -> None:
    """No wrong note, no silence, no answer twice running, no worse than it was measured, and answers are short."""
    listed = {each.stem: each.read_text().split()[1::2] for each in CORPUS.glob("*.sha256")}
    everybody = {f"dialogues/{each.name}" for each in CORPUS.glob("*.jsonl")}
    named = listed.get(part) or sorted(everybody.difference(*listed.values()))
    scripts = [each for name in named for each in dialogues(CORPUS.parent / name)]
    model = Player(CORPUS.parent / "model" / tape) if tape else None
    whole = (await measure(scripts, Settings(), database_url, redis_url, model=model)).whole
    assert model is None or model.missed <= UNRECORDED
    assert whole.dialogues == of
    assert (whole.wrong_notes, whole.silent, whole.repeated) == (0, 0, 0)
    assert whole.right >= right
    assert whole.strict >= strict
    assert whole.drafts_wrong <= wrong_fields
    assert whole.words_at(50) <= words
    assert whole.words_at(90) <= 45
