"""What a message's amounts and documents mean, over trades that no list names."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from stdnum.br.cnpj import calc_check_digits

from extractor.contract import Context, Extraction
from extractor.two_readers import read_by_both
from proofs.reading.scoring import words
from state_machine.invoice.fields import Campo, Doubt, Motivo
from state_machine.values.money import formata_brl

CORPUS = Path(__file__).parents[1] / "corpus"
FRESH = Context(hoje=date(2026, 11, 27))
KNOWN = {Campo.DOCUMENTO: "11144477735", Campo.VALOR: "300.00", Campo.DESCRICAO: "aula"}
SUMMARY = Context(hoje=date(2026, 11, 27), resumo_mostrado=True, conhecidos=KNOWN)
CPF = "529.982.247-25"

counts = st.integers(2, 30)
prices = st.integers(15, 240).map(lambda tens: tens * 10 + 5 * (tens % 2))
# What is done, and what it is counted in
TRADES = [
    ("drenagem linfática", "sessões", "sessão"),
    ("aula de canto", "aulas", "aula"),
    ("ensaio gestante", "fotos", "foto"),
    ("creche canina", "diárias", "diária"),
    ("passeio de barco", "horas", "hora"),
    ("consultoria online", "meses", "mês"),
    ("faxina pesada", "dias", "dia"),
    ("tradução juramentada", "laudas", "lauda"),
    ("reboque de barraca", "viagens", "viagem"),
    ("revisão de tese", "páginas", "página"),
    ("poda de cerca viva", "visitas", "visita"),
    ("edição de vídeo", "vídeos", "vídeo"),
]


def read(texto: str, contexto: Context = FRESH) -> Extraction:
    return read_by_both(texto, contexto).extraction


def amount(extraction: Extraction) -> str | None:
    return next((c.valor for c in extraction.candidates if c.campo is Campo.VALOR), None)


def doubt(extraction: Extraction, campo: Campo = Campo.VALOR) -> Doubt | None:
    return next((d for d in extraction.doubts if d.campo is campo), None)


def offered(extraction: Extraction) -> tuple[str, ...]:
    """Return every amount that the summary could name."""
    asked, sure = doubt(extraction), amount(extraction)
    return asked.leituras if asked else (sure,) if sure else ()


@settings(max_examples=150)
@given(
    st.sampled_from(TRADES),
    counts,
    prices,
    st.sampled_from(["{v}", "R$ {v},00", "{v} reais", "por {v}", "por R$ {v}", "deu {v}", ", {v}", "total {v}"]),
    st.sampled_from(["{servico} {n} {unidades} {valor} cpf " + CPF, "{n} {unidades} de {servico} {valor} cpf " + CPF]),
)
@example(TRADES[3], 2, 1015, "{v}", "{servico} {n} {unidades} {valor} cpf " + CPF)
def test_one_amount_beside_a_count_is_the_whole(trade, n, v, said, order):
    """Nobody called it the price of one: it is offered, alone, and nothing is multiplied."""
    service, units, _ = trade
    text = order.format(servico=service, n=n, unidades=units, valor=said.format(v=v))
    assert offered(read(text)) == (f"{v}.00",), text


@settings(max_examples=150)
@given(
    st.sampled_from(TRADES),
    counts,
    prices,
    st.sampled_from(["a R$ {v} cada", "R$ {v} por {um}", "{v} reais cada", "x R$ {v}", "{v}/{um}", "R$ {v},00 cada"]),
)
def test_a_price_of_one_is_never_the_whole(trade, n, v, said):
    """Where the words say what one costs, the product is shown with how it was made, and never as certain."""
    service, units, one = trade
    text = f"{service}, {n} {units} {said.format(v=v, um=one)}, cpf {CPF}"
    asked = doubt(read(text))
    assert asked is not None, text
    assert (asked.leituras, asked.conta) == ((f"{n * v}.00",), f"{n} × {formata_brl(Decimal(v))}"), text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("diária de 8 horas R$ 250,00", "250.00"),
        ("3200 em 4x no boleto", "3200.00"),
        ("825 cada, 1650 as duas", "1650.00"),
        ("45 provas, R$ 9,00 por prova", "405.00"),
        ("124,5 ha a R$ 12 o ha", "1494.00"),
        ("saída 170 + 112km x 4,00", None),
        ("montagem de 324 saias 1.036,80", "1036.80"),
        ("nota letreiro neon 90 cm x 40 cm 1630 reais", "1630.00"),
    ],
)
def test_a_number_is_a_count_only_where_one_is_priced(text, said):
    """What cannot be reckoned is asked about, and no price of one, no count and no measure stands for the whole."""
    assert offered(read(f"{text}, cpf {CPF}")) == ((said,) if said else ()), text


def test_a_correction_that_counts_is_of_the_whole():
    """The amount that stood, and the one that was said."""
    assert offered(read("põe 5 aulas 450", SUMMARY)) == ("450.00",)


@settings(max_examples=150)
@given(
    st.sampled_from(TRADES),
    prices,
    st.sampled_from(["-{v}", "-{v},00", "R$ -{v},00", "−{v},00", "-R$ {v}", "{v}-", "R$ {v}-", "({v})", "R$ ({v},00)"]),
    st.sampled_from(["{servico} {valor} cpf " + CPF, "{servico}, valor: {valor}, cpf " + CPF]),
)
def test_an_amount_with_a_sign_is_asked_about(trade, v, signed, order):
    """What may be below zero is no amount, no button, and no part of the service."""
    tens = max(v, 100) if v not in range(2015, 2041) else 1900  # "(2026)" is rather a year
    found = read(order.format(servico=trade[0], valor=signed.format(v=tens)))
    assert doubt(found) is not None
    assert offered(found) == ()
    service = next((c.valor for c in found.candidates if c.campo is Campo.DESCRICAO), "")
    assert str(tens) not in service


# How people call who pays, and words for things that the service may be of
PAYERS = [
    "Transportadora Rota Sul", "Banco do Cerrado", "Contador Rui Prado", "Chave de Ouro Imóveis", "Pix Soluções Ltda",
    "filha Rosane", "esposa Ana", "responsável: Ana Prado", "advogado Rui", "sócio Pedro", "gerente Sueli",
]  # fmt: skip
THINGS = ["cópia de chave", "limpeza do banco do carro", "filmagem da filha", "troca de chave geral", "o meu serviço"]
roots = st.one_of(
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12),
    st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12).filter(lambda r: not r.isdecimal()),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=8, max_size=8).map(lambda r: f"{r}0001"),
)
# One that begins with a label may be a number behind that label
cnpjs = roots.filter(lambda root: not root.startswith(("CPF", "CNPJ"))).map(lambda root: root + calc_check_digits(root))


def document(extraction: Extraction) -> str | None:
    return next((c.valor for c in extraction.candidates if c.campo is Campo.DOCUMENTO), None)


@pytest.mark.parametrize("payer", PAYERS)
@pytest.mark.parametrize("service", ["revisão", *THINGS])
def test_a_lone_document_is_the_customers(payer, service):
    """Trades, kin, things and possessives around it take it away from nobody."""
    assert document(read(f"{service} 300 reais, {payer}, CPF {CPF}")) == "52998224725"
    assert document(read(f"{service} 300 reais cpf {CPF}")) == "52998224725"


@pytest.mark.parametrize(
    "text",
    ["meu cpf {d}", "minha chave pix é {d}", "o pix: {d}", "emitente {d}", "{d} é o meu cpf", "{d} minha chave pix"],
)
def test_words_about_the_document_say_whose_it_is(text):
    """The writer's own, and a key, are no customer's; a second document is."""
    said = text.format(d=CPF)
    assert document(read(f"{said}, aula 300 reais")) is None
    assert document(read(f"{said}, nota pro cnpj 11.222.333/0001-81, aula 300 reais")) == "11222333000181"


def test_a_document_that_is_taken_back_is_replaced():
    """Whoever is named beside the new one."""
    for text in ("não é mais o CNPJ, é o CPF {d}", "não é mais CNPJ, o contrato está no CPF do sócio: {d}"):
        assert document(read(text.format(d=CPF), SUMMARY)) == "52998224725"


@settings(max_examples=200)
@given(cnpjs, st.sampled_from(["{c}", "CNPJ {c}", "CNPJ{c}", "cnpj: {c}"]), st.booleans())
def test_a_cnpj_with_letters_is_read_as_a_numeric_one(cnpj, form, small):
    """Bare, labelled, glued, in small letters, without a digit in its root; with a wrong digit it is never a name."""
    typed = form.format(c=cnpj.lower() if small else cnpj)
    assert document(read(f"nota de R$ 1.500,00 pra {typed}, consultoria")) == cnpj
    wrong = typed[:-1] + str((int(typed[-1]) + 1) % 10)
    found = read(f"nota de R$ 1.500,00 pra {wrong}, consultoria")
    assert document(found) is None
    assert not any(c.campo is Campo.NOME for c in found.candidates)
    if "cnpj" in form.lower():
        assert doubt(found, Campo.DOCUMENTO) is not None


def test_a_wrong_digit_is_named_without_a_label():
    """Letters and digits that alternate are no word and no number of an order."""
    asked = doubt(read("nota de R$ 1.500,00 pra 12ABC34501DE53, consultoria"), Campo.DOCUMENTO)
    assert asked is not None
    assert asked.motivo is Motivo.DIGITO_NAO_BATE
    assert doubt(read("pedido 12ABC34501DE53, consultoria 300 reais, cpf " + CPF), Campo.DOCUMENTO) is None


@settings(max_examples=100)
@given(
    st.sampled_from(TRADES),
    prices.filter(lambda v: v not in range(2015, 2041)),
    st.integers(1, 9).map(lambda tens: tens * 10),
    st.sampled_from(
        [
            "{b} ou {a} reais",
            "R$ {b} ou R$ {a}",
            "{a},00/{b},00",
            "{b} líquido, {a} bruto",
            "bruto {a}, líquido {b}",
            "reteve 3% sobre R$ {a}, caiu na conta R$ {b}",
        ]
    ),
)
def test_of_two_amounts_that_the_message_leaves_open_none_is_certain(trade, v, more, said):
    """Both are offered; of gross and net, and of what was withheld, the invoice's comes first."""
    least, most = f"{v}.00", f"{v + more}.00"
    found = read(f"{trade[0]} {said.format(a=v + more, b=v)}, cpf {CPF}")
    assert amount(found) is None
    assert offered(found) == ((least, most) if " ou " in said else (most, least))


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("Você recebeu um Pix de R$ 1.340,00 de OFICINA X. Saldo: R$ 2.981,55. lavagem", ("1340.00", "2981.55")),
        ("projeto 9.200, faz nota só de metade", ("9200.00", "4600.00")),
        ("safra 26/27 pulverização 26.650,00", ("26650.00",)),
        ("frete em 3x de 200", ("600.00", "200.00")),
        ("uns 800 de consultoria", ()),
        ("nota com 40% agora, o telhado todo é 7.500", ("7500.00", "3000.00")),
        ("mensalidade 700, reajuste de 8%", ("700.00", "756.00")),
        ("fretamento 1.800 e vai descontar 150 da lavagem", ("1800.00", "1650.00")),
        ("treinamento para 14 colaboradores, R$ 190,00 por participante", ()),
        ("nota anterior saiu 5.850, devia ser 6.500, faz a diferença", ("650.00", "6500.00")),
        ("diária quinhentos do sábado e quinhentos do domingo", ("500.00", "1000.00")),
        ("não emite não, ela quer discutir os R$ 3.800,00", ()),
        ("sinal de 500 já pago, restam 1.000, nota do total, bolo", ("1000.00", "1500.00")),
        ("R$ 1.900,00 (cento e noventa reais) troca de telhado", ("1900.00", "190.00")),
        ("R$ 750,00 (setecentos e cinquenta reais) telhado", ("750.00",)),
        ("show 120 + 80 de gorjeta, gorjeta não entra", ("120.00",)),
        ("frete um conto e trezentos", ("1300.00",)),
        ("frete 1 conto e 200", ("1200.00",)),
        ("frete 50 conto", ("50.00",)),
        ("pintura 2.000 com desconto de 200", ("2000.00", "1800.00")),
        ("frete 2 conto e 50", ()),
        ("captação aérea 4K 3 voos 2.100", ("2100.00",)),
    ],
)
def test_a_balance_a_half_a_rest_and_slang(text, readings):
    """A balance is no price; of a half, a rest and unlike words both are shown; "conto" may be a thousand."""
    assert offered(read(f"{text}, cpf {CPF}")) == readings


