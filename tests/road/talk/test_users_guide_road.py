"""Every phrase that the page for users promises to understand, said on the road where the page says it."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from extractor.contract import Ato, Context
from extractor.two_readers import read_by_both
from state_machine.invoice.fields import Campo
from tests.road.talk.memory_people import ZE, of_new_company

if TYPE_CHECKING:
    from tests.road.road_people import Person, Road

HERE: Final = Path(__file__).resolve().parents[3]
PAGE: Final = HERE / "docs" / "usuarios.md"
ORDER: Final = f"nota de 1.500 pra {ZE}, criação de logotipo e site"
SUMMARY: Final = Context(
    hoje=date(2026, 11, 23),
    resumo_mostrado=True,
    conhecidos={Campo.DOCUMENTO: "12345678000195", Campo.VALOR: "1500.00", Campo.DESCRICAO: "consultoria"},
)

# Said while a summary is shown, one after the other: what the answer has in it.
OVER_A_SUMMARY: Final = {
    "o nome é João da Silva": "como está no cadastro",
    "competência 10/2026": "10/2026",
    "na verdade é 1.800": "R$ 1.800,00",
    "acrescenta na descrição: pedido 4500": "pedido 4500",
    "tira o logotipo da descrição": "site",
    "muda a descrição para: troca de peças, limpeza e regulagem": "troca de peças, limpeza e regulagem",
    "peraí": "espero",
    "já volto": "pressa",
    "deixa eu ver": "espero",
    "tá errado": "cliente",
    "não": "errado",
    "qual meu cnpj?": "ANA DESIGN",
    "status": "não enviei",
    "E mais uma de 200 pro joão": "outra",
}
# Said when nothing is open and a note was issued; ``{n}`` is its number.
AFTER_A_NOTE: Final = {
    "minhas notas": "R$ 1.500,00",
    "manda o pdf da 1 pro e-mail ana@exemplo.com.br": "e-mail",
    "status da nota 1042": "autorizada",
    "segunda via": "Segunda via",
    "segunda via da nota 1042": "Segunda via",
    "manda o xml da 1042": "XML",
    "segunda via da padaria": "Segunda via",
    "relatório de novembro": "novembro de",
    "quanto já emiti em outubro": "outubro",
    "quanto faturei pra padaria esse ano": "R$ 1.500,00 para padaria",
    "total do ano": "R$ 1.500,00",
    "quais clientes": "R$ 1.500,00 · 1 nota",
    "a maior nota": "R$ 1.500,00",
    "notas de setembro": "setembro",
    "quanto falta pro limite do mei": "limite",
    "a nota saiu errada": "Cancelar e refazer",
    "muda o valor da nota 12": "Cancelar e refazer",
    "substitui a nota 12": "Cancelar e refazer",
    "certificado": "certificado",
    "trocar o certificado": "certificado",
    "falar com uma pessoa": "equipe",
    "oi": "Igual à última",
}
# Each asks about the note that was issued last.
CANCELS: Final = {
    "cancelar nota 1042": "motivo",
    "cancelar nota 123": "123",
    "cancela a última nota": "motivo",
    "cancela a nota da padaria": "motivo",
    "cancela a nota de 1.500": "motivo",
    "cancela essa, o evento foi adiado": "motivo",
}
# Each opens an invoice, which is given up before the next.
OPENS: Final = {
    "nota de 1.500 pra 12.345.678/0001-95, consultoria de marketing": "Confere",
    "nota de 200 pra padaria do zé, panfletos": "Achei entre os seus clientes",
    "igual à última": "Igual à nota",
    "Igual à última": "Igual à nota",
    "a mesma, só que 430": "R$ 430,00",
    "faz a de sempre pra padaria": "Igual à nota",
}
GIVES_UP: Final = ("cancela", "não quero mais", "deixa pra lá", "cancela a nota")
YES: Final = ("sim", "pode mandar", "isso", "bora", "fechou", "manda ver")
# What Prosa says, or a word in a sentence about words.
PROSAS: Final = {
    "Guardei: valor R$ 200,00.": "Guardei: ",
    "Achei entre os seus clientes: …": "Achei entre os seus clientes",
    "É esse?": "É esse?",
    "Troquei o cliente: Padaria do Zé → maria": "Troquei o cliente",
    "De sempre: …": "De sempre: ",
    "pra": "",
}
ELSEWHERE: Final = {  # said in a situation that a test of its own makes
    "retoma a nota": "tests/road/talk/test_requests_road.py",
    "o serviço é o 2": "tests/extractor/requests/test_service_answer.py",
    "corrige a nota 12, o valor era 1.800": "tests/bot/subjects/invoice/test_corrected.py",
    "CEP 01310-100, número 1000": "tests/bot/conversation/test_addresses.py",
    "manda o fechamento pro contador": "tests/road/talk/test_mail_to_road.py",
    "para o lote": "tests/road/talk/test_batch_stop_road.py",
    "para o lote 3": "tests/extractor/requests/test_batch_stop_words.py",
}


def phrases(page: str) -> set[str]:
    """The phrases of the page: the first column of the table, and what stands in quotation marks."""
    table = [row for row in re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE) if not row.startswith("você")]
    quoted = re.findall(r'"([^"]+)"', page)
    return {re.sub(r"\s+", " ", phrase) for phrase in (*table, *quoted)}


def test_every_phrase_of_the_page_is_said_somewhere() -> None:
    """Whoever promises a phrase on the page says it in a table here; whoever takes it from the page, too."""
    told = {*OVER_A_SUMMARY, *AFTER_A_NOTE, *CANCELS, *OPENS, *GIVES_UP, *YES, *PROSAS, *ELSEWHERE}
    assert phrases(PAGE.read_text()) == told


def test_what_the_page_makes_prosa_say_is_in_the_catalogue() -> None:
    """The page quotes Prosa's words as they are, and other tests say the phrases that it leaves to them."""
    texts = "".join(file.read_text() for file in (HERE / "state_machine").rglob("*.py"))
    assert [said for said, begin in PROSAS.items() if begin not in texts] == []
    assert [phrase for phrase, test in ELSEWHERE.items() if phrase not in (HERE / test).read_text()] == []


