"""The phrases of a plain yes and of a plain no: those of the lists, and those that are put together of their words."""

from __future__ import annotations

from typing import Final

from extractor.words.lists import words

_MAY: Final = ("pode", "po", "podi")  # "pó mandar" is how Minas says "pode mandar"
_BEING: Final = ("ta", "esta", "tudo", "ta tudo", "esta tudo", "tah")
# A yes whatever was said before it.
FIRM: Final = words("yes") | {f"{may} {doing}" for may in _MAY for doing in words("doing")}
# A yes only as an answer: the same words greet, thank and praise.
SOFT: Final = words("yes_in_answer") | {f"{being} {fine}" for being in _BEING for fine in words("fine")}
# Words beside a yes that change nothing about it.
FILLER: Final = words("beside_yes")
_WRONG: Final = ("errado", "errada", "incorreto", "incorreta")
_IS_WRONG: Final = ("ta", "esta", "tem", "eh", "ficou")
_SOME: Final = ("algo", "coisa", "uma coisa", "um erro", "erro")
# A no, or a request to wait.
NO: Final = (
    words("no")
    | {*_WRONG, *(f"tem {some}" for some in _SOME)}
    | {f"{being}{all_of_it} {wrong}" for being in _IS_WRONG for all_of_it in ("", " tudo") for wrong in _WRONG}
    | {f"tem {some} {wrong}" for some in _SOME for wrong in (*_WRONG[:2], "estranho", "estranha")}
    | {f"nao {being}{what}" for being in ("", "ta ", "esta ", "eh ", "era ") for what in words("denied")}
    | {
        f"nao {being}{what} {do}"
        for being in ("", "ta ", "eh ", "era ")
        for what in words("denied")
        for do in words("undone")
    }
)
# Words beside a no that change nothing about it.
NO_FILLER: Final = words("beside_no") | (FILLER - {"voce", "oce", "po", "nada mais", "veio", "homem", "nada a mudar"})
# What sounds like a yes and is none: (what is meant, how it is said).
NO_YES: Final = (
    ("a greeting", r"^(?:oi+|ola|opa|e ai|eai|prosa|bom dia|boa tarde|boa noite)(?: \w+)? (?:ta )?tudo \w+$"),
    ("a yes to come", r"\b(?:ja|logo|hoje|depois) (?:te |eu )?(?:confirmo|aprovo|autorizo)\b|\bja vai\b"),
    ("a yes to come", r"\b(?:confirmo|aprovo|autorizo) (?:ja|logo|hoje|amanha)\b"),
    ("asks for the data", r"\b(?:mand\w+|envi\w+|pass\w+|segue)\b.*\b(?:dados|informacoes)\b"),
    ("too much, too slow", r"\bmuito\b(?! (?:bem|bom|boa|obrigado|certo|show|legal|top|massa))"),
    ("too slow", r"\bdemoro(?:u)? (?!mano|cara|amig|chefe|parc|bro|pode|bora|manda|ja eh|entao|porra|meu\b)\w+"),
    ("too slow", r"\b(?!ja|sim|ok|opa|bora|fechou|isso)\w+ (?:demorou|demoro)\b"),
    ("asks to look", r"\bconfere (?!sim\b|pode\b|manda\b|emite\b|certinho\b|tudo certo\b)\w+"),
    ("waits", r"\b(?:segura|guenta|aguenta|devagar|calma|um minuto|um momento)\b"),
)