@pytest.mark.parametrize(
    "text",
    ["não emite por 300, o valor é 500", "não emite ainda, muda pra 500", "pedi nota de 500", "aguarda, o valor é 500"],
)
def test_an_amount_beside_a_refusal_is_never_left_while_another_stands(text: str) -> None:
    """A yes would be to the one that stands: both are offered."""
    known = {**KNOWN, Campo.VALOR: "300.00"}
    found = read(text, Context(hoje=date(2026, 11, 27), resumo_mostrado=True, conhecidos=known))
    assert offered(found) == ("500.00", "300.00")


def dated(extraction: Extraction) -> str | None:
    """Return the day or the month of the service."""
    return next((c.valor for c in extraction.candidates if c.campo in {Campo.DATA, Campo.COMPETENCIA}), None)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("Pix recebido em 02/11/2026 R$ 300,00. faxina", None),
        ("Comprovante de Pix 02/10/2026 - 14:22:10 R$ 300,00. faxina", None),
        ("recebi o pix, faxina feita em 12/11 R$ 300,00", "2026-11-12"),
    ],
)
def test_the_day_of_a_pasted_receipt_is_not_the_services(text: str, when: str | None) -> None:
    assert dated(read(f"{text} cpf {CPF}")) == when


@pytest.mark.parametrize(
    ("said", "when"),
    [
        ("em 1º/11", "2026-11-01"),
        ("em 1º/11/2026", "2026-11-01"),
        ("em 1º.11.2026", "2026-11-01"),
        ("dia primeiro", "2026-11-01"),
        ("em 30-out-2026", "2026-10-30"),
        ("em 30/out/2026", "2026-10-30"),
        ("em 30 de out. de 2026", "2026-10-30"),
        ("em 30 de out", "2026-10-30"),
        ("em 30 out 2026", "2026-10-30"),
        ("em out", "2026-10"),
        ("3/11", "2026-11-03"),
        ("dia 3/8", "2026-08-03"),
        ("de 3 a 7 de novembro", "2026-11"),
        ("dias 3, 5 e 7 de novembro", "2026-11"),
        ("de 22 para 23/11", "2026-11"),
        ("de 21/10/2026 a 20/11/2026", "2026-11"),  # it has ended
        ("de 01.07.2026 - 30.06.2027", None),
        ("de novembro/2026 a outubro/2027", None),
        ("período 10/10", None),
        ("até 10/11/2031", None),
        ("competência 10/2029", None),
    ],
)
def test_a_day_is_one_however_it_is_written_and_a_span_is_none(said: str, when: str | None) -> None:
    """Where it is neither a day nor one month that has come, the note's own day counts, which the summary shows."""
    read_ = read(f"nota de R$ 1.500,00 pro cpf {CPF}, manutenção feita {said}")
    assert (dated(read_), amount(read_)) == (when, "1500.00")


