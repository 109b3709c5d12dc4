"""Owns the reading of PlugNotas' descriptions of a note; refuses what it does not recognise.

Owns the words in which gateways and authorities say that a note exists already.

Owns the reading of a fiscal gateway's webhook: which notes to read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gateway.http.wire import as_dict, parse_json, scrub, text
from state_machine.protocol.emission import Nota, Situacao
from state_machine.values.text import REPLACEMENT, plain

# SEFIN Nacional: the DPS is already in a NFS-e (Anexo I); cities of the ABRASF layout: the RPS was sent before.
_CODES = frozenset({"E0014", "E10"})
_SUBJECT = re.compile(r"\b(?:nfs-?e|notas?|rps|dps|documentos?|id ?integracao|lote|numero)\b")
_AGAIN = re.compile(
    r"\bja (?:exist|consta|esta\b|se encontra|foi|foram|fora|havia|possui|emitid|gerad|cadastrad|registrad|utilizad"
    r"|usad|informad|process|convertid|autorizad|recebid|enviad)|\bduplic|\brepetid|\balready\b|\bduplicate"
)
_SENTENCE = re.compile(r"[.;\n]")
_FROM_HERE = 4000  # characters; a city's explanation is shorter


def says_duplicate(message: str, codes: Iterable[str] = ()) -> bool:
    """Tell whether a refusal says, by code or in any words, that there is a note already."""
    if not _CODES.isdisjoint(codes):
        return True
    sentences = (" ".join(sentence.split()) for sentence in _SENTENCE.split(plain(message, _FROM_HERE)))
    return any(_SUBJECT.search(sentence) and _AGAIN.search(sentence) for sentence in sentences)


_SITUACOES = {
    "CONCLUIDO": Situacao.AUTORIZADA,
    "CONCLUIDA": Situacao.AUTORIZADA,
    "REJEITADO": Situacao.REJEITADA,
    "REJEITADA": Situacao.REJEITADA,
    "DENEGADO": Situacao.REJEITADA,
    "DENEGADA": Situacao.REJEITADA,
    "CANCELADO": Situacao.CANCELADA,
    "CANCELADA": Situacao.CANCELADA,
}
_CODE_IN_JSON = re.compile(r'"?\bcodigo"?\s*[:=]\s*"?([A-Z]{0,2}\d{1,5})\b', re.IGNORECASE)
_BARE_CODE = re.compile(r"\b[EL]\d{2,4}\b")
_ACCESS_KEY = re.compile(r"[0-9A-Z]{50}")  # a municipal verification code is far shorter
_C_STAT = re.compile(r"[0-9]{1,4}")
_CENTAVOS = Decimal("0.01")
_MAX_VALOR = Decimal(10) ** 13  # the layouts stop at 15 digits, two of them decimal
_MAX_MENSAGEM = 4000
_MAX_ID = 200  # characters of what an index is to hold; ids have 50, numbers of notes 15


def codes(mensagem: str) -> tuple[str, ...]:
    """Return the authority's codes that ``mensagem`` names, in order, each once."""
    found = [*_CODE_IN_JSON.findall(mensagem), *_BARE_CODE.findall(mensagem)]
    return tuple(dict.fromkeys(code.upper() for code in found))


def parse_nota(data: Any) -> Nota | None:
    """Return the note that ``data`` describes (summary or full document), or ``None`` when it is not one.

    An authorised note without a number is reported as still in process: the word alone proves nothing.
    """
    nota = parse_any_nota(data)
    return nota if nota and nota.id_integracao else None


def parse_any_nota(data: Any) -> Nota | None:
    """Do the same for a note that may have been made without a reference: its ``id_integracao`` is then empty."""
    id_externo = text(data.get("id")) if isinstance(data, dict) else None
    if id_externo is None or len(id_externo) > _MAX_ID:
        return None
    retorno = as_dict(data.get("retorno"))
    numero = _first(data, "numeroNfse") or _first(retorno, "numeroNfse")
    if numero is not None and len(numero) > _MAX_ID:
        numero = None
    situacao = _situacao(data, retorno)
    if situacao is Situacao.AUTORIZADA and numero is None:
        situacao = Situacao.PROCESSANDO
    mensagem = _mensagem(data.get("mensagem")) or _mensagem(retorno.get("mensagemRetorno"))
    codigos = codes(mensagem) if mensagem else ()
    refused = situacao is Situacao.REJEITADA and mensagem is not None
    servico = _servico(data)
    return Nota(
        id_externo=id_externo,
        id_integracao=text(data.get("idIntegracao")) or "",
        situacao=situacao,
        prestador=_documento(data.get("prestador")),
        tomador=_documento(data.get("tomador")),
        valor=_valor(data.get("valorServico", data.get("valorServicos"))),
        numero=numero,
        chave=_chave(data),
        protocolo=_first(data, "protocol", "protocolo"),
        c_stat=c_stat(_first(data, "cStat") or _first(retorno, "cStat")),
        url_pdf=_first(data, "pdf"),
        url_xml=_first(data, "xml"),
        data_emissao=_first(data, "emissao", "autorizacao"),
        mensagem=mensagem,
        codigos=codigos,
        descricao=_first(servico, "discriminacao"),
        competencia=_first(as_dict(data.get("rps")), "competencia"),
        codigo_servico=_first(servico, "codigo"),
        ja_existe=refused and says_duplicate(mensagem or "", codigos),
    )


