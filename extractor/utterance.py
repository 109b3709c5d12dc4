"""The door through which the bot asks what a turn says: its data, its act, its request, what it may not become.

Finds words that must not become an invoice's data: fiscal instructions that we cannot carry out yet, and abuse.

Names the speech act of a turn from closed lists of words, where the readers agreed on none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Final

from extractor.contract import Ato, Context, Extraction, Extractor, RequestKind
from extractor.requests.recognisers import ABOUT, QUESTION, REPEAT, SHOWN, Recogniser, first
from extractor.requests.requests import Pedido, read_request, without_requests
from extractor.requests.several import another, orders_one, split
from extractor.requests.yes_no import is_wait, is_wrong, standalone
from extractor.text.folding import ABUSE, FOLDED, read, written_out
from extractor.text.marks import COMMAND, FUNCTION, GREETINGS, NOISE, POLITE, TALK, is_work
from extractor.text.numerals import has_many_numbers
from state_machine.invoice.field_table import NAO, SIM
from state_machine.invoice.fields import Campo, Candidate, Motivo


class Instrucao(StrEnum):
    """What is asked of the invoice beside customer, amount and service."""

    ISS = "iss_retido"  # alone: a channel may take it
    RETENCAO = "retencao"
    OBSERVACAO = "observacao"
    DESCONTO = "desconto"  # as a line of its own
    EXTERIOR = "exterior"
    CODIGO = "codigo"
    ALIQUOTA = "aliquota"
    PERIODO = "periodo"


_TAX: Final = r"(?:iss|issqn|inss|ir|irrf|pis|cofins|csll|impostos?|tributos?|na fonte)"
_KEEP: Final = r"(?:ret(?:em|enh\w+|er|ido|idos|ida|encao|encoes|endo|iver)|descont(?:a|e|o|ar|ando|ado))"
_PUT: Final = r"(?:coloc\w+|coloqu\w+|poe|poem|por|ponh\w+|bot\w+|inclu\w+|acrescent\w+|adicion\w+|escrev\w+|anot\w+)"
_NOTES: Final = r"obs(?:ervac(?:ao|oes))?"
_MONTH: Final = (
    r"(?:janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro|\d{1,2}/\d{2,4})"
)
_ABROAD: Final = r"(?:exterior|estrangeir[ao]s?|gring[ao]|foreign|lisboa)"
_FOREIGN: Final = (  # of a customer alone: "aula de inglês" is a service
    r"(?:de fora|american[ao]|alema|alemao|frances|francesa|suic[ao]|ingles|inglesa|italian[ao]|espanhol|espanhola|"
    r"portugues|portuguesa|argentin[ao]|canadense|chines|chinesa|da argentina)"
)
_NO_DOCUMENT: Final = r"(?:sem|nao tem|nao possui|no) (?:cnpj|cpf)"
_TAXED: Final = re.compile(rf"\b(?:{_TAX}|{_KEEP}|liquido|bruto|{_NOTES})\b|%")
_UNLABELLED: Final = re.compile(
    r"\b(?!(?:competencia|mes|e?mail|cnpj|cpf|valor|servico|descricao)\b)[a-z0-9]+"
)  # no label
_OF_ORDERS: Final = GREETINGS | POLITE | COMMAND | FUNCTION
WHOLE: Final = frozenset({Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO})
# Each ends with its clause: what follows on another line, or in another sentence, is read as ever.
_REST: Final = r"[^.;\n]*"
_OTHER_TAX: Final = r"(?:inss|ir|irrf|pis|cofins|csll|impostos?|tributos?)"
_KINDS: Final = {
    Instrucao.ISS: re.compile(
        rf"(?<!sem )(?<!nao )(?:\b(?:com )?{_KEEP}\b[^.,;\n]{{0,20}}\b(?:iss|issqn)\b"
        rf"|\b(?:com )?(?:iss|issqn) (?:eh? |sera |vai ser |deve ser )?retid[ao]s?\b|\b(?:iss|issqn) na fonte\b"
        rf"|\b(?:tomador|cliente) (?:que )?(?:recolhe|retem|vai reter|paga) (?:o )?(?:iss|issqn)\b)"
        rf"(?![^.;\n]{{0,30}}\b{_OTHER_TAX}\b){_REST}"
    ),
    Instrucao.RETENCAO: re.compile(
        rf"(?<!sem )(?<!nao )\b(?:com )?{_KEEP}\b[^.,;\n]{{0,20}}\b{_TAX}\b{_REST}"
        rf"|\b{_TAX} (?:eh? |sera |vai ser |deve ser )?retid[ao]s?\b{_REST}"
        rf"|\b(?:tomador|cliente) (?:que )?(?:recolhe|retem|vai reter|paga) (?:o |os )?{_TAX}\b{_REST}"
        rf"|\bsubstitu(?:icao|to) tributari[ao]\b{_REST}"
    ),
    Instrucao.OBSERVACAO: re.compile(
        rf"\b{_PUT}\b[^.,;\n]{{0,15}}\bn?(?:a|o|as|os|em|uma|como) {_NOTES}\b{_REST}|^ *{_NOTES} *:{_REST}"
    ),
    Instrucao.DESCONTO: re.compile(
        rf"\b(?:destac\w+|discrimin\w+|{_PUT})\b[^.,;\n]{{0,10}}\b(?:o |um )?desconto\b[^.,;\n]{{0,25}}"
        rf"\b(?:na nota|no corpo|separado|em linha|incondicional)\b{_REST}|\bdesconto (?:in)?condicion(?:al|"
        rf"ado)\b{_REST}"
    ),
    Instrucao.EXTERIOR: re.compile(
        r"\b(?:cliente|tomador|empresa)s? (?:eh? |fica |esta |mora |residente |sediad[ao] )*"
        r"(?:[dn]o exterior(?! d[aeo] (?!pais|brasil))|(?:de )?fora do (?:brasil|pais)|estrangeir[ao]|american[ao]|"
        r"gringo|(?:dos|nos) (?:eua|estados unidos)|(?:de|em) portugal|(?:da|na) (?:argentina|europa|alemanha|"
        r"inglaterra))\b|\bexportacao de servicos?\b"
        rf"|\b{_NO_DOCUMENT}\b[^.;\n]{{0,30}}\b{_ABROAD}\b|\b{_ABROAD}\b[^.;\n]{{0,30}}\b{_NO_DOCUMENT}\b"
        rf"|\b(?:cliente|tomador|empresa) (?:eh? (?:uma? )?)?{_FOREIGN}\b[^.;\n]{{0,30}}\b{_NO_DOCUMENT}\b"
        r"|\b(?:nif|ein|tin|tax id|vat(?: number| id)?)\b[^.;\n]{0,25}?\b[a-z]{0,2}\d[\d-]{6,}"
        r"|\bpassaporte\b[^.;\n]{0,15}?\b[a-z]{1,3}\d{5,}|\b(?:so|apenas|somente) tem (?:o )?passaporte\b"
        r"|\bnota (?:fiscal )?(?:eh? )?(?:pra|para|pro) (?:o exterior|fora do (?:brasil|pais))\b"
        r"|\b(?:pra|para|pro) (?:um|uma) (?:gring[ao]|estrangeir[ao])\b(?! \w)"
        r"|\bforeign (?:customer|client|company)\b|\b(?:llc|gmbh)\b[^.;\n]{0,15}\b(?:eua|estados unidos|alemanha)\b"
    ),
    Instrucao.CODIGO: re.compile(
        r"\b(?:codigo|item)(?: d[eoa] (?:servico|lista|lc ?116|tributacao))+\W{0,3}(?:eh? |para |pra |o |"
        r":)*\d[\d.\-/]*"
        r"|\b(?:mud\w+|troc\w+|us[ae]\w*|alter\w+) (?:o |esse |outro )*(?:cnae|codigo d[eo] servico)\b[^.;\n]*"
    ),
    Instrucao.ALIQUOTA: re.compile(
        rf"\b(?:mud\w+|troc\w+|us[ae]\w*|alter\w+|{_PUT}|com)\b[^.,;\n]{{0,10}}\baliquota\b(?: de)? ?\d[^.;\n]*"
        r"|\baliquota (?:de |eh? |do iss |iss )*\d[\d,]* ?%"
    ),
    Instrucao.PERIODO: re.compile(
        rf"\bcompetencias? (?:de |d[eo]s? meses de )?{_MONTH}(?: de \d{{4}})? (?:a|ate|e) {_MONTH}\b{_REST}"
    ),
}


_NOT_RETAINED: Final = re.compile(
    r"\b(?:(?:o )?(?:cliente|tomador) )?(?:sem (?:a |o |nenhuma )?|nao (?:(?:tem|ha|vai|deve|quero|eh?|sera) (?:a |"
    r"o )?)?|(?:tir|retir|remov)\w* (?:a |o |essa |esse )?)(?:iss(?:qn)? )?ret(?:em|enha|er|id[ao]|encao|"
    r"encoes)\b(?! (?:d[aeo] |o )?(?:inss|irrf|ir|pis|cofins|csll)\b)(?: (?:d[eo] |o )?iss(?:qn)?\b)?"
)
_UNSERVED: Final = (*_KINDS.values(), ABUSE)


def instruction(texto: str) -> Instrucao | None:
    """Return the first fiscal instruction that the words hold, ``None`` without any."""
    plain = _plain(texto)
    return next((kind for kind, pattern in _KINDS.items() if pattern.search(plain)), None)


def is_whole_order(texto: str, candidates: Sequence[Candidate], service: str | None = None) -> bool:
    """Say whether a whole order was read: each word is in a field or stands in every order, and no service is of taxes.

    Such an order holds no instruction, whatever a reader makes of it. ``service`` is the known one, which an order that
    is said again names and is not read from it anew.
    """
    found = {c.campo: c.trecho for c in candidates}
    if service is not None and service in texto:
        found.setdefault(Campo.DESCRICAO, service)
    if not found.keys() >= WHOLE or _TAXED.search(_plain(found[Campo.DESCRICAO])):
        return False
    for said in found.values():
        texto = texto.replace(said, " ", 1)
    return set(_UNLABELLED.findall(_plain(texto))) <= _OF_ORDERS


def without(texto: str) -> str:
    """Return the words with instructions and abuse blanked out; every other character stays at its place."""
    plain = _plain(texto)
    left: list[str] = []
    end = 0
    for start, stop in sorted(found.span() for pattern in _UNSERVED for found in pattern.finditer(plain)):
        if stop > end:
            left += (texto[end:start], " " * (stop - max(start, end)))
            end = stop
    left.append(texto[end:])
    return "".join(left)


def _plain(texto: str) -> str:
    """Return lower-case letters without accents, as many characters as there were."""
    return "".join(map(_bare, texto))


@lru_cache(FOLDED)
def _bare(letter: str) -> str:
    return unicodedata.normalize("NFD", letter.lower())[0]


MAX_WORDS: Final = 12  # of a turn that is nothing but one of these acts; longer ones are orders or stories
ASKS: Final = re.compile(
    r"^\W*(?:(?:oi|ola|e|mas|entao|bom dia|boa tarde|boa noite|ei|opa|ah|prosa|me (?:diz|fala|explica)|uma duvida|"
    r"duvida|queria saber|quero saber|gostaria de saber|voce sabe|sabe|sera que|outra coisa)[\s,:;.]+)*"
    r"(?:qual|quais|quant[oa]s?|quando|como|onde|quem|por ?que|porque|pq|o que|oq|que (?:dia|hora)|ate quando|"
    r"e se|se eu|posso|pode ser que|da p(?:ra|ara)|tem (?:como|que|jeito|prazo)|preciso (?:ter|pagar|de)|"
    r"eh (?:seguro|obrigad|preciso|possivel)\w*|sou obrigad\w*|vai (?:demorar|cair|dar))\b"
)
COMPLAINT: Final = re.compile(
    r"\b(?:tava|estava|tavam|estavam|veio|saiu|ficou|foi|emitiu|emitiram|mandou|fez|fizeram|lancou|colocou|"
    r"colocaram)\b[^.\n]{0,40}\b(?:errad\w*|incorret\w*|trocad[oa]|duplicad[oa]|em dobro|a mais|a menos|"
    r"pra pessoa errada)\b|\bnota\b[^.\n]{0,30}\b(?:errada|incorreta|trocada|duplicada)\b|\berr(?:ou|aram|"
    r"ei)\b[^.\n]{0,30}\bnota\b|\bnota\b[^.\n]{0,40}\b(?:com erro|com (?:o )?\w+ errado)\b|\bnao (?:era|foi) (?:isso|"
    r"esse|essa)\b[^.\n]{0,30}\bnota\b|\besqueci (?:de |do |da )?(?:por|colocar|botar|incluir|"
    r"informar)\b[^.\n]{0,40}\b(?:n?a|d?essa|da ultima) nota\b|\bquero (?:fazer uma )?reclama\w+|\breclamacao\b|"
    r"\bnao (?:recebi|chegou|veio)\b[^.\n]{0,25}\b(?:nota|pdf|xml|arquivo)\b"
)
# What was wrong with a note that is out, told by its customer or as the last one: "a nota do joão era 250".
_SHOULD_BE: Final = r"(?:era|devia ser|deveria ser|tinha (?:que|de) ser)"
WAS_WRONG: Final = re.compile(
    rf"\bnota (?:d[aeo]s?|pr[ao]|para)(?: [ao])? (?P<nome>[a-z][a-z ]{{1,40}}?) {_SHOULD_BE} (?:de |por )?(?:r\$ ?)?\d"
    r"|\b(?:errei|me enganei|esqueci|confundi)\b[^.\n]{0,20}\b(?:a|na|da) (?:nota )?(?:ultima|anterior)\b"
    rf"|\b(?:a |na |da )?(?:nota )?ultima\b[^.\n]{{0,20}}\b{_SHOULD_BE} (?:de |r\$ ?)*\d"
)
_RIGHT: Final = r"(?:ela |a nota |tudo )*(?:ta|esta|tava|estava) (?:tudo )?cert[oa]|deixa (?:assim|quieto|como esta)"
TAKES_BACK: Final = re.compile(
    r"\A(?:(?:ah|opa|nao|ja vi|desculpa|foi mal)\W+){0,4}"
    rf"(?:(?:nao )?era nada|nao foi nada|falso alarme|engano meu|me enganei|{_RIGHT})"
    rf"(?:\W{{1,9}}(?:{_RIGHT}|desculpa|obrigad[oa]|valeu))*\W*"
)
ANOTHER: Final = re.compile(r"(?:nao[,.!]? ?)?(?:eh?|era|(?:eh? )?p(?:a)?r[ao]) outr[oa] (?P<what>[a-z]{3,30})[.!]?")
# To change an issued note, which has a number: "muda o valor da nota 1", "substitui a nota 2".
CHANGES: Final = re.compile(
    r"\b(?:mud[ae]r?|tro(?:ca|car|que)|corrij[ae]|corrigir?|corrige|alter(?:a|ar|e)|arrum(?:a|ar|e)|acert(?:a|ar|e)|"
    r"substitu(?:i|ir|a)|edit(?:a|ar|e)|consert(?:a|ar|e))\b[^.\n]{0,30}?"
    rf"\bnota (?:fiscal )?(?:n(?:ro|um|umero|[.o°º])?\.? ?)?(?P<n>{SHOWN})\b(?![.,]?\d)"
)
# Of which note somebody speaks: "a nota 1 saiu errada", "errei a nota fiscal nº 12".
NUMBERED: Final = re.compile(
    rf"\bnota (?:fiscal )?(?:n(?:ro|um|umero|[.o°º])?\.? ?)?(?P<n>{SHOWN})\b(?![.,]?\d)(?! (?:reais|real|conto|pila)\b)"
)
_IS_WRONG: Final = re.compile(r"\b(?:errad[oa]|err(?:o|ei|ou|aram)|incorret[oa]|trocad[oa]|duplicad[oa])\b")
GOOD_NEWS: Final = re.compile(  # of the money: "recebi o pix"; "recebi a nota e o valor ta diferente" is none
    r"(?<!nao )\b(?:recebi|caiu|entrou|pingou|pagou|pagaram)\b[^.\n]{0,20}\b(?:pix|pagamento|dinheiro|grana|conta)\b"
)
_NUMBER: Final = re.compile(
    r"(?i)\bnota(?P<n>(?: fiscal)? (?:n(?:ro|um|[úu]mero|[.oº°])?\.? ?)?\d{1,15}(?![.,]?\d)(?: por outra\b)?)"
)
_WAS: Final = re.compile(r"(?i)\bera\b")
OF_ISSUED: Final = re.compile(
    r"\bacab\w+ de (?:emitir|sair|mandar|fazer)\b|\bemitid[ao]\b|\bque (?:ja )?saiu\b|\bja saiu\b"
)
LATER: Final = re.compile(
    r"\btod[oa]s?(?: os?| as?)? (?:santo )?(?:mes(?:es)?|dia \d{1,2}|semanas?|quinzenas?|segunda|sexta)\b|"
    r"\bmensalmente\b|\bsemanalmente\b|\bmes sim\b|\b(?:so|apenas|somente) (?:amanha|depois de amanha|segunda|"
    r"semana que vem|mes que vem|dia \d{1,2})\b|\bagend\w+|\bprograma(?:r|da|do)?\b[^.\n]{0,20}\bnota|\b(?:emit\w+|"
    r"manda\w*|faz\w*|faca|solt\w+|ger\w+)\b[^.\n]{0,30}\b(?:amanha|depois de amanha|semana que vem|mes que vem|"
    r"(?:na )?(?:segunda|terca|quarta|quinta|sexta)(?:-feira| que vem))\b|\bautomatic\w+\b[^.\n]{0,20}\b(?:mes|nota)|"
    r"\brecorren\w+"
)
OUTSIDE: Final = re.compile(
    r"\b(?:ger\w+|emit\w+|faz\w*|faca|manda\w*|me (?:da|passa)|preciso|quero|tira\w*|pag\w+|imprim\w+|baix\w+|"
    r"declar(?:a|e|ar))\b[^.;\n]{0,25}"
    r"\b(?:guia|das|dasn|darf|gps|gru|boleto|holerite|irpf|imposto de renda|alvara|contrato|"
    r"recibo|orcamento|certidao|fgts|pix|emprestimo|nota de produto|nf de produto|nfc-?e|cupom fiscal)\b|"
    r"\bme (?:empresta|deve|devem|transfere)\b|\bquem me deve\b|\bguia (?:do|da|de) (?:das|inss|iss|mei)\b"
)
INVOICE_WORK: Final = re.compile(r"\b(?:servico|servicos|referente|ref|descricao|consultoria|assessoria|honorarios)\b")
THANKS: Final = re.compile(
    r"(?:\W|^)(?:obrigad[oa]|brigad[oa]|brigadao|obg|obgd|vlw|valeu|agradec\w+|gratidao|tmj|deus (?:te|lhe) (?:abencoe|"
    r"pague)|thanks|gracias)(?:\W|$)"
)
FAREWELL: Final = re.compile(
    r"^\W{0,9}+(?:(?:ok|entao|por hoje|eh so|so isso|obrigad[oa]|valeu|vlw|boa noite)\W{1,9}+){0,4}(?:tchau|xau|"
    r"ate (?:mais|logo|amanha|breve|a proxima)|flw|fui|bom descanso)"
    r"(?:\W{1,9}+(?:tchau|ate (?:mais|logo)|obrigad[oa]|prosa)){0,3}\W{0,9}+$"
)
SWEARING: Final = re.compile(
    r"\b(?:porra|caralho|krl|merda|bosta|droga|inferno|saco|cacete|burr[oa]|idiota|imbecil|lix[oa]|porcaria|inutil|otari[oa])\b"
)
HOW_TO_USE: Final = re.compile(
    r"\b(?:ajuda|help|socorro|menu|comandos|opcoes|tutorial|passo a passo)\b|\bcomo (?:que )?(?:isso |voce |eu )*"
    r"(?:funciona|uso|usar|faco|fazer|emito|emitir|mando|comeco|peco)\b|\bo que (?:eh que )?(?:voce|vc|isso|a prosa) "
    r"(?:faz|sabe|consegue)\b|\b(?:quais|que|o que|oq) (?:dados|informacoes|documentos|falta|(?:voce |vc )?precisa)\b|"
    r"\bo que (?:eu )?(?:mando|preciso|escrevo|tenho que)\b|\bfalta (?:o que|alguma coisa|algo)\b|\bnao (?:entendi|"
    r"sei usar)\b"
)
MISTAKE: Final = re.compile(r"\berr(?:o|os|ei|ou|amos|aram|ad[oa]s?)\b")
# What nobody tells as the reason of anything; a note that was issued twice is told like a request ("já foi emitida").
_ASIDE: Final = frozenset(RequestKind) - {
    *(RequestKind.CANCELAR_NOTA, RequestKind.RETOMAR, RequestKind.REPETIR, RequestKind.STATUS)
}
_WORD: Final = re.compile(r"[a-z]+|\d+")
# What people ask to see of their own, of which the fields' readers know no word: "meus clientes", "a última".
_OURS: Final = frozenset(
    ("meus", "minhas", "clientes", "tomadores", "lista", "listar", "relacao", "ultima", "ultimas", "ultimo")
)
# Acts whose lists are closed: who says these words does this, whatever a learned reader makes of the rest.
LISTED: Final = frozenset(
    {Ato.FISCAL, Ato.ESPERA, Ato.VARIAS, Ato.RECLAMA, Ato.FORA, Ato.DEPOIS, Ato.REGISTRO, Ato.REPETE, Ato.SOCIAL}
)
# What the readers' closed words name for want of another act: it decides nothing.
_TALK: Final = frozenset({Ato.SOCIAL, Ato.PERGUNTA, Ato.FORA})


def act_of(dita: Utterance) -> Ato | None:
    """Return the act of a turn: a model's, one that closed lists name, what the readers agree on, what the data say."""
    if dita.dados.pede:
        return dita.dados.agreed
    said = dita.dados.ato
    row = first(BY_DATA, dita)
    named = row.wants if row else None if said in _TALK else said
    asks = said is Ato.PERGUNTA and dita.dados.agreed is Ato.SOCIAL  # "você é robô?"
    closed = named in LISTED or (named is Ato.PERGUNTA and (asks or _about(dita)))
    return named if closed else dita.dados.agreed or named


