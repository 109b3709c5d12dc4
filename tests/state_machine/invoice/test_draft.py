from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.invoice.draft import (
    VAZIO,
    Cadastro,
    Rascunho,
    StatusCampo,
    aplicar,
    ler,
    mudancas,
)
from state_machine.invoice.field_table import DESCRICAO_MAX, FIELDS, NOME_MAX, obrigatorios
from state_machine.invoice.fields import Campo, Candidate, Confianca, Doubt, Motivo, Origem
from tests.state_machine.made_sessions import (
    CNPJ,
    CPF,
    DOC,
    DOCUMENTOS,
    ITENS,
    OUTRO_CNPJ,
    PADARIA,
    TUDO,
    VALOR,
    candidates,
    doubts,
    lido,
)

VARIOS = st.lists(candidates, max_size=6)


def com(*ditos, doubts=(), clear=(), sobre=None):
    return aplicar(sobre or Rascunho(), ditos, doubts, clear)


@pytest.mark.parametrize(
    ("campo", "lido_como", "fica"),
    [
        (Campo.DOCUMENTO, "12.345.678/0001-95", CNPJ),
        (Campo.DOCUMENTO, "529.982.247-25", CPF),
        (Campo.DOCUMENTO, "12abc34501de35", "12ABC34501DE35"),
        (Campo.VALOR, "1500", "1500.00"),
        (Campo.VALOR, " 0.005 ", "0.01"),
        (Campo.DESCRICAO, "  consultoria \n de  marketing ", "consultoria de marketing"),
        (Campo.NOME, " Padaria\tdo Zé ", "Padaria do Zé"),
        (Campo.EMAIL, " ana@exemplo.com.br", "ana@exemplo.com.br"),
        (Campo.COMPETENCIA, "2026-10", "2026-10"),
        (Campo.DATA, "2026-10-31", "2026-10-31"),
    ],
)
def test_what_is_well_formed_is_validated_and_normalised(campo, lido_como, fica):
    """A field holds what will be issued, beside the words that it was read from."""
    resultado = ler(Candidate(campo, lido_como, "como veio"))
    assert (resultado.status, resultado.valor, resultado.escrito) == (StatusCampo.VALIDATED, fica, "como veio")


@pytest.mark.parametrize(
    ("campo", "lido_como", "motivo"),
    [
        (Campo.DOCUMENTO, "12345678000199", Motivo.DIGITO_NAO_BATE),
        (Campo.DOCUMENTO, "11111111111", Motivo.DIGITO_NAO_BATE),
        (Campo.DOCUMENTO, "1234567800019", Motivo.INCOMPLETO),
        (Campo.VALOR, "0", Motivo.NAO_POSITIVO),
        (Campo.VALOR, "-10.00", Motivo.NAO_POSITIVO),
        (Campo.VALOR, "1.500,00", Motivo.NAO_POSITIVO),
        (Campo.EMAIL, "ana arroba exemplo", Motivo.AMBIGUO),
        (Campo.COMPETENCIA, "2026-13", Motivo.AMBIGUO),
        (Campo.COMPETENCIA, "10/2026", Motivo.AMBIGUO),
        (Campo.DATA, "2026-02-31", Motivo.AMBIGUO),
    ],
)
def test_what_can_not_be_issued_is_invalid_with_its_reason(campo, lido_como, motivo):
    """No reader is trusted about form: check digits, amounts, months and days are checked here again."""
    resultado = ler(lido(campo, lido_como))
    assert (resultado.status, resultado.motivo, resultado.valor) == (StatusCampo.INVALID, motivo, None)


def test_a_doubtful_reading_is_asked_back():
    """``duvidosa`` never fills a field, however well formed it is."""
    resultado = ler(Candidate(Campo.VALOR, "1500.00", "uns 1500", Origem.MODELO, Confianca.DUVIDOSA))
    assert (resultado.status, resultado.motivo) == (StatusCampo.INVALID, Motivo.AMBIGUO)


