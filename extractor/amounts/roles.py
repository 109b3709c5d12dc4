"""Gives every amount of a turn the roles that the words around it name.

The roles that an amount can play in a turn, and groups of patterns that give them.

The table of words around an amount that call it the price, or say that it was one.

The table of words around an amount that make it other than the price: counts, parts, rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Final

from extractor.amounts.find import (
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
from extractor.text.folding import EMOJI
from extractor.text.marks import Kind, Mark, Skeleton
from extractor.words.lists import words

SEVERAL: Final = "2"  # a cue for every turn with more than one amount


class Role(StrEnum):  # strings hash in C; roles are looked up in sets all the time
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


@dataclass(frozen=True, slots=True)
class Group:
    """Patterns, in no order, none of which fits a turn without one of ``cues``; with no cue, they are always tried.

    A cue is how a word begins (see ``extractor.text.folding``), the letter of a mark, a "+", or ``SEVERAL``.
    """

    cues: frozenset[str]
    patterns: tuple[tuple[Role, re.Pattern[str]], ...]


def group(cues: str, *patterns: tuple[Role, str]) -> Group:
    """Compile a group; ``cues`` are separated by spaces."""
    return Group(frozenset(cues.split()), tuple((role, re.compile(pattern)) for role, pattern in patterns))


OUTCOMES: Final[tuple[Group, ...]] = (
    group(
        "",
        (
            Role.STRONG,
            (
                rf"\b(?:por|deu|sao|foram|foi|cobr\w+|cust\w+|ficou|fica|eh|fech\w+|pag\w+|receb\w+|vale|"
                rf"fatur\w+|lanc\w+|emit\w+|saiu|sai|for|charg\w+|combin\w+|cobro|de|e|acert\w+|no|fiz|"
                rf"faz|faca|gera|gere|manda|mande|poe|coloca|bota|anota|nota|notas|is|it's)\s+(?:r )?{A}"
            ),
        ),
        (Role.STRONG, rf"(?:^|[,.;:\n|(=>{EMOJI}]|D|B|E|T|M|F|\s[-/])\s{{0,9}}+{A}"),
        (
            Role.STRONG,
            (
                rf"{A}\s{{0,9}}(?:$|[,;\n|)!?{EMOJI}]|\.(?!\d)|-\s|\s(?:de|da|do|das|dos|pel[oa]s?|por|para|pra|pro|"
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
        (Role.SAID, SAID_BARE),
    ),
    group(
        SEVERAL,
        (Role.TOTAL, rf"[VN][^=\n]{{1,40}}= ?{A}"),
        (Role.NEW, rf"\bde [VN] (?:para|pra|pro|por) {A}"),
        (Role.OLD, rf"\bde {A} (?:para|pra|pro|por) [VN]"),
    ),
    group(
        "U",
        (
            Role.TOTAL,
            (
                rf"U\W+(?:que |o que |isso )?(?:deu|da|dao|deram|equivale\w*(?: a)?|ou seja|convertid\w+(?: (?:da|"
                rf"deu|em|fica))?|em reais(?: (?:da|deu|fica|ficou))?|fica|ficou|que eh|recebi)[\s,:]*(?:em )"
                rf"?{A}"
            ),
        ),
    ),
    group(
        "amo cac imp pre pri qua val",
        (Role.LABELLED, rf"\b{LABEL_WORDS}{FILLERS}[\s:=,>-]{{0,9}}+{A}"),
        (Role.LABELLED, rf"{A} (?:eh|e|foi) (?:o )?(?:valor|preco)\b"),
    ),
    group(
        "not rec",
        (Role.LABELLED, rf"\b(?:nota|notas|recibo) (?:fiscal )?(?:no valor |com valor )?(?:de |for |por ){A}"),
    ),
    group(
        "fec pac tod tot tud",
        (
            Role.TOTAL,
            (
                rf"\b(?:total|totaliza|totalizando|totalizou|ao todo|no todo|tudo)\b(?: (?:geral|final|"
                rf"da|do|de|nota|servico|eh|e|foi|deu|da|ficou|fica|em|por|junto|fechado|isso|is|of|vai|"
                rf"ser|dar|sera|tudo)){{0,12}}[\s:=,-]{{0,9}}+{A}"
            ),
        ),
        (Role.TOTAL, rf"{A},? (?:no|de|em|ao|o) (?:total|todo)\b"),
        (Role.TOTAL, rf"{A},? (?:tudo|total|ao todo|por tudo|o pacote|fechado)\b(?! [VN])"),
    ),
    group(
        "ace aco ago agr aum bai cer cob com cor dei fec fic fin mud neg pas rea sai ser set sub ver vir",
        (
            Role.NEW,
            (
                rf"\b{NEW_WORDS}(?: (?:o|a|valor|preco|em|por|eh|e|pra|para|de|sendo|ele|ela|com|at|mesmo|"
                rf"so|ficou|fica|foi|agora|vai|ser)){{0,12}}[\s:,]{{0,9}}+{A}"
            ),
        ),
    ),
    group(
        "alt arr atu aum bai bot cob col cor dei dim faz mud pas poe pon por red ref sub tro",
        (
            Role.NEW,
            (
                rf"\b{CHANGE}\b(?: (?:o|a|ai|la|isso|ele|valor|preco|total|da nota|do servico|dele|dela)"
                rf")*(?: de [VN])? (?:para|pra|pro|por|em|como|to) {A}"
            ),
        ),
        (
            Role.NEW,
            (
                rf"\b(?:coloc\w+|poe|bot[ae]|deix[ae]|cobr[ae]|faz(?: por)?|arredond\w+(?: (?:pra|para)"
                rf")?)(?: (?:ai|so|por))? {A}(?! {PART_WORDS})"
            ),
        ),
        (Role.SAID, rf"\b{RENEW}\b[^\n]{{0,200}}[,:;\n]\s{{0,9}}+{A}(?=\s{{0,9}}(?:[,;.!\n]|$))"),
    ),
    group(
        "ant cer cor des dig eng err mal ser ver",
        (Role.NEW, rf"\b(?:certo|correto) (?:seria|era|e pra ser|eh)(?: (?:de|por))? {A}"),
        (Role.NEW, rf"\b(?:era|eh|devia|deveria|tem que|tinha que)(?: (?:pra|para))? ser(?: de)? {A}"),
        (Role.NEW, rf"{A},? (?:na verdade|eh o (?:certo|correto|valor certo))\b"),
        (Role.OLD, rf"{A} (?:era|estava|tava|ta|esta) (?:o )?(?:errad|antig|anterior|valor antigo|antes)\w*"),
        (Role.SAID, rf"{A},? (?:eu )?(?:errei|me enganei|digitei errado|desculpa\w*|corrigindo|foi mal)\W*$"),
    ),
    group(
        "act ali cor des dig diz eng err mea mel min opa ops pen per rea sor ver vix xi",
        (Role.NEW, rf"\b{REPAIR}\b[^VN]{{0,30}}{A}"),
    ),
    group(
        "ant dev div era err est gas ia ini ins inv lim lug met not orc ori pag ped pre ser tav tin vez was",
        (
            Role.OLD,
            rf"\b{OLD_WORDS}(?: (?:o|a|valor|preco|de|por|em|ser|pra|para|eh|e|os|uns|r)){{0,12}}[\s:]{{0,9}}+{A}",
        ),
    ),
    group(
        "nao",
        (Role.NEW, rf"\bnao (?:eh |era |foi |sao )(?:os |de )?[VN],? (?:eh|e sim|sim|mas|foi|sao)(?: sim)? {A}"),
        (Role.NEW, rf"\bnao, ?(?:eh|sao|foi|ficou|fica|deu)(?: (?:o valor de|por|de|em))? {A}"),
        (Role.NEW, rf"\bnao (?:eh |e |era |foi )?[VN],? nao,?(?: (?:eh|e|sao))? {A}"),
        (Role.NEGATED, rf"{A},? nao(?= *(?:[,.;!\n]|$|eh\b|e\b|foi\b|mas\b|sao\b))"),
        (Role.NEGATED, rf"{A},? (?:que )?nao (?:entra|conta|soma|inclui|faz parte|eh (?:d[ao] nota|pra nota))\b"),
        (Role.SAID, rf"^\W*nao, {A}(?=\W*$)"),
        (Role.EITHER, rf"{A} nao (?:eh )?[VN]"),
        (Role.EITHER, rf"(?<!\w)(?<!nao )(?<!eh )[VN] nao (?:eh )?{A}"),
    ),
    group(
        "isn nao nem not nun",
        (
            Role.NEGATED,
            (
                rf"\b(?:nao|nem|nunca|not|isnt)(?: (?:eh|e|era|foi|sao|is|mais|fica|ficou|deu|seja))?(?: (?:so|"
                rf"mais|pra ser))?(?: (?:o valor|de|do valor de|os|pra|por|coloca|cobra))? {A}"
            ),
        ),
    ),
)


# How the words of ``SESSION_WORD`` and ``UNIT_WORD`` begin, and those that stand in their place
COUNTED_PARTS: Final = (
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
        f"{COUNTED_PARTS} kd",
        (Role.UNIT, rf"{A}(?: reais)?,? (?:cada|kd|each|a unidade|unitario|unit|o metro|a hora|por cabeca)\b"),
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


GROUPS: Final = OUTCOMES + SHARES
# Words that may follow a price; any other word after a bare number is what is being counted.
AFTER_PRICE: Final = words("after_price")
COUNTABLE_LIMIT: Final = 100  # "3 visitas", "20 cadeiras"; from here on a number before a singular noun is a price
COUNTED: Final = re.compile(
    rf"(?:{UNIT_WORD}|{SESSION_WORD}|mega|gigas?|graus|panfletos|cartoes|folhetos|convites|"
    rf"camisetas|salgad\w+|docinhos|doces|"
    r"copias|impressoes|folhas|adesivos|brindes|convidados|participantes|anos|minutos|segundos|caixas|pacotes|lentes|"
    r"watts|volts|litros|toneladas|sacos|sacas|hectares|seguidores|palavras|caracteres|views|cliques|leads|amperes|"
    r"btus|parcelas|vezes|x|prestac\w+|notas|nota|nfs)\b"
)
SINGULAR_SESSION: Final = re.compile(r"(?:diaria|visita|aula|sessao|consulta|foto|video|licenca|procedimento)")
SMALLEST_PRICE: Final = 10
FOLLOWING: Final = re.compile(r"\s{1,9}+([a-z]+)")
SINGULAR_IN_S: Final = words("singular_in_s")


def roles_of(skeleton: Skeleton) -> dict[Mark, set[Role]]:
    """Return every amount of the turn with the roles it plays."""
    line = skeleton.line
    roles: dict[Mark, set[Role]] = {m: set() for m in skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER}}
    if not roles:
        return roles
    for mark, role in _named(skeleton, _cues(skeleton, several=len(roles) > 1)):
        if mark in roles:
            roles[mark].add(role)
    for mark, played in roles.items():
        if mark.kind is Kind.NUMBER and not played & {Role.LABELLED, Role.TOTAL}:
            pos = skeleton.position(mark)
            counted = _counted(line, pos, mark)
            if counted is not None:
                played.add(counted)
            if counted is Role.QUANTITY and line[pos + 1 : pos + 2] == " ":
                played.discard(Role.UNIT)  # "festa de 15 anos": what is counted has no price of its own
    return roles


def _cues(skeleton: Skeleton, *, several: bool) -> set[str]:
    """Return everything in the turn that a group of patterns may ask for: words, the letters of marks, a sign."""
    said = {*skeleton.stems, *(m.kind for m in skeleton.marks)}
    if several:
        said.add(SEVERAL)
    if "+" in skeleton.line:
        said.add("+")
    return said


def _named(skeleton: Skeleton, said: set[str]) -> Iterator[tuple[Mark, Role]]:
    """Yield the amounts that a pattern speaks of: its group "a", or, where that is empty, the amount it ends in."""
    line, where = skeleton.line, skeleton.where
    for each in GROUPS:
        if each.cues and each.cues.isdisjoint(said):
            continue
        for role, pattern in each.patterns:
            match = pattern.search(line)
            while match:
                mark = where.get(match.start("a") if match["a"] is not None else match.end() - 1)
                if mark is not None:
                    yield mark, role
                match = pattern.search(line, match.start() + 1)


def _priced(mark: Mark, word: str) -> bool:
    """Say whether "400 aula" is a price: a count of hundreds would stand before a plural."""
    return SINGULAR_SESSION.fullmatch(word) is not None and mark.amount is not None and mark.amount >= COUNTABLE_LIMIT


def _counted(line: str, pos: int, mark: Mark) -> Role | None:
    """Tell a count from a price by the word that follows a bare number."""
    counted = COUNTED.match(line, pos + 1 + (line[pos + 1 : pos + 2] == " "))
    if line[pos + 1 : pos + 2] == "x" or (counted and not _priced(mark, counted[0])):
        return Role.QUANTITY
    match = FOLLOWING.match(line, pos + 1)
    if match is None or match[1] in AFTER_PRICE or mark.amount is None:
        return None
    if mark.amount != mark.amount.to_integral_value():
        return None
    plural = match[1].endswith("s") and match[1] not in SINGULAR_IN_S and len(match[1]) > 3  # noqa: PLR2004 - "pos", "mes"
    if mark.amount < COUNTABLE_LIMIT:
        return Role.QUANTITY if plural or mark.amount < SMALLEST_PRICE else Role.STRAY
    return Role.PLURAL if plural else None
