"""The part each amount plays in a sentence: total, old price, unit price, discount…; patterns over a skeleton, no arithmetic."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from extractor.marks import Kind

if TYPE_CHECKING:
    from extractor.marks import Mark, Skeleton


class Role(Enum):
    """What the words around an amount say about it; an amount may play several."""

    LABELLED = auto()  # "valor 500"
    TOTAL = auto()
    NEW = auto()  # "fechamos por 900", "na verdade 900"
    STRONG = auto()  # a bare number where people put a price: "cobra 350", "2300 manutenção"
    OLD = auto()  # "era 1000"
    NEGATED = auto()  # "não é 1500"
    QUANTITY = auto()  # "3 visitas"
    PLURAL = auto()  # "500 panfletos": a price or a count
    UNIT = auto()  # "a 120 a hora", "3 visitas de 200"
    INSTALMENT = auto()
    DISCOUNT = auto()
    DELTA = auto()  # "mais 200"
    PART = auto()  # "300 de material"
    APPROXIMATE = auto()
    RATE = auto()  # "cotação 5,40"
    EITHER = auto()  # "1500 não 1050": which one is denied?


A: Final = r"(?P<a>[VN])"
LABEL_WORDS: Final = r"(?:valor|valores|preco|quantia|importancia|cache|amount|value|price|importe|precio)"
FILLERS: Final = (
    r"(?: (?:total|da|do|de|desta|dessa|deste|desse|nota|servico|trabalho|bruto|final|cobrado|combinado|certo|correto|"
    r"fechado|novo|dela|dele|mensal|que|eh|e|foi|fica|ficou|sera|vai|ser|pra|para|por|em|so|apenas|mesmo|agora|is|of|"
    r"at|to|es|acertado|pago|pode|por|colocar|botar|passa|passou|mudou|muda|ta|esta|para|ele|ela|aqui|deu|anota|ai|dos|"
    r"honorarios|inteiro|exato|atualizado|liquido))*"
)
UNIT_WORD: Final = (
    r"(?:horas?|hrs?|h|km|quilometros?|unidades?|un|metros?|m2|m²|m|pecas?|itens|item|pessoas?|kg|quilos?|litros?)"
)
SESSION_WORD: Final = (
    r"(?:dias?|diarias?|visitas?|aulas?|sess(?:ao|oes)|consultas?|semanas?|mes|meses|pontos?|funcionarios?|alunos?|"
    r"cadeiras?|mesas?|fotos?|videos?|posts?|artigos?|paginas?|laudas?|cabecas?|pares|par|viagens|viagem|turno|plantao|plantoes|"
    r"vez|entrega|entregas|atendimento|atendimentos|procedimento|licenca|usuario|usuarios|maquina|maquinas)"
)
PART_WORDS: Final = (
    r"(?:taxa|iss|issqn|impostos?|retencao|retido|inss|irrf|irf|pis|cofins|multa|juros|deslocamento|gasolina|combustivel|"
    r"pedagio|materia(?:l|is)|pecas?|produtos?|mao de obra|reembolso|entrada|sinal|caucao|gorjeta|adiantamento|comissao|"
    r"frete|estacionamento|alimentacao|hospedagem|passagem|despesas?|custos?|insumos|ferramentas?)"
)
OLD_WORDS: Final = (
    r"(?:era|eram|seria|seriam|antes|tava|estava|inicial|inicialmente|original|orcei|orcado|orcamos|pediu|pedi|pedia|"
    r"em vez de|ao inves de|inves de|no lugar de|tinha (?:dito|falado|colocado|passado|sido|pedido|cobrado)|ia ser|ia cobrar|"
    r"instead of|not|was|anterior|antigo|errado|previsto)"
)
NEW_WORDS: Final = (
    r"(?:fechamos|fechei|fechou|fechado|combinamos|acertamos|negociamos|acordamos|ficou|fica|ficamos|ficara|deixei|deixamos|"
    r"deixa|saiu|baixei|baixamos|subi|subiu|aumentei|agora|passou|passa|mudou|vai ser|sera|virou|cobrei|correto|certo|"
    r"verdade|na real|final|settled|agreed|corrigido)"
)
REPAIR: Final = (
    r"(?:ops|opa|digo|quer dizer|alias|minto|corrigindo|correcao|errei|perdao|desculpa\w*|na verdade|na real|pensando bem|"
    r"melhor dizendo|ou melhor|sorry|actually|i mean|errado|enganei|engano|nao perai|vixe|xi)"
)
CHANGE: Final = r"(?:mud\w+|troc\w+|alter\w+|corrig\w+|corrij\w+|atualiz\w+|coloc\w+|poe|ponha|por|bot\w+|pass\w+|deix\w+|aument\w+|baix\w+|diminu\w+|sub\w+|reduz\w*)"
DELTA_WORDS: Final = r"(?:mais|acrescent\w+|acresc\w+|adicion\w+|som\w+|aument\w+|inclu\w+|tir\w+|diminu\w+|reduz\w*|menos|subtra\w+|plus|retir\w+)"

ROLES: Final[tuple[tuple[Role, re.Pattern[str]], ...]] = tuple(
    (role, re.compile(pattern))
    for role, pattern in (
        (Role.LABELLED, rf"\b{LABEL_WORDS}{FILLERS}[\s:=,>-]*{A}"),
        (Role.LABELLED, rf"{A} (?:eh|e|foi) (?:o )?(?:valor|preco)\b"),
        (Role.LABELLED, rf"\b(?:nota|notas|recibo) (?:fiscal )?(?:no valor |com valor )?(?:de |for |por ){A}"),
        (Role.TOTAL, rf"\b(?:total|totaliza|totalizando|totalizou|ao todo|no todo|tudo)\b(?: (?:geral|final|da|do|de|nota|servico|eh|e|foi|deu|da|ficou|fica|em|por|junto|fechado|isso|is|of|vai|ser|dar|sera|tudo))*[\s:=,-]*{A}"),
        (Role.TOTAL, rf"{A},? (?:no|de|em|ao|o) (?:total|todo)\b"),
        (Role.TOTAL, rf"{A},? (?:tudo|total|ao todo|por tudo|o pacote|fechado)\b(?! [VN])"),
        (Role.TOTAL, rf"[VN][^=\n]{{1,40}}= ?{A}"),
        (Role.NEW, rf"\b{NEW_WORDS}(?: (?:o|a|valor|preco|em|por|eh|e|pra|para|de|sendo|ele|ela|com|at|mesmo|so|ficou|fica|foi|agora|vai|ser))*[\s:,]*{A}"),
        (Role.NEW, rf"\b{CHANGE}\b(?: (?:o|a|ai|la|isso|ele|valor|preco|total|da nota|do servico|dele|dela))*(?: de [VN])? (?:para|pra|pro|por|em|como|to) {A}"),
        (Role.NEW, rf"\bde [VN] (?:para|pra|pro|por) {A}"),
        (Role.NEW, rf"\b{REPAIR}\b[^VN]{{0,30}}{A}"),
        (Role.NEW, rf"\bnao (?:eh |e |era |foi )?[VN],? nao,?(?: (?:eh|e|sao))? {A}"),
        (Role.OLD, rf"\b{OLD_WORDS}(?: (?:o|a|valor|preco|de|por|em|ser|pra|para|eh|e|os|uns|r))*[\s:]*{A}"),
        (Role.OLD, rf"\bde {A} (?:para|pra|pro|por) [VN]"),
        (Role.OLD, rf"{A} (?:era|estava|tava|ta|esta) (?:o )?(?:errad|antig|anterior|valor antigo|antes)\w*"),
        (Role.NEGATED, rf"\b(?:nao|nem|nunca|not|isnt|no)(?: (?:eh|e|era|foi|sao|is|mais|pra|para|ser|o|valor|preco|de|os|deu|fica|ficou|por|coloca|cobra|seja))* {A}"),
        (Role.NEGATED, rf"{A},? nao(?= *(?:[,.;!\n]|$|eh\b|e\b|foi\b|mas\b|sao\b))"),
        (Role.EITHER, rf"{A} nao (?:eh )?[VN]"),
        (Role.EITHER, rf"(?<!\w)(?<!nao )(?<!eh )[VN] nao (?:eh )?{A}"),
        (Role.UNIT, rf"{A} ?(?:/|por|a|p/|ao|cada|o|per|an|para cada|pra cada) ?{UNIT_WORD}\b"),
        (Role.UNIT, rf"{A} ?(?:/|por|per|p/|cada|para cada|pra cada) ?(?!mes\b){SESSION_WORD}\b"),
        (Role.UNIT, rf"{A}(?: reais)?,? (?:cada|each|a unidade|unitario|unit|o metro|a hora|por cabeca)\b"),
        (Role.UNIT, rf"(?:N|\d+) ?{SESSION_WORD}\b[^.;\nVN]{{0,25}} {A} (?:a|o|por|cada) {SESSION_WORD}\b"),
        (Role.UNIT, rf"(?:N|\d+) ?(?:{UNIT_WORD}|{SESSION_WORD})(?: (?:\w+ ){{0,4}}(?:a|de|x|vezes|sendo)|,? (?:a|por|x|vezes|cada)|,)? (?:cada )?{A}(?= |$|[,.;!\n/])"),
        (Role.UNIT, rf"(?<![VN,.] )(?<![\w,.])N(?: (?!de\b|e\b|em\b|para\b|pra\b|por\b|pel[oa]\b|mas\b|com\b|nota\b|notas\b|referente\b|cnpj\b|cpf\b|valor\b|total\b)\w+){{1,2}} (?:de|a|por) (?:R )?{A}"),
        (Role.UNIT, rf"\b(?:valor|preco)?[ /]?(?:hora|da hora|por hora|unitario|da diaria|hora aula|da hora aula|km rodado|do metro)(?: (?:eh|e|de|foi))*[\s:]*{A}"),
        (Role.UNIT, rf"N ?(?:x|\*|vezes) ?(?:de |a )?{A}"),
        (Role.UNIT, rf"{A} ?(?:x|\*|vezes) ?(?:de )?[NV]"),
        (Role.INSTALMENT, r"(?P<a>[VN])? ?(?:N|\d+) ?(?:x|parcelas?|prestac\w+|vezes)\b(?: (?:iguais|mensais|fixas|sem juros))* (?:de|a|por|cada)? ?[VN]"),
        (Role.INSTALMENT, rf"{A},?(?: \w+)? (?:em|parcelad\w+ em|dividid\w+ em|dividido por|de) (?:ate )?(?:N|\d+) ?(?:x|parcelas?|vezes|prestac\w+)"),
        (Role.INSTALMENT, rf"\b(?:parcelas?|prestac\w+|parcelad\w+|mensalidades)\b[^.;\nVN]{{0,20}} {A}"),
        (Role.INSTALMENT, rf"{A}(?: \w+){{0,2}},? (?:parcelad\w+|a parcela|por parcela|cada parcela|de entrada|de sinal|na entrada|agora e|hoje e)"),
        (Role.INSTALMENT, rf"\b(?:entrada|sinal)(?: (?:de|eh|foi))? {A}"),
        (Role.DISCOUNT, rf"{A} (?:reais )?(?:de|como|com o?|em|para|pra) (?:o )?(?:desconto|abatimento|off)"),
        (Role.DISCOUNT, rf"\b(?:desconto|abatimento|abat\w+|descont\w+)(?: (?:de|por|foi|eh|em|os|uns|deu))*[\s:]*{A}"),
        (Role.DISCOUNT, rf"{A}[^.;\nVN]{{0,25}}(?<!sem )(?<!ja com )\b(?:P (?:de )?(?:desconto|off)|desconto (?:de )?P|menos P)"),
        (Role.DISCOUNT, rf"P (?:de )?(?:desconto|off|sobre|em cima|d[eo]s?|da)\b[^.;\nVN]{{0,25}}{A}"),
        (Role.DISCOUNT, rf"{A},? (?:mais|com|\+|menos|-) ?(?:iss |impostos? |juros |multa )?(?:de )?P"),
        (Role.DELTA, rf"\b{DELTA_WORDS} (?:de |em |uns |o valor em |isso |outros |com )?{A}(?! (?:ou menos))"),
        (Role.DELTA, rf"(?:^|[^\w ] ?|\s)\+ ?{A}"),
        (Role.PART, rf"\b{PART_WORDS}(?: (?:de|eh|foi|deu|a|por|em|da|do|o|e|iss))*[\s:]*{A}"),
        (Role.PART, rf"{A} (?:de|em|do|da|pel[oa]s?|dos|das|para|pra) (?:o |a |os |as )?{PART_WORDS}\b"),
        (Role.APPROXIMATE, rf"\b(?:uns|umas|cerca de|aproximadamente|mais ou menos|quase|por volta d[eo]s?|em torno de|acho que|acho|talvez|aprox|perto de|around|about|tipo|cerca|coisa de|algo como|na faixa d[eo]s?|nao sei se|sera que|maximo|minimo|ate|pelo menos|no maximo|a partir de)\b\.?(?: (?:eh|e|foi|deu|de|por|r|uns|que|o|valor|da|fica|ficou|os))* {A}"),
        (Role.APPROXIMATE, rf"\bentre {A} e [VN]"),
        (Role.APPROXIMATE, rf"{A} (?:e pouco|e poucos|e picos|e tanto|e alguma coisa|e uns|e cacetada|e lá vai|mais ou menos|por ai|aprox\w*|ou perto|ou quase|talvez|se nao me engano|eu acho|acho)\b"),
        (Role.APPROXIMATE, rf"{A} ?(?:ou|a|ate|~|or) (?:uns )?[VN]"),
        (Role.RATE, rf"\b(?:cotac\w+|cambio|taxa|dolar|euro|ptax|rate)\b[^.;\nVN]{{0,20}}{A}"),
        (Role.RATE, rf"U (?:a|x|vezes|na|no|com|\*) ?(?:o )?(?:cotac\w+|cambio|dolar)?(?: (?:de|a|em))* ?{A}"),
        (Role.STRONG, rf"\b(?:por|deu|sao|foram|foi|cobr\w+|cust\w+|ficou|fica|eh|fech\w+|pag\w+|receb\w+|vale|fatur\w+|lanc\w+|emit\w+|saiu|sai|for|charg\w+|combin\w+|cobro|de|e|acert\w+|no|fiz|faz|faca|gera|gere|manda|mande|poe|coloca|bota|anota|nota|notas|is|it's)\s+(?:r )?{A}"),
        (Role.STRONG, rf"(?:^|[,.;:\n|(=>]|D|B|E|T|M|F|\s[-/])\s*{A}"),
        (Role.STRONG, rf"{A}\s*(?:$|[,;\n|)!?]|\.(?!\d)|-\s|\s(?:de|da|do|das|dos|pel[oa]s?|por|para|pra|pro|referente|no|na|a|o|cnpj|cpf|e|mas|for|to|D))"),
        (Role.STRONG, rf"{A}\s+(?:[a-z]{{3,}}(?:cao|mento|gem|ria|ia|ura|ise|ico|eto|ete|ete|ula|rso|ign|ing|aria|or|al|ento|ado))\b"),
    )
)  # fmt: skip
# Words that may follow a price; any other word after a bare number is what is being counted.
AFTER_PRICE: Final = frozenset(
    "de da do das dos pela pelo pelas pelos por para pra pro pros pras referente no na nos nas em com e mas a o as os que sem "
    "foi eh ao aos liquido bruto total reais ok mesmo redondo agora hoje ontem cnpj cpf valor servico servicos descricao email "
    "cliente nome competencia mensais mensal fechado obrigado viu ta tudo cada certinho exatos nao sim ne ein hein tambem ja "
    "depois ref sobre honorarios emite emitir pode please for to of vezes x mil documento tomador blz beleza valeu cravado "
    "cravados certo certos pix dinheiro avista la ai aqui tem tinha era se quando pois porque".split()
)
COUNTABLE_LIMIT: Final = 100  # "3 visitas", "20 cadeiras"; from here on a number before a singular noun is a price
COUNTED: Final = re.compile(
    rf"(?:{UNIT_WORD}|{SESSION_WORD}|mega|gigas?|graus|panfletos|cartoes|folhetos|convites|camisetas|salgad\w+|docinhos|doces|"
    r"copias|impressoes|folhas|adesivos|brindes|convidados|participantes|anos|minutos|segundos|caixas|pacotes|lentes|watts|"
    r"volts|litros|toneladas|sacos|sacas|hectares|seguidores|palavras|caracteres|views|cliques|leads|amperes|btus|"
    r"parcelas|vezes|x|prestac\w+|notas|nota|nfs)\b"
)
FOLLOWING: Final = re.compile(r"\s+([a-z]+)")
SINGULAR_IN_S: Final = frozenset(
    {"servicos", "honorarios", "onibus", "atlas", "lapis", "tres", "dois", "mais", "reais", "campos", "vezes", "gas"}
)


def roles_of(skeleton: Skeleton) -> dict[Mark, set[Role]]:
    """Return every amount of the turn with the roles it plays."""
    line = skeleton.line
    roles: dict[Mark, set[Role]] = {m: set() for m in skeleton.marks if m.kind in {Kind.MONEY, Kind.NUMBER}}
    if not roles:
        return roles
    for role, pattern in ROLES:
        at = 0
        while match := pattern.search(line, at):
            if match["a"] is not None:
                mark = skeleton.where.get(match.start("a"))
                if mark in roles:
                    roles[mark].add(role)
            elif role is Role.INSTALMENT:
                last = skeleton.where.get(match.end() - 1)
                if last in roles:
                    roles[last].add(role)
            at = match.start() + 1
    for mark, played in roles.items():
        if mark.kind is Kind.NUMBER and not played & {Role.LABELLED, Role.TOTAL}:
            counted = _counted(line, skeleton.position(mark), mark)
            if counted is not None:
                played.add(counted)
    return roles


def _counted(line: str, pos: int, mark: Mark) -> Role | None:
    """Tell a count from a price by the word that follows a bare number."""
    if line[pos + 1 : pos + 2] == "x" or COUNTED.match(line, pos + 1 + (line[pos + 1 : pos + 2] == " ")):
        return Role.QUANTITY
    match = FOLLOWING.match(line, pos + 1)
    if match is None or match[1] in AFTER_PRICE or mark.amount is None:
        return None
    if mark.amount < COUNTABLE_LIMIT and mark.amount == mark.amount.to_integral_value():
        return Role.QUANTITY
    plural = match[1].endswith("s") and match[1] not in SINGULAR_IN_S and len(match[1]) > 3  # noqa: PLR2004 - "pos", "mes"
    return Role.PLURAL if plural and mark.amount == mark.amount.to_integral_value() else None
