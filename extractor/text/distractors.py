"""Marks what carries digits without being a document, a date or an amount: addresses, codes, orders, plates, hours."""

from __future__ import annotations

import re
from typing import Final

from extractor.text.folding import Cued
from extractor.text.marks import Canvas, Kind, Mark
from extractor.words.lists import numbers

EMAIL: Final = Cued("", r"[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,9}\.[a-z]{2,63}", signs=("@",))
LINK: Final = Cued("", r"https?://\S+|www\.\S+", signs=("://", "www."))
LAWSUIT: Final = re.compile(r"(?<!\d)\d{7}-?\d{2}\.?\d{4}\.?\d\.?\d{2}\.?\d{4}(?!\d)")  # CNJ Resolution 65/2008
RANDOM_KEY: Final = Cued("", r"(?<![a-z0-9])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![a-z0-9])", signs=("-",))
LONG_CODE: Final = re.compile(r"(?<![\w.])\d(?:[ .-]?\d){19,59}(?![\w])")  # access keys (44), boletos (47, 48)
CEP: Final = Cued(
    "cep",
    r"(?:\bcep\W{0,3}\d{2}\.?\d{3}-?\d{3}(?!\d)|(?<![\w.,-])\d{2}\.?\d{3}-\d{3}(?![\w-]))"
    r"(?:[ ,-]{1,3}[a-z][a-z ]{2,30}[/-] ?[a-z]{2}\b)?",  # the town goes with it
    signs=("-",),
)
# "[20/11 10:32] Fulano: ", "20/11/2026 10:32 - Fulano: ": who wrote a forwarded line, and when
HEADER: Final = Cued(
    "",
    r"(?m)^\[?\d{1,2}/\d{1,2}(?:/\d{2,4})?,?(?: as)? \d{1,2}:\d{2}(?::\d{2})?\]?(?: ?-)? [^:\n]{1,40}(?=: )",
    signs=(":",),
)
# "contrato 12/2026" has a number and a year, no month
NUMBERED_IN_YEAR: Final = Cued(
    "",
    r"\b(?:contrato|proposta|orcamento|processo|edital|pedido|empenho|oficio|pregao|ordem|oc|os|ata|lei|nota|"
    r"portaria|convenio|licitacao)(?: fiscal)? (?:n\S* |numero )?\d{1,6}/(?:20)?\d{2}(?![\w/])",
    signs=("/",),
)
HIDDEN_CPF: Final = Cued(
    "", r"[*x•]{3}\.?\d{3}\.?\d{3}-?[*x•]{2}", signs=("*", "x", "•")
)  # as banks print it on receipts
ADDRESS: Final = Cued(
    "end log",
    r"\b(?:endereco|logradouro)\b {0,9}+[:-]? {0,9}+[^\n;|]{3,90}?(?=\s{0,9}(?:$|[\n;|]|,? ?\b(?:cnpj|cpf|valor|cep|"
    r"telefone|celular|e-?mail|servico|descricao|ie|im|inscricao)\b))",
)
PLATE: Final = re.compile(
    r"(?<![a-z0-9])(?<!\d-)[a-z]{3}(?:-?\d[a-j]\d{2}|-\d{4})(?![a-z0-9])|"
    r"\bplaca\W{1,3}[a-z]{3}[ -]?\d[a-j0-9]\d{2}(?![a-z0-9])"
)
SERVICE_CODE: Final = Cued(
    "cod ite sub lc cna cti",
    r"\b(?:codigo|cod|item|subitem|lc ?116|cnae|ctiss)\b\.?(?:\s{1,9}+(?:de|do|da|servico|tributacao|"
    r"municipal|lc|116|n[º°o]?)){0,9}[\s:.#-]{0,9}+"
    r"\d[\d./-]*(?<![./-])|(?<![\w.,])(?:0\d|[1-3]\d)\.\d{2}\.\d{2}(?![\w.,/])|(?<![\w.,$])0\d\.\d{2}(?![\w.,/])",
    signs=(".",),
)
PHONE_LABELLED: Final = Cued(
    "cel fix ram tel wha",
    r"\b(?:telefone|celular|whatsapp|ramal|fixo)\b[\s:]*(?:eh\s+)?(?:\+?\d[\d ().-]{6,17}\d|\d{3,5})(?!\d)",
)
TIME: Final = Cued(
    "as h",
    r"(?<![\w.,])(?:[01]?\d|2[0-3])(?::[0-5]\d(?::[0-5]\d)?|h[0-5]\d)(?!\w)|\bas \d{1,2} ?h(?:oras|"
    r"rs)?\b|\bas [0-2]?\d h\b",
    signs=(":",),
)
PERCENT: Final = Cued("", r"(?<![\w.,])\d+(?:[.,]\d+)? ?(?:%|por ?cento\b)", signs=("%", "cento"))
# "3º", and what is drawn at "1:2000"
ORDINAL: Final = Cued("", r"(?<![\w.,])(?:\d+ ?[ºª°](?!\w)|1:\d{3,6}(?![\w.,]\d))", signs=("º", "ª", "°", ":"))
# Words whose number names the thing: "pedido 4587", "sala 12". With "de" between, it is an amount: "contrato de 1500".
NAMED: Final = re.compile(
    r"\b(?:(?:pedidos?|protocolo|chamado|ticket|lotes?|apto|apartamento|sala|quadra|bloco|andar|ordem de servico|"
    r"ordem de compra|oc|processo|agencia|codigo|cod|item|modelo|serie|rg|inscricao(?: municipal| estadual)?|cnh|nit|"
    r"pis|crm|crea|oab|cau|cro|creci|rps|edital|empenho|licitacao|pregao|lei|artigo|placa|chassi|km|rodovia|br|galpao|"
    r"iphone|filial|sprint|dente|capitulo|galaxy|art|rrt|trt|nbr|nr|iso|ie:|im:|insc\.?|windows|excel|office|"
    r"playstation|xbox|remessa|romaneio|cid|versao|nivel|unidade consumidora|orcamento n[º°o]|order|"
    r"ticket)\s{0,9}+(?:(?:n[º°.]?|numero|num|nr)(?![a-z])\.?)?\s{0,9}+[:#.-]?\s{0,9}+"
    r"|\b(?:fase|etapa|modulo|parcela|parte|setor|faixa|torre|turma|ciclo|estagio|pavimento)"
    r"\s{1,3}(?=\d{1,2}\s{1,3}(?:r\$ ?)?\d)"  # and then the amount: "fase 2 600"
    r"|\b(?:d[ae]|na|pela|conforme) os\s{0,9}+"  # an article would be "das" or "nas"
    r"|(?:os|o\.s\.?|ordem|contrato|proposta|orcamento|projeto|conta|casa|unidade|loja|box|"
    r"nota(?: fiscal)?|turma|grupo|"
    r"mesa|vaga|viagem|po|ie|im|fatura|boleto|recibo|cte|obra|evento|matricula|aluno|serie|etapa|modulo|aula)"
    r"\s{0,9}+(?:(?:n[º°.]|n(?=\s)|numero|num|nr)\.?\s{0,9}+[:.]?|#|(?<=os):)\s{0,9}+)"
    r"[a-z]{0,3}-?(?P<n>\d[\d./-]{0,40}(?<![./-]))(?:-?[a-z])?(?![\w$%])(?!\s{0,9}+(?:reais|conto|pila)\b)(?![.,]\d)"
)
# What has few of its kind: "galpão 18.400" names an amount.
FEW: Final = re.compile(
    r"(?:apto|apartamento|sala|quadra|bloco|andar|galpao|iphone|galaxy|filial|sprint|dente|capitulo|nivel|casa|loja|"
    r"box|turma|grupo|mesa|vaga|etapa|modulo|aula|fase|lotes?)\b[^\d]{0,60}\d{1,3}\.\d{3}"
)
THOUSANDS: Final = re.compile(r"\s{0,9}+(?:mil|k)\b")  # "pedido 5 mil" names an amount, "lei 14.133 mil reais" a law
WORK_ORDER: Final = re.compile(r"\b(?:os|po|op|of)\s{1,3}\d{2,12}(?![\w$%]|[.,]\d|\s{0,9}(?:reais|conto|pila|mil)\b)")
# "NR35", "V10", "A4", "HP-1020": letters and digits as one word name a thing, unless the letters belong to a price
LETTERED: Final = re.compile(
    r"(?<![\w$.,/-])(?!(?:r|rs|brl|reais|de|do|da|por|p|valor|val|vlr|notas?|nf|total|pra|pro|para|n|no|na|deu|foi|uns|eh?|a|o|"
    r"x|cnpj|cpf|ficou|fica|mais|com|em|so|os)-?\d)[a-z]{1,5}-?\d{1,6}[a-z]?(?![\w$%]|[.,]\d)"
)
ABOUT_A_NOTE: Final = Cued(
    "anu cad can con igu mes nov pdf ree rep sit sta sub via xml",
    r"\b(?:cancel\w*|segunda via|2a via|igual|mesma|pdf|xml|repet\w+|de novo|novamente|cade|status|anul\w+|"
    r"reenvi\w+|consultar|substitu\w+|situacao)\b",
)
NOTE_NUMBER: Final = Cued("not", r"\bnotas? (?:fiscal )?(?:n[º°.o]* ?|numero )?\d+\b(?![.,]\d)(?! reais)")
REGISTRATION: Final = Cued(
    "ie im", r"\b(?:im|ie)\b\s{0,9}+:?\s{0,9}+\d[\d./-]{5,40}(?<![./-])(?!,\d)"
)  # municipal, state
HASHED: Final = Cued(
    "num nr", r"(?:#|\bn[º°]\.?)\s*\d[\d./-]*(?<![./-])|\b(?:numero|num|nr)\W{1,2}\d+\b(?!,\d)", signs=("#", "º", "°")
)
SHORT_COUNT: Final = 3  # digits of a count of thousands, letters of a short month
_MONTH: Final = "|".join(name for name in numbers("months") if len(name) > SHORT_COUNT)
# "Rua 7 de Setembro, 1420", "av. Nove de Julho 88": a street whose name is a day
DATED_STREET: Final = Cued(
    "ala av ave lar pra r rua tra",
    r"\b(?:rua|r\.|av|avenida|praca|largo|travessa|alameda)\.? (?:\d{1,2}[º°o]?|[a-z]{2,10}(?: e [a-z]{3,6})?) de "
    rf"(?:{_MONTH})\b(?:,? (?:n[º°.]? ?|numero )?\d{{1,5}}(?!\w|[.,/-]\d| \d| ?(?:reais|conto|mil|pila)\b))?",
)
STREET: Final = Cued(
    "ala av ave est pra r rod rua tra",
    r"(?:\b(?:rua|av|avenida|travessa|alameda|praca|estrada|rod)\b\.?|(?<!\w)r\.) [a-z][a-z. ]{1,40},? (?:n[º°.]? ?|"
    r"numero )?\d{1,5}(?!\w|[.,/-]\d| \d| ?(?:reais|conto|mil|pila)\b)",
)
YEAR: Final = Cued(
    "",
    r"(?<![\w/.,])(?:20[0-3]\d/\d{1,6}|\d{1,6}/20[0-3]\d)(?![\w/])|"
    r"\b(?:ano|em|de|exercicio|safra|desde|ate|calendario|copa|irpf|ir|imposto de renda) (?:19|"
    r"20)\d{2}\b(?![.,]\d|\s*reais)|(?<![\w.,$/-])20[12]\d/(?:20)?[123]\d(?![\w/])",
    signs=("19", "20"),
)
# "valor de 2024", "metade de 2000" name a price; "nota de 1950" does too, but "nota de 2024" may be one of that year.
PRICED: Final = re.compile(
    r"\b(?:valor|total|preco|quantia|custo|custou|metade|sinal|entrada|parcela)(?: (?:total|final|bruto|liquido))? $"
)
NOTE_OF: Final = re.compile(r"\b(?:notas?|nf|nfs-?e|recibo|fatura)(?: fiscal)?(?: de servicos?)? $")
LATE_YEARS: Final = range(2015, 2041)
_FILMED: Final = r"(?:videos?|captacao|filmagem|gravacao|edicao|drone|projecao|painel|imagens?)"
RESOLUTION: Final = Cued(
    "k",
    r"\b(?:em|tv|monitor|cameras?|resolucao|qualidade|ultra ?hd|corrida|prova|maratona|de)\s+(?:em\s+)?"
    r"(?:4|8|5|10|21|42)k\b|\bouro\s+(?:de\s+)?(?:9|10|14|18|22|24)k\b",
    rf"\b{_FILMED}\s+(?:em\s+)?[248]k\b",
    rf"\b{_FILMED} (?:[a-z]+ ){{1,2}}[248]k\b(?=[^\n]*?\d[.\d]*\d\d)",  # beside an amount
    r"\b[248]k (?:ultra ?hd|uhd|videos?|tv|monitor|cameras?|filmagem|drone)\b",
)
DIGITS: Final = re.compile(r"\d+")
GROUPED: Final = 40  # digits of the codes that people write in groups: access keys have 44, boletos 47 or 48
LONG_NUMBER: Final = 20  # digits of a lawsuit, and of the shortest long code


