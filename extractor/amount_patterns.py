"""Which words around an amount give it which role; a table of patterns over skeletons, applied elsewhere."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from extractor.amount_words import (
    CHANGE,
    DELTA_WORDS,
    FILLERS,
    FRACTION_WORDS,
    HOURS,
    LABEL_WORDS,
    NEW_WORDS,
    OLD_WORDS,
    PART_WORDS,
    RENEW,
    REPAIR,
    SAID_BARE,
    SESSION_WORD,
    UNIT_WORD,
    A,
)
from extractor.text import EMOJI


class Role(Enum):
    """What the words around an amount say about it; an amount may play several."""

    LABELLED = auto()  # "valor 500"
    TOTAL = auto()
    NEW = auto()  # "fechamos por 900", "na verdade 900"
    STRONG = auto()  # a bare number where people put a price: "cobra 350", "2300 manutenção"
    OLD = auto()  # "era 1000"
    NEGATED = auto()  # "não é 1500"
    QUANTITY = auto()  # "3 visitas"
    STRAY = auto()  # "corte 50 barba 30": a count would be followed by a plural
    PLURAL = auto()  # "500 panfletos": a price or a count
    UNIT = auto()  # "a 120 a hora", "3 visitas de 200"
    INSTALMENT = auto()
    DISCOUNT = auto()
    DELTA = auto()  # "mais 200"
    PART = auto()  # "300 de material"
    APPROXIMATE = auto()
    RATE = auto()  # "cotação 5,40"
    EITHER = auto()  # "1500 não 1050": which one is denied?
    SAID = auto()  # "é 1.700", "muda tudo: …, 600": a new price is announced though it stands bare


ROLES: Final[tuple[tuple[Role, re.Pattern[str]], ...]] = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        (Role.LABELLED, rf"\b{LABEL_WORDS}{FILLERS}[\s:=,>-]*{A}"),
        (Role.LABELLED, rf"{A} (?:eh|e|foi) (?:o )?(?:valor|preco)\b"),
        (Role.LABELLED, rf"\b(?:nota|notas|recibo) (?:fiscal )?(?:no valor |com valor )?(?:de |for |por ){A}"),
        (
            Role.TOTAL,
            (
                rf"\b(?:total|totaliza|totalizando|totalizou|ao todo|no todo|tudo)\b(?: (?:geral|final|"
                rf"da|do|de|nota|servico|eh|e|foi|deu|da|ficou|fica|em|por|junto|fechado|isso|is|of|vai|"
                rf"ser|dar|sera|tudo))*[\s:=,-]*{A}"
            ),
        ),
        (Role.TOTAL, rf"{A},? (?:no|de|em|ao|o) (?:total|todo)\b"),
        (Role.TOTAL, rf"{A},? (?:tudo|total|ao todo|por tudo|o pacote|fechado)\b(?! [VN])"),
        (Role.TOTAL, rf"[VN][^=\n]{{1,40}}= ?{A}"),
        (
            Role.TOTAL,
            (
                rf"U\W+(?:que |o que |isso )?(?:deu|da|dao|deram|equivale\w*(?: a)?|ou seja|convertid\w+(?: (?:da|"
                rf"deu|em|fica))?|em reais(?: (?:da|deu|fica|ficou))?|fica|ficou|que eh|recebi)[\s,:]*(?:em )"
                rf"?{A}"
            ),
        ),
        (
            Role.NEW,
            (
                rf"\b{NEW_WORDS}(?: (?:o|a|valor|preco|em|por|eh|e|pra|para|de|sendo|ele|ela|com|at|mesmo|"
                rf"so|ficou|fica|foi|agora|vai|ser))*[\s:,]*{A}"
            ),
        ),
        (
            Role.NEW,
            (
                rf"\b{CHANGE}\b(?: (?:o|a|ai|la|isso|ele|valor|preco|total|da nota|do servico|dele|dela)"
                rf")*(?: de [VN])? (?:para|pra|pro|por|em|como|to) {A}"
            ),
        ),
        (Role.NEW, rf"\bde [VN] (?:para|pra|pro|por) {A}"),
        (Role.NEW, rf"\b(?:certo|correto) (?:seria|era|e pra ser|eh)(?: (?:de|por))? {A}"),
        (Role.NEW, rf"\b(?:era|eh|devia|deveria|tem que|tinha que)(?: (?:pra|para))? ser(?: de)? {A}"),
        (
            Role.NEW,
            (
                rf"\b(?:coloc\w+|poe|bot[ae]|deix[ae]|cobr[ae]|faz(?: por)?|arredond\w+(?: (?:pra|para)"
                rf")?)(?: (?:ai|so|por))? {A}(?! {PART_WORDS})"
            ),
        ),
        (Role.NEW, rf"{A},? (?:na verdade|eh o (?:certo|correto|valor certo))\b"),
        (Role.NEW, rf"\bnao (?:eh |era |foi |sao )(?:os |de )?[VN],? (?:eh|e sim|sim|mas|foi|sao)(?: sim)? {A}"),
        (Role.NEW, rf"\bnao, ?(?:eh|sao|foi|ficou|fica|deu)(?: (?:o valor de|por|de|em))? {A}"),
        (Role.NEW, rf"\b{REPAIR}\b[^VN]{{0,30}}{A}"),
        (Role.NEW, rf"\bnao (?:eh |e |era |foi )?[VN],? nao,?(?: (?:eh|e|sao))? {A}"),
        (Role.OLD, rf"\b{OLD_WORDS}(?: (?:o|a|valor|preco|de|por|em|ser|pra|para|eh|e|os|uns|r))*[\s:]*{A}"),
        (Role.OLD, rf"\bde {A} (?:para|pra|pro|por) [VN]"),
        (Role.OLD, rf"{A} (?:era|estava|tava|ta|esta) (?:o )?(?:errad|antig|anterior|valor antigo|antes)\w*"),
        (
            Role.NEGATED,
            (
                rf"\b(?:nao|nem|nunca|not|isnt)(?: (?:eh|e|era|foi|sao|is|mais|fica|ficou|deu|seja))?(?: (?:so|"
                rf"mais|pra ser))?(?: (?:o valor|de|do valor de|os|pra|por|coloca|cobra))? {A}"
            ),
        ),
        (Role.NEGATED, rf"{A},? nao(?= *(?:[,.;!\n]|$|eh\b|e\b|foi\b|mas\b|sao\b))"),
        (Role.NEGATED, rf"{A},? (?:que )?nao (?:entra|conta|soma|inclui|faz parte|eh (?:d[ao] nota|pra nota))\b"),
        (Role.SAID, SAID_BARE),
        (Role.SAID, rf"^\W*nao, {A}(?=\W*$)"),
        (Role.SAID, rf"\b{RENEW}\b[^\n]*[,:;\n]\s*{A}(?=\s*(?:[,;.!\n]|$))"),
        (Role.SAID, rf"{A},? (?:eu )?(?:errei|me enganei|digitei errado|desculpa\w*|corrigindo|foi mal)\W*$"),
        (Role.APPROXIMATE, rf"\b{FRACTION_WORDS}\b[^,.;\nVN]{{0,30}} {A}"),
        (Role.EITHER, rf"{A} nao (?:eh )?[VN]"),
        (Role.EITHER, rf"(?<!\w)(?<!nao )(?<!eh )[VN] nao (?:eh )?{A}"),
        (Role.UNIT, rf"{A} ?(?:/|por|a|p/|ao|cada|o|per|an|para cada|pra cada) ?{UNIT_WORD}\b"),
        (Role.UNIT, rf"{A} ?(?:/|por|per|p/|cada|para cada|pra cada) ?(?!mes\b){SESSION_WORD}\b"),
        (Role.UNIT, rf"{A}(?: reais)?,? (?:cada|each|a unidade|unitario|unit|o metro|a hora|por cabeca)\b"),
        (Role.UNIT, rf"(?:N|\d+) ?{SESSION_WORD}\b[^.;\nVN]{{0,25}} {A} (?:a|o|por|cada) {SESSION_WORD}\b"),
        (
            Role.UNIT,
            (
                rf"(?:N|\d+) ?(?:{UNIT_WORD}|{SESSION_WORD}) (?:\w+ ){{0,4}}(?:a|de|x|vezes|sendo|cada)"
                rf"(?: cada)? {A}(?= |$|[,.;!\n/])"
            ),
        ),
        (
            Role.UNIT,
            (
                rf"(?<![VN,.] )(?<![\w,.])N(?: (?!de\b|e\b|em\b|para\b|pra\b|por\b|pel[oa]\b|mas\b|com\b|"
                rf"nota\b|notas\b|referente\b|cnpj\b|cpf\b|valor\b|total\b)\w+){{1,2}} (?:de|a) (?:R )"
                rf"?{A}"
            ),
        ),
        (
            Role.UNIT,
            (
                rf"\b(?:valor|preco)?[ /]?(?:hora|da hora|por hora|unitario|da diaria|hora aula|da hora aula|"
                rf"km rodado|do metro)(?: (?:eh|e|de|foi))*[\s:]*{A}"
            ),
        ),
        (Role.UNIT, rf"(?:N|\d+) ?(?:{HOURS}|{SESSION_WORD})(?: (?:por|x|vezes)|,)? (?:cada )?{A}(?= |$|[,.;!\n/])"),
        (Role.UNIT, rf"N ?(?:x|\*|vezes) ?(?:de |a )?{A}"),
        (Role.UNIT, rf"{A} ?(?:x|\*|vezes) ?(?:de )?[NV]"),
        (
            Role.INSTALMENT,
            (
                r"(?P<a>[VN])? ?(?:N|\d+) ?(?:x|parcelas?|prestac\w+|vezes)\b(?: (?:iguais|mensais|fixas|"
                r"sem juros))* (?:de|a|por|cada)? ?[VN]"
            ),
        ),
        (
            Role.INSTALMENT,
            (
                rf"{A},?(?: \w+)? (?:em|parcelad\w+ em|dividid\w+ em|dividido por|de) (?:ate )?(?:N|\d+)"
                rf" ?(?:x|parcelas?|vezes|prestac\w+)"
            ),
        ),
        (Role.INSTALMENT, rf"\b(?:parcelas?|prestac\w+|parcelad\w+|mensalidades)\b[^.;\nVN]{{0,20}} {A}"),
        (
            Role.INSTALMENT,
            (
                rf"{A}(?: \w+){{0,2}},? (?:parcelad\w+|a parcela|por parcela|cada parcela|de entrada|de sinal|"
                rf"na entrada|agora e|hoje e)"
            ),
        ),
        (Role.INSTALMENT, rf"\b(?:entrada|sinal)(?: (?:de|eh|foi))? {A}"),
        (Role.DISCOUNT, rf"{A} (?:reais )?(?:de|como|com o?|em|para|pra) (?:o )?(?:desconto|abatimento|off)"),
        (Role.DISCOUNT, rf"\b(?:desconto|abatimento|abat\w+|descont\w+)(?: (?:de|por|foi|eh|em|os|uns|deu))*[\s:]*{A}"),
        (
            Role.DISCOUNT,
            (
                rf"{A}[^.;\nVN]{{0,25}}(?<!sem )(?<!ja com )\b(?:P (?:de )?(?:desconto|off)|desconto (?:de )"
                rf"?P|menos P)"
            ),
        ),
        (Role.DISCOUNT, rf"P (?:de )?(?:desconto|off|sobre|em cima|d[eo]s?|da)\b[^.;\nVN]{{0,25}}{A}"),
        (Role.DISCOUNT, rf"{A},? (?:mais|com|\+|menos|-) ?(?:iss |impostos? |juros |multa )?(?:de )?P"),
        (Role.DELTA, rf"\b{DELTA_WORDS} (?:de |em |uns |o valor em |isso |outros |com )?{A}(?! (?:ou menos))"),
        (Role.DELTA, rf"(?:^|[^\w ] ?|\s)\+ ?{A}"),
        (Role.APPROXIMATE, rf"{A} (?:reais )?a (?:menos|mais)\b"),
        (Role.PART, rf"\b{PART_WORDS}(?: (?:de|eh|foi|deu|a|por|em|da|do|o|e|iss))*[\s:]*{A}"),
        (Role.PART, rf"{A} (?:de|em|do|da|pel[oa]s?|dos|das|para|pra) (?:o |a |os |as )?{PART_WORDS}\b"),
        (
            Role.APPROXIMATE,
            (
                rf"\b(?:uns|umas|cerca de|aproximadamente|mais ou menos|quase|por volta d[eo]s?|em torno de|"
                rf"acho que|acho|talvez|aprox|perto de|around|about|tipo|coisa de|algo como|na faixa d[eo]s?|"
                rf"nao sei se|sera que|maximo|minimo|ate|pelo menos|no maximo|a partir de)\b\.?(?: (?:eh|"
                rf"e|foi|deu|de|por|r|uns|que|o|valor|da|fica|ficou|os))* {A}"
            ),
        ),
        (Role.APPROXIMATE, rf"\bentre {A} e [VN]"),
        (
            Role.APPROXIMATE,
            (
                rf"{A} (?:e pouco|e poucos|e picos|e tantos?|e alguma coisa|e uns|e cacetada|e la vai|mais ou menos|"
                rf"por ai|aprox\w*|ou perto|ou quase|talvez|se nao me engano|eu acho|acho)\b"
            ),
        ),
        (Role.APPROXIMATE, rf"{A} ?(?:ou|a|ate|~|or) (?:uns )?[VN]"),
        (Role.UNIT, rf"{A} (?:a|por|o|cada) {SESSION_WORD}\b[^.;\n]*\b(?:N|\d+) ?(?:{SESSION_WORD}|{UNIT_WORD})\b"),
        (Role.UNIT, rf"\bcada (?:{SESSION_WORD}|{UNIT_WORD})(?: (?:eh|e|foi|custa|sai|a|por|de))* {A}"),
        (
            Role.UNIT,
            (
                rf"\b{SESSION_WORD}(?: (?:eh|e|a|por|de|custa|sai|foi))* {A}[^\n]*\b(?:foram|sao|fez|fiz|"
                rf"fizemos|vezes) N\b"
            ),
        ),
        (Role.UNIT, rf"\bhora(?: (?:tecnica|aula|extra|homem|trabalhada))?(?: (?:eh|e|a|de|por))*:? {A}"),
        (Role.DELTA, rf"{A} ?(?:\+|mais|menos|fora|sem contar) (?:os? |as? |de )?(?:{PART_WORDS}|nota|encargos)\b"),
        (Role.APPROXIMATE, rf"[VN] (?:de|do|sobre|dos) (?:um |o )?(?:total|valor total|contrato)(?: (?:de|eh))* {A}"),
        (Role.APPROXIMATE, rf"{A} (?:de|do|sobre|dos) (?:um |o )?(?:total|valor total|contrato)(?: (?:de|eh))* [VN]"),
        (Role.APPROXIMATE, rf"{A} ?[/*÷] ?N"),
        (Role.APPROXIMATE, rf"{A} e N(?! [a-z]{{3,}})"),
        (Role.APPROXIMATE, rf"(?<!\w)N e {A}(?! [a-z]{{3,}})"),
        (Role.APPROXIMATE, rf"\b(?:um|uma) e {A}"),  # "um e duzentos": 1,200 for most, not for all
        (Role.RATE, rf"\b(?:cotac\w+|cambio|taxa|dolar|euro|ptax|rate)\b[^.;\nVN]{{0,20}}{A}"),
        (Role.RATE, rf"U (?:a|x|vezes|na|no|com|\*) ?(?:o )?(?:cotac\w+|cambio|dolar)?(?: (?:de|a|em))* ?{A}"),
        (
            Role.STRONG,
            (
                rf"\b(?:por|deu|sao|foram|foi|cobr\w+|cust\w+|ficou|fica|eh|fech\w+|pag\w+|receb\w+|vale|"
                rf"fatur\w+|lanc\w+|emit\w+|saiu|sai|for|charg\w+|combin\w+|cobro|de|e|acert\w+|no|fiz|"
                rf"faz|faca|gera|gere|manda|mande|poe|coloca|bota|anota|nota|notas|is|it's)\s+(?:r )?{A}"
            ),
        ),
        (Role.STRONG, rf"(?:^|[,.;:\n|(=>{EMOJI}]|D|B|E|T|M|F|\s[-/])\s*{A}"),
        (
            Role.STRONG,
            (
                rf"{A}\s*(?:$|[,;\n|)!?{EMOJI}]|\.(?!\d)|-\s|\s(?:de|da|do|das|dos|pel[oa]s?|por|para|pra|pro|"
                rf"referente|no|na|a|o|cnpj|cpf|e|mas|for|to|D))"
            ),
        ),
        (
            Role.STRONG,
            (
                rf"{A}\s+(?:[a-z]{{3,}}(?:cao|mento|gem|ria|ia|ura|ise|ico|eto|ete|ete|ula|rso|ign|ing|"
                rf"aria|or|al|ento|ado))\b"
            ),
        ),
    )
)
