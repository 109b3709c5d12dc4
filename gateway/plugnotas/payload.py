"""Owns the exact bytes of a PlugNotas submission, made before they are stored."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import orjson

from state_machine.documents import Documento, DocumentoServico, Endereco, Prestador, Tomador, service
from state_machine.values.text import as_latin

_NATIONAL_CODE = re.compile(r"\d{6}")  # cTribNac without dots; "14.10" is the classic municipal form
_OP_SIMP_NAC = {"normal": 1, "mei": 2, "simples": 3}  # DPS layout 1.01, TSOpSimpNac
_ALL_BY_SIMPLES = 1  # regApTribSN: all taxes through Simples Nacional, the rule below the sublimit
_TAXED_IN_THE_CITY = 6  # iss.tipoTributacao: "tributável dentro do município"
_EXIGIVEL = 1  # iss.exigibilidade
_CENTAVOS = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class IntegrationKey:
    """The key on which PlugNotas is unique: the issuer's CNPJ and our ``idIntegracao``, which is its text form."""

    prestador: str
    id_integracao: str

    def __str__(self) -> str:
        return self.id_integracao


def build(intent: Documento) -> bytes:
    """Return the body of ``POST /nfse`` for one note: same intent, same bytes.

    A service code of six digits asks for the national layout, any other for the classic municipal one. A text goes
    whole: a character that no layout carries is the city's to refuse, not ours to leave out. Raises ``ValueError``
    when ``valor`` is not a positive amount in whole centavos.
    """
    national = _NATIONAL_CODE.fullmatch(intent.prestador.codigo_servico) is not None
    note: dict[str, Any] = {
        "idIntegracao": intent.id_integracao,
        "prestador": _national_prestador(intent.prestador) if national else _classic_prestador(intent.prestador),
        "tomador": _tomador(intent.tomador),
        "rps": _rps(intent),
        "servico": [_servico(service(intent), national=national)],
        "enviarEmail": False,  # the invoice goes out through us, once
    }
    if national:
        note["padrao"] = "NACIONAL"
        note["emitente"] = {
            "tipo": 1,  # tpEmit: the prestador issues
            "codigoCidade": intent.prestador.municipio_ibge,
            "inscricaoMunicipal": intent.prestador.inscricao_municipal,
        }
        if intent.prestador.regime == "simples":
            note["regimeApuracaoTributaria"] = _ALL_BY_SIMPLES
    return orjson.dumps([note], option=orjson.OPT_SORT_KEYS)


def key_of(payload: bytes) -> IntegrationKey:
    """Return the natural key that stored bytes carry; raises ``ValueError`` if they are not one note of ours."""
    notes = json.loads(payload)
    match notes:
        case [{"idIntegracao": str(id_integracao), "prestador": {"cpfCnpj": str(prestador)}}]:
            return IntegrationKey(prestador, id_integracao)
        case _:
            raise ValueError("the stored bytes are not one note")


def _rps(intent: Documento) -> dict[str, Any]:
    """Leave number and series out where they are PlugNotas' business: it counts in the company's registration there."""
    body: dict[str, Any] = {"competencia": intent.competencia.isoformat()}
    return {**body, "serie": intent.rps.serie, "numero": intent.rps.numero} if intent.rps else body


def _servico(intent: DocumentoServico, *, national: bool) -> dict[str, Any]:
    prestador = intent.prestador
    servico: dict[str, Any] = {
        "codigo": prestador.codigo_servico,
        "discriminacao": as_latin(intent.descricao),
        "valor": {"servico": _money(intent.valor)},
    }
    if prestador.cnae:
        servico["cnae"] = prestador.cnae
    iss: dict[str, Any] = {}
    if not national:
        iss = {"tipoTributacao": _TAXED_IN_THE_CITY, "exigibilidade": _EXIGIVEL, "retido": False}
    if prestador.aliquota is not None:
        iss["aliquota"] = orjson.Fragment(f"{prestador.aliquota.normalize():f}")
    return {**servico, "iss": iss} if iss else servico


def _national_prestador(prestador: Prestador) -> dict[str, Any]:
    body = {
        "cpfCnpj": prestador.cnpj,
        "inscricaoMunicipal": prestador.inscricao_municipal,
        "opSimpNac": _OP_SIMP_NAC[prestador.regime],
        "regEspTrib": 0,  # no special regime
    }
    return {**body, "regApTribSN": _ALL_BY_SIMPLES} if prestador.regime == "simples" else body


def _classic_prestador(prestador: Prestador) -> dict[str, Any]:
    return {
        "cpfCnpj": prestador.cnpj,
        "inscricaoMunicipal": prestador.inscricao_municipal,
        "razaoSocial": as_latin(prestador.razao_social),
        "simplesNacional": prestador.regime in {"mei", "simples"},
    }


def _tomador(tomador: Tomador) -> dict[str, Any]:
    body: dict[str, Any] = {"cpfCnpj": tomador.documento}
    if tomador.razao_social and (name := as_latin(tomador.razao_social)):
        body["razaoSocial"] = name
    if tomador.email:
        body["email"] = tomador.email
    return {**body, "endereco": _endereco(tomador.endereco)} if tomador.endereco else body


def _endereco(endereco: Endereco) -> dict[str, str]:
    body = {
        "logradouro": as_latin(endereco.logradouro),
        "numero": as_latin(endereco.numero),
        "bairro": as_latin(endereco.bairro),
        "codigoCidade": endereco.codigo_cidade,
        "descricaoCidade": as_latin(endereco.cidade),
        "estado": endereco.estado,
        "cep": endereco.cep,
    }
    return {**body, "complemento": as_latin(endereco.complemento)} if endereco.complemento else body


def _money(valor: Decimal) -> orjson.Fragment:
    """Write money as a JSON number with two decimals, without a float in between."""
    if not valor.is_finite() or valor <= 0 or valor != valor.quantize(_CENTAVOS, ROUND_HALF_EVEN):
        raise ValueError("an invoice has a positive value in whole centavos")
    return orjson.Fragment(f"{valor:.2f}")
