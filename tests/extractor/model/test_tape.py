from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extractor.hybrid import HybridExtractor
from extractor.learned.reader import Rotulo
from extractor.model.openai_client import ModelClient
from extractor.model.prompt import ask
from extractor.two_readers import TwoReaders, read_by_both
from proofs.reading.authors import ASKED, evaluate_authors
from proofs.reading.corpus import messages
from proofs.reading.evaluate import run
from proofs.reading.tape import Player, Recorder, digest
from proofs.sandbox.model import ModelSimulator, Reply
from tests.extractor.model.test_hybrid import ORDER, answer

AUTHOR = Path(__file__).parents[2] / "corpus" / "authors" / "dev" / "a19.jsonl"


async def test_what_was_recorded_is_answered_without_a_network(tmp_path, fresh):
    """The same words have the same answer; others, and an answer to another prompt, have none and are counted."""
    tape = tmp_path / "tape.jsonl"
    async with ModelSimulator() as server:
        server.answer_with(lambda _: Reply(answer(valor="1.500,00", descricao="consultoria")))
        client = ModelClient(api_key=None, base_url=f"{server.url}/v1", model="m", deadline=5)
        async with HybridExtractor(Recorder(tape, client, "m")) as live:
            heard = await live.extract(ORDER, fresh)
    async with HybridExtractor(player := Player(tape)) as replayed:
        assert await replayed.extract(ORDER, fresh) == heard
        assert heard.modelo_usado
        assert not (await replayed.extract(f"{ORDER} e visita", fresh)).modelo_usado
    assert player.missed == 1
    assert "11222333" not in tape.read_text()


def test_questions_are_recorded_without_a_model_and_answered_later(tmp_path):
    """``prosa evaluate`` writes what it would ask, and measures with the answers that somebody filled in."""
    case = {"id": "x", "turns": [{"user": "nota de R$ 900, pintura", "expect": {"valor": "900.00"}}]}
    (corpus := tmp_path / "cases.jsonl").write_text(json.dumps(case))
    tape, result = tmp_path / "tape.jsonl", tmp_path / "result.json"
    for _ in range(2):  # a second recording adds nothing, and asks nobody again
        assert run(corpus, "both", model=Recorder(tape)) == 0
    line = json.loads(tape.read_text())
    assert (line["resposta"], "nota de R$ 900, pintura" in line["mensagem"]) == (None, True)
    tape.write_text(json.dumps({**line, "resposta": answer(valor="900", descricao="pintura")}))
    for player in (Recorder(tape), Player(tape)):
        assert run(corpus, "both", result, model=player) == 0
        assert player.missed == 0
    assert json.loads(result.read_text())["exact_case"] == 1


async def test_a_recording_goes_on_where_it_ended(tmp_path, fresh):
    """What is answered is not asked again; a new question is added behind it, and an unanswered one stands once."""
    known = ask(read_by_both(ORDER, fresh).skeleton, fresh)
    filled = json.dumps({"pergunta": digest(known), "resposta": answer(valor="1.500,00")})  # no end of line
    (tape := tmp_path / "tape.jsonl").write_text(filled)
    for _ in range(2):
        async with HybridExtractor(recorder := Recorder(tape)) as asking:
            assert (await asking.extract(ORDER, fresh)).modelo_usado
            for _ in range(2):
                assert not (await asking.extract(f"{ORDER} e visita", fresh)).modelo_usado
        assert recorder.missed == 2
    first, second = tape.read_text().splitlines()
    assert (first, json.loads(second)["resposta"]) == (filled, None)


@pytest.mark.parametrize("line", ["", "[]", '{"pergunta": "x", "resposta": {"ato": "emitir"}}'])
def test_a_line_that_is_no_answer_is_refused(line, tmp_path):
    """An answer that nobody reads would count as a question without one."""
    (tape := tmp_path / "tape.jsonl").write_text(f"{line}\n")
    with pytest.raises(ValueError, match=r"\S"):
        Player(tape)


async def test_a_model_that_names_what_was_said_is_a_better_clerk(tmp_path):
    """Its answers are the labels of one author: fewer amounts are asked, more services are right, none is wrong."""
    lines = []
    for said in messages([AUTHOR]):
        question = ask(read_by_both(said.texto, said.contexto).skeleton, said.contexto)
        named = said.valores[0] not in {None, ASKED}
        valor = next(iter(said.snippets(Rotulo.TOTAL)), None) if named else None
        spans: dict[str, Any] = {"valor": valor, "descricao": next(iter(said.snippets(Rotulo.SERVICO)), None)}
        lines.append(json.dumps({"pergunta": digest(question), "resposta": answer(**spans)}))
    (tape := tmp_path / "tape.jsonl").write_text("\n".join(lines))
    without = (await evaluate_authors([AUTHOR], TwoReaders())).whole
    async with HybridExtractor(Player(tape)) as replayed:
        whole = (await evaluate_authors([AUTHOR], replayed)).whole
    assert whole.wrong <= without.wrong
    assert whole.shown + whole.needless < without.shown + without.needless
    assert whole.descricao > without.descricao
