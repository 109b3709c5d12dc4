"""Tells a plain yes and a plain no from everything else; a yes is a yes only when it stands alone.

Tells who only asks to wait, and who says that something is wrong and not what.

The phrases of a plain yes and of a plain no: those of the lists, and those that are put together of their words.

Reads which of a company's own service codes words choose: its number in the list, the code, or what it is.

Reads the wish to send or replace the company's certificate.

Reads the wish to stop a list that is being sent as mails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from extractor.text.folding import Cued, read, stems
from extractor.words.lists import words
from state_machine.services.codes import Servico, digits
from state_machine.services.search import among

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
_ONLY: Final = {each for each in FILLER if "so isso" in each}
# Words beside a no that change nothing about it.
NO_FILLER: Final = words("beside_no") | (
    FILLER - {"voce", "oce", "po", "nada mais", "veio", "homem", "nada a mudar", *_ONLY}
)
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


EMOJI_YES: Final = re.compile("[👍👌✅✔☑🆗💯🤝🙌]")
EMOJI_NO: Final = re.compile("[👎❌🚫✖⛔]")
DECORATION: Final = re.compile(r"[^\w\s?]|_")
LAUGHTER: Final = Cued("hah heh huh kk kkk rs rsr", r"\b(?:k{2,}|(?:rs)+|(?:ha){2,}h?|(?:he){2,}h?|hu(?:hu)+)\b")
MAX_WORDS: Final = 20  # no plain yes or no is longer
STRETCHED: Final = re.compile(r"(\w)\1\1|(\w)\2$")  # "issoooo", "boraa"
RUN: Final = re.compile(r"(\w)\1+")
DENIES: Final = re.compile(
    r"\b(?:nao|nem|nao+|naum|negativo|nope|not|mas|porem|so que|exceto|menos|but|espera|pera\w*|"
    r"calma|errad\w*|incorret\w*|ainda|cancel\w*|antes)\b"
)
AFTER_NO: Final = re.compile(r"^\W*nao+\s*[,.;!]\s*")
DIGIT: Final = re.compile(r"\d")
# How long somebody waits already, behind a yes: "emite aí, tô esperando faz 1h".
_WAITING: Final = r"(?:eu )?(?:to|tou|estou)(?: te| aqui| ja)? esperando"
_SO_LONG: Final = (
    r"(?:ja )?(?:faz|tem|ha)(?: (?:mais de|umas?|quase))? \d{1,2} ?(?:h|hs|hrs?|horas?|min|mins|minutos?)(?: ja)?"
)
WAITED: Final = re.compile(rf" (?:{_WAITING} {_SO_LONG}|{_SO_LONG} (?:que )?{_WAITING})$")
YES: Final = FIRM | SOFT
LONGEST: Final = max(len(phrase.split()) for phrase in YES | FILLER | NO | NO_FILLER)  # in words
_NO_YES: Final = tuple(re.compile(pattern) for _, pattern in NO_YES)
_WORDS: Final = frozenset(word for phrase in YES | FILLER | NO | NO_FILLER for word in phrase.split())
_SHORT: Final = {RUN.sub(r"\1", word): word for word in sorted(_WORDS)}


def standalone(plain: str) -> str:
    """Reduce a turn to its words for the yes and no grammars: emoji as words, laughter and punctuation gone."""
    spoken = plain if plain.isascii() else EMOJI_NO.sub(" nao ", EMOJI_YES.sub(" sim ", plain))
    words = DECORATION.sub(" ", spoken)
    if not LAUGHTER.cues.isdisjoint(stems(words)):
        words = LAUGHTER.pattern.sub(" ", words)
    return " ".join(words.split())


def is_yes(plain: str) -> bool:
    """Say whether the whole turn is a yes and nothing else; a question is none."""
    words = _of_yes(plain)
    return words is not None and _consists(words, YES, FILLER)


def is_firm_yes(plain: str) -> bool:
    """Say whether the whole turn is a yes whatever was said before: it neither greets nor thanks nor praises."""
    words = _of_yes(plain)
    return words is not None and _consists(words, FIRM, FILLER | SOFT)


def is_no(plain: str) -> bool:
    """Say whether the turn is a refusal or a request to wait, with nothing else; "não, tá certo" is neither."""
    if DIGIT.search(plain):
        return False
    after = AFTER_NO.match(plain)
    if after and is_yes(plain[after.end() :]):
        return False
    return _consists(standalone(plain).replace("?", "").strip(), NO, NO_FILLER)


def _of_yes(plain: str) -> str | None:
    """Return the words of a turn that may be a yes, ``None`` where something in it asks, denies or waits."""
    if DIGIT.search(plain) and "esperando" not in plain:
        return None  # no word of the grammars has a digit
    words = WAITED.sub("", standalone(plain))
    denied = (
        "?" in words or DIGIT.search(words) or DENIES.search(words) or any(pattern.search(words) for pattern in _NO_YES)
    )
    return None if denied else words


def _consists(words: str, wanted: AbstractSet[str], beside: AbstractSet[str]) -> bool:
    """Say whether the words are phrases of both sets one after the other, at least one of them ``wanted``."""
    each = [_plain_word(word) for word in words.split()]
    if not 0 < len(each) <= MAX_WORDS:
        return False
    reached = [(True, False), *[(False, False)] * len(each)]  # up to each word: at all, with one wanted
    for end in range(1, len(each) + 1):
        for start in range(max(0, end - LONGEST), end):
            at_all, with_one = reached[start]
            if not at_all:
                continue
            phrase = " ".join(each[start:end])
            takes = phrase in wanted
            if takes or phrase in beside:
                before = reached[end]
                reached[end] = (True, before[1] or with_one or takes)
    return all(reached[-1])


def _plain_word(word: str) -> str:
    """Return a word of the grammars without the letters that were held for emphasis."""
    if word in _WORDS or not STRETCHED.search(word):
        return word
    return _SHORT.get(RUN.sub(r"\1", word), word)


_WAIT: Final = (
    r"(?:ag|g)?uent(?:a|e)|es?per(?:a|e)|pera|pere|perae|pe?rai|perainda|perale|pera la|calma|carma|carminha|"
    r"segura|aguard[ae]|(?:da|de)(?: so)? (?:um|1) (?:tempo|tempinho)|"
    r"(?:so |me da |da |mais )*(?:um|uns|1|2|dois) (?:minut(?:o|inho)s?|min|mins|minutim|segund(?:o|inho)s?|seg|"
    r"instante|instantinho|momento|momentinho|pouco|pouquinho|cadinho|cadim|tiquinho|tico|tiquim|bocadinho)|"
    r"(?:minutinho|momentinho|instantinho|rapidinho|rapidim|momento|instante)|"
    r"(?:eu )?(?:ja|logo) (?:eu )?(?:volto|venho|retorno|te (?:falo|respondo|mando|chamo|digo))|"
    r"(?:eu )?(?:volto|retorno|falo|respondo) (?:ja|logo|depois|daqui a pouco|mais tarde)|"
    r"(?:de[ix]*[ae]|xo|xeu|dexo|deixo) (?:so )?(?:eu )?"
    r"(?:ver?|conferir|confirmar|checar|olhar|perguntar|pensar|verificar)|"
    r"(?:eu )?vou (?:so )?(?:ver?|conferir|confirmar|checar|olhar|perguntar|pensar|verificar|almocar|atender)|"
    r"(?:eu )?(?:to|estou|tou) (?:no transito|dirigindo|ocupad[oa]|atendendo|com cliente|na rua|no telefone|vendo)|"
    r"(?:ja|logo|depois|mais tarde|daqui a pouco|jaja|ja ja) (?:eu |te )*"
    r"(?:confirmo|aprovo|autorizo|vejo|olho|confiro)|"
    r"(?:confirmo|aprovo|autorizo|vejo|olho|confiro) (?:ja|logo|depois|mais tarde|daqui a pouco|hoje|amanha)|"
    r"ainda nao(?: (?:manda|mande|emite|emita|envia|faz|confirma|pode))?|agora nao|nao ainda|"
    r"nao (?:manda|mande|emite|emita|envia|faz|confirma) (?:ainda|agora)|"
    r"ja vai|ja ja|jaja|agorinha|n?um instante|calmae|carmae|devagar|freia|stand ?by|de molho|"
    r"wait|hold on|un momento|not yet"
)
_WAIT_FILLER: Final = (
    r"ai|nao|nem|sim|so|por favor|favor|um|uma|pouco|pouquinho|eh|ta|tah|ja|que|eu|aqui|la|mas|antes|primeiro|o|a|com|"
    r"oxe|oxente|bah|tche|uai|vixe|eita|opa|rapaz|mano|cara|moco|moca|amigo|amiga|querida|querido|prosa|ainda|viu|hein|"
    r"meu|minha|cliente|contador|contadora|marido|esposa|patrao|chefe|socio|socia|rapidinho|agora|entao|hum+|hmm+|"
    r"as|pontas?|onda|so|deixa|tem|calma|com|sem|pressa|"
    r"isso|valor|certo|nota|dados|ele|ela|os|as|e|de|do|da|no|na|pra|pro|daqui|gente|te"
)
WAITS: Final = re.compile(rf"(?:(?:{_WAIT}|{_WAIT_FILLER})(?: |$))+")
ONE_WAIT: Final = re.compile(rf"(?:^| )(?:{_WAIT})(?: |$)")
_MISTAKEN: Final = frozenset({*_WRONG, "erro"})
_WRONG_FILLER: Final = words("beside_wrong")


def is_wait(words: str) -> bool:
    """Say whether these words (``standalone``) ask to wait, and nothing else."""
    return bool(WAITS.fullmatch(f"{words} ") and ONE_WAIT.search(words))


def is_wrong(words: str) -> bool:
    """Say whether these words (``standalone``) say that something is wrong, and not what."""
    said = set(words.split())
    return bool(said & _MISTAKEN) and said <= _MISTAKEN | _WRONG_FILLER


LONGEST_CHOICE: Final = 80  # characters; more is no answer to a list
_SAYS: Final = (
    r"(?:(?:nao|ops)[,.]? )?(?:o |a )?(?:servico|codigo(?: do servico)?|opcao|numero)(?: certo)?(?: (?:e|eh))?"
)
_NUMBER: Final = re.compile(rf"{_SAYS} (?:o |a )?(?:numero )?([0-9]{{1,2}})[.!]?")
_ALONE: Final = re.compile(r"(?:e |eh )?(?:o |a )?([0-9]{1,2})[.!]?")
_CODE: Final = re.compile(rf"(?:{_SAYS} )?(?:o |a )?([0-9]{{2}}\.[0-9]{{2}}\.[0-9]{{2}}|[0-9]{{6}})[.!]?")
_IS: Final = re.compile(r"(?:(?:nao|ops)[,.]? )?(?:o servico )?(?:e|eh) ([a-z].{2,60})")


def numbered_answer(texto: str, servicos: Sequence[Servico], *, asked: bool) -> str | None:
    """Return the code that the words name by its number in the list or as it is written, ``None`` for no code of these.

    ``asked``: the list was our last question, so that a bare number answers it. A code is taken as it is written only
    where it has its dots, is named as a code, or was asked for.
    """
    plain = _plain(texto)
    written = _CODE.fullmatch(plain)
    if written and (asked or not plain.isdigit()):
        codigo = digits(written[1])
        return codigo if codigo in {servico.codigo for servico in servicos} else None
    number = _NUMBER.fullmatch(plain) or (_ALONE.fullmatch(plain) if asked else None)
    return servicos[int(number[1]) - 1].codigo if number and 0 < int(number[1]) <= len(servicos) else None


def worded_answer(texto: str, servicos: Sequence[Servico], *, asked: bool) -> str | None:
    """Return the code of which the words say clearly what it is, bare ones only where they were ``asked`` for."""
    plain = _plain(texto)
    said = _IS.fullmatch(plain)
    words = said[1] if said else plain if asked else ""
    hits, clear = among(words, {servico.codigo: servico.descricao for servico in servicos})
    return hits[0].codigo if clear else None


def _plain(texto: str) -> str:
    return " ".join(read(texto).plain.split()) if len(texto) <= LONGEST_CHOICE else ""


_BEFORE: Final = (
    r"(?:(?:oi|ola|opa|bom dia|boa tarde|boa noite|prosa|por favor|queria|quero|gostaria de|preciso(?: de)?|precisava|"
    r"pode|posso|consigo|vou|como(?: que)?(?: eu)?|onde(?: eu)?|por onde(?: eu)?|eu|me|faco para|faco pra)"
    r"[ ,!.?]{1,3}){0,5}"
)
_NAMED: Final = (
    r"certificado(?: (?:digital|a1|e-?cnpj|novo|renovado|d[ao] (?:minha )?(?:empresa|loja|firma)|d[ao] cnpj)){0,3}"
)
_OF: Final = r"(?:(?:o|um|meu|outro|novo|nosso|do|pro|para o|link|mais) ){0,4}"
_DO: Final = (
    r"(?:envi(?:a|ar|o|e)|mand(?:a|ar|o|e)|troc(?:a|ar|o)|substitu(?:ir|o)|renov(?:ar|o|ei)|atualiz(?:ar|o|a)|"
    r"cadastr(?:ar|o|a)|subir|subo|coloc(?:ar|o)|anex(?:ar|o)|instal(?:ar|o)|guardar|tenho|comprei|saiu)"
)
_PAST: Final = r"(?:ja )?(?:venceu|vence\w*|vai vencer|expirou|esta vencido|esta vencendo)"
_END: Final = r"(?: (?:por favor|aqui|por aqui|agora|hoje|vencido|que venceu|para voces?|pra voces?)){0,3}[ .,!?]{0,5}"
_EXPLICIT: Final = re.compile(
    rf"{_BEFORE}(?:{_DO} {_OF}|(?:o )?link (?:do|para o|pro|de) (?:meu )?){_NAMED}{_END}|(?:o )?(?:meu|"
    rf"nosso) {_NAMED}{_END}|(?:(?:o )?meu |o |nosso ){_NAMED} {_PAST}{_END}"
)
_BARE: Final = re.compile(rf"{_BEFORE}(?:o |um )?{_NAMED}{_END}")
LONGEST_REQUEST: Final = 120  # characters; a longer text is about something else


def wants_certificate(texto: str, *, drafting: bool) -> bool:
    """Tell whether that is all that was said. ``drafting``: an invoice is open, whose service a bare word may be."""
    if len(texto) > LONGEST_REQUEST:
        return False
    plain = " ".join(read(texto).plain.split())
    return _EXPLICIT.fullmatch(plain) is not None or (not drafting and _BARE.fullmatch(plain) is not None)


_BEFORE_STOP: Final = r"(?:(?:oi|ola|opa|prosa|por favor|quero|queria|pode|preciso|favor)[ ,!.]{1,3}){0,3}"
_STOP: Final = r"(?:par(?:a|ar|e|em)|interromp(?:a|e|er)|suspend(?:a|e|er)|cancel(?:a|ar|e))"
_OF_LIST: Final = r"(?: (?:o|a|os|esse|este|aquele|meu|tudo|todo|envio|envios|do|de|dos)){0,4}"
_LIST: Final = r" (?:lote(?: (?:n(?:umero|ro|[.o°º]{1,2})? ?)?(?P<n>\d{1,18}))?|e-?mails)"
_END_OF_STOP: Final = r"(?:,? (?:por favor|agora|ja|tudo|todo|de e-?mails?)){0,3}[ .,!]{0,5}"
_WHOLE: Final = re.compile(f"{_BEFORE_STOP}{_STOP}{_OF_LIST}{_LIST}{_END_OF_STOP}")
LONGEST_STOP: Final = 80  # characters; a longer text is about something else


@dataclass(frozen=True, slots=True)
class BatchStop:
    """Which list is to stop: its number, where one was said."""

    numero: int | None = None


def read_batch_stop(texto: str) -> BatchStop | None:
    """Return the wish, where that is all that was said."""
    if len(texto) > LONGEST_STOP:
        return None
    found = _WHOLE.fullmatch(" ".join(read(texto).plain.split()))
    if found is None:
        return None
    return BatchStop(int(found["n"]) if found["n"] else None)
