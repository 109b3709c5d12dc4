from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state_machine.catalogue import messages
from state_machine.invoice.choices import NotaIgual
from state_machine.invoice.draft import Cadastro
from state_machine.invoice.fields import Campo
from state_machine.invoice.session import ESPERAM_USUARIO, EnviarArquivo, Estado, Mensagem, Responder
from state_machine.invoice.summary import resumo, titulo_da_mudanca
from state_machine.machine.events import EVENTOS, Informou
from state_machine.machine.transition import transition
from state_machine.values.text import apara, tamanho
from tests.narrowing import group
from tests.state_machine.made_sessions import (
    AGORA,
    CNPJ,
    MORE,
    OUTRO_CNPJ,
    TUDO,
    completos,
    de_tipo,
    em_processo,
    fits,
    lido,
    no_resumo,
    nomes,
    reads_well,
    resposta,
    sessoes,
    textos,
)

EMOJI = "\N{GRINNING FACE}"  # two UTF-16 units


@pytest.mark.parametrize("tipo", EVENTOS, ids=lambda t: t.__name__)
@settings(max_examples=30 * MORE, deadline=None)
@given(dados=st.data())
def test_whatever_the_machine_says_fits_a_message(tipo, dados):
    """Every answer to every event fits Meta's limits and reads as Portuguese, however long or odd the data."""
    sessao = replace(dados.draw(sessoes()), emitente=dados.draw(nomes.filter(str.strip)))
    for efeito in transition(sessao, dados.draw(de_tipo[tipo]), AGORA).efeitos:
        if isinstance(efeito, Responder):
            fits(efeito.mensagem)
        elif isinstance(efeito, EnviarArquivo):
            assert tamanho(efeito.nome) <= 240
            assert tamanho(efeito.legenda or "") <= 1024
            reads_well(efeito.legenda or "")


def test_the_longest_summary_of_all_still_shows_every_field():
    """Longest name, issuer, amount in words, e-mail and service at once: 1,024 units, and each line is there."""
    longo = "ç" * 2000
    sessao = no_resumo(
        *(lido(Campo.DOCUMENTO, CNPJ), lido(Campo.VALOR, "9999999999.99"), lido(Campo.DESCRICAO, longo)),
        *(
            lido(Campo.EMAIL, f"{'é' * 64}@{'é' * 8}.co"),
            lido(Campo.COMPETENCIA, "2026-10"),
            lido(Campo.DATA, "2026-10-31"),
        ),
        cadastro=Cadastro(CNPJ, "É" * 300, "X" * 99),
    )
    sessao = replace(sessao, emitente=EMOJI * 300, igual=NotaIgual("x", AGORA))
    muda_tudo = [(campo, EMOJI * 300, EMOJI * 299) for campo in (Campo.NOME, Campo.EMAIL, Campo.DESCRICAO)]
    mensagem = resumo(sessao, titulo_da_mudanca(muda_tudo))
    fits(mensagem)
    assert "(texto inteiro guardado, 2000 caracteres)" in mensagem.texto
    for rotulo in ("Cliente", "CNPJ", "Valor", "Serviço", "E-mail", "Competência", "Data do serviço", "Emitente"):
        assert re.search(rf"^{rotulo}: .{{3}}", mensagem.texto, re.MULTILINE), rotulo
    assert len(group(r"(?m)^Serviço: (.*)…", mensagem.texto)) >= 20


@settings(max_examples=30 * MORE, deadline=None)
@given(completos(), st.integers(0, 10**6))
def test_the_summary_shows_what_a_confirmation_issues(rascunho, revisao):
    """Document, amount in figures, issuer and the beginning of name and service are in it, word for word."""
    sessao = replace(no_resumo(), rascunho=rascunho, revisao=revisao)
    mensagem = resumo(sessao)
    linhas = dict(linha.split(": ", 1) for linha in mensagem.texto.split("\n")[2:] if ": " in linha)
    documento = linhas.get("CNPJ") or linhas["CPF"]
    assert re.sub(r"[./-]", "", documento) == rascunho.validado(Campo.DOCUMENTO)
    reais = group(r"\*R\$ ([\d.]+,\d\d)\*", linhas["Valor"])
    assert Decimal(reais.replace(".", "").replace(",", ".")) == rascunho.valor_servico
    assert linhas["Serviço"][:50].rstrip("…") in rascunho.validado(Campo.DESCRICAO)
    assert linhas["Cliente"].startswith((rascunho.tomador_nome or "*sem nome*").split(" ")[0][:20].strip())
    assert linhas["Emitente"] == "ANA DESIGN ME"
    assert [b.id for b in mensagem.botoes] == [
        f"{acao}:{sessao.sessao_id}:{revisao}" for acao in ("confirmar", "corrigir", "cancelar")
    ]