def test_what_is_too_long_for_the_layout_is_asked_about_and_too_short_is_dropped():
    """A service fits the layout's 2,000 characters and a name its 300, uncut; a slip of the finger is no service."""
    rascunho = com(lido(Campo.DESCRICAO, "x" * DESCRICAO_MAX), lido(Campo.NOME, "y" * NOME_MAX))
    assert (len(rascunho.descricao.valor), len(rascunho.nome.valor)) == (DESCRICAO_MAX, NOME_MAX)
    rascunho = com(lido(Campo.DESCRICAO, "x" * (DESCRICAO_MAX + 1)), lido(Campo.NOME, "y" * (NOME_MAX + 1)))
    assert (rascunho.descricao.motivo, rascunho.nome.motivo) == (Motivo.NAO_CABE,) * 2
    assert rascunho.descricao.detalhe == f"são {DESCRICAO_MAX + 1} caracteres, e na nota cabem {DESCRICAO_MAX}"
    assert com(lido(Campo.DESCRICAO, " . ")) == Rascunho()


def test_what_no_invoice_can_carry_is_named_and_asked_for():
    """Never left out in silence: the question says which characters have no place in an invoice."""
    rascunho = com(*TUDO, lido(Campo.DESCRICAO, "Дизайн e 会议 ✂"))
    assert (rascunho.descricao.status, rascunho.completo) == (StatusCampo.INVALID, False)
    assert rascunho.descricao.detalhe == "a nota não aceita “Д”, “и”, “з”, “а”, “й” e outros"


@pytest.mark.parametrize(
    ("do_cadastro", "dito", "mostrado", "completo"),
    [
        ("ŁUKASZ ĐẶNG LTDA", "Lu", "LUKASZ DANG LTDA", True),
        ("PADARIA LTDA", "Padaria 🥖", "PADARIA LTDA", True),
        ("ΑΘΗΝΑ LTDA", "Atena", "Atena", True),
        ("ΑΘΗΝΑ LTDA", "Padaria 🥖", None, False),
        ("X" * (NOME_MAX + 1), "Atena", "Atena", True),
    ],
)
def test_a_customers_name_is_shown_as_it_is_signed(do_cadastro, dito, mostrado, completo):
    """The register's name where an invoice can carry it, else the user's, else it is asked for."""
    rascunho = replace(com(*TUDO, lido(Campo.NOME, dito)), cadastro=Cadastro(CNPJ, do_cadastro))
    assert (rascunho.tomador_nome, rascunho.completo) == (mostrado, completo)


def test_a_turn_touches_only_the_fields_that_it_speaks_of():
    """What was validated before stays."""
    antes = com(*TUDO)
    depois = com(lido(Campo.VALOR, "1800"), sobre=antes)
    assert depois.valor_servico == Decimal("1800.00")
    assert (depois.documento, depois.descricao) == (antes.documento, antes.descricao)


def test_a_doubt_outweighs_a_reading_and_what_stood_before():
    """Where something about a field is in doubt, no earlier value of it may be issued."""
    duvida = Doubt(Campo.VALOR, Motivo.PARCELADO, "3x de 500", "3 parcelas")
    rascunho = com(VALOR, doubts=(duvida,), sobre=com(*TUDO))
    assert rascunho.valor.motivo is Motivo.PARCELADO
    assert rascunho.faltam == (Campo.VALOR,)
    with pytest.raises(ValueError, match="no validated amount"):
        _ = rascunho.valor_servico


def test_clearing_comes_before_reading():
    """A correction ("não é 1.500, é 1.800") takes one value back and puts the other in, in one turn."""
    rascunho = com(lido(Campo.VALOR, "1800"), clear=(Campo.VALOR,), sobre=com(*TUDO))
    assert rascunho.validado(Campo.VALOR) == "1800.00"
    assert com(clear=(Campo.VALOR,), sobre=rascunho).valor == VAZIO


def test_the_register_names_the_client_before_the_user_does():
    """Register first, then words, then nothing; an entry without a name is no name."""
    nome = lido(Campo.NOME, "Zé")
    rascunho = com(DOC, nome)
    assert rascunho.tomador_nome == "Zé"
    assert _com_cadastro(rascunho, PADARIA).tomador_nome == "PADARIA DO ZÉ LTDA"
    assert _com_cadastro(rascunho, Cadastro(CNPJ, "  ")).tomador_nome == "Zé"
    assert com(DOC).tomador_nome is None


def _com_cadastro(rascunho, cadastro):
    return Rascunho(**{campo.value: rascunho.campo(campo) for campo in Campo}, cadastro=cadastro)


