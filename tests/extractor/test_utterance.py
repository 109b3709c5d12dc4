from __future__ import annotations

import pytest

from extractor.contract import Ato, Context
from extractor.requests import cancellation
from extractor.two_readers import TwoReaders
from extractor.utterance import understand
from state_machine.invoice.fields import Campo
from tests.extractor.conftest import COMPLETE, HOJE

REQUESTS = (
    *("minhas notas", "notas de outubro", "minhas notas de outubro", "ver notas", "relação de notas", "histórico"),
    *("meus clientes", "lista de clientes", "quais são meus clientes", "a última nota", "quanto eu já emiti?"),
    *("manda a nota 3 de novo", "me manda o xml", "xml da nota 12", "segunda via", "manda por email", "status"),
    *("cadê minha nota?", "quero cancelar a nota 3", "repete a última", "a mesma de sempre", "retoma", "parar"),
    *("quanto falta pro limite?", "falar com uma pessoa", "atendente", "ajuda", "menu", "como funciona"),
    *("quem é você", "qual meu cnpj?", "o que é competência?"),
)
ASKED = (Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO, Campo.NOME, Campo.CODIGO, Campo.EMAIL)


@pytest.mark.parametrize("texto", REQUESTS)
@pytest.mark.parametrize("pendente", ASKED)
async def test_a_request_is_no_answer(pendente: Campo, texto: str) -> None:
    """Whatever field was just asked for, a request is read as it is where nothing was asked."""
    known = {campo: valor for campo, valor in COMPLETE.items() if campo is not pendente}
    reader = TwoReaders()
    alone = await understand(texto, Context(HOJE, conhecidos=known), reader)
    dita = await understand(texto, Context(HOJE, pendente, conhecidos=known), reader, drafting=True)
    assert (dita.dados, dita.ato) == (alone.dados, alone.ato)
    assert not {c.campo for c in dita.dados.candidates} & {Campo.DESCRICAO, Campo.NOME}


@pytest.mark.parametrize(
    "texto",
    [
        *(
            "ajudante geral",
            "treinamento de atendente",
            "mão de obra",
            "suporte",
            "aula de repetição",
            "lista telefônica",
        ),
        *(
            "histórico escolar",
            "aulas para meus clientes",
            "atendimento a clientes",
            "menu degustação",
            "como fotógrafo",
            "declaração de IRPF",
        ),
    ],
)
async def test_words_that_name_work_are_the_answer(texto: str) -> None:
    """A service that has a word of a request in it is the service that was asked for."""
    dita = await understand(texto, Context(HOJE, Campo.DESCRICAO), TwoReaders(), drafting=True)
    assert ([c.campo for c in dita.dados.candidates], dita.ato is Ato.FORA) == ([Campo.DESCRICAO], False)


@pytest.mark.parametrize("unit", ["\n1 ", "R$ 1 ", "1/1 ", "mil e ", "5 aulas "])
async def test_of_a_sheet_full_of_numbers_nothing_is_read(unit: str) -> None:
    """Nobody could say which number is the invoice's; a hundred and fifty of them are still read."""
    order = "nota de 1.500 pra 12.345.678/0001-95, consultoria"
    dita = await understand(f"{order}\n{unit * 250}", Context(HOJE), TwoReaders())
    assert not dita.dados.candidates
    assert not dita.dados.doubts
    assert (dita.pedido, dita.instrucao, dita.partes, dita.outra) == (None, None, (), None)
    few = await understand(f"{order}\n{'item 1 ' * 150}", Context(HOJE), TwoReaders())
    assert Campo.DOCUMENTO in {c.campo for c in few.dados.candidates}


ABOUT = (
    *("antes me diz, qto tempo tenho pra cancelar se errar", "até quando dá pra cancelar", "tem prazo pra cancelar"),
    *("como faço pra cancelar", "me explica como cancela", "cancelar tem custo", "cancelar a nota paga multa"),
    *("a prosa cancela nota", "o que acontece se eu cancelar", "e se eu quiser cancelar depois", "como desisto"),
    *("e se o cliente desistir", "dá pra desistir depois", "posso desistir depois de emitida"),
    *("uma dúvida: depois de emitir ainda consigo cancelar", "qual o prazo pra corrigir", "corrigir paga multa"),
    *(
        "dá pra corrigir o valor depois",
        "se eu mudar paga multa",
        "qto tempo demora pra emitir",
        "emitir demora muito tempo",
    ),
)
ORDERED = (
    *("cancela", "cancela isso", "pode cancelar", "quero cancelar", "quero desistir", "cancela, quanto antes melhor"),
    *("cancela ela, quanto tempo demora pra emitir outra", "cancela e me diz como emitir outra"),
    *("desisto, nem sei quanto era", "cancela se ele não pagar", "deixa pra lá, depois vejo quanto foi"),
)