def test_a_summary_reads_as_the_product_promises():
    """The whole text of a plain invoice, as a person would want to check it."""
    assert resumo(no_resumo()).texto == (
        "*Confere?*\n"
        "\n"
        "Cliente: PADARIA DO ZÉ LTDA\n"
        "CNPJ: 12.345.678/0001-95\n"
        "Valor: *R$ 1.500,00*\n"
        "Serviço: consultoria de marketing\n"
        "Emitente: ANA DESIGN ME"
    )


def test_a_client_that_is_not_active_is_pointed_out():
    """What the register says of a closed company stands right below its document."""
    texto = resumo(no_resumo(cadastro=Cadastro(CNPJ, "PADARIA", "BAIXADA"))).texto
    assert "CNPJ: 12.345.678/0001-95\n⚠️ Na Receita este CNPJ consta como *BAIXADA*." in texto


@pytest.mark.parametrize(
    ("dito", "titulo"),
    [
        (lido(Campo.VALOR, "1800"), "*Mudei o valor de R$ 1.500,00 para R$ 1.800,00.*"),
        (lido(Campo.DOCUMENTO, OUTRO_CNPJ), "*Mudei o cliente de 12.345.678/0001-95 para 11.222.333/0001-81.*"),
        (lido(Campo.DESCRICAO, "mentoria"), "*Troquei o serviço para mentoria.*"),
        (lido(Campo.EMAIL, "b@b.com"), "*Mudei o e-mail de a@a.com para b@b.com.*"),
        (lido(Campo.COMPETENCIA, "2026-11"), "*Mudei a competência de 10/2026 para 11/2026.*"),
        (lido(Campo.DATA, "2026-11-02"), "*Mudei a data de 31/10/2026 para 02/11/2026.*"),
    ],
)
def test_a_correction_says_from_what_to_what_as_people_write_it(dito, titulo):
    """Amounts, documents, months and days appear as the user would write them."""
    extras = (lido(Campo.EMAIL, "a@a.com"), lido(Campo.COMPETENCIA, "2026-10"), lido(Campo.DATA, "2026-10-31"))
    decision = transition(no_resumo(*TUDO, *extras), Informou((dito,)), AGORA)
    assert resposta(decision).texto.startswith(f"{titulo}\nConfere?")


@given(textos, st.none() | st.sampled_from(Campo))
def test_a_rejection_fits_however_much_the_city_writes(motivo, campo):
    """Some cities answer with pages; the user gets the beginning and the way on."""
    mensagem = messages.rejeitada(em_processo(), motivo, campo)
    fits(mensagem)
    assert "Nenhuma nota foi emitida" in mensagem.texto


@pytest.mark.parametrize("campo", [None, *Campo])
def test_only_what_a_person_said_is_theirs_to_mend(campo):
    """A refusal that only staff can mend offers no button, says whose it is, and asks for nothing."""
    mensagem = messages.rejeitada(em_processo(), "o certificado não foi aceito", campo)
    assert [botao.titulo for botao in mensagem.botoes] == (["Corrigir nota"] if campo else [])
    assert ("Corrigir nota" in mensagem.texto) == bool(campo)
    assert ("nossa equipe" in mensagem.texto) == ("Não precisa repetir" in mensagem.texto) == (campo is None)


_SESSAO = no_resumo()
_FIXAS = {
    "saudacao": (),
    "ajuda": (),
    "o_que_muda": (_SESSAO,),
    "dados_mudaram": (_SESSAO,),
    "empresa_mudou": (_SESSAO,),
    "canal_mudou": (_SESSAO,),
    "lembrete": (_SESSAO,),
    "ja_existe_igual": (replace(_SESSAO, igual=NotaIgual("x", AGORA)),),
    "cancelada": (_SESSAO,),
    "ja_enviada": (),
    "ja_encerrada": ("emitida",),
    "rejeitada": (_SESSAO, "", None),
    "falhou": (),
    "demorou": (),
    "so_texto": ("audio",),
    "so_texto_em_aberto": ("audio",),
    "desconhecido": (),
    "devagar": (),
    "expirada": (_SESSAO.sessao_id,),
    "em_andamento": (),
    "ja_retomada": (),
    "nada_a_confirmar": (),
    "instrucao_fiscal": ("retencao",),
    "quarentena": (),
    "outra_empresa": (_SESSAO,),
    "sem_empresa": (),
    "sem_direito": (),
    "encaminhada": (_SESSAO,),
    "editou_sem_texto": (),
    "editou": (),
    "editou_tarde": (em_processo(),),
    "apagou_tarde": (em_processo(),),
    "com_o_resumo": (_SESSAO, Mensagem("a" * 900)),
    "numeracao_bloqueada": (),
    "reprocessando": (),
    "ainda_quer": (_SESSAO,),
    "envio_retomado": (),
    "duas_notas": ("1043", ("1042",)),
}


