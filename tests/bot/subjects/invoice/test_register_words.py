"""What people ask of the notes they have: every wording reaches its register, and no order or answer does."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from bot.conversation.inbound import Palavras
from bot.subjects.invoice.acts import asked
from extractor.contract import Context, RequestKind
from extractor.requests.requests import read_request
from extractor.two_readers import TwoReaders
from extractor.utterance import understand

AUTHORS = Path(__file__).parents[3] / "corpus" / "authors"
WORDINGS = {
    RequestKind.TOTAL: """
quanto deu até agora|quanto deu esse mês?|total de novembro|e mês passado?|qual o total desse mês
me fala quanto emiti em outubro|quanto já emiti esse ano|quanto foi o mês passado|soma de outubro
qtas notas emiti esse mês|quantas notas eu fiz em novembro|quanto faturei pro cnpj 12.345.678/0001-95
quanto já fiz pra padaria esse ano|quanto eu ja faturei com a padaria do zé|meu total do ano
quanto tá dando o mês|faturamento de setembro|qual meu faturamento até hoje|quanto somou em agosto
quanto entrou de nota esse mês|valor total das notas de novembro
quanto deu essa semana|quanto saiu de nota semana passada?|me passa o acumulado do ano|já passei de quanto no ano?
fecha o mês pra mim, quanto ficou?|quanto notei|quanto notei em outubro?|como foi meu mês?|como tá o meu ano?
""",
    RequestKind.MINHAS_NOTAS: """
a lista de novembro|lista de notas|me manda a lista das notas|quais notas eu emiti esse mês|notas de outubro
me mostra as notas do mês passado|relação das notas de novembro|quais foram as últimas notas|notas emitidas esse mês
quero ver minhas notas|lista as notas do cnpj 12.345.678/0001-95|todas as notas desse ano
notas da padaria|as notas da padaria do zé
me mostra o que já emiti|o que eu emiti ontem?|que notas tem pro CNPJ 12.345.678/0001-95?|manda as notas da semana
extrato das notas|que notas já saíram esse mês|notas que eu tirei pra padaria|ver notas de 10/2026|histórico de notas
""",
    RequestKind.FECHAMENTO: """
relatório de novembro|fechamento de novembro|manda o relatório do mês pro meu contador|todos os xml do mês
manda isso pra minha contadora|envia isso pro meu contador por favor
""",
    RequestKind.CLIENTES: """
quais clientes|quais clientes eu tenho?|meus clientes|lista de clientes|quantos clientes eu tenho esse ano?
lista dos meus clientes|clientes do ano|quem me pagou mais?|quem mais comprou esse ano?
""",
    RequestKind.MAIOR: """
a maior|qual foi a nota mais cara?|a maior nota do mês|qual a maior nota de outubro?|a maior nota da padaria
""",
    RequestKind.STATUS: """
a nota saiu?|saiu a nota?|já saiu?|e a nota, saiu?|minha nota tá pronta?|ta pronta?|cadê a nota|como ta a nota?
deu certo a nota?|foi emitida?|a nota foi autorizada?|status|e aí, saiu?|a nota 3 saiu?|a prefeitura já autorizou?
a nota ainda tá processando?|qual o andamento da nota
a nota que pedi mais cedo foi?|a nota de hoje cedo foi?
a nota demorou, o que houve?|conseguiu emitir?|emitiu?|qual a situação da nota 12
""",
    RequestKind.SEGUNDA_VIA: """
me manda de novo a nota|manda de novo a 3|reenvia a nota|manda a 3 de novo|quero o pdf da nota 2
manda a nota do cliente 12.345.678/0001-95 de novo|pode mandar a nota outra vez?
não achei o pdf, manda de novo por favor|me envia novamente a última|preciso do xml da 4|perdi a nota, reenvia
baixa a nota 2 de novo pra mim
""",
    RequestKind.EMAIL: """
manda o pdf da 1 pro e-mail ana@cliente.com.br|manda a nota 3 pro email ana@cliente.com.br
envia a 2 para ana@cliente.com.br|manda a última por e-mail|manda a 1 pro email dela
manda pro email do cliente a última nota|encaminha a nota 3 pra ana@cliente.com.br
reenvia a nota 5 por e-mail para o cliente|a nota 2 manda pro e-mail ana@cliente.com.br
""",
}
ALL = [(tipo, texto) for tipo, lines in WORDINGS.items() for texto in lines.strip().replace("\n", "|").split("|")]


@pytest.mark.parametrize(("tipo", "texto"), ALL)
async def test_each_wording_reaches_its_register(tipo: RequestKind, texto: str) -> None:
    """Also where it names a customer's document, a month, a number or an address: it begins no order."""
    dita = await understand(texto, Context(date(2026, 11, 28)), TwoReaders())
    pedido = asked(Palavras(texto, None), dita, None, None)
    assert pedido is not None
    assert pedido.tipo is tipo
    assert (pedido.documento == "12345678000195") is ("cnpj" in texto.lower() or "cliente 1" in texto)
    assert "cnpj" not in pedido.clientes
    numbered = [word for word in texto.split() if word.isdigit()]
    assert ([pedido.numero] if pedido.numero else []) == numbered


def test_a_model_that_knows_only_lists_and_sums_changes_no_question_for_clients() -> None:
    """What it has no name for it calls by the nearest one."""
    for texto, tipo in (("quais clientes eu tenho?", RequestKind.CLIENTES), ("a maior nota", RequestKind.MAIOR)):
        pedido = read_request(texto, named=RequestKind.MINHAS_NOTAS)
        assert pedido is not None
        assert pedido.tipo is tipo


def test_nothing_else_that_people_wrote_is_taken_for_one_whole() -> None:
    """No order, answer, question or goodbye of the authors is made of the registers' words alone."""
    lines = [json.loads(line) for file in AUTHORS.rglob("*.jsonl") for line in file.read_text().splitlines()]
    whole = [line for line in lines if (pedido := read_request(line["texto"])) and pedido.inteiro]
    assert len(whole) > 60
    assert not [line["texto"] for line in whole if line["ato"] != "registro"]


@pytest.mark.parametrize(
    "texto",
    [
        "outubro",
        "nota da padaria",
        "notas pra padaria",
        "clientes",
        "maior de idade",
        "2050",
        "manda de novo a nota de 500 pra padaria",
        "relatório de vendas da loja",
        "quanto custa?",
        "lista de presença do curso",
        "o valor é o deste ano",
        "pode emitir?",
        "tudo certo?",
        "como foi?",
        "quem me pagou?",
        "quem pagou 300 a mais?",
        "manda isso pra minha contadora Ana, 300 reais",
    ],
)
def test_what_says_more_or_less_is_none_of_them(texto: str) -> None:
    """A month alone answers a question; a service, an amount or another word is another matter."""
    pedido = read_request(texto)
    assert pedido is None or not pedido.inteiro
