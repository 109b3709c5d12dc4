"""Finds amounts of money in a turn and marks them with or without a currency.

The words around an amount, as alternatives for the patterns that give it its roles.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

from extractor.text.distractors import LATE_YEARS
from extractor.text.marks import Canvas, Kind, Mark
from extractor.text.numerals import THOUSAND, Number, find

A: Final = r"(?P<a>[VN])"
LABEL_WORDS: Final = r"(?:valor|valores|preco|quantia|importancia|cache|amount|value|price|importe|precio)"
FILLERS: Final = (
    r"(?: (?:total|da|do|de|desta|dessa|deste|desse|nota|servico|trabalho|bruto|final|cobrado|combinado|certo|correto|"
    r"fechado|novo|dela|dele|mensal|que|eh|e|foi|fica|ficou|sera|vai|ser|pra|para|por|em|so|apenas|mesmo|agora|is|of|"
    r"at|to|es|acertado|pago|pode|por|colocar|botar|passa|passou|mudou|muda|ta|esta|para|ele|ela|aqui|deu|anota|ai|dos|"
    r"honorarios|inteiro|exato|atualizado|liquido)){0,12}"
)
HOURS: Final = r"(?:horas?|hrs?|h)"
UNIT_WORD: Final = (
    r"(?:horas?|hrs?|h|km|quilometros?|unidades?|un|metros?|m2|m²|m|pecas?|itens|item|pessoas?|kg|quilos?|litros?)"
)
SESSION_WORD: Final = (
    r"(?:dias?|diarias?|visitas?|aulas?|sess(?:ao|oes)|consultas?|semanas?|mes|meses|pontos?|funcionarios?|alunos?|"
    r"cadeiras?|mesas?|fotos?|videos?|posts?|artigos?|paginas?|laudas?|cabecas?|pares|par|viagens|viagem|turno|plantao|"
    r"plantoes|vez|entrega|entregas|atendimento|atendimentos|procedimento|licenca|usuario|usuarios|maquina|maquinas)"
)
PART_WORDS: Final = (
    r"(?:taxa|iss|issqn|impostos?|retencao|retido|inss|irrf|irf|pis|cofins|multa|juros|deslocamento|gasolina|"
    r"combustivel|pedagio|materia(?:l|is)|pecas?|produtos?|mao de obra|reembolso|entrada|sinal|caucao|gorjeta|"
    r"adiantamento|comissao|frete|estacionamento|alimentacao|hospedagem|passagem|despesas?|custos?|insumos|"
    r"ferramentas?)"
)
OLD_WORDS: Final = (
    r"(?:limite(?: (?:eh|de))?|meta|divida|dev(?:o|endo)|gast(?:ei|amos|ou)|paguei|pagamos|era|eram|seria|seriam|antes|"
    r"tava|estava|inicial|inicialmente|original|orcei|orcado|orcamos|pediu|pedi|pedia|em vez de|ao inves de|inves de|"
    r"no lugar de|tinha (?:dito|falado|colocado|passado|sido|pedido|cobrado)|ia ser|ia cobrar|instead of|not|was|"
    r"anterior|antigo|errado|previsto)"
)
NEW_WORDS: Final = (
    r"(?:fechamos|fechei|fechou|fechado|combinamos|acertamos|negociamos|acordamos|ficou|fica|ficamos|ficara|deixei|"
    r"deixamos|deixa|saiu|baixei|baixamos|subi|subiu|aumentei|agora|passou|passa|mudou|vai ser|sera|virou|cobrei|"
    r"correto|certo|verdade|na real|final|settled|agreed|corrigido)"
)
REPAIR: Final = (
    r"(?:ops|opa|digo|quer dizer|alias|minto|corrigindo|correcao|errei|perdao|desculpa\w*|na verdade|na real|"
    r"pensando bem|melhor dizendo|ou melhor|sorry|actually|i mean|errado|enganei|engano|nao perai|vixe|xi)"
)
CHANGE: Final = (
    r"(?:mud\w+|troc\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|coloc\w+|poe|ponha|por|bot\w+|"
    r"pass\w+|deix\w+|aument\w+|baix\w+|diminu\w+|sub\w+|reduz\w*)"
)
RENEW: Final = r"(?:mud\w+|troc\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|refa[cz]\w*)"
DELTA_WORDS: Final = (
    r"(?:mais|acrescent\w+|acresc\w+|adicion\w+|som\w+|aument\w+|inclu\w+|tir\w+|diminu\w+|"
    r"reduz\w*|menos|subtra\w+|plus|retir\w+)"
)

SAID_BARE: Final = (
    r"(?:^|[,.;!\n] ?)(?:(?:sim|ok|mas|so que|porem|e|na nota|agora|entao|ai|ah|opa|nao) ?,? ){0,12}"
    rf"(?:eh|sao|foi|deu|com|por|de|fica|ficou) (?:de |por |so |apenas )?{A}(?=\W*$)"
)
FRACTION_WORDS: Final = r"(?:metade|dobro|triplo|terca parte|tercos?|quarta parte|fracao|restante|saldo|sobra)"


BRL_BEFORE: Final = re.compile(r"(?:r ?\$|\brs|\bbrl|\breais)[\s.:]{0,9}(-?)\s{0,9}+$")
BRL_AFTER: Final = re.compile(
    r"\s{0,9}+(?:reais|conto|pila|mango|prata|pau|merreis|dinheiros|brl|r\$(?! ?\d))(?![a-z])(?: reais)?"
)
FOREIGN_BEFORE: Final = re.compile(r"(?:\bus ?\$?|\bu\$|\busd|\beur|€|£|\bgbp|(?<![a-z])\$)\s{0,9}+$")
FOREIGN_AFTER: Final = re.compile(
    r"\s{0,9}+(?:mil )?(?:dolar(?:es)?|dolares|usd|us\$|u\$|dollars?|bucks|euros?|eur|€|libras?|gbp|£|pesos?|ienes?|"
    r"guaranis?|francos?|bitcoins?|btc|yuans?)(?![a-z])"
)
CENTS_AFTER: Final = re.compile(r"\s{0,9}+(?:,|e|com)?+\s{0,9}+$")
CENTS_WORD: Final = re.compile(r"\s{0,9}+centavos\b")
IMPLIED_CENTS: Final = re.compile(r"\s{0,9}(?:$|[.;!?\n])")
TAIL: Final = re.compile(r"(?:,-|,--|,00|\.-)(?!\w)")  # "1500,-"
NEGATIVE_BEFORE: Final = re.compile(r"(?:^|[\s:(])-$")
NEGATIVE_AFTER: Final = re.compile(r"\s{0,9}+negativ[oa]s?\b")
# A bookkeeper's minus: "1.500,00-", "(1.500,00)" where a price stands or no other number does. People write dashes and
# brackets otherwise too.
MINUS_BEFORE: Final = re.compile(r"\b(?:de|por)\s{0,9}+-\s{0,9}+$")
MINUS_AFTER: Final = re.compile(r"(?<=\d\d)-(?=[\s,;]|$)")
BRACKET_BEFORE: Final = re.compile(r"(?:\$|\b(?:de|por|valor)|:)\s{0,9}+\(\s{0,9}+$")
BRACKET: Final = re.compile(r"\(\s{0,9}+$")
BRACKET_AFTER: Final = re.compile(r"\s{0,9}+\)")
SPACED: Final = re.compile(r"\d{1,3}(?: \d{3})+")  # without cents: those belong to a price
PRICED: Final = re.compile(
    r"(?:^|\b(?:nota de|valor(?: de)?|total(?: de)?|por|deu|fica|ficou|foi|cobrei|custou)[\s:]{1,3})$"
)
LOOK_BACK: Final = 24  # characters before an amount in which such a sign stands
NOT_AN_AMOUNT: Final = re.compile(r"\s{0,9}+(?:desculpas|perdoes|vezes|gracas|beijos|abracos|coisas|maravilhas)\b")
ARTICLES: Final = frozenset({"um", "uma"})
HUNDRED: Final = 100
SLANG: Final = re.compile(r"conto|pau|mango|prata|pila")
SLANG_MINIMUM: Final = 10
AND: Final = re.compile(r"\s{0,9}e\s{0,9}")
HALF_AFTER: Final = re.compile(r"\s{1,9}+e mei[oa]\b")


def mark_amounts(canvas: Canvas) -> None:
    """Mark every number that is left: ``MONEY`` with a currency or "k", ``FOREIGN``, else ``NUMBER``."""
    numbers = list(find(canvas.masked))
    i = 0
    while i < len(numbers):
        mark, i = _mark(canvas.masked, numbers, i)
        if mark is not None:
            canvas.add(mark)


def _mark(plain: str, numbers: list[Number], i: int) -> tuple[Mark | None, int]:
    number = numbers[i]
    start, end, amount = number.start, number.end, number.value
    brl_before = BRL_BEFORE.search(plain, max(0, start - 8), start)
    foreign_before = None if brl_before else FOREIGN_BEFORE.search(plain, max(0, start - 8), start)
    if brl_before or foreign_before:
        start = (brl_before or foreign_before).start()  # type: ignore[union-attr] # one of the two matched
    tail = TAIL.match(plain, end)
    end = tail.end() if tail else end
    after = BRL_AFTER.match(plain, end)
    foreign_after = FOREIGN_AFTER.match(plain, end)
    money = bool(
        brl_before or after or number.slang or (number.scaled and not number.words and plain[number.end - 1] == "k")
    )
    if _two_readings(plain, number, end, priced=bool(brl_before)):
        amount = None
    cents_word = CENTS_WORD.match(plain, end)
    if cents_word and amount is not None:
        return _only_cents(numbers, i, start, cents_word.end(), amount)
    end = after.end() if after else end
    i += 1
    if amount is not None and amount == amount.to_integral_value() and i < len(numbers):
        cents = _slang_thousands(plain, after, amount, numbers[i])
        cents = cents or _cents(plain, end, numbers[i], implied=bool(after))
        if cents is not None:
            amount, end, money, i = amount + cents[0], cents[1], True, i + 1
    if NOT_AN_AMOUNT.match(plain, end) or (not money and plain[number.start : number.end] in ARTICLES):
        return None, i
    half = HALF_AFTER.match(plain, end)
    if half or (after and amount is not None and amount < SLANG_MINIMUM and SLANG.search(after[0])):
        amount = None  # "um pau e meio", "2 conto": hundreds, thousands, or coins
        end = half.end() if half else end
    negative = bool(
        (brl_before and brl_before[1])
        or NEGATIVE_BEFORE.search(plain, max(0, start - 2), start)
        or NEGATIVE_AFTER.match(plain, end)
    )
    alone = len(numbers) == 1 and not (money or number.words) and amount not in LATE_YEARS
    signed = negative or _may_be_negative(plain, start, end, alone=alone)
    if signed and not negative:
        amount = None
    priced = signed and number.value is not None and number.value >= HUNDRED  # a colder one is of the service: "-18°C"
    kind = Kind.MONEY if money or priced else Kind.NUMBER
    if (foreign_before or foreign_after) and not (brl_before or after):
        kind, end = Kind.FOREIGN, foreign_after.end() if foreign_after else end
    return Mark(kind, start, end, amount=amount, literal=number.literal, words=number.words, negative=negative), i


def _slang_thousands(
    plain: str, slang: re.Match[str] | None, amount: Decimal, rest: Number
) -> tuple[Decimal, int] | None:
    """Read "um conto e trezentos": hundreds behind slang for money make it thousands. What they add, and their end."""
    if slang is None or not SLANG.search(slang[0]) or rest.value is None or amount >= SLANG_MINIMUM:
        return None
    if rest.value not in range(HUNDRED, THOUSAND) or not AND.fullmatch(plain, slang.end(), rest.start):
        return None
    return amount * (THOUSAND - 1) + rest.value, rest.end


def _two_readings(plain: str, number: Number, end: int, *, priced: bool) -> bool:
    """Say whether digits can be read in two ways: "1k7" is 1,700 or a slip, "container 20 780" one number or two."""
    if number.scaled and plain[end : end + 1].isdigit():
        return True
    spaced = not priced and SPACED.fullmatch(plain, number.start, number.end) is not None
    return spaced and not PRICED.search(plain, max(0, number.start - LOOK_BACK), number.start)


def _may_be_negative(plain: str, start: int, end: int, *, alone: bool) -> bool:
    back = max(0, start - LOOK_BACK)
    bracket = BRACKET if alone else BRACKET_BEFORE
    return bool(
        MINUS_AFTER.match(plain, end)
        or MINUS_BEFORE.search(plain, back, start)
        or (BRACKET_AFTER.match(plain, end) and bracket.search(plain, back, start))
    )


def _cents(plain: str, end: int, number: Number, *, implied: bool) -> tuple[Decimal, int] | None:
    """Read "e noventa centavos" after an amount; after "reais", a bare "e 90" at the end of the phrase too."""
    if not CENTS_AFTER.fullmatch(plain, end, number.start) or number.value is None or not 0 < number.value < HUNDRED:
        return None
    word = CENTS_WORD.match(plain, number.end)
    if word:
        return number.value / 100, word.end()
    joined = "e" in plain[end : number.start] or "com" in plain[end : number.start]
    if implied and joined and number.value >= 10 and IMPLIED_CENTS.match(plain, number.end):  # noqa: PLR2004 - "e 5" may be five of something
        return number.value / 100, number.end
    return None


def _only_cents(numbers: list[Number], i: int, start: int, end: int, amount: Decimal) -> tuple[Mark, int]:
    """Read "noventa centavos", and "mil e quinhentos e noventa centavos" as people mean it: 1,500.90."""
    number, cents = numbers[i], amount % HUNDRED
    value = amount / 100 if amount < HUNDRED else amount - cents + cents / 100
    readable = amount < HUNDRED or (number.words and cents > 0)
    return Mark(Kind.MONEY, start, end, amount=value if readable else None, words=number.words), i + 1
