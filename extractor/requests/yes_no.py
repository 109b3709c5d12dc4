"""Tells a plain yes and a plain no from everything else; a yes is a yes only when it stands alone."""

from __future__ import annotations

import re
from typing import Final

from extractor.text.cues import Cued, stems

EMOJI_YES: Final = re.compile("[👍👌✅✔☑🆗💯🤝🙌]")
EMOJI_NO: Final = re.compile("[👎❌🚫✖⛔]")
DECORATION: Final = re.compile(r"[^\w\s?]|_")
LAUGHTER: Final = Cued("hah heh huh kk kkk rs rsr", r"\b(?:k{2,}|(?:rs)+|(?:ha){2,}h?|(?:he){2,}h?|hu(?:hu)+)\b")
YES: Final = (
    r"sim+|s+|ss|isso(?: (?:mesmo|ai|memo))?|pode(?: (?:sim|ser|mandar|emitir|enviar|fazer|"
    r"gerar|confirmar|ir|soltar|seguir|prosseguir|tocar|fechar|dar andamento|continuar|lancar)"
    r")?|"
    r"mand[ae](?: (?:ver|bala|brasa|la|bronca))?|bora+|bora la|vamos|vamo(?:s la)?|simbora|"
    r"partiu|ok+|okay|okey|oki|blz|beleza|fech(?:ou|ado)|confirm(?:o|a|ado|ada|ar|adissimo|"
    r"ei)|"
    r"(?:ta|esta|tudo) (?:tudo )?(?:certo|certinho|correto|ok|perfeito|otimo|bom|bem|show|"
    r"joia|conforme|lindo|em ordem)|certo|certinho|correto|certissimo|corretissimo|exato|exatamente|"
    r"perfeito|show(?: de bola)?|top|emit(?:e|ir|a)|ger(?:a|ar)|envi[ae]|envi[ae]r|faz|faca|"
    r"aprov(?:o|ado|ada|ei)|uhum|aham|ahan|arram|claro(?: que sim)?|com certeza|certeza|positivo|"
    r"joia|joinha|"
    r"yes|yeah|yep|yup|si|dale|vai|vai la|vai em frente|segue(?: o baile)?|manda ver|concordo|"
    r"de acordo|autoriz(?:o|ado|ar)|legal|otimo|maravilha|"
    r"tudo certo|tudo ok|demorou|fmz|firmeza|suave|tranquilo|go|go ahead|sure|correct|confirmed?|"
    r"send it|perfect|afirmativo|opa sim|ai sim|eh isso(?: (?:ai|mesmo))?|isso ai|era isso(?: mesmo)"
    r"?|tmj|toca ficha|manda a nota|ship it|lgtm"
)
YES_FILLER: Final = (
    r"por favor|por gentileza|obrigado|valeu|agora|ja|a nota|as notas|nota|essa nota|essa|"
    r"ela|entao|ai|por mim|amigo|amiga|querida|querido|mano|cara|viu|ne|eh|ta|prosa|pra mim|"
    r"pra gente|"
    r"logo|tudo|e|la|sim|ah|opa|oi|bom dia|boa tarde|boa noite|muito|bem|a|o|please|thanks|"
    r"gracias|assim(?: mesmo)?|desse jeito|os dados|as informacoes|dados|esta|estao|tao|aqui|"
    r"com|isso|meu|minha|rapaz|deus|amem|os|esses|de|boa|hoje|it|is|all|good|favor|sem problemas?|"
    r"emissao|o envio|envio|nfse|fiscal|senhora?|moca|tri|oxe|oxente|eita|bah|tche|uai|visse|guri|massa|chefe|"
    r"nada (?:a|pra|para) (?:mudar|corrigir|alterar|acrescentar|trocar)|sem (?:alteracoes|mudancas|correcoes)"
)
MAX_WORDS: Final = 20  # no plain yes or no is longer, and the grammars backtrack exponentially on what is nearly one
ALL_YES: Final = re.compile(rf"(?:(?:{YES}|{YES_FILLER})(?:\s+|$))+")
ONE_YES: Final = re.compile(rf"\b(?:{YES})\b")
NO: Final = (
    r"nao+|nah|naum|n|nn|nops?|no|negativo|nunca|de jeito nenhum|jamais|claro que nao|nem pensar|"
    r"ainda nao|agora nao|nao ainda|nada disso|de forma (?:alguma|nenhuma)|"
    r"espera(?: (?:ai|um pouco|um momento))?|pera(?:i| ai)?|calma(?: ai)?|segura(?: ai)?|aguarda(?: ai)"
    r"?|aguarde|um momento|momento|so um minuto|um minuto|wait|hold on|not yet|stop|"
    r"(?:ta|esta|tem|eh|ficou) (?:tudo )?(?:errad[oa]|incorret[oa])|errad[oa]|incorret[oa]|"
    r"algo errado|tem (?:algo|coisa|uma coisa|um erro|erro)(?: (?:errad[oa]|estranh[oa]))?(?: ai)"
    r"?|"
    r"nao (?:ta|esta|eh|era)? ?(?:certo|isso|correto|bem isso|assim|esse|essa|emite|emita|"
    r"emitir|manda|mande|envia|envie|confirmo|confirma|pode|concordo|autorizo|aprovo|faz|faca|"
    r"gera|gere|quero|bate|confere)(?: (?:emitir|mandar|enviar|confirmar|fazer|gerar|prosseguir|"
    r"continuar|seguir))?"
)
NO_FILLER: Final = (
    rf"{YES_FILLER}|ainda|nao|isso|mas|que|eu|vou|ver|deixa eu ver|deixa eu conferir|vou conferir|"
    rf"conferir|primeiro|antes|preciso|confirmar|algo|coisa|esta|ta|tem|aqui|um|uma|pouco|vou checar|"
    rf"desculpa|sorry|hum+|hmm+|melhor|quero nao|moco|to vendo"
)
ALL_NO: Final = re.compile(rf"(?:(?:{NO}|{NO_FILLER})(?:\s+|$))+")
ONE_NO: Final = re.compile(rf"\b(?:{NO})\b")
DENIES: Final = re.compile(
    r"\b(?:nao|nem|nao+|naum|negativo|nope|not|mas|porem|so que|exceto|menos|but|espera|pera\w*|"
    r"calma|errad\w*|incorret\w*|ainda|cancel\w*|antes)\b"
)
AFTER_NO: Final = re.compile(r"^\W*nao+\s*[,.;!]\s*")
DIGIT: Final = re.compile(r"\d")