def c_stat(said: str | None) -> int | None:
    """Return the authority's status code as a number; none has more than four digits, and anything else is silence."""
    return int(said) if said and _C_STAT.fullmatch(said) else None


def _servico(data: dict[str, Any]) -> dict[str, Any]:
    """Return the one service of a full document; summaries have none."""
    servico = data.get("servico")
    return as_dict(servico[0] if isinstance(servico, list) and len(servico) == 1 else servico)


def _chave(data: dict[str, Any]) -> str | None:
    """Summaries of the national layout carry the access key as ``codigoVerificacao``."""
    codigo = _first(data, "codigoVerificacao") or ""
    return _first(data, "chave", "chaveAcesso") or (codigo if _ACCESS_KEY.fullmatch(codigo) else None)


def _situacao(data: dict[str, Any], retorno: dict[str, Any]) -> Situacao:
    """Summaries say ``situacao``, full documents ``status``; an unknown word is never terminal."""
    word = _first(data, "situacao", "status") or _first(retorno, "situacao") or ""
    return _SITUACOES.get(word.upper(), Situacao.PROCESSANDO)


def _first(data: dict[str, Any], *names: str) -> str | None:
    return next((found for name in names if (found := text(data.get(name)))), None)


def _documento(value: Any) -> str | None:
    raw = text(value.get("cpfCnpj") if isinstance(value, dict) else value)
    return re.sub(r"[^0-9A-Za-z]", "", raw).upper() or None if raw else None


def _valor(value: Any) -> Decimal | None:
    """Accept a JSON number or a plain decimal text; anything else is silence."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,13}(\.\d{1,2})?", value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    amount = Decimal(value)
    if not amount.is_finite() or abs(amount) >= _MAX_VALOR or amount != amount.quantize(_CENTAVOS):
        return None
    return amount.quantize(_CENTAVOS)


def _mensagem(value: Any) -> str | None:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, default=str)
    found = text(value)
    return scrub(found)[:_MAX_MENSAGEM] if found else None


_WRAPPERS = ("documents", "data")  # seen around the notes, besides a bare array
_MAX_DEPTH = 4  # wrapper in wrapper in array is the deepest seen
_MAX_HINTS = 1000  # far beyond any batch; the sweep finds what is cut off
_MAX_LENGTH = 100  # ids are at most 50


@dataclass(frozen=True, slots=True)
class Hint:
    """A note that may have changed. ``id_integracao`` is ours; the other two as far as they were named.

    ``parte`` is the object of the body that names it: the first, where several name it alike.
    """

    id_externo: str | None
    id_integracao: str
    protocolo: str | None
    parte: Any = field(default=None, compare=False, repr=False)


def hinted_keys(body: bytes) -> list[Hint]:
    """Return the notes that a webhook body names, each once.

    PlugNotas publishes no schema and signs nothing, so only the ids are taken. A verification ping, which names no
    note, and anything unreadable give an empty list: the answer to the sender is the same.
    """
    try:
        data = parse_json(body)
    except ValueError:
        return []
    return list(dict.fromkeys(_hints(data, _MAX_DEPTH)))[:_MAX_HINTS]


def _hints(data: Any, depth: int) -> list[Hint]:
    if isinstance(data, list) and depth:
        return [hint for item in data for hint in _hints(item, depth - 1)]
    if not isinstance(data, dict):
        return []
    id_integracao = _id(data.get("idIntegracao"))
    if id_integracao:
        protocolo = _id(data.get("protocol")) or _id(data.get("protocolo"))
        return [Hint(_id(data.get("id")), id_integracao, protocolo, data)]
    return [hint for name in _WRAPPERS if depth for hint in _hints(data.get(name), depth - 1)]


def _id(value: Any) -> str | None:
    found = text(value)
    readable = found and len(found) <= _MAX_LENGTH and found.isprintable() and REPLACEMENT not in found
    return found if readable else None
