"""The table of words around an amount that make it other than the price: counts, parts, rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extractor.amounts.role import SEVERAL, Role, group
from extractor.amounts.words import DELTA_WORDS, FRACTION_WORDS, HOURS, PART_WORDS, SESSION_WORD, UNIT_WORD, A

if TYPE_CHECKING:
    from extractor.amounts.role import Group

# How the words of ``SESSION_WORD`` and ``UNIT_WORD`` begin, and those that stand in their place
COUNTED: Final = (
    "alu art ate aul cab cad con dia eac ent fot fun h hor hr hrs ite kg km lau lic lit m maq mes met pag par pec pes "
    "pla pon pos pre pro qui sem ses tur un uni usu val vez via vid vis"
)
PARTS: Final = (
    "adi ali cau cof com cus des ent est fer fre gas gor hos imp ins irf irr iss jur mao mat mul pas pec ped pis pro "
    "ree ret sin tax"
)  # how ``PART_WORDS`` begin

SHARES: Final[tuple[Group, ...]] = (
    group(
        "",
        (Role.UNIT, rf"{A} ?(?:/|por|a|p/|ao|cada|o|per|an|para cada|pra cada) ?{UNIT_WORD}\b"),
        (Role.UNIT, rf"{A} ?(?:/|por|per|p/|cada|para cada|pra cada) ?(?!mes\b){SESSION_WORD}\b"),
    ),
    group(
        SEVERAL,
        (
            Role.UNIT,
            (
                rf"(?<![VN.] )(?<![\w,.])N(?: (?!de\b|e\b|em\b|para\b|pra\b|por\b|pel[oa]\b|mas\b|com\b|"
                rf"nota\b|notas\b|referente\b|cnpj\b|cpf\b|valor\b|total\b|menos\b|mais\b)\w+){{1,2}}"
                rf"(?:,? a| de| x) (?:R )?{A}(?! ?(?:[cm]m|mt?s?|metros?)\b)"
            ),
        ),
        (Role.UNIT, rf"N ?(?:x|\*|vezes) ?(?:de |a )?{A}"),
        (Role.UNIT, rf"{A} ?(?:x|\*|vezes) ?(?:de )?[NV]"),
        (
            Role.UNIT,
            rf"N (?P<w>[a-z]{{3,}}?)(?:s|es)?\b[^;\nVN]{{0,40}} {A}(?: reais)? ?(?:por|p/|/|a|o|cada) ?(?P=w)\b",
        ),
        (
            Role.UNIT,
            rf"{A}(?: reais)? ?(?:por|p/|/|a|o|cada) ?(?P<w>[a-z]{{3,}})\b[^;\nVN]{{0,40}}\bN (?P=w)(?:s|es)?\b",
        ),
        (Role.APPROXIMATE, rf"\bentre {A} e [VN]"),
        (Role.APPROXIMATE, rf"{A} ?(?:ou|a|ate|~|or) (?:uns )?[VN]"),
        (Role.APPROXIMATE, rf"[VN] (?:de|do|sobre|dos) (?:um |o )?(?:total|valor total|contrato)(?: (?:de|eh))* {A}"),
        (Role.APPROXIMATE, rf"{A} (?:de|do|sobre|dos) (?:um |o )?(?:total|valor total|contrato)(?: (?:de|eh))* [VN]"),
        (Role.APPROXIMATE, rf"{A} ?[/*÷] ?N"),
        (Role.APPROXIMATE, rf"{A} e N(?! [a-z]{{3,}})"),
        (Role.APPROXIMATE, rf"(?<!\w)N e {A}(?! [a-z]{{3,}})"),
    ),
    group(
        "P",
        (
            Role.DISCOUNT,
            (
                rf"{A}[^.;\nVN]{{0,25}}(?<!sem )(?<!ja com )\b(?:P (?:de )?(?:desconto|off)|desconto (?:de )"
                rf"?P|menos P)"
            ),
        ),
        (Role.DISCOUNT, rf"P (?:de )?(?:desconto|off|sobre|em cima|d[eo]s?|da)\b[^.;\nVN]{{0,25}}{A}"),
        (Role.DISCOUNT, rf"{A},? (?:mais|com|\+|menos|-) ?(?:iss |impostos? |juros |multa )?(?:de )?P"),
    ),
    group(
        "U",
        (Role.RATE, rf"U (?:a|x|vezes|na|no|com|\*) ?(?:o )?(?:cotac\w+|cambio|dolar)?(?: (?:de|a|em))* ?{A}"),
    ),
    group(
        COUNTED,
        (Role.UNIT, rf"{A}(?: reais)?,? (?:cada|each|a unidade|unitario|unit|o metro|a hora|por cabeca)\b"),
        (Role.UNIT, rf"(?:N|\d{{1,9}}) ?{SESSION_WORD}\b[^.;\nVN]{{0,60}} {A} (?:a|o|por|cada) {SESSION_WORD}\b"),
        (
            Role.UNIT,
            (
                rf"(?:N|\d{{1,9}}) ?(?:{UNIT_WORD}|{SESSION_WORD}) (?:(?!nota\b)\w+ ){{0,4}}(?:a|de|x|vezes|sendo|cada)"
                rf"(?: cada)? {A}(?= |$|[,.;!\n/])"
            ),
        ),
        (
            Role.UNIT,
            (
                rf"\b(?<![N\d])(?<![N\d] )(?:valor|preco)?[ /]?(?:hora|da hora|por hora|unitario|da diaria|hora aula|"
                rf"da hora aula|km rodado|do metro)(?: (?:eh|e|de|foi)){{0,12}}[\s:]{{0,9}}+{A}"
            ),
        ),
        (
            Role.UNIT,
            rf"(?:N|\d{{1,9}}) ?(?:{HOURS}|{SESSION_WORD})(?: (?:x|vezes)(?: cada)?|,? cada) {A}(?= |$|[,.;!\n/])",
        ),
        (
            Role.UNIT,
            (
                rf"{A} (?:a|por|o|cada) {SESSION_WORD}\b[^.;\n]{{0,200}}\b(?:N|\d{{1,9}}) "
                rf"?(?:{SESSION_WORD}|{UNIT_WORD})\b"
            ),
        ),
        (Role.UNIT, rf"\bcada (?:{SESSION_WORD}|{UNIT_WORD})(?: (?:eh|e|foi|custa|sai|a|por|de))* {A}"),
        (
            Role.UNIT,
            (
                rf"\b{SESSION_WORD}(?: (?:eh|e|a|por|de|custa|sai|foi))* {A}[^\n]{{0,200}}\b(?:foram|sao|fez|fiz|"
                rf"fizemos|vezes) N\b"
            ),
        ),
        (
            Role.UNIT,
            rf"(?<![N\d])(?<![N\d] )\bhora(?: (?:tecnica|aula|extra|homem|trabalhada))?(?: (?:eh|e|a|de|por))*:? {A}",
        ),
    ),
    group(
        "ago ent hoj men par pre sin vez x",
        (
            Role.INSTALMENT,
            (
                r"(?P<a>[VN])? ?(?:N|\d{1,9}) ?(?:x|parcelas?|prestac\w+|vezes)\b(?: (?:iguais|mensais|fixas|"
                r"sem juros))* (?:de|a|por|cada)? ?[VN]"
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
    ),
    group(
        "de div em par",
        (
            Role.INSTALMENT,
            (
                rf"{A},?(?: \w+)? (?:em|parcelad\w+ em|dividid\w+ em|dividido por|de) (?:ate )?(?:N|\d{{1,9}})"
                rf" ?(?:x|parcelas?|vezes|prestac\w+)"
            ),
        ),
    ),
    group(
        "aba des dob fra met off par res sal sob ter tri",
        (Role.APPROXIMATE, rf"\b{FRACTION_WORDS}\b[^,.;\nVN]{{0,30}} {A}"),
        (Role.DISCOUNT, rf"{A} (?:reais )?(?:de|como|com o?|em|para|pra) (?:o )?(?:desconto|abatimento|off)"),
        (
            Role.DISCOUNT,
            (
                rf"\b(?:desconto|abatimento|abat\w+|descont\w+)(?: (?:de|por|foi|eh|em|os|uns|deu)){{0,12}}"
                rf"[\s:]{{0,9}}+{A}"
            ),
        ),
    ),
    group(
        "+ acr adi aum dim for inc mai men plu red ret sem som sub tir",
        (Role.DELTA, rf"\b{DELTA_WORDS} (?:de |em |uns |o valor em |isso |outros |com )?{A}(?! (?:ou menos))"),
        (Role.DELTA, rf"(?:^|[^\w ] ?|\s)\+ ?{A}"),
        (Role.APPROXIMATE, rf"{A} (?:reais )?a (?:menos|mais)\b"),
        (Role.DELTA, rf"{A} ?(?:\+|mais|menos|fora|sem contar) (?:os? |as? |de )?(?:{PART_WORDS}|nota|encargos)\b"),
    ),
    group(
        PARTS,
        (Role.PART, rf"\b{PART_WORDS}(?: (?:de|eh|foi|deu|a|por|em|da|do|o|e|iss)){{0,12}}[\s:]{{0,9}}+{A}"),
        (Role.PART, rf"{A} (?:de|em|do|da|pel[oa]s?|dos|das|para|pra) (?:o |a |os |as )?{PART_WORDS}\b"),
    ),
    group(
        (
            "abo ach ai alg apr aro ate cac cer coi eng fai max men min par per pic pou qua sei ser "
            "tal tan tip tor uma uns vai vol"
        ),
        (
            Role.APPROXIMATE,
            (
                rf"\b(?:uns|umas|cerca de|aproximadamente|mais ou menos|quase|por volta d[eo]s?|em torno de|"
                rf"acho que|acho|talvez|aprox|perto de|around|about|tipo|coisa de|algo como|na faixa d[eo]s?|"
                rf"nao sei se|sera que|maximo|minimo|ate|pelo menos|no maximo|a partir de)\b\.?(?: (?:eh|"
                rf"e|foi|deu|de|por|r|uns|que|o|valor|da|fica|ficou|os)){{0,12}} {A}"
            ),
        ),
        (
            Role.APPROXIMATE,
            (
                rf"{A} (?:e pouco|e poucos|e picos|e tantos?|e alguma coisa|e uns|e cacetada|e la vai|mais ou menos|"
                rf"por ai|aprox\w*|ou perto|ou quase|talvez|se nao me engano|eu acho|acho)\b"
            ),
        ),
    ),
    group(
        "um uma",
        (Role.APPROXIMATE, rf"\b(?:um|uma) e {A}"),
    ),
    group(
        "cam cot dol eur pta rat tax",
        (Role.RATE, rf"\b(?:cotac\w+|cambio|taxa|dolar|euro|ptax|rate)\b[^.;\nVN]{{0,20}}{A}"),
    ),
)
