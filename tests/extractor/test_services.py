"""A service is read whole: what the summary shows has every word that was said of it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from extractor.contract import Ato, Context, Extraction
from extractor.service.whole import AFTER, JOINTS
from extractor.text.folding import read
from extractor.two_readers import TwoReaders, read_by_both
from proofs.reading.evaluate import evaluate
from proofs.reading.scoring import is_whole
from state_machine.invoice.draft import Rascunho, aplicar
from state_machine.invoice.fields import Campo, Candidate
from state_machine.invoice.summary import resumo
from tests.state_machine.made_sessions import nova

SERVICES = Path(__file__).parents[1] / "corpus" / "services"
HOJE = date(2026, 11, 25)
FRESH = Context(HOJE)
DOCUMENT, AMOUNT = "78778932000157", "100.00"
KNOWN = {Campo.DOCUMENTO: DOCUMENT, Campo.VALOR: AMOUNT, Campo.DESCRICAO: "criação de site e desenho do logotipo"}
SUMMARY = Context(HOJE, resumo_mostrado=True, conhecidos=KNOWN)

WORKS = [
    "instalação de 3 câmeras de segurança",
    "cópia de 120 páginas coloridas",
    "laudo NR-12 da prensa hidráulica",
    "troca do quadro de luz e aterramento",
    "consultoria Lei 14.133/2021",
    "manutenção de elevadores; troca de peças; limpeza do poço",
    "conserto de iPhone 13",
    "consultoria ISO 9001",
    "transporte de 15 ton de soja",
    "pintura da sala 302",
    "locação de som 2000W",
    "treinamento NR35 para 12 pessoas",
    "locação de 2 tendas 10x10 e 100 cadeiras",
    "honorários do processo 0001234-56.2026.8.26.0100",
    "desenvolvimento de software conforme pedido 4500187162",
    "impressão 3D de 40 peças",
    "instalação de split 12.000 BTUs",
    "pintura de 85 m² de parede",
    "reforma do banheiro, troca do piso e pintura",
    "aula de violão outubro/2026",
    "plantão de 12h na UTI",
    "revisão de 40.000 km do Corolla 2019",
    "ensaio fotográfico + álbum 20x30",
    "mudança do apto 51 para a Rua das Flores, 120",
    "laudo de SPDA conforme NBR 5419",
    "manutenção preventiva do sistema de combate a incêndio",
    "recarga de 8 extintores ABC 6kg",
    "dedetização do bloco A",
    "atendimento ao cliente",
    "soldagem de portão 3x2,5 m",
]
FORMS = [
    "nota de {valor} pra {doc}, {servico}",
    "nota de {valor} para {doc} {servico}",
    "{servico}, {valor}, {doc}",
    "bom dia! preciso de uma nota de {valor} para o cnpj {doc}, serviço: {servico}",
    "nota de {valor} para {doc} descrição: {servico}",
    "cnpj {doc}\nvalor {valor}\nserviço: {servico}",
    "{doc} - {servico} - {valor}",
    "quero emitir uma nf pra {nome} {doc} de {servico}, valor {valor}",
    "oi, tira uma nota de {servico} pra mim, {valor}, cliente {nome} {doc}, obrigado",
    "fiz {servico}, deu {valor}, o cnpj é {doc}",
    "tomador: {nome}\ncnpj: {doc}\ndescrição do serviço: {servico}\nvalor: {valor}",
    "por favor emita a nota: {servico}. cliente {doc}. valor {valor}",
]
AMOUNTS = ["R$ 850,00", "R$ 1.250,00", "320 reais", "2.400,00", "R$90"]
DOCUMENTS = [DOCUMENT, "78.778.932/0001-57", "11.222.333/0001-81", "111.444.777-35"]
NAMES = ["Padaria Sol Nascente", "João da Silva", "Construtora Horizonte Ltda", "Condomínio Vila Verde"]


def service(extraction: Extraction) -> str | None:
    return next((c.valor for c in extraction.candidates if c.campo is Campo.DESCRICAO), None)


def amount(extraction: Extraction) -> str | None:
    doubtful = any(d.campo is Campo.VALOR for d in extraction.doubts)
    return "?" if doubtful else next((c.valor for c in extraction.candidates if c.campo is Campo.VALOR), None)


def shown(extraction: Extraction) -> str:
    """Return the summary of what was read, customer and amount given where they are missing."""
    given_ones = [Candidate(Campo.DOCUMENTO, DOCUMENT, DOCUMENT), Candidate(Campo.VALOR, AMOUNT, AMOUNT)]
    read_ones = [c for c in extraction.candidates if c.campo is Campo.DESCRICAO]
    return resumo(nova(rascunho=aplicar(Rascunho(), given_ones + read_ones, (), ()))).texto


@settings(max_examples=400)
@given(
    st.sampled_from(WORKS),
    st.sampled_from(FORMS),
    st.sampled_from(AMOUNTS),
    st.sampled_from(DOCUMENTS),
    st.sampled_from(NAMES),
)
@example(WORKS[13], FORMS[0], AMOUNTS[0], DOCUMENTS[0], NAMES[0])
@example(WORKS[5], FORMS[4], AMOUNTS[1], DOCUMENTS[1], NAMES[1])
def test_the_summary_shows_every_word_that_was_said_of_the_service(work, form, price, document, name):
    """Service, form, amount and document in any combination: no content word of the service is missing."""
    order = form.format(servico=work, valor=price, doc=document, nome=name)
    extraction = read_by_both(order, FRESH).extraction
    said = service(extraction)
    assert said is not None
    assert is_whole(work, said, [document])
    assert is_whole(work, shown(extraction))


@settings(max_examples=200)
@given(
    st.sampled_from(WORKS),
    st.sampled_from(FORMS),
    st.sampled_from(AMOUNTS),
    st.sampled_from(DOCUMENTS),
    st.sampled_from(NAMES),
)
def test_no_service_ends_or_begins_with_what_was_cut(work, form, price, document, name):
    """No preposition, article, conjunction or hyphen stands at an end of it."""
    said = service(read_by_both(form.format(servico=work, valor=price, doc=document, nome=name), FRESH).extraction)
    words = re.findall(r"[\w&]+|[-,;+]", read(said or "x").plain)
    assert words[0] not in JOINTS | {"-", ",", ";", "+"}
    assert words[-1] not in (AFTER | {"-", ",", ";", "+"}) - {"a", "cliente"}  # "bloco A", "atendimento ao cliente"


@pytest.mark.parametrize("number", ["NR-12", "NR35", "3 computadores", "Lei 14.133", "ISO 9001", "sala 302", "6 x 2 m"])
@pytest.mark.parametrize("order", ["nota de R$ 850,00 pra {doc}, laudo {n}", "{doc}, laudo {n}, R$ 850,00"])
def test_a_number_of_the_service_is_no_rival_amount(number, order):
    """One price is named: nothing is asked, and the number stays in the service."""
    extraction = read_by_both(order.format(doc=DOCUMENT, n=number), FRESH).extraction
    assert (amount(extraction), is_whole(number, service(extraction) or "")) == ("850.00", True)


@pytest.mark.parametrize(
    ("words", "becomes"),
    [
        ("acrescenta na descrição: pedido 4500187162", "criação de site e desenho do logotipo, pedido 4500187162"),
        ("acrescenta na descrição: com material incluso", "criação de site e desenho do logotipo com material incluso"),
        ("adiciona também placa ABC1D23 na descrição", "criação de site e desenho do logotipo, placa ABC1D23"),
        ("muda a descrição para: troca de peças, limpeza e regulagem", "troca de peças, limpeza e regulagem"),
        ("coloca na descrição: troca de 3 lâmpadas", "troca de 3 lâmpadas"),
        ("a descrição é: aula de inglês; nível 2; turma B", "aula de inglês; nível 2; turma B"),
        ("serviço põe remoção de 3 veículos", "remoção de 3 veículos"),
        ("muda a descrição para: avaliação de valor 1200 m2", "avaliação de valor 1200 m2"),
        ("tira o desenho do logotipo da descrição", "criação de site"),
        ("remove da descrição: criação de site", "desenho do logotipo"),
    ],
)
def test_a_correction_of_the_text_is_obeyed(words, becomes):
    """Added to, replaced or taken out as it was said; its numbers touch no amount."""
    extraction = read_by_both(words, SUMMARY).extraction
    assert (service(extraction), amount(extraction)) == (becomes, None)
    assert extraction.ato is Ato.CORRIGE


@pytest.mark.parametrize(
    ("words", "becomes"),
    [
        ("e são 57 leggings viu", "costura de 57 leggings e 2 bolsas"),
        ("agora eram 3 bolsas, então fica 1200", "costura de 56 leggings e 3 bolsas"),
        ("são 57 peças", None),
        ("são 1200 reais", None),
    ],
)
def test_a_number_of_the_text_is_corrected_by_its_word(words, becomes):
    """Of what the text counts in one place; any other number changes no description."""
    known = KNOWN | {Campo.DESCRICAO: "costura de 56 leggings e 2 bolsas"}
    assert service(read_by_both(words, replace(SUMMARY, conhecidos=known)).extraction) == becomes


@pytest.mark.parametrize("words", ["tira o carro da descrição", "acrescenta 200 na nota"])
def test_what_corrects_no_text_leaves_it(words):
    """Words that are not in it, and an amount, change no description."""
    assert service(read_by_both(words, SUMMARY).extraction) is None


@pytest.mark.parametrize(
    "words",
    [
        "troca a descrição por consultoria ISO 9001 e o valor é 1800",
        "o serviço coloca consultoria ISO 9001, valor 1800",
    ],
)
def test_a_correction_beside_another_field_changes_both(words):
    """The text ends where the amount is named."""
    extraction = read_by_both(words, SUMMARY).extraction
    assert (service(extraction), amount(extraction)) == ("consultoria ISO 9001", "1800.00")


@pytest.mark.parametrize(
    ("asked", "words", "whole"),
    [
        (Campo.DESCRICAO, "manutenção OS 1234", "manutenção OS 1234"),
        (Campo.DESCRICAO, "impressão 3D", "impressão 3D"),
        (Campo.DESCRICAO, "transporte de 15 ton de soja", "transporte de 15 ton de soja"),
        (Campo.DESCRICAO, "desenvolvimento de software PO 4500187162", "desenvolvimento de software PO 4500187162"),
        (Campo.DESCRICAO, "foi a troca de 3 torneiras e 2 sifões, obrigado", "troca de 3 torneiras e 2 sifões"),
        (Campo.DESCRICAO, "suporte técnico\nIRRF R$ 36,50\nPIS R$ 15,82\nCOFINS R$ 73,01", "suporte técnico"),
        (Campo.DOCUMENTO, "11222333000181 sala 302", None),
        (Campo.DOCUMENTO, "é o 11222333000181, pedido 1234", None),
    ],
)
def test_a_number_in_the_answer_to_another_question_touches_no_amount(asked, words, whole):
    """The amount is known: neither a number of the answer nor a withheld tax takes its place or puts it in question."""
    known = {campo: valor for campo, valor in KNOWN.items() if campo is not asked}
    extraction = read_by_both(words, Context(HOJE, pendente=asked, conhecidos=known)).extraction
    assert (service(extraction), amount(extraction), Campo.VALOR in extraction.clear) == (whole, None, False)


def test_withheld_taxes_are_not_the_amount():
    """Of an order that names its price, lines of retention are left out."""
    order = f"nota de R$ 5.000,00 para {DOCUMENT}, consultoria, IRRF R$ 75,00 e ISS R$ 250,00"
    assert amount(read_by_both(order, FRESH).extraction) == "5000.00"


@pytest.mark.parametrize(
    "order",
    [
        "{doc} boas práticas de manipulação RDC 216 770 reais",
        "emitir pra {doc} capina na rua das Acácias, 145 950,00",
        "{doc} container 20 780 reais",
        "pra {doc} curso lei 14 133 900 reais",
    ],
)
def test_digits_that_may_be_of_the_service_make_no_certain_amount(order):
    """Two numbers beside each other are read as one only with a question."""
    assert amount(read_by_both(order.format(doc=DOCUMENT), FRESH).extraction) in {"?", "770.00", "950.00"}


def test_digits_behind_a_currency_are_one_amount():
    """Its sign says where the price begins."""
    assert amount(read_by_both(f"{DOCUMENT} R$ 1 140,00 limpeza de cisterna", FRESH).extraction) == "1140.00"


@pytest.mark.parametrize("alone", ["sala 302", "85 m²", "bom dia!", "Edifício Solar do Parque", "rua das flores, 120"])
def test_a_place_a_measure_a_greeting_or_a_name_alone_is_no_service(alone):
    """What was done is asked for instead."""
    assert service(read_by_both(f"nota de R$ 500,00 pra {DOCUMENT}, {alone}", FRESH).extraction) is None


def test_a_service_that_is_not_read_to_its_end_is_none():
    """Of a text beyond what is read, no part stands for the whole."""
    order = f"nota de R$ 100,00 para {DOCUMENT} serviço: " + "consultoria em gestão de projetos e processos " * 60
    assert service(read_by_both(order, FRESH).extraction) is None


@pytest.mark.parametrize(
    ("order", "service"),
    [
        ("75672008000365 1.690,00 Centro Espírita Luz e Paz reforma de 13 bancos", "reforma de 13 bancos"),
        ("faz uma nota 790,00 som, luz e dj Boate Neon 84414562000171", "som, luz e dj"),
        ("limpeza da fossa na Av. Beira-Mar Odete Sampaio 41119212561 430 reais", "limpeza da fossa na Av. Beira-Mar"),
        (
            "nota R$ 800,00 cnpj 84414562000171 pintura do Edifício Solar do Parque",
            "pintura do Edifício Solar do Parque",
        ),
        ("nf 1680 84414562000171 instalação de chuveiro 7500 W", "instalação de chuveiro 7500 W"),
        ("84414562000171, 560,00, regulagem em 440 Hz", "regulagem em 440 Hz"),
        ("fiz pra dona Neide Barreto a troca do telhado, deu R$ 1.380, cpf 41119212561", "troca do telhado"),
        ("nf 255,00 p/ afiacao de 17 tesouras cnpj 84414562000171", "afiacao de 17 tesouras"),
        (
            "R$ 7.300,00 cnpj do Clube Náutico é 84414562000171: raspagem da Focker, Linha Bonita",
            "raspagem da Focker, Linha Bonita",
        ),
        ("NOTA DE 615 REAIS CNPJ 84414562000171 ROÇAJEM DE TERENO 1200M2", "ROÇAJEM DE TERENO 1200M2"),
        (
            "R$ 20,00\nentrega de 34 caixas em Osasco, Barueri e Cotia\n84414562000171",
            "entrega de 34 caixas em Osasco, Barueri e Cotia",
        ),
        ("nota pro cpf 41119212561 415 reais despachante protocolo 20250088123", "despachante protocolo 20250088123"),
    ],
)
def test_no_name_in_capitals_is_of_the_service_and_no_number_is_lost(order, service):
    """Whoever is named without a word before it is the customer; the price is the number that is written as one."""
    assert (
        next(c for c in read_by_both(order, FRESH).extraction.candidates if c.campo is Campo.DESCRICAO).valor == service
    )


@pytest.mark.parametrize(
    ("order", "service"),
    [
        (
            "vistoria de 3 prédios em Feira da Mata CNPJ 30.189.505/0001-07 R$ 900,00",
            "vistoria de 3 prédios em Feira da Mata",
        ),
        (
            "nota de R$ 2.080,00, reparo do alarme das lojas Cuiabá, Várzea Grande e Sinop, cnpj 30.804.381/0001-22",
            "reparo do alarme das lojas Cuiabá, Várzea Grande e Sinop",
        ),
        ("Cpf 202.511.278-50, Bainha De Vestido De Noiva, 330 Reais", "Bainha De Vestido De Noiva"),
        (
            "Nota De R$ 2.190,00 Cnpj 75.933.276/0014-46 Churrasco Para 60 Convidados Com 2 Garçons",
            "Churrasco Para 60 Convidados Com 2 Garçons",
        ),
        (
            "Nota R$ 1.220,00\nTomador Confecções Linha Fina 72.899.789/0001-75\nLTCAT e PPRA (NR-15) para 22 pessoas",
            "LTCAT e PPRA (NR-15) para 22 pessoas",
        ),
        (
            "3ª MEDIÇÃO DA OBRA ESCOLA SANTA LUZIA, CONTRATO 118/2025\nCNPJ 85.053.555/0001-54\nR$ 12.000,00",
            "3ª MEDIÇÃO DA OBRA ESCOLA SANTA LUZIA, CONTRATO 118/2025",
        ),
    ],
)
def test_capitals_that_name_nobody_are_of_the_service(order, service):
    """A place behind "em" or in a list, a message with a capital at each word, acronyms: no customer's name."""
    assert (
        next(c for c in read_by_both(order, FRESH).extraction.candidates if c.campo is Campo.DESCRICAO).valor == service
    )