def _words(dita: Utterance) -> str:
    """Return the words of a short turn without data, of any other turn none."""
    words = standalone(dita.plain).replace("?", "").strip()
    return words if len(words.split()) <= MAX_WORDS and not dita.dados.informs else ""


def corrections(texto: str) -> tuple[str, str]:
    """Return a complaint about an issued note as words to a draft with its data, without the note's number.

    The first as it was told; the second where the first changes nothing: what "was" is then what is right, and no
    former amount.
    """
    text = read(texto)
    orders = CHANGES.search(text.plain)
    told = _NUMBER.sub(lambda m: m[0].removesuffix(m["n"]), texto)
    if orders:  # some of these verbs are work: "troca", "conserta"
        verb = text.verbatim(orders.start(), orders.start() + len(orders[0].split()[0]))
        told = told.replace(verb, "muda", 1)
    return told, _WAS.sub("é", told)


def only_asks(texto: str) -> bool:
    """Say whether the words ask for something of ours and name no work: "minhas notas" is no service, nor a reason."""
    said, left = read(texto).plain, without_requests(texto)
    for asks in (HOW_TO_USE, REPEAT.pattern, QUESTION):
        left = asks.sub(" ", left)
    words = _WORD.findall(left)
    asked = words != _WORD.findall(said) or not _OURS.isdisjoint(words)
    return asked and all(word in _OURS or (word in NOISE | TALK and not is_work(word)) for word in words)


