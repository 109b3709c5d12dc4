"""What ends a service: marks and labels of other fields, orders, pauses."""

from __future__ import annotations

import re
from typing import Final

from extractor.text.marks import Kind
from extractor.words.lists import words

HARD: Final = frozenset({Kind.DOCUMENT, Kind.BROKEN, Kind.EMAIL, Kind.PHONE, Kind.HEADER, Kind.FOREIGN, Kind.MONEY})
# A line of a list may begin with a bullet or its number; a point may only shorten a word ("inst. de ar").
PAUSE: Final = re.compile(
    r"\s{0,9}(?:\n(?:\s{0,9}(?:[-*•·–]|N ?[-.)])\s{1,9})?|[;|!?✅✔☑👉➡→]|->|\.(?=\s|$)|,(?!\d)|\s[-/]\s|\+)\s{0,9}"
)
LONGEST_SHORT: Final = 6  # letters of an abbreviation
SHORTENED: Final = re.compile(r"(?:^|[^a-z])(?P<w>[a-z]{1,6})$")
FULL_WORDS: Final = re.compile(r"luz|gas|sol|mar|som|cor|lar|bar|gel|foz|giz|paz|cal|sal|mel|mes")
SHORT: Final = words("short_forms")
VOWEL_ENDING: Final = re.compile(r"[aeiou]s?$")
FIELD: Final = (
    r"(?:valor(?: total)?|preco|cnpj|cpf|documento|doc|email|e-mail|cliente|tomador|contratante|razao social|nome|"
    r"total|vencimento|vence|telefone|tel|celular|whatsapp|endereco|cep|contato|pix|chave|forma de pagamento|"
    r"pagamento|competencia|data|insc\w*|obs|observacao)"
)
NUMBERED: Final = (
    r"(?:valor(?: total)?|preco|total|cnpj|cpf|documento|doc|email|e-mail|telefone|celular|whatsapp|cep|pix|chave pix)"
)
# A label of another field ends a service: "valor: …", "cnpj D", "vence dia 10".
LABEL: Final = re.compile(
    rf"(?<![\w])(?:(?:o |no |do |e o )?{FIELD}\b(?=\s{{0,9}}[:=])"
    rf"|(?:(?:e |o |no |do |pelo )?\b{NUMBERED}(?: (?:total|de|do|da|dele|dela|eh|e|fica|foi|deu|ficou|final|combinado|"
    r"no|na|em|pra|para|cliente|tomador|numero|n[º°])){0,5}(?=\s{0,9}[DBEFVUN#]))|(?:(?:na |de |em )?(?:competencia|"
    r"data(?: d[eo] servico)?|dia d[eo] servico)\b(?: (?:de|do|da|em|eh|e))?\s?:?\s?[TMX])|(?:irrf|irpj|pis|cofins|"
    r"csll|inss|iss(?:qn)?|retencao|retido)\b(?=\s{0,3}[:=(]?\s?[VNP])|(?:vence|vencimento|vencendo|(?<!folha"
    r" de )pagamento|pix|chave pix|boleto)\b(?=\s(?:dia|em|no|na|para|pra|via|pelo|[TMNXE])))"
)
WHO: Final = re.compile(
    r"(?<![\w])(?:(?:pro |pra |para o |para a )(?:cliente|tomador|contratante)\b(?= \w)"
    r"|(?:cliente|tomador|contratante)\b(?= \w))(?<!ao cliente)(?<!de cliente)(?<!do cliente)"
)
ORDER: Final = re.compile(
    r"(?<![\w-])(?:(?:pode|poderia|consegue|quero|queria|preciso|precisava|gostaria|favor|por favor|vamos|vou|bora|"
    r"me)\s+(?:que\s+|de\s+|me\s+|ai\s+)?){0,3}(?:(?:emit\w+|faz\w*|faca|fez|ger\w+|tir[ae]\w*|mand[ae]\w*|"
    r"solt[ae]\w*|lanc\w+|cri[ae]\w*|segue|solicito|nova|outra)\s+)?(?:(?:ai|a|o|uma|um|pra|para|mim|me|essa|esta|"
    r"nova|aquela|minha|sua)\s+){0,4}(?:notas?|notinha|nfs-?e|nfe?|recibo)(?![a-z-]| d[eo] (?:empenho|debito|credito|"
    r"X))(?:\s+(?:fiscal|fiscais|eletronica|avulsa|nova|agora|hoje|ai|pra mim|para mim|pra gente|por favor))*"
)
OF_NOTES: Final = re.compile(r"\b(?:d[aeo]s?|com|por|emissao|lancamento|digitacao|em|a[os]?)\s$")


def is_abbreviated(line: str, pause: re.Match[str]) -> bool:
    """Say whether a point only shortens the word before it: "inst. de ar", "esp. 12 cm", "Av. Norte"."""
    if pause[0].strip(" ") != "." or "\n" in pause[0]:
        return False
    word = SHORTENED.search(line, max(0, pause.start() - LONGEST_SHORT - 1), pause.start())
    if word is None or pause.end() >= len(line):
        return False
    return (
        len(word["w"]) == 1
        or word["w"] in SHORT
        or (VOWEL_ENDING.search(word["w"]) is None and FULL_WORDS.fullmatch(word["w"]) is None)
    )
