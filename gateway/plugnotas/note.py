"""Owns the reading of PlugNotas' descriptions of a note; refuses what it does not recognise."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from gateway.duplicates import says_duplicate
from gateway.http.json_body import as_dict, text
from gateway.http.masking import scrub
from state_machine.protocol.emission import Nota, Situacao

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
