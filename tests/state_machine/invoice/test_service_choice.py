"""The service code of an invoice is one of the company's own, shown before a yes, and asked where none wins clearly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from state_machine.invoice.draft import StatusCampo
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import Emissor, Emitir, Estado
from state_machine.machine.events import Abriu, Confirmou, Conversou, Escolheu, Informou, MudouEmissor
from state_machine.services.codes import Servico
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, tamanho
from tests.state_machine.made_sessions import DOC, VALOR, diz, lido, nova, resposta

SUPORTE, CONSULTORIA, AULA = Servico("010701"), Servico("170101"), Servico("080201", "aulas do estúdio")
VARIOS = (SUPORTE, CONSULTORIA, AULA)


def _feita(descricao, servicos=VARIOS, *outros):
    dados = (DOC, VALOR, lido(Campo.DESCRICAO, descricao), *outros)
    return diz(nova(servicos=servicos), Abriu(), Informou(dados))


def _codigo(decision):
    return decision.sessao.rascunho.validado(Campo.CODIGO)


def test_the_only_code_is_shown_and_not_asked():
    """A company with one code confirms it as it is."""
    decision = _feita("qualquer coisa", (SUPORTE,))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert "\nCódigo do serviço: 01.07.01 – Suporte técnico em informática" in resposta(decision).texto


def test_a_clear_winner_is_shown():
    """The description says which it is; the summary names it."""
    decision = _feita("formatei o notebook da loja")
    assert _codigo(decision) == "010701"
    assert "Código do serviço: 01.07.01 – Suporte técnico" in resposta(decision).texto


def test_without_a_clear_winner_a_numbered_list_is_asked():
    """All of the company's codes, with the numbers that stay theirs; nothing can be confirmed."""
    decision = _feita("trabalho de outubro")
    mensagem = resposta(decision)
    assert decision.sessao.estado is Estado.DADOS_INCOMPLETOS
    assert decision.sessao.pendente is Campo.CODIGO
    assert "Em qual serviço da sua empresa entra “trabalho de outubro”?" in mensagem.texto
    assert "*2.* 17.01.01 – Assessoria ou consultoria" in mensagem.texto
    assert "*3.* 08.02.01 – aulas do estúdio" in mensagem.texto
    assert [linha.titulo for linha in mensagem.lista] == ["1. 01.07.01", "2. 17.01.01", "3. 08.02.01"]
    assert not any(key.startswith("confirmar:") for key in mensagem.ids)


def test_a_row_of_the_list_takes_its_code():
    """Of this very revision; the customer's name stays what it was."""
    asked = _feita("trabalho de outubro").sessao
    decision = diz(asked, Escolheu(Campo.CODIGO, "170101", asked.revisao))
    assert _codigo(decision) == "170101"
    assert decision.sessao.rascunho.nome == asked.rascunho.nome
    assert "Código do serviço: 17.01.01 – Assessoria" in resposta(decision).texto
    old = diz(asked, Escolheu(Campo.CODIGO, "170101", asked.revisao - 1))
    assert _codigo(old) is None


@pytest.mark.parametrize("codigo", ["010101", "171401", "999998"])
def test_a_code_that_is_not_the_companys_is_never_taken(codigo):
    """Neither by a forged row nor by words: it is asked, or what wins stays."""
    asked = _feita("trabalho de outubro").sessao
    assert _codigo(diz(asked, Escolheu(Campo.CODIGO, codigo, asked.revisao))) is None
    assert _codigo(diz(asked, Informou((lido(Campo.CODIGO, codigo),)))) is None
    shown = _feita("formatei o notebook").sessao
    assert _codigo(diz(shown, Informou((lido(Campo.CODIGO, codigo),)))) == "010701"


def test_a_correction_changes_the_code_and_the_revision():
    """The summary before issues nothing any more, and the new one says what changed."""
    shown = _feita("formatei o notebook").sessao
    decision = diz(shown, Informou((lido(Campo.CODIGO, "170101", "o serviço é o 2"),)))
    assert _codigo(decision) == "170101"
    assert decision.sessao.revisao == shown.revisao + 1
    assert "Mudei o código do serviço de 01.07.01" in resposta(decision).texto
    old = diz(decision.sessao, Confirmou(shown.revisao))
    assert not any(isinstance(efeito, Emitir) for efeito in old.efeitos)