def is_aside(texto: str) -> bool:
    """Say whether the words ask for something in place of the answer that is waited for, and tell no mistake."""
    plain = read(texto).plain
    if MISTAKE.search(plain):
        return False
    if "?" in plain and ASKS.search(plain) and not re.search(r"\d", plain):
        return True
    pedido = read_request(texto)
    asked = pedido is not None and (pedido.tipo in _ASIDE or "?" in plain or "status" in plain)
    return (asked or HOW_TO_USE.search(plain) is not None) and only_asks(texto)


def another_one(dita: Utterance) -> str | None:
    """Return the word for what is another one ("não, é outra padaria": "padaria"), ``None`` where none is named."""
    found = ANOTHER.fullmatch(dita.plain)
    return found["what"] if found else None


def _is_outside(dita: Utterance) -> bool:
    """Say whether it is about what no invoice is: a tax payment slip, a payment, a loan, orders to the reader."""
    return not (names_customer(dita.dados) or dita.says(INVOICE_WORK)) and dita.says(OUTSIDE) is not None


def _asks(dita: Utterance) -> bool:
    """Say whether the words ask; a question never gives an invoice up, and never issues one."""
    dados, pedido = dita.dados, dita.pedido
    data = dados.doubts or any(c.campo in {Campo.DOCUMENTO, Campo.VALOR} for c in dados.candidates)
    if not dita.says(ASKS) and (data or not ("?" in dita.plain or _about(dita))):
        return False
    return pedido is None or pedido.tipo is RequestKind.CANCELAR_NOTA