@pytest.mark.parametrize("nome", _FIXAS)
def test_every_sentence_of_the_catalogue_fits(nome):
    """Those that ``transition`` never says itself are held to the same limits."""
    fits(getattr(messages, nome)(*_FIXAS[nome]))


def test_half_of_the_sentences_have_fifteen_words_at_most():
    """Summaries aside, whose lines are the invoice's."""
    said = (getattr(messages, nome)(*args).texto for nome, args in _FIXAS.items())
    assert median(len(texto.split()) for texto in said if "Valor:" not in texto) <= 15


@pytest.mark.parametrize("estado", sorted(set(Estado) - ESPERAM_USUARIO))
def test_who_edits_too_late_is_told_what_became_of_the_invoice(estado):
    """Whatever ended it: an issued one goes on with its earlier text, and another was never issued."""
    mensagem = messages.editou_tarde(replace(em_processo(), estado=estado))
    fits(mensagem)
    assert ("texto de antes" in mensagem.texto) == (estado in {Estado.PROCESSANDO, Estado.APROVADO, Estado.ERRO})
    assert ("_cancela a nota de R$ 1.500,00_" in mensagem.texto) == (estado in {Estado.PROCESSANDO, Estado.APROVADO})


def test_an_equal_invoice_whose_fate_is_open_is_told_as_such():
    """The question says that the other one may still be issued, and what follows from a second one."""
    texto = messages.ja_existe_igual(replace(_SESSAO, igual=NotaIgual("x", AGORA, indecisa=True))).texto
    assert "ainda não teve resposta" in texto
    assert "pode duplicar" in texto


def test_no_sentence_of_the_catalogue_escapes_the_tests():
    """A new message must be added to the list above, or be a caption; ``formas`` makes none of its own."""
    publicas = {
        n for n, f in vars(messages).items() if callable(f) and getattr(f, "__module__", "") == messages.__name__
    }
    assert {n for n in publicas if not n.startswith("_")} - {"autorizada", "formas", "nota_anulada"} == set(_FIXAS)


def test_a_note_that_was_cancelled_for_another_is_named():
    """By its number, where the authority told it."""
    assert "cancelada a nota 7, do mesmo RPS" in messages.nota_anulada("7")
    assert "cancelada outra nota, do mesmo RPS" in messages.nota_anulada("?")


@pytest.mark.parametrize("estado", [e for e in Estado if e not in {Estado.COLETA, Estado.DADOS_INCOMPLETOS}])
def test_the_caption_names_number_amount_and_client(estado):
    """Without a name the document stands for the client."""
    sessao = replace(no_resumo(cadastro=None), estado=estado)
    assert messages.autorizada(sessao, "1042") == "NFS-e 1042 autorizada · R$ 1.500,00 · 12.345.678/0001-95"


@given(textos, st.integers(1, 200))
def test_cutting_keeps_to_utf16_units_and_to_whole_characters(texto, limite):
    """What fits is left as it is but for its spaces; what doesn't ends in "…" and was the beginning."""
    cortado = apara(texto, limite)
    inteiro = " ".join(texto.split())
    assert tamanho(cortado) <= limite
    if tamanho(inteiro) <= limite:
        assert cortado == inteiro
    else:
        assert cortado.endswith("…")
        assert inteiro.startswith(cortado[:-1])
    assert cortado == cortado.encode("utf-16-le").decode("utf-16-le")


def test_emoji_are_counted_as_meta_counts_them():
    """Most emoji are two units; flags and families are many."""
    assert [tamanho(t) for t in ("é", EMOJI, "🇧🇷", "👨‍👩‍👧")] == [1, 2, 4, 8]
    assert apara(EMOJI * 3, 4) == f"{EMOJI}…"
