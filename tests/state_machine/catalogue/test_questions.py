from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.catalogue import questions
from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.field_table import FIELDS, obrigatorios
from state_machine.invoice.fields import Campo, Doubt, Motivo
from tests.state_machine.made_sessions import TUDO, fits, lido, nova, rascunhos, textos

# Which fields a reason can hit: from the extractor's rules, from the checks of ``rascunho``, from the authority.
ALCANCE = {
    Motivo.DIGITO_NAO_BATE: {Campo.DOCUMENTO},
    Motivo.INCOMPLETO: {Campo.DOCUMENTO, Campo.ENDERECO, Campo.LOCAL},
    Motivo.PROPRIO_DOCUMENTO: {Campo.DOCUMENTO},
    Motivo.TELEFONE_OU_CPF: {Campo.DOCUMENTO},
    Motivo.VARIOS: {Campo.DOCUMENTO, Campo.VALOR},
    Motivo.PARCELADO: {Campo.VALOR},
    Motivo.POR_UNIDADE: {Campo.VALOR},
    Motivo.DESCONTO: {Campo.VALOR},
    Motivo.MOEDA_ESTRANGEIRA: {Campo.VALOR},
    Motivo.NAO_POSITIVO: {Campo.VALOR},
    Motivo.DUAS_NOTAS: set(obrigatorios()),
    Motivo.AMBIGUO: set(Campo) - {Campo.NOME},
    Motivo.DISCORDANCIA: set(Campo) - {Campo.NOME},
    Motivo.RECUSADO: set(Campo),
    Motivo.NAO_CABE: set(Campo),
}
PARES = [(motivo, campo) for motivo, campos in ALCANCE.items() for campo in sorted(campos)]
PALAVRA = {  # a word without which a question about the field would not say what it asks
    Campo.DOCUMENTO: ("CNPJ", "CPF", "cartão"),
    Campo.VALOR: ("valor",),
    Campo.DESCRICAO: ("serviço",),
    Campo.NOME: ("nome",),
    Campo.EMAIL: ("e-mail",),
    Campo.COMPETENCIA: ("competência",),
    Campo.DATA: ("data",),
    Campo.CODIGO: ("código",),
    Campo.ENDERECO: ("endereço",),
    Campo.LOCAL: ("local",),
    Campo.OBRA: ("CNO",),
    Campo.EVENTO: ("evento",),
    Campo.FIM: ("último dia",),
    Campo.ITENS: ("produto",),
    Campo.MODELO: ("em mãos",),
    Campo.RETIDO: ("ISS",),
}


def pergunta(rascunho, antes=None, vez=0):
    return questions.pergunta(nova(rascunho=rascunho, insistencias=vez), antes)


def insiste(rascunho, vez=1, **como):
    return questions.insiste(nova(rascunho=rascunho, insistencias=vez), **como)


def em_duvida(campo, motivo, detalhe=None, sobre=()):
    return aplicar(Rascunho(), sobre, (Doubt(campo, motivo, "trecho", detalhe),), ())


def test_every_reason_has_a_reach():
    """A new reason must be placed in the table above."""
    assert set(ALCANCE) == set(Motivo)


@pytest.mark.parametrize(("motivo", "campo"), [p for p in PARES if p[1] is not Campo.NOME])
@pytest.mark.parametrize("detalhe", [None, "faltam 2 dígitos", "3x de R$ 500.", "  ", ".", "x" * 3000])
def test_each_reason_has_a_question_that_names_its_field(motivo, campo, detalhe):
    """Short, whole, and about the field in doubt; the detail keeps its capitals."""
    mensagem = pergunta(em_duvida(campo, motivo, detalhe))
    fits(mensagem)
    primeiro = mensagem.texto.split("\n\n")[0]
    assert any(palavra in primeiro for palavra in PALAVRA[campo]) or motivo is Motivo.DUAS_NOTAS
    assert "R$ 500.." not in primeiro
    assert "r$" not in primeiro
    assert ". ." not in primeiro


UNCONTRACTED = re.compile(r"\b(?:de|em|por) (?:[oa]s?)\b")


@pytest.mark.parametrize("vez", range(4))
@pytest.mark.parametrize(("motivo", "campo"), [p for p in PARES if p[1] is not Campo.NOME])
def test_prepositions_contract_with_the_articles_of_the_fields(motivo, campo, vez):
    """It is "preciso do valor", in every wording, of every doubt and of everything that is missing."""
    ditos = [pergunta(em_duvida(campo, motivo), vez=vez)]
    for tem in range(3):
        rascunho = aplicar(Rascunho(), TUDO[:tem], (), ())
        ditos += [pergunta(rascunho, vez=vez), insiste(rascunho, vez=vez, negou=True)]
    assert [dito.texto for dito in ditos if UNCONTRACTED.search(dito.texto)] == []


def test_the_question_says_the_detail_and_what_comes_next():
    """The first doubt in full, then the names of what else is missing, then what is kept."""
    rascunho = em_duvida(Campo.DOCUMENTO, Motivo.INCOMPLETO, "faltam 2 dígitos", TUDO[1:2])
    assert pergunta(rascunho, Rascunho()).texto == (
        "Esse número está incompleto. Li “trecho”. Faltam 2 dígitos. "
        "Me manda o CNPJ (14 caracteres) ou CPF (11) inteiro?\n\n"
        "✓ R$ 1.500,00 · ▢ serviço prestado"
    )