def test_another_description_is_chosen_for_anew():
    """What was chosen for other work counts no more."""
    shown = _feita("formatei o notebook").sessao
    decision = diz(shown, Informou((lido(Campo.DESCRICAO, "consultoria empresarial"),)))
    assert _codigo(decision) == "170101"
    assert _codigo(diz(shown, Informou((lido(Campo.DESCRICAO, "trabalho de novembro"),)))) is None


def test_what_was_chosen_stays_while_the_description_does():
    """Another amount asks nothing again."""
    asked = _feita("trabalho de outubro").sessao
    chosen = diz(asked, Escolheu(Campo.CODIGO, "170101", asked.revisao)).sessao
    assert _codigo(diz(chosen, Informou((lido(Campo.VALOR, "90.00"),)))) == "170101"


def test_a_code_taken_back_is_asked_for():
    """A code called wrong does not choose the same one again."""
    shown = _feita("formatei o notebook").sessao
    decision = diz(shown, Informou(clear=frozenset({Campo.CODIGO})))
    assert decision.sessao.pendente is Campo.CODIGO


def test_the_rest_is_asked_first():
    """The list comes once it is all that lacks."""
    decision = diz(nova(servicos=VARIOS), Abriu(), Informou((lido(Campo.DESCRICAO, "trabalho"), VALOR)))
    assert decision.sessao.pendente is Campo.DOCUMENTO
    assert decision.sessao.rascunho.codigo.status is StatusCampo.NULL


def test_talk_asks_the_list_again():
    """In other words, with the same numbers."""
    asked = _feita("trabalho de outubro")
    again = diz(asked.sessao, Conversou())
    assert resposta(again).lista == resposta(asked).lista
    assert resposta(again).texto != resposta(asked).texto


def test_a_channel_without_the_list_shows_no_code():
    """The summary is as it always was, and words bring none in."""
    decision = _feita("formatei o notebook", (), lido(Campo.CODIGO, "010701"))
    assert _codigo(decision) is None
    assert "Código" not in resposta(decision).texto


def test_a_code_that_the_company_no_longer_has_is_not_issued():
    """The company changed meanwhile: the summary is shown again with another code, or the list is asked."""
    shown = _feita("formatei o notebook").sessao
    less = replace(shown, servicos=(CONSULTORIA, AULA))
    decision = diz(less, MudouEmissor(Emissor(1, "44555666000181", "ANA DESIGN ME", 2)))
    assert decision.sessao.pendente is Campo.CODIGO
    yes = diz(less, Confirmou(less.revisao))
    assert not any(isinstance(efeito, Emitir) for efeito in yes.efeitos)


def test_a_summary_of_an_older_release_is_shown_with_its_code_before_a_yes_counts():
    """Its draft has none."""
    old = diz(nova(), Abriu(), Informou((DOC, VALOR, lido(Campo.DESCRICAO, "formatei o notebook")))).sessao
    decision = diz(replace(old, servicos=VARIOS), Confirmou(old.revisao))
    assert decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
    assert "Código do serviço: 01.07.01" in resposta(decision).texto


def test_a_company_of_many_codes_is_offered_the_likeliest_with_their_numbers():
    """A list has ten rows; the numbers are those of the whole list."""
    muitos = tuple(Servico(codigo) for codigo in ("010101", "010201", "010301", "010302", "010401", "010501", "010601",
        "010701", "010801", "170101", "080201"))  # fmt: skip
    mensagem = resposta(_feita("consultoria e aula", muitos))
    assert len(mensagem.lista) == 8
    assert {"10. 17.01.01", "11. 08.02.01"} <= {linha.titulo for linha in mensagem.lista}


def test_the_longest_summary_and_the_longest_list_fit_a_message():
    """Whatever else is as long as it can be, the code is shown whole enough and the buttons have room."""
    longo = tuple(Servico(f"{n:02}0101", "ç" * 60) for n in range(1, 12))
    pergunta = resposta(_feita("ç" * 1800, longo))
    assert tamanho(pergunta.texto) <= TEXTO_COM_BOTOES_MAX
    assert all(tamanho(linha.titulo) <= 24 and tamanho(linha.descricao or "") <= 72 for linha in pergunta.lista)
    extras = (lido(Campo.NOME, "Ç" * 300), lido(Campo.EMAIL, f"{'a' * 60}@x.com"), lido(Campo.DATA, "2026-10-31"))
    resumo = resposta(_feita("ç" * 1800, (Servico("071601"),), *extras))
    assert "07.16.01 – Florestamento" in resumo.texto
    assert tamanho(resumo.texto) <= TEXTO_COM_BOTOES_MAX