def mark_distractors(canvas: Canvas) -> None:
    """Mark, in an order that lets the most specific shape win."""
    for match in canvas.unread(HEADER):
        canvas.add(Mark(Kind.HEADER, *match.span()))
    for match in canvas.unread(EMAIL):
        canvas.add(Mark(Kind.EMAIL, *match.span(), value=canvas.text.verbatim(*match.span()).strip(".")))
    _identify(canvas, LINK, RANDOM_KEY)
    if sum(map(len, DIGITS.findall(canvas.masked))) >= LONG_NUMBER:
        for match in LAWSUIT.finditer(canvas.masked):
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
        for match in LONG_CODE.finditer(canvas.masked):
            if " " not in match[0] or sum(map(str.isdigit, match[0])) >= GROUPED:  # else numbers beside each other
                canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
    _identify(canvas, NUMBERED_IN_YEAR, HIDDEN_CPF, ADDRESS, CEP, DATED_STREET)
    for match in PLATE.finditer(canvas.masked):
        canvas.add(Mark(Kind.IDENTIFIER, *match.span()))


def mark_named_numbers(canvas: Canvas) -> None:
    """Mark numbers that the word before them makes a name, once documents and days are known."""
    if DIGITS.search(canvas.masked) is None:
        return  # nothing here is without a digit
    for kind, pattern in (
        (Kind.PHONE, PHONE_LABELLED),
        (Kind.TIME, TIME),
        (Kind.IDENTIFIER, ORDINAL),
        (Kind.PERCENT, PERCENT),
    ):
        for match in canvas.unread(pattern):
            canvas.add(Mark(kind, *match.span()))
    _identify(canvas, STREET)
    if ABOUT_A_NOTE.search(canvas.masked, canvas.text.stems):
        _identify(canvas, NOTE_NUMBER)
    _identify(canvas, SERVICE_CODE)
    _mark_names(canvas)
    _identify(canvas, REGISTRATION, HASHED)
    for match in canvas.unread(RESOLUTION):
        at = next(DIGITS.finditer(canvas.masked, match.start())).start()
        canvas.add(Mark(Kind.IDENTIFIER, at, canvas.masked.index("k", at) + 1))  # "vídeo" is still a word
    for match in canvas.unread(YEAR):
        if not _is_price(canvas.masked, match):
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))


def _mark_names(canvas: Canvas) -> None:
    """Mark numbers that are a part of a name: "sala 12", "NR35", "OS 1234"."""
    for match in NAMED.finditer(canvas.masked):
        if FEW.fullmatch(match[0]):
            continue
        if len(match["n"]) > SHORT_COUNT or THOUSANDS.match(canvas.masked, match.end()) is None:
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
    for match in WORK_ORDER.finditer(canvas.masked):
        if canvas.text.verbatim(match.start(), match.start() + 2).isupper():  # "os" before a number may be an article
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
    for match in LETTERED.finditer(canvas.masked):
        canvas.add(Mark(Kind.IDENTIFIER, *match.span()))


def _is_price(text: str, match: re.Match[str]) -> bool:
    """Whether "de 2000" says what an invoice is worth, not when something was."""
    if not match[0].startswith("de "):
        return False
    before = text[: match.start()]
    named = NOTE_OF.search(before) is not None and int(match[0][3:]) not in LATE_YEARS
    return named or PRICED.search(before) is not None


def _identify(canvas: Canvas, *patterns: Cued) -> None:
    for pattern in patterns:
        for match in canvas.unread(pattern):
            canvas.add(Mark(Kind.IDENTIFIER, *match.span()))
