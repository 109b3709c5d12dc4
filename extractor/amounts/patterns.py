"""The table of words around an amount that call it the price, or say that it was one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from extractor.amounts.role import SEVERAL, Role, group
from extractor.amounts.words import (
    CHANGE,
    FILLERS,
    LABEL_WORDS,
    NEW_WORDS,
    OLD_WORDS,
    PART_WORDS,
    RENEW,
    REPAIR,
    SAID_BARE,
    A,
)
from extractor.text.folding import EMOJI

if TYPE_CHECKING:
    from extractor.amounts.role import Group

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
