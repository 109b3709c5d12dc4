"""A company's name is taken whole: its legal form, and words of its trade that would be a service elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from extractor.rules import extract
from extractor.text.folding import read
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from extractor.contract import Context


def values(text: str, context: Context) -> dict[Campo, str]:
    return {c.campo: c.valor for c in extract(text, context).candidates}


@pytest.mark.parametrize(
    "name",
    [
        "TRANSPORTES LUGAR NENHUM S.A.",
        "Fazenda Boi de Plástico S/A",
        "Metalúrgica Parafuso Solto S.A",
        "PLANALTO EVENTOS IMAGINÁRIOS LTDA",
        "Contabilidade Conta de Chegada Ltda.",
        "Consultoria e Treinamento Alfa EIRELI",
        "Associação dos Amigos, Vizinhos, Simpatizantes e Frequentadores da Praça",
        "Condomínio Edifício Solar das Águas",
    ],
)
def test_a_company_that_answers_the_question_for_a_name_is_taken_whole(name: str, fresh: Context) -> None:
    """Nothing is cut from it, and no word of it becomes the service."""
    assert values(name, replace(fresh, pendente=Campo.NOME)) == {Campo.NOME: name}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nota de 500 pra Transportes Lugar Nenhum S.A., consultoria", "Transportes Lugar Nenhum S.A."),
        ("nota de 300 pra Fazenda Boi S/A cnpj 12.345.678/0001-95", "Fazenda Boi S/A"),
        ("o nome é Transportes Lugar Nenhum S.A.", "Transportes Lugar Nenhum S.A."),
    ],
)
def test_a_legal_form_stays_with_its_name(text: str, name: str, fresh: Context) -> None:
    """The A of "S.A." and of "S/A" is no article."""
    assert values(text, fresh)[Campo.NOME] == name


@pytest.mark.parametrize(
    ("text", "campo"),
    [
        ("descrição: eventos ltda", Campo.DESCRICAO),
        ("consultoria de marketing", Campo.DESCRICAO),
        ("consultoria pra Padaria do Zé Ltda", Campo.DESCRICAO),
        ("500 reais de frete", Campo.VALOR),
    ],
)
def test_another_field_said_meanwhile_is_still_that_field(text: str, campo: Campo, fresh: Context) -> None:
    """The open question for a name swallows nothing that is labelled, priced or addressed."""
    found = values(text, replace(fresh, pendente=Campo.NOME))
    assert campo in found
    assert Campo.NOME not in found


@pytest.mark.parametrize("text", ["não sei", "sim", "qual nome?", "deixa pra lá", "obrigado"])
def test_talk_is_no_name(text: str, fresh: Context) -> None:
    """An open question for a name takes nothing that is only said along."""
    assert Campo.NOME not in values(text, replace(fresh, pendente=Campo.NOME))


def test_a_summary_in_sight_takes_only_a_company(fresh: Context) -> None:
    """Nobody was asked for the name then."""
    shown = replace(fresh, pendente=Campo.NOME, resumo_mostrado=True)
    assert Campo.NOME not in values("muda para amanhã, tudo igual", shown)
    assert values("Planalto Eventos Ltda", shown) == {Campo.NOME: "Planalto Eventos Ltda"}


def test_a_name_said_once_more_changes_nothing_else(summary: Context) -> None:
    """Over a summary too, commas and all."""
    name = "Associação dos Amigos, Vizinhos, Simpatizantes e Frequentadores da Praça"
    known = replace(summary, conhecidos={**summary.conhecidos, Campo.NOME: name})
    assert values(name, known) == {Campo.NOME: name}


@pytest.mark.parametrize(("text", "plain"), [("s/ nota", "sem"), ("p/a padaria", "para a padaria")])
def test_what_a_slash_shortens_is_still_spelled_out(text: str, plain: str) -> None:
    """An abbreviation before a slash means what it did."""
    assert plain in read(text).plain


@pytest.mark.parametrize(
    ("text", "name", "service"),
    [
        ("52998224725 maria da silva, aula de inglês", "maria da silva", "aula de inglês"),
        ("12.345.678/0001-95 padaria do zé, 300, panfletos", "padaria do zé", "panfletos"),
        ("12345678000195 revisão de texto, 300", None, "revisão de texto"),
        ("12345678000195 panfletos coloridos, 300 reais", None, "panfletos coloridos"),
        ("300 52998224725 unha em gel, esmaltação e spa dos pés", None, "esmaltação e spa dos pés"),
    ],
)
def test_a_name_in_small_letters_stands_between_document_and_work(
    text: str, name: str | None, service: str, fresh: Context
) -> None:
    """It is read where a comma ends it and work follows; work itself is nobody's name."""
    said = values(text, fresh)
    assert (said.get(Campo.NOME), said.get(Campo.DESCRICAO)) == (name, service)
