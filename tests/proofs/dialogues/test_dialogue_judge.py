"""The judge of dialogues can say no: each hand-made dialogue fails in one way, and is judged so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from extractor.contract import Ato
from proofs.dialogues.judge import judge
from proofs.dialogues.play import Played, Standing, Turn
from proofs.dialogues.report import DialogueReport, tell
from proofs.dialogues.script import Fala, Nota, Roteiro, names

CLIENT = "25956721000109"
WANTED = {"documento": CLIENT, "valor": "260", "servico": ["ajuste"]}
FULL = {"documento": CLIENT, "valor": "260.00", "servico": "ajustes de vestido"}
ISSUED = Nota(documento=CLIENT, valor="260.00", servico=("ajustes de vestido",))


def script(**changes: Any) -> Roteiro:
    falas = [
        {"texto": f"nota de 260 pra {CLIENT}", "ato": "dados", "depois": {"valor": "260", "documento": CLIENT}},
        {"texto": "peraí", "ato": "espera", "depois": {"valor": "260"}},
        {"texto": "[Confirmar]", "ato": "confirma"},
    ]
    row = {"autor": "x", "linha": 1, "familia": "simples", "falas": falas, "respostas": {}, "fim": {"notas": [WANTED]}}
    return Roteiro.model_validate(row | changes)


def good() -> Played:
    """A dialogue that goes as it should."""
    roteiro = script()
    draft = Standing(aberta=True, resumo=True, values=FULL)
    done = Standing(values=FULL)
    first, wait, confirm = roteiro.falas
    return Played(
        roteiro,
        (
            Turn(first.texto, first, Standing(), draft, ("Confere?",)),
            Turn(wait.texto, wait, draft, draft, ("Tranquilo, espero.",)),
            Turn(confirm.texto, confirm, draft, done, ("NFS-e 1 autorizada",), (ISSUED,)),
        ),
    )


def changed(number: int, **changes: Any) -> Played:
    """The same, with one of its turns otherwise."""
    turns = list(good().turns)
    turns[number] = replace(turns[number], **changes)
    return Played(script(), tuple(turns))


def test_a_dialogue_that_goes_as_it_should_is_right() -> None:
    """Nothing is found, and every label was judged."""
    verdict = judge(good())
    assert verdict.right
    assert (len(verdict.drafts), verdict.judged_acts, verdict.answers, verdict.beyond) == (3, 3, 3, 0)
    assert (verdict.acts, verdict.repeated, verdict.silent) == ((), (), ())
    assert all(draft.right for draft in verdict.drafts)
    assert tell(DialogueReport.of([verdict]), fail_under=1.0) == 0


def test_a_wrong_amount_in_the_draft_is_found() -> None:
    """Another amount is wrong; one that is asked about is missing, which is less."""
    stored = Standing(aberta=True, values=FULL | {"valor": "2600.00"})
    asked = Standing(aberta=True, values={"documento": CLIENT}, doubtful=frozenset({"valor"}))
    wrong, doubt = (judge(changed(0, depois=after)).drafts for after in (stored, asked))
    assert [(draft.field, draft.wrong) for draft in wrong if not draft.right] == [("valor", True)]
    assert [(draft.wrong, draft.asked) for draft in doubt if not draft.right] == [(False, True)]


def test_what_must_not_be_stored_is_found() -> None:
    """A label of null says that nothing may stand."""
    falas = [{"texto": "ano passado foi 260", "ato": "social", "depois": {"valor": None}}]
    roteiro = script(falas=falas, fim={"notas": []})
    turn = Turn("", roteiro.falas[0], Standing(), Standing(aberta=True, values={"valor": "260.00"}), ("?",))
    verdict = judge(Played(roteiro, (turn,)))
    assert [draft.wrong for draft in verdict.drafts] == [True]
    assert [done for _, done in verdict.acts] == ["mudou o rascunho"]


@pytest.mark.parametrize(
    ("issued", "found"),
    [
        ((ISSUED.model_copy(update={"valor": "2600.00"}),), "wrong_notes"),
        ((ISSUED.model_copy(update={"documento": "40649116879"}),), "wrong_notes"),
        ((ISSUED, ISSUED), "wrong_notes"),
        ((ISSUED.model_copy(update={"servico": ("cortina",)}),), "other_service"),
        ((), "lacking"),
    ],
)
def test_only_exactly_the_wanted_notes_are_right(issued: tuple[Nota, ...], found: str) -> None:
    """Another amount, another customer, one too many, another service, none: each makes the dialogue wrong."""
    verdict = judge(changed(2, issued=issued))
    assert not verdict.right
    assert getattr(verdict, found)
    assert tell(DialogueReport.of([verdict])) == int(found == "wrong_notes")


def test_the_same_answer_twice_running_is_found() -> None:
    """Word for word, and only where one follows the other."""
    assert judge(changed(1, answers=("Confere?",))).repeated == ("Confere?",)
    assert not judge(changed(2, answers=("Confere?",))).repeated


def test_a_line_that_does_more_than_its_act_is_found() -> None:
    """Who asks to wait gets no note, no end, and no other draft; who gets no answer is counted."""
    other = Standing(aberta=True, values=FULL | {"servico": "peraí"})
    unlabelled = Fala(texto="peraí", ato=Ato.ESPERA)
    changes: list[tuple[dict[str, Any], str]] = [
        ({"issued": (ISSUED,)}, "emitiu"),
        ({"depois": Standing()}, "encerrou a nota"),
        ({"depois": other, "fala": unlabelled}, "mudou o rascunho"),
    ]
    for change, done in changes:
        assert judge(changed(1, **change)).acts == (("peraí", done),)
    assert judge(changed(1, answers=())).silent == ("peraí",)


def test_turns_beyond_the_fewest_are_counted() -> None:
    """One confirmation is owed where no line confirms, and one turn for each field that no line names."""
    short = script(falas=[{"texto": f"nota pra {CLIENT}"}])
    assert short.needed == 3  # amount, service, confirmation
    assert script().needed == 2  # the service; and the summary, should no tap have met one
    assert script(fim={"notas": []}).needed == 0
    more = Turn("sim", None, Standing(), Standing(), ("Certo?",))
    assert judge(Played(short, (more,) * 5)).beyond == 2


@pytest.mark.parametrize(
    ("number", "pedido", "found"),
    [
        (0, "valor", True),  # its line names the amount
        (1, "documento", True),  # the line before named it
        (0, "servico", False),  # nobody has said it yet
        (2, "nome", False),
    ],
)
def test_a_question_for_what_was_said_is_right_and_not_strictly(number: int, pedido: str, found: bool) -> None:
    """It costs a turn; a question for what nobody has said costs nothing that was not owed."""
    verdict = judge(changed(number, depois=replace(good().turns[number].depois, pedido=pedido)))
    assert (verdict.right, verdict.strict) == (True, not found)
    assert verdict.needless == (((good().turns[number].texto, pedido),) if found else ())


def test_a_missed_service_and_a_second_question_are_not_strictly_right() -> None:
    """Words of the wanted service were said; an answer is an answer; a new invoice has nothing said yet."""
    asks = Standing(aberta=True, pedido="servico")
    missed = script(falas=[{"texto": f"ajuste, 260, {CLIENT}", "depois": {}}])
    assert judge(Played(missed, (Turn("ajuste, 260", missed.falas[0], Standing(), asks, ("Qual serviço?",)),))).needless
    unsaid = script(falas=[{"texto": f"260, {CLIENT}", "depois": {}}])
    first = Turn("260", unsaid.falas[0], Standing(), asks, ("Qual serviço?",))
    again = Turn("da Ana", None, asks, asks, ("Qual serviço?",))
    assert judge(Played(unsaid, (first, again))).needless == (("da Ana", "servico"),)
    issued = Turn("ajuste", None, asks, Standing(), ("NFS-e 1",), (ISSUED,))
    assert not judge(Played(unsaid, (first, issued, replace(first, antes=Standing())))).needless


def test_what_had_to_be_said_is_looked_for() -> None:
    """One of the words is enough, whatever its accents; none makes the dialogue wrong."""
    fim = {"notas": [WANTED], "contem": ["prazo", "prefeitura"]}
    assert not judge(replace(good(), roteiro=script(fim=fim))).right
    told = replace(good().turns[1], answers=("O PRÁZO é da cidade.",))
    assert judge(Played(script(fim=fim), (good().turns[0], told, good().turns[2]))).right


def test_a_product_that_does_not_come_to_rest_is_never_right() -> None:
    """The notes may be there: nobody knows what would still have come."""
    assert not judge(replace(good(), stuck=True)).right


def test_words_are_found_in_their_forms() -> None:
    """Accents, plural and gender do not matter; every word of the label does."""
    assert names("Honorários contábeis", ["honorario", "contabil"])
    assert not names("Honorários", ["honorario", "contabil"])
    assert names("anything", [])