def _about(dita: Utterance) -> bool:
    """Say whether the words ask about an act and order none."""
    return dita.dados.ato is not Ato.RECUSA and dita.says(ABOUT.pattern) is not None


def _is_social(dita: Utterance) -> bool:
    said = dita.says(ABUSE) or dita.says(SWEARING) or leaves(dita)
    return said is not None and bool(_words(dita)) and dita.dados.ato in _TALK


def leaves(dita: Utterance) -> re.Match[str] | None:
    """Find words of thanks, or a goodbye that says nothing else."""
    return dita.says(THANKS) or FAREWELL.match(dita.plain)


def names_customer(dados: Extraction) -> bool:
    """Say whether the words name a customer's document: then they are about an invoice, whatever else they say."""
    return any(candidate.campo is Campo.DOCUMENTO for candidate in dados.candidates)


@dataclass(frozen=True)
class Utterance:
    """What one turn says. ``dados`` is the readers' word; the rest is read from the words once, when it is asked for.

    ``ato`` is what the answer must deal with first, ``None`` where nothing names an act: then the data decide alone.
    ``pedido`` is asked for beside an invoice's data, ``instrucao`` of the invoice, which can't carry it. ``partes`` has
    a piece for each of several invoices, of which the first was read; ``outra`` orders one more beside an open one.
    """

    texto: str
    dados: Extraction
    taken: bool = False  # what is asked of the invoice stands in ``dados``: it can carry it

    plain = cached_property[str](lambda self: read(self.texto).plain.strip())
    stems = cached_property[frozenset[str]](lambda self: read(self.texto).stems)
    ato = cached_property[Ato | None](act_of)
    pedido = cached_property[Pedido | None](lambda self: read_request(self.texto, self.dados.pede, self.dados.alvo))
    instrucao = cached_property[Instrucao | None](lambda self: None if self.taken else instruction(self.texto))
    partes = cached_property[tuple[str, ...]](lambda self: split(self.texto) or self.dados.partes)
    outra = cached_property[str | None](
        lambda self: self.texto if self.dados.pede == Ato.VARIAS else another(self.texto)
    )

    def says(self, words: re.Pattern[str]) -> re.Match[str] | None:
        """Find these words."""
        return words.search(self.plain)