@settings(max_examples=150)
@given(
    st.sampled_from(["troca de registro", "tubo de cobre", "aula de violino, compasso", "motor", "caminhão"]),
    st.sampled_from(["1/2", "3/4", "3/8", "5/8", "1/4", "1/3", "7/8"]),
    prices,
)
def test_a_fraction_of_the_service_dates_nothing(work: str, part: str, price: int) -> None:
    """It stays in the service, and is no amount either."""
    read_ = read(f"nota de R$ {price},00 pro cpf {CPF}, {work} {part}")
    assert (dated(read_), amount(read_)) == (None, f"{price}.00")
    assert any(part in c.valor for c in read_.candidates if c.campo is Campo.DESCRICAO)


@settings(max_examples=150)
@given(st.sampled_from(["fase", "etapa", "nível", "quarto", "módulo"]), st.integers(1, 9), st.integers(100, 950))
def test_digits_that_a_space_parts_are_never_shown_as_one_number_alone(what: str, count: int, price: int) -> None:
    """Phase 2 for 600, or 2,600: the latter is at most the other button."""
    shown = offered(read(f"nota pro cpf {CPF}, pintura {what} {count} {price} reais"))
    assert f"{price}.00" in shown
    assert set(shown) <= {f"{price}.00", f"{count * 1000 + price}.00"}


