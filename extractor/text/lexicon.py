"""The words that carry meaning in an order, with the ways people misspell and shorten them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rapidfuzz.distance import DamerauLevenshtein

# How people shorten and misspell what they type every day; exact matches only.
ABBREVIATIONS: Final[dict[str, str]] = {
    "é": "eh", "vlr": "valor", "vlr.": "valor", "vl": "valor", "vl.": "valor", "vlor": "valor",
    "serv": "servico", "serv.": "servico", "srv": "servico", "svc": "servico", "servicio": "servico",
    "service": "servico",
    "descr": "descricao", "descr.": "descricao", "description": "descricao", "descripcion": "descricao",
    "ref": "referente", "ref.": "referente", "refer": "referente", "refte": "referente", "reft": "referente",
    "ref/": "referente", "p/": "para", "c/": "com", "s/": "sem", "vc": "voce", "vcs": "voces", "ce": "voce",
    "hj": "hoje", "vdd": "verdade", "q": "que", "pfv": "por favor", "pfvr": "por favor", "pf": "por favor",
    "pls": "por favor", "please": "por favor",
    "obg": "obrigado", "obgd": "obrigado", "brigado": "obrigado", "obrigada": "obrigado",
    "vlw": "valeu", "tb": "tambem", "tbm": "tambem", "qto": "quanto", "qnt": "quanto", "qnto": "quanto",
    "qdo": "quando", "qnd": "quando", "oq": "o que", "cel": "celular", "tel": "telefone", "tel.": "telefone",
    "fone": "telefone", "whats": "whatsapp", "zap": "whatsapp", "wpp": "whatsapp", "zapp": "whatsapp",
    "comp": "competencia", "comp.": "competencia", "cfp": "cpf", "cpfs": "cpf", "cic": "cpf",
    "cnpjs": "cnpj", "cnp": "cnpj", "cgc": "cnpj", "cnpj/": "cnpj", "total.": "total", "mto": "muito", "mt": "muito",
    "nf": "nota", "nfs": "nota", "nfe": "nota", "nfse": "nota", "notinha": "nota", "invoice": "nota",
    "factura": "nota",
    "invoices": "notas", "nfses": "notas", "facturas": "notas",
    # number words as they are heard, typed in a hurry, or were spelled before 1971
    "treis": "tres", "trez": "tres", "hum": "um", "catorze": "quatorze", "dezasseis": "dezesseis",
    "deseseis": "dezesseis",
    "dezassete": "dezessete", "desessete": "dezessete", "desoito": "dezoito", "desenove": "dezenove",
    "dezanove": "dezenove", "cincoenta": "cinquenta", "sinquenta": "cinquenta", "sincoenta": "cinquenta",
    "quinhetos": "quinhentos", "quientos": "quinhentos", "quinientos": "quinhentos", "quinhento": "quinhentos",
    "quiñentos": "quinhentos", "duzento": "duzentos", "dusentos": "duzentos", "duzentas": "duzentos",
    "trezentas": "trezentos", "quatrocentas": "quatrocentos", "quinhentas": "quinhentos", "seiscentas": "seiscentos",
    "setecentas": "setecentos", "oitocentas": "oitocentos", "novecentas": "novecentos", "seicentos": "seiscentos",
    "seissentos": "seiscentos", "quatrossentos": "quatrocentos", "setessentos": "setecentos",
    "oitossentos": "oitocentos", "novescentos": "novecentos", "trezento": "trezentos", "millhao": "milhao",
    "milion": "milhao", "seteta": "setenta", "sesenta": "sessenta", "cessenta": "sessenta",
    "centavo": "centavos", "cents": "centavos", "reau": "reais", "reaus": "reais", "reals": "reais", "real": "reais",
    "reaiss": "reais", "novesento": "novecentos", "novesentos": "novecentos", "oitosento": "oitocentos",
    "oitosentos": "oitocentos", "setesento": "setecentos", "setesentos": "setecentos", "seisento": "seiscentos",
    "seisentos": "seiscentos", "quatrosento": "quatrocentos", "quatrosentos": "quatrocentos", "duzentus": "duzentos",
    "trezentus": "trezentos", "quinhentus": "quinhentos",
    "contos": "conto", "pilas": "pila", "mangos": "mango", "paus": "pau", "pratas": "prata",
}  # fmt: skip

# Cue words that may be recognised one edit away.
CUES: Final = (
    "cnpj", "valor", "descricao", "servico", "reais", "centavos", "competencia", "cliente", "desconto", "parcelas",
    "referente", "documento", "duzentos", "trezentos", "quatrocentos", "quinhentos", "seiscentos", "setecentos",
    "oitocentos", "novecentos", "quarenta", "cinquenta", "sessenta", "setenta", "oitenta", "noventa", "quatorze",
    "dezesseis", "dezessete", "dezoito", "dezenove",
)  # fmt: skip
# Words one edit away from a cue that mean what they say.
NOT_TYPOS: Final = frozenset(
    {
        "vapor", "valer", "vales", "valsa", "valos", "reis", "resis", "rotais", "relais", "servido", "servicos",
        "clientes",
        "descontos", "documentos", "descricoes", "parcela", "parcelar", "centavos", "descanto", "descosto", "valores",
        "documenta", "sentavos", "referentes", "rurais", "renais", "regais",
    }
)  # fmt: skip
MIN_FUZZY: Final = 4  # shorter words have too many neighbours


@lru_cache(maxsize=4096)  # the same few hundred words make up most messages
def canonical(word: str) -> str | None:
    """Return the cue word that ``word`` (lower case, without accents except a lone ``é``) stands for, or ``None``."""
    if word in ABBREVIATIONS:
        return ABBREVIATIONS[word]
    if len(word) < MIN_FUZZY or word in NOT_TYPOS or word in CUES or word[-1] in "./":
        return None
    near = [c for c in CUES if c[0] == word[0] and abs(len(c) - len(word)) <= 1]
    return next((c for c in near if DamerauLevenshtein.distance(word, c, score_cutoff=1) <= 1), None)