# How each act is recognised by closed lists. The first that fits names it.
BY_DATA: Final[tuple[Recogniser[Ato, Utterance], ...]] = (
    Recogniser(Ato.FISCAL, "põe a observação: obra 12", attrgetter("instrucao")),
    Recogniser(Ato.RECLAMA, "a nota 12 saiu errada", NUMBERED, also=(_IS_WRONG,)),
    Recogniser(Ato.REGISTRO, "minhas notas", lambda dita: dita.pedido and dita.pedido.inteiro),
    Recogniser(Ato.ESPERA, "espera um pouco", lambda dita: is_wait(_words(dita))),
    Recogniser(
        Ato.CORRIGE,
        "não, é outra padaria",
        lambda dita: (words := _words(dita)) and (is_wrong(words) or another_one(dita)),
    ),
    Recogniser(Ato.RECLAMA, "muda o valor da nota 1", CHANGES),
    Recogniser(Ato.RECLAMA, "a nota do joão era 250", WAS_WRONG),
    Recogniser(
        Ato.VARIAS,
        "duas notas de 300 pra Ana",
        lambda dita: any(doubt.motivo is Motivo.DUAS_NOTAS for doubt in dita.dados.doubts),
    ),
    Recogniser(Ato.RECLAMA, "a nota veio errada", COMPLAINT),
    Recogniser(Ato.FORA, "gera a guia do das", _is_outside),
    Recogniser(Ato.PERGUNTA, "quanto custa?", _asks),
    Recogniser(Ato.DEPOIS, "emite todo mês", LATER),
    Recogniser(Ato.SOCIAL, "obrigado", _is_social),
)