def standalone(plain: str) -> str:
    """Reduce a turn to its words for the yes and no grammars: emoji as words, laughter and punctuation gone."""
    spoken = plain if plain.isascii() else EMOJI_NO.sub(" nao ", EMOJI_YES.sub(" sim ", plain))
    words = DECORATION.sub(" ", spoken)
    if not LAUGHTER.cues.isdisjoint(stems(words)):
        words = LAUGHTER.pattern.sub(" ", words)
    return " ".join(words.split())


def _is_short(words: str) -> bool:
    return 0 < len(words.split()) <= MAX_WORDS


def is_yes(plain: str) -> bool:
    """Say whether the whole turn is a yes and nothing else; a question is none."""
    if DIGIT.search(plain):
        return False  # no word of the grammars has a digit
    words = standalone(plain)
    return (
        _is_short(words)
        and "?" not in words
        and not DENIES.search(words)
        and bool(ALL_YES.fullmatch(words) and ONE_YES.search(words))
    )


def is_no(plain: str) -> bool:
    """Say whether the turn is a refusal or a request to wait, with nothing else; "não, tá certo" is neither."""
    if DIGIT.search(plain):
        return False
    after = AFTER_NO.match(plain)
    if after and is_yes(plain[after.end() :]):
        return False
    words = standalone(plain).replace("?", "").strip()
    return _is_short(words) and bool(ALL_NO.fullmatch(words) and ONE_NO.search(words))