@settings(max_examples=150)
@given(st.sampled_from(["sessão 3 de 5", "em 1º/11", "encontro 2/6"]), st.integers(100, 950))
def test_a_figure_that_counts_begins_no_thousand(where: str, price: int) -> None:
    assert offered(read(f"nota pro cpf {CPF}, faxina {where} {price} reais")) == (f"{price}.00",)


@settings(max_examples=150)
@given(prices, prices, st.sampled_from(["não foi {a}, foi {b}", "{a} não, {b}", "não é {a}, é {b}", "{b}, não {a}"]))
def test_a_denied_number_is_never_offered(denied: int, price: int, words: str) -> None:
    """Whatever stands beside it, nobody is one tap away from it."""
    if denied != price:
        shown = offered(read(f"nota pro cpf {CPF}, aula de canto, {words.format(a=denied, b=price)}"))
        assert f"{denied}.00" not in shown


@settings(max_examples=60)
@given(st.integers(20, 90), st.integers(3, 11))
def test_what_reached_the_account_is_offered_behind_the_gross_amount(tens: int, part: int) -> None:
    gross = tens * 100
    net = gross - gross * part // 100
    said = f"nota pro cpf {CPF}, aula, caiu na conta {net},00 (reteve {part}% de {gross},00)"
    assert offered(read(said)) == (f"{gross}.00", f"{net}.00")