async def understand(
    texto: str, contexto: Context, extractor: Extractor, *, drafting: bool = False, ordered: bool = False
) -> Utterance:
    """Read one turn. Where it orders several invoices the first is read as if it stood alone.

    ``drafting``: an invoice is begun; what orders one more beside it has no data for it; ``ordered``: its amount or its
    customer was said. Of a text with more numbers than any order has, a statement or a sheet, nothing is read. Who
    takes a retained ISS back says no yes.
    """
    if has_many_numbers(texto):
        return Utterance("", Extraction(Ato.DADOS))
    texto = written_out(texto)
    if (drafting and another(texto)) or (ordered and orders_one(texto)):
        return Utterance(texto, Extraction(Ato.SOCIAL, agreed=Ato.VARIAS))
    if contexto.pendente and only_asks(texto):  # a request comes before the answer that is waited for
        contexto = replace(contexto, pendente=None)
    denied = _NOT_RETAINED.search(_plain(texto))
    stands = Campo.RETIDO in {*contexto.conhecidos, contexto.pendente}
    if denied:
        rest = texto[: denied.start()] + " " * len(denied[0]) + texto[denied.end() :]
        says = contexto.retem and "?" not in texto and any(map(str.isalnum, rest))  # in an order, of its tax
        texto = rest if stands or says else texto
    several = split(texto)
    dados = await extractor.extract(without(several[0] if several else texto), contexto)
    taken = contexto.retem and (stands or not denied) and instruction(texto) is Instrucao.ISS
    if taken:
        dados = replace(dados, candidates=(*dados.candidates, Candidate(Campo.RETIDO, SIM, texto)))
    elif stands and (denied or (contexto.pendente is Campo.RETIDO and dados.ato is Ato.NEGA and not dados.informs)):
        said = (*dados.candidates, Candidate(Campo.RETIDO, NAO, texto))
        dados = replace(dados, ato=Ato.CORRIGE, agreed=None, candidates=said)
    return Utterance(texto, replace(dados, agreed=Ato.VARIAS) if several or dados.partes else dados, taken)