BESIDE = [
    ("2 plantões no set a 950, ipê filmes 84414562000171", "2 plantões no set"),
    ("foi 640 fechado, ipê filmes 84414562000171, live de quinta em libras", "live de quinta em libras"),
    ("lua nova eventos 84.414.562/0001-71 palco acessível, 6h de libras 3.000", "palco acessível, 6h de libras"),
    ("poda da cerca viva e do gramado, seu gilmar antunes 111.444.777-35, R$ 280", "poda da cerca viva e do gramado"),
    ("pintura da sala, textura 84.414.562/0001-71 900", "pintura da sala, textura"),
    ("consultoria, horas extras 84.414.562/0001-71 900", "consultoria, horas extras"),
    ("NAVEMAR CNPJ 84.414.562/0001-71 ESTUFAGEM 1 CONTAINER 40 780", "ESTUFAGEM 1 CONTAINER 40 780"),
]


def test_a_name_beside_the_document_is_no_service_and_a_count_cuts_none():
    """A name in small letters between a field and a document; a lone 1, which is no price. Else lists stay whole."""
    for order, whole in BESIDE:
        assert service(read_by_both(order, FRESH).extraction) == whole, order


@pytest.mark.parametrize(
    ("part", "whole", "asked"),
    [
        ("s01", 298, 21),
        ("s02", 297, 22),
        ("s03", 298, 20),
        ("s04", 299, 25),
        ("s05", 292, 27),
        ("s06", 297, 20),
        ("s07", 291, 26),
        ("s08", 297, 22),
    ],
)
async def test_orders_of_authors_who_saw_no_code(part, whole, asked):
    """What was measured is the floor; no amount is certain and wrong. First runs: tests/corpus/README.md."""
    report = await evaluate(SERVICES / f"{part}.jsonl", TwoReaders())
    assert report.correct["descricao"] >= whole
    assert report.total["valor"] - report.correct["valor"] <= asked
    assert not [case for case in report.critical_wrong if "documento" not in case]