@pytest.mark.parametrize("shown", [False, True])
async def test_a_question_about_an_act_is_not_the_act(shown: bool) -> None:
    """Who asks about giving up, cancelling, correcting or issuing does none of it, with or without a mark."""
    open_one = {Campo.DOCUMENTO: COMPLETE[Campo.DOCUMENTO], Campo.DESCRICAO: COMPLETE[Campo.DESCRICAO]}
    contexto = Context(HOJE, None if shown else Campo.VALOR, shown, COMPLETE if shown else open_one)
    for texto in ABOUT:
        dita = await understand(texto, contexto, TwoReaders(), drafting=True)
        assert (dita.ato, dita.dados.ato, dita.dados.informs) == (Ato.PERGUNTA, Ato.PERGUNTA, False), texto
        assert cancellation.request(texto) is None, texto
    for texto in ORDERED:
        dita = await understand(texto, contexto, TwoReaders(), drafting=True)
        assert (dita.ato, dita.dados.ato) == (Ato.RECUSA, Ato.RECUSA), texto


@pytest.mark.parametrize(
    ("texto", "taken_back"),
    [
        *((said, True) for said in ("sem retenção", "tira o ISS retido", "não vai reter o ISS", "o cliente não retém")),
        *(
            (said, False)
            for said in ("sem retenção de INSS", "não esquece a retenção", "com ISS retido", "sem desconto")
        ),
    ],
)
async def test_a_retained_iss_is_taken_back_in_words(texto: str, taken_back: bool) -> None:
    """What stands becomes a no, and nothing else of the invoice is touched."""
    known = COMPLETE | {Campo.RETIDO: "sim"}
    dados = (await understand(texto, Context(HOJE, resumo_mostrado=True, conhecidos=known), TwoReaders())).dados
    said = [(each.campo, each.valor) for each in dados.candidates]
    assert (said == [(Campo.RETIDO, "não")]) == taken_back
    assert not (taken_back and dados.clear)


async def test_who_asks_whom_they_talk_to_asks() -> None:
    """The second reader hears a greeting."""
    assert (await understand("você é robô?", Context(HOJE), TwoReaders())).ato is Ato.PERGUNTA


async def test_a_no_to_the_question_about_a_retained_iss_takes_it_back() -> None:
    """Elsewhere a no is a no."""
    asked, other = (Context(HOJE, campo, conhecidos=COMPLETE) for campo in (Campo.RETIDO, Campo.EMAIL))
    [said] = (await understand("não", asked, TwoReaders())).dados.candidates
    assert (said.campo, said.valor) == (Campo.RETIDO, "não")
    assert (await understand("não", other, TwoReaders())).dados.candidates == ()


@pytest.mark.parametrize(
    "texto", ["não vai reter o ISS", "tira o ISS retido", "o tomador não retém o ISS", "sem retenção de ISS"]
)
async def test_words_that_deny_it_retain_no_iss(texto: str) -> None:
    """Alone, and beside an order's data."""
    for said in (texto, f"nota de 1500 pra 12.345.678/0001-95, consultoria, {texto}"):
        dita = await understand(said, Context(HOJE, retem=True), TwoReaders())
        read = {c.campo: c.valor for c in dita.dados.candidates}
        assert Campo.RETIDO not in read
        assert read.get(Campo.DESCRICAO, "consultoria") == "consultoria"


async def test_who_takes_a_retained_iss_back_says_no_yes() -> None:
    """The summary changes first."""
    known = COMPLETE | {Campo.RETIDO: "sim"}
    shown = Context(HOJE, resumo_mostrado=True, conhecidos=known)
    dita = await understand("sem retenção do ISS, pode emitir", shown, TwoReaders())
    assert (dita.ato, dita.dados.agreed) == (Ato.CORRIGE, None)
