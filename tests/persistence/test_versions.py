from __future__ import annotations

from typing import Any

import pytest
from persistence.versions import AnotherVersionError, Strict, known, literals

from persistence.conversations.snapshots import dump_rascunho
from state_machine.invoice.draft import Lido, Rascunho, StatusCampo
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Estado

STORED = Strict(Rascunho)
DRAFT = Rascunho(valor=Lido(StatusCampo.VALIDATED, "1500.00"), nome=Lido(StatusCampo.EXTRACTED, "Ana"))


def changed(campo: Campo | None, **more: Any) -> dict[str, Any]:
    """The stored draft with fields that this version does not have, in itself or in one of its fields."""
    dumped: dict[str, Any] = dict(dump_rascunho(DRAFT))
    return {**dumped, campo.value: {**dumped[campo.value], **more}} if campo else {**dumped, **more}


def test_a_word_is_one_of_ours_or_another_versions() -> None:
    """An unknown member is no error of the row's."""
    assert known(Estado, "coleta") is Estado.COLETA
    with pytest.raises(AnotherVersionError, match="Estado arquivado"):
        known(Estado, "arquivado")
    assert literals(["b", "a"]) == "'a', 'b'"


def test_what_we_stored_is_read_as_it_was() -> None:
    """Whole."""
    assert STORED.load(dump_rascunho(DRAFT)) == DRAFT


@pytest.mark.parametrize("campo", [None, Campo.VALOR])
@pytest.mark.parametrize("empty", [None, "", [], {}, {"status": "null", "valor": None}])
def test_a_field_that_says_nothing_is_left_out(campo: Campo | None, empty: object) -> None:
    """A newer release stores it empty in every draft: nothing is lost without it."""
    assert STORED.load(changed(campo, local=empty)) == DRAFT


@pytest.mark.parametrize("campo", [None, Campo.VALOR])
@pytest.mark.parametrize("said", ["Campinas", 1, True, ["a"], {"status": "validated"}, {"a": {"b": "c"}}])
def test_a_field_that_says_something_is_not_dropped(campo: Campo | None, said: object) -> None:
    """A note without it would not be what was confirmed."""
    with pytest.raises(AnotherVersionError):
        STORED.load(changed(campo, local=said))


def test_readings_are_stored_and_say_nothing_where_there_are_none() -> None:
    """A release without them reads every other draft, and leaves one that has some to who knows them."""
    doubt = Lido(StatusCampo.INVALID, leituras=("1050.00",), conta="15 × R$ 70,00")
    draft = Rascunho(valor=doubt)
    stored = dump_rascunho(draft)
    assert STORED.load(stored) == draft
    assert stored["valor"]["leituras"] == ["1050.00"]
    plain = dump_rascunho(DRAFT)["valor"]
    assert (plain["leituras"], plain["conta"]) == ([], None)
    older = {name: value for name, value in plain.items() if name not in {"leituras", "conta"}}
    assert STORED.load({"valor": older}) == Rascunho(valor=DRAFT.valor)


@pytest.mark.parametrize("word", ["status", "motivo", "origem", "confianca"])
def test_an_unknown_word_in_a_field_is_another_versions(word: str) -> None:
    """So is a value of an enumeration that this version does not have."""
    with pytest.raises(AnotherVersionError):
        STORED.load(changed(Campo.VALOR, **{word: "novo"}))


def test_a_live_copy_with_more_in_it_is_not_read() -> None:
    """Its snapshot says as much, and is asked."""
    assert STORED.load_json(b"{}") == Rascunho()
    with pytest.raises(AnotherVersionError):
        STORED.load_json(b'{"local": null}')