@pytest.mark.parametrize(
    ("tem", "texto"),
    [
        (
            (),
            "Faltam o CNPJ ou CPF do cliente, o valor e o serviço prestado.",
        ),
        (
            TUDO[:1],
            "✓ 12.345.678/0001-95 · ▢ valor · ▢ serviço prestado?",
        ),
        (
            TUDO[:2],
            ("Qual serviço foi prestado? Escreve como deve sair na nota.\n\n✓ 12.345.678/0001-95 · ✓ R$ 1.500,00"),
        ),
        (
            TUDO[1:],
            "Qual é o CNPJ ou CPF do cliente?\n\n✓ R$ 1.500,00 · ✓ consultoria de marketing",
        ),
    ],
)
def test_only_what_is_missing_is_asked(tem, texto):
    """One field missing: its own question; several: all of them at once; what is kept is said once."""
    rascunho = aplicar(Rascunho(), tem, (), ())
    assert pergunta(rascunho, Rascunho()).texto == texto
    assert "✓" not in pergunta(rascunho, rascunho).texto  # this turn kept nothing


def test_what_the_authority_refused_is_asked_with_that_reason():
    """Nobody is told that we were not sure of what we understood well."""
    texto = pergunta(em_duvida(Campo.EMAIL, Motivo.RECUSADO, sobre=TUDO)).texto
    assert texto.startswith("Não foi aceito na nota anterior: o e-mail do cliente.")


@settings(deadline=None)
@given(rascunhos.filter(lambda r: not r.completo))
def test_any_incomplete_draft_gets_a_question(rascunho):
    """It fits, and it asks for a field that is missing or in doubt."""
    mensagem = pergunta(rascunho)
    fits(mensagem)
    assert bool(mensagem.ids) == any(rascunho.campo(c).leituras for c in rascunho.a_pedir[:1])
    assert (
        rascunho.duvida
        or any(FIELDS[c].name in mensagem.texto for c in rascunho.a_pedir)
        or (len(rascunho.a_pedir) == 1 and any(p in mensagem.texto for p in PALAVRA[rascunho.a_pedir[0]]))
    )


@given(st.sampled_from([p for p in PARES if p[1] is not Campo.NOME]), st.none() | textos)
def test_any_detail_fits(par, detalhe):
    """Whatever the extractor puts into ``detalhe``."""
    motivo, campo = par
    fits(pergunta(em_duvida(campo, motivo, detalhe, (lido(Campo.VALOR, "10"),))))


@pytest.mark.parametrize(("motivo", "campo"), [p for p in PARES if p[1] is not Campo.NOME])
def test_a_doubt_that_still_stands_is_asked_in_other_words(motivo, campo):
    """Nobody reads the same sentence twice; both quote what was read, and both fit."""
    duvida = (Doubt(campo, motivo, "37 e meio"),)
    antes = aplicar(Rascunho(), (), duvida, ())
    primeira, outra = pergunta(antes, Rascunho()), pergunta(aplicar(antes, (), duvida, ()), antes, 1)
    assert primeira != outra
    assert insiste(antes) == outra
    fits(outra)
    if motivo not in {Motivo.DUAS_NOTAS, Motivo.RECUSADO, Motivo.NAO_CABE}:
        assert "“37 e meio”" in primeira.texto
        assert "“37 e meio”" in outra.texto


@pytest.mark.parametrize(
    ("numero", "onde"),
    [("529.982.247-26", "CPF do cliente"), ("12.345.678/0001-99", "cartão CNPJ"), ("123", "CNPJ ou CPF com o cliente")],
)
def test_a_wrong_check_digit_is_looked_up_where_such_a_number_stands(numero, onde):
    """A person has no CNPJ card."""
    texto = pergunta(aplicar(Rascunho(), (), (Doubt(Campo.DOCUMENTO, Motivo.DIGITO_NAO_BATE, numero),), ())).texto
    assert f"Li “{numero}”. Confere" in texto
    assert onde in texto
    assert ("cartão" in texto) == ("cartão" in onde)


def test_two_invoices_in_one_message_get_one_clear_answer():
    """What the first needs is said once; nothing else is asked after it."""
    duvidas = [Doubt(campo, Motivo.DUAS_NOTAS, "300 e 450") for campo in (Campo.DOCUMENTO, Campo.VALOR)]
    texto = pergunta(aplicar(Rascunho(), (), duvidas, ())).texto
    assert "uma de cada vez" in texto
    assert "Depois disso" not in texto


def test_a_correction_before_the_summary_is_acknowledged():
    """The new value is repeated before the next question; what was new and not corrected is not."""
    antes = aplicar(Rascunho(), (lido(Campo.VALOR, "1500"),), (), ())
    depois = aplicar(antes, (lido(Campo.VALOR, "1800"), lido(Campo.DESCRICAO, "aula")), (), ())
    assert pergunta(depois, antes).texto.startswith("Anotei: valor R$ 1.800,00.\n\nQual é o CNPJ")
    assert "Anotei" not in pergunta(antes, Rascunho()).texto


def test_an_amount_that_is_none_leaves_the_good_one_and_says_so():
    """The answer names what was not used, why, and what stands."""
    antes = aplicar(Rascunho(), (lido(Campo.VALOR, "1500"),), (), ())
    depois = aplicar(antes, (), (Doubt(Campo.VALOR, Motivo.NAO_POSITIVO, "-500"),), ())
    texto = pergunta(depois, antes).texto
    assert texto.startswith("Não usei “-500”: o valor da nota precisa ser maior que zero. Continua R$ 1.500,00;")


@pytest.mark.parametrize("rascunho", [aplicar(Rascunho(), TUDO[:n], (), ()) for n in range(3)])
def test_a_no_to_a_question_is_no_reason_to_repeat_it(rascunho):
    """It says that there is time, and how to give up."""
    texto = insiste(rascunho, negou=True).texto
    assert texto not in {pergunta(rascunho).texto, insiste(rascunho).texto}
    assert "_cancela_" in texto