@pytest.mark.parametrize(
    ("said", "nome", "servico"),
    [
        (f"nota de 210 para {CPF} Caio, aula de canto", "Caio", "aula de canto"),
        (f"nota de 210 para {CPF} Pintura, sala e quarto", None, "Pintura, sala e quarto"),
        (f"nota de 210 reais cpf {CPF} poda de cerca, corte de grama", None, "poda de cerca, corte de grama"),
        (f"nota de 210 reais cpf {CPF} gravação 4K vídeo 2TB", None, "gravação 4K vídeo 2TB"),
        (f"nota de 210 reais cpf {CPF} copeira nos dias 10, 11 e 12", None, "copeira nos dias 10, 11 e 12"),
    ],
)
def test_a_name_behind_the_document_is_no_work_and_work_no_name(said: str, nome: str | None, servico: str) -> None:
    read_ = read(said)
    found = {c.campo: c.valor for c in read_.candidates}
    assert (found.get(Campo.NOME), found.get(Campo.DESCRICAO), amount(read_)) == (nome, servico, "210.00")


# Words of which work has several, by number.
PARTS = ("fase", "etapa", "módulo", "parcela", "setor", "turma", "torre", "lote", "sala", "bloco", "nível")


@settings(max_examples=80)
@given(
    st.sampled_from(TRADES),
    st.sampled_from(PARTS),
    st.integers(1, 12),
    prices.filter(lambda price: not 1900 <= price < 2100),  # a year is asked about
    st.sampled_from(("", "R$ ", " reais")),
)
def test_the_number_of_a_part_of_the_work_belongs_to_its_name(trade, part, number, price, money):
    """In "pintura fase 2 600" the 2 stays with the phase: it is neither dropped nor read into the amount."""
    said = f"{price}{money}" if money.startswith(" ") else f"{money}{price}"
    read_turn = read(f"{trade[0]} {part} {number} {said} pro {CPF}")
    service = next((c.valor for c in read_turn.candidates if c.campo is Campo.DESCRICAO), "")
    assert service.endswith(f"{part} {number}"), service
    assert set(offered(read_turn)) == {f"{price}.00"}


