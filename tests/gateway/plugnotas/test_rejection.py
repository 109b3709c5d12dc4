"""From the gateway's words to plain ones."""

from __future__ import annotations

import pytest

from gateway.plugnotas.outcome import explain
from gateway.refusals.plain import DESCONHECIDO
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import Nota, Rejected, Situacao


@pytest.mark.parametrize(
    ("path", "campo"),
    [
        ("tomador.cpfCnpj", Campo.DOCUMENTO),
        ("tomador.razaoSocial", Campo.NOME),
        ("tomador.email", Campo.EMAIL),
        ("tomador.endereco.cep", Campo.ENDERECO),
        ("servico[0].discriminacao", Campo.DESCRICAO),
        ("servico.0.discriminacao", Campo.DESCRICAO),
        ("[0].servico[0].discriminacao", Campo.DESCRICAO),
        ("0.tomador.cpfCnpj", Campo.DOCUMENTO),
        ("servico[0].valor.servico", Campo.VALOR),
        ("servico.valor", Campo.VALOR),
        ("servico[0].codigo", None),
        ("rps.competencia", Campo.COMPETENCIA),
        ("prestador.inscricaoMunicipal", None),
        ("tomadores.x", None),
    ],
)
def test_a_field_path_points_to_what_the_user_can_repair(path, campo):
    """Indices in any notation are ignored; the company's own data is nobody's field."""
    assert explain(Rejected("Falha na validação", (), ((path, "x"),))).campo is campo


@pytest.mark.parametrize(
    ("codigo", "campo", "suporte"),
    [
        ("E0188", Campo.DOCUMENTO, False),
        ("E0207", Campo.DOCUMENTO, False),
        ("E0202", Campo.DOCUMENTO, False),
        ("E0015", Campo.COMPETENCIA, False),
        ("E0314", None, True),
        ("E1206", None, True),
        ("E9999", None, True),
    ],
)
def test_a_code_says_who_repairs_it(codigo, campo, suporte):
    """Codes of the customer's data go to the user, those of the company's registration to support."""
    found = explain(Nota("1", "zap-1", Situacao.REJEITADA, codigos=(codigo,)))
    assert (found.campo, found.suporte) == (campo, suporte)


def test_what_the_user_can_repair_comes_first():
    """Of several reasons, the one that the user can act on is told."""
    assert explain(Rejected("x", ("E0314", "E0188"), (("prestador.x", "y"),))).campo is Campo.DOCUMENTO


def test_an_unknown_reason_is_admitted():
    """Nothing is invented for codes that no table names."""
    assert explain(Rejected("Erro")) is DESCONHECIDO


def test_an_unknown_reason_is_quoted_in_the_authoritys_words() -> None:
    """A code that nobody mapped is not hidden: the user reads what the authority said."""
    said = explain(Rejected('[{"Codigo": "E9999", "Descricao": "Competência  encerrada pelo município."}]', ("E9999",)))
    assert said.texto == "a resposta foi “Competência encerrada pelo município.”"
    assert said.suporte