def test_every_yes_and_every_way_to_give_up_is_one() -> None:
    """Over a summary these words alone confirm, and those give it up."""
    read = {words: read_by_both(words, SUMMARY).extraction.ato for words in (*YES, *GIVES_UP)}
    assert read == dict.fromkeys(YES, Ato.CONFIRMA) | dict.fromkeys(GIVES_UP, Ato.RECUSA)


async def _misses(road: Road, person: Person, table: dict[str, str], number: str, *, gives_up: bool) -> list[str]:
    """Say each phrase, with the number of the note that there is; return the answers that lack their word."""
    missed = []
    for phrase, wanted in table.items():
        answers = [await person.say(re.sub(r"\b(?:1042|12)$", number, phrase))]
        if answers[0].attachment is not None:  # another file may follow
            await road.settled()
            every = [bubble for bubble in road.world.meta.bubbles(person.who) if bubble.side == "bot"]
            answers += every[[bubble.id for bubble in every].index(answers[0].id) + 1 :]
            person.read = answers[-1].id
        said = " ".join(
            word
            for answer in answers
            for word in (
                answer.text,
                answer.attachment.filename if answer.attachment else "",
                *(button.title for button in answer.buttons),
            )
        )
        if wanted.lower() not in said.lower():
            missed.append(f"{phrase}: {said}")
        if gives_up:
            await person.say("deixa pra lá")
    return missed


async def test_the_page_keeps_its_promises(road: Road) -> None:
    """Each phrase is answered as the page says, in one conversation over a summary and one after a note."""
    ana = (await of_new_company(road, razao_social="ANA DESIGN ME"))[0]
    await ana.say(ORDER)
    missed = await _misses(road, ana, OVER_A_SUMMARY, "1", gives_up=False)
    for table in (AFTER_A_NOTE, OPENS, CANCELS):
        bia = (await of_new_company(road))[0]  # each has a budget of answers
        await bia.issue(ORDER)
        await road.settled()
        [note] = await road.notes(bia)
        missed += await _misses(road, bia, table, str(note.numero), gives_up=table is OPENS)
    assert not missed, "\n".join(missed)