HALVES = ("{} {}, só de metade", "{} {}, emite só metade", "{} ficou {} mas a nota é só de metade", "{}, metade de {}")


@settings(max_examples=60)
@given(st.sampled_from(TRADES), st.sampled_from(HALVES), prices)
@example(TRADES[0], HALVES[-1], 1900)
def test_half_of_an_amount_is_never_certain_and_the_whole_is_offered_first(trade, wording, price):
    """Whatever else is said, both are asked about: what was named, and its half."""
    asked = doubt(read(f"{wording.format(trade[0], price)} pro {CPF}"))
    assert asked is not None
    assert asked.leituras == (f"{price}.00", f"{price / 2:.2f}")


NO_MONTHS = ("13/2026", "00/2026", "14", "31/2026", "99-2026")


@pytest.mark.parametrize("said", NO_MONTHS)
@pytest.mark.parametrize("wording", ["competência {}", "mês de competência {}", "competência é {}"])
def test_a_month_that_no_calendar_has_is_told_and_belongs_to_no_other_field(said, wording):
    """In an order it is asked about; the amount and the service are as without it."""
    for order in ("nota de 600 {} pintura pro " + CPF, "nota de 600 de pintura pro " + CPF + ", {}"):
        turn = read(order.format(wording.format(said)))
        asked = doubt(turn, Campo.COMPETENCIA)
        assert asked is not None
        assert (asked.trecho, asked.detalhe) == (said, "esse mês não existe")
        assert (amount(turn), {c.valor for c in turn.candidates if c.campo is Campo.DESCRICAO}) == (
            "600.00",
            {"pintura"},
        )


def test_a_correction_to_a_month_that_no_calendar_has_is_told():
    turn = read("muda a competência para 13/2026", SUMMARY)
    assert doubt(turn, Campo.COMPETENCIA) is not None
    assert not turn.candidates


@pytest.mark.parametrize(
    "text", ["competência 12/2026", "competência 30/11", "competência 15 horas", "ref. safra 25/26"]
)
def test_a_month_or_a_day_is_no_month_that_does_not_exist(text):
    assert doubt(read(f"nota de 600 de pintura pro {CPF}, {text}"), Campo.COMPETENCIA) is None


def test_orders_of_many_trades_show_no_wrong_amount_alone():
    """120 orders of one who had not seen the reader, mended after their first run: what was measured is the floor."""
    right = dict.fromkeys(("documento", "descricao", "nome"), 0)
    for line in (CORPUS / "trades.jsonl").read_text().splitlines():
        case = json.loads(line)
        turn, others = case["turns"][0], case.get("alt", {}).get("0", {}).get("valor", [])
        found = read(turn["user"], Context(date.fromisoformat(case["today"])))
        expect = turn["expect"]
        assert expect["valor"] in offered(found), turn["user"]
        assert not others or doubt(found), turn["user"]
        got = {c.campo.value: c.valor for c in found.candidates}
        wanted = {
            "documento": expect["documento"],
            "descricao": expect["descricao"]["is"][0],
            "nome": expect.get("nome"),
        }
        for campo, said in wanted.items():
            right[campo] += said is not None and campo in got and words(got[campo]) == words(said)
    assert right == {"documento": 118, "descricao": 97, "nome": 33}
