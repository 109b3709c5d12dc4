"""Finds words that must not become an invoice's data: fiscal instructions that we cannot carry out yet, and abuse."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from extractor.text.folding import FOLDED
from extractor.text.hostile import ABUSE
from extractor.text.vocabulary import COMMAND, FUNCTION, GREETINGS, POLITE
from state_machine.invoice.fields import Campo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.invoice.fields import Candidate


class Instrucao(StrEnum):
    """What is asked of the invoice beside customer, amount and service."""

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
_WORD: Final = re.compile(r"\b(?!(?:competencia|mes|e?mail|cnpj|cpf|valor|servico|descricao)\b)[a-z0-9]+")  # no label
_OF_ORDERS: Final = GREETINGS | POLITE | COMMAND | FUNCTION
WHOLE: Final = frozenset({Campo.DOCUMENTO, Campo.VALOR, Campo.DESCRICAO})
# Each ends with its clause: what follows on another line, or in another sentence, is read as ever.
_REST: Final = r"[^.;\n]*"
_KINDS: Final = (
    (
        Instrucao.RETENCAO,
        re.compile(
            rf"(?<!sem )(?<!nao )\b(?:com )?{_KEEP}\b[^.,;\n]{{0,20}}\b{_TAX}\b{_REST}"
            rf"|\b{_TAX} (?:eh? |sera |vai ser |deve ser )?retid[ao]s?\b{_REST}"
            rf"|\b(?:tomador|cliente) (?:que )?(?:recolhe|retem|vai reter|paga) (?:o |os )?{_TAX}\b{_REST}"
            rf"|\bsubstitu(?:icao|to) tributari[ao]\b{_REST}"
        ),
    ),
    (
        Instrucao.OBSERVACAO,
        re.compile(rf"\b{_PUT}\b[^.,;\n]{{0,15}}\bn?(?:a|o|as|os|em|uma|como) {_NOTES}\b{_REST}|^ *{_NOTES} *:{_REST}"),
    ),
    (
        Instrucao.DESCONTO,
        re.compile(
            rf"\b(?:destac\w+|discrimin\w+|{_PUT})\b[^.,;\n]{{0,10}}\b(?:o |um )?desconto\b[^.,;\n]{{0,25}}"
            rf"\b(?:na nota|no corpo|separado|em linha|incondicional)\b{_REST}|\bdesconto (?:in)?condicion(?:al|"
            rf"ado)\b{_REST}"
        ),
    ),
    (
        Instrucao.EXTERIOR,
        re.compile(
            r"\b(?:cliente|tomador|empresa)s? (?:eh? |fica |esta |mora |residente |sediad[ao] )*"
            r"(?:[dn]o exterior(?! d[aeo] (?!pais|brasil))|"
            r"de fora do (?:brasil|pais)|"
            r"fora do (?:brasil|pais)|estrangeir[ao]|american[ao]|gringo|"
            r"(?:dos|nos) (?:eua|estados unidos)|(?:de|em) portugal|(?:da|na) (?:argentina|europa|alemanha|"
            r"inglaterra))\b"
            r"|\bexportacao de servicos?\b"
            rf"|\b{_NO_DOCUMENT}\b[^.;\n]{{0,30}}\b{_ABROAD}\b|\b{_ABROAD}\b[^.;\n]{{0,30}}\b{_NO_DOCUMENT}\b"
            rf"|\b(?:cliente|tomador|empresa) (?:eh? (?:uma? )?)?{_FOREIGN}\b[^.;\n]{{0,30}}\b{_NO_DOCUMENT}\b"
            r"|\b(?:nif|ein|tin|tax id|vat(?: number| id)?)\b[^.;\n]{0,25}?\b[a-z]{0,2}\d[\d-]{6,}"
            r"|\bpassaporte\b[^.;\n]{0,15}?\b[a-z]{1,3}\d{5,}|\b(?:so|apenas|somente) tem (?:o )?passaporte\b"
            r"|\bnota (?:fiscal )?(?:eh? )?(?:pra|para|pro) (?:o exterior|fora do (?:brasil|pais))\b"
            r"|\b(?:pra|para|pro) (?:um|uma) (?:gring[ao]|estrangeir[ao])\b(?! \w)"
            r"|\bforeign (?:customer|client|company)\b|\b(?:llc|gmbh)\b[^.;\n]{0,15}\b(?:eua|estados unidos|alemanha)\b"
        ),
    ),
    (
        Instrucao.CODIGO,
        re.compile(
            r"\b(?:codigo|item)(?: d[eoa] (?:servico|lista|lc ?116|tributacao))+\W{0,3}(?:eh? |para |pra |o |"
            r":)*\d[\d.\-/]*"
            r"|\b(?:mud\w+|troc\w+|us[ae]\w*|alter\w+) (?:o |esse |outro )*(?:cnae|codigo d[eo] servico)\b[^.;\n]*"
        ),
    ),
    (
        Instrucao.ALIQUOTA,
        re.compile(
            rf"\b(?:mud\w+|troc\w+|us[ae]\w*|alter\w+|{_PUT}|com)\b[^.,;\n]{{0,10}}\baliquota\b(?: de)? ?\d[^.;\n]*"
            r"|\baliquota (?:de |eh? |do iss |iss )*\d[\d,]* ?%"
        ),
    ),
    (
        Instrucao.PERIODO,
        re.compile(
            rf"\bcompetencias? (?:de |d[eo]s? meses de )?{_MONTH}(?: de \d{{4}})? (?:a|ate|e) {_MONTH}\b{_REST}"
        ),
    ),
)


_UNSERVED: Final = (*(pattern for _, pattern in _KINDS), ABUSE)


def instruction(texto: str) -> Instrucao | None:
    """Return the first fiscal instruction that the words hold, ``None`` without any."""
    plain = _plain(texto)
    return next((kind for kind, pattern in _KINDS if pattern.search(plain)), None)


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
    return set(_WORD.findall(_plain(texto))) <= _OF_ORDERS


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