def test_changes_are_told_from_one_value_to_another_only():
    """A field that was empty did not change; a name that the register outranks did not either."""
    antes = com(*TUDO, lido(Campo.NOME, "Zé"))
    depois = com(lido(Campo.VALOR, "1800"), lido(Campo.NOME, "Zeca"), lido(Campo.EMAIL, "a@b.co"), sobre=antes)
    assert mudancas(antes, depois) == ((Campo.VALOR, "1500.00", "1800.00"), (Campo.NOME, "Zé", "Zeca"))
    assert mudancas(_com_cadastro(antes, PADARIA), _com_cadastro(depois, PADARIA)) == (
        (Campo.VALOR, "1500.00", "1800.00"),
    )


@settings(deadline=None)
@given(VARIOS, st.lists(doubts, max_size=3), st.sets(st.sampled_from(Campo), max_size=2), VARIOS)
def test_a_complete_draft_holds_nothing_in_doubt(primeiros, duvidas, tirados, depois):
    """Whatever is said in whatever order: complete means three validated fields and no invalid one."""
    rascunho = aplicar(aplicar(Rascunho(), primeiros, duvidas, tirados), depois, (), ())
    for campo in Campo:
        estado = rascunho.campo(campo)
        assert (rascunho.validado(campo) is not None) == (estado.status is StatusCampo.VALIDATED)
        assert (estado.motivo is not None) == (estado.status is StatusCampo.INVALID)
    assert rascunho.completo == (
        all(rascunho.validado(c) for c in obrigatorios())
        and not any(rascunho.campo(c).status is StatusCampo.INVALID for c in Campo)
    )
    assert rascunho.nome.motivo in {None, Motivo.NAO_CABE}


@given(st.permutations([*TUDO, lido(Campo.NOME, "Zé")]))
def test_the_order_of_fields_in_a_turn_makes_no_difference(ditos):
    """Different fields of one turn commute."""
    assert aplicar(Rascunho(), ditos, (), ()) == com(*TUDO, lido(Campo.NOME, "Zé"))


@given(st.sampled_from(DOCUMENTOS), st.sampled_from(DOCUMENTOS))
def test_name_and_register_entry_belong_to_one_document(primeiro, segundo):
    """They survive the same document said again, and no other."""
    antes = _com_cadastro(com(lido(Campo.DOCUMENTO, primeiro), lido(Campo.NOME, "Zé")), Cadastro(primeiro, "X"))
    depois = com(lido(Campo.DOCUMENTO, segundo), sobre=antes)
    assert (depois.cadastro is not None) == (depois.nome != VAZIO) == (primeiro == segundo)
    assert com(lido(Campo.DOCUMENTO, OUTRO_CNPJ), lido(Campo.NOME, "Ana"), sobre=antes).nome.valor == "Ana"


def _said_of_ana():
    """A draft in which every field stands."""
    outros = {
        Campo.DOCUMENTO: CPF,
        Campo.VALOR: "1500",
        Campo.DESCRICAO: "aula de violão",
        Campo.NOME: "Ana Souza",
        Campo.EMAIL: "ana@exemplo.com.br",
        Campo.COMPETENCIA: "2026-10",
        Campo.DATA: "2026-10-31",
        Campo.CODIGO: "170101",
        Campo.LOCAL: "São Paulo/SP (IBGE 3550308)",
        Campo.OBRA: "123456789012",
        Campo.EVENTO: "Casamento",
        Campo.FIM: "2026-11-01",
        Campo.ITENS: ITENS,
        Campo.MODELO: "nfe",
        Campo.RETIDO: "sim",
    }
    draft = com(*(lido(campo, valor) for campo, valor in outros.items()))
    return replace(draft, endereco=replace(draft.nome, valor="Rua A"), cadastro=Cadastro(CPF, "Ana Souza"))


@pytest.mark.parametrize("row", FIELDS.values(), ids=lambda row: row.campo.value)
def test_another_customer_takes_along_all_that_was_said_of_the_former_one(row):
    """Nobody's address, name or entry goes with another one's invoice; what is of the invoice itself stays."""
    antes = _said_of_ana()
    depois = com(lido(Campo.DOCUMENTO, OUTRO_CNPJ), sobre=antes)
    assert antes.campo(row.campo) != VAZIO
    assert (depois.campo(row.campo) == VAZIO) == row.of_customer
    assert depois.cadastro is None


def test_a_wrong_customer_takes_the_email_away_before_the_right_one_is_told():
    """The button "errado: cliente" of an issued note, and then another document."""
    sem = aplicar(_said_of_ana(), [], [], [Campo.DOCUMENTO])
    assert (sem.nome, sem.email, sem.endereco) == (VAZIO, VAZIO, VAZIO)
