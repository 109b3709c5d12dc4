from __future__ import annotations

import pytest

from extractor.contract import Context
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
        ),
    ],
)
async def test_words_that_name_work_are_the_answer(texto: str) -> None:
    """A service that has a word of a request in it is the service that was asked for."""
    dita = await understand(texto, Context(HOJE, Campo.DESCRICAO), TwoReaders(), drafting=True)
    assert [c.campo for c in dita.dados.candidates] == [Campo.DESCRICAO]


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
