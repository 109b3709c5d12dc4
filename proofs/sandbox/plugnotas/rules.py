"""What the simulated PlugNotas refuses at once (missing fields), and what its city rejects later.

Triggers that a person can use in the demo, besides the switch ``rejeitar``: a description that contains ``REJEITAR``
(code E0314, as the national environment answers a service code that the city does not know), and a tomador whom the
register shows as BAIXADA (code E0190).
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

from stdnum.br import cnpj, cpf

from proofs.sandbox.plugnotas.model import bare

if TYPE_CHECKING:
    from collections.abc import Mapping

TRIGGER: Final = "REJEITAR"
_REASONS: Final = {
    "E0314": "O código de tributação municipal informado não é administrado pelo município emissor.",
    "E0190": "O CNPJ do tomador está com a situação cadastral BAIXADA.",
    "E9902": "O prestador não tem autorização do município para emitir NFS-e deste serviço.",
}
_CEP = 8  # digits
_CPF = 11
_NATIONAL_CODE = 6  # digits of cTribNac
_MAX_TEXT = 2000  # xDescServ of the national layout


def missing(note: Any, *, nameless: bool = False) -> dict[str, str]:
    """Return what is wrong with the JSON of one note: field path and complaint, empty when it may pass.

    ``nameless``: a customer with a CPF may do without a name.
    """
    if not isinstance(note, dict):
        return {"nfse": "Deve ser um objeto"}
    wrong: dict[str, str] = {}
    key = note.get("idIntegracao")
    if key is not None and (not isinstance(key, str) or not key):
        wrong["idIntegracao"] = "Deve ser um texto"
    if not _valid_document(_get(note, "prestador", "cpfCnpj")):
        wrong["prestador.cpfCnpj"] = "Preenchimento obrigatório com CPF ou CNPJ válido"
    if note.get("tomador") is not None:
        wrong |= _customer(note, nameless=nameless)
    return wrong | _service(note)


def rejection(note: Mapping[str, Any], *, closed: frozenset[str], forced: bool, words: str | None = None) -> str | None:
    """Return the city's message (a JSON array as text) when it rejects a note that passed validation.

    ``closed`` are the CNPJs that the register shows as BAIXADA; ``forced`` is the switch, ``words`` what it says then.
    """
    if forced and words is not None:
        return words
    text = str(note["servico"][0].get("discriminacao", ""))
    codes = ["E0314"] if TRIGGER in text else []
    codes += ["E0190"] if bare(_get(note, "tomador", "cpfCnpj")) in closed else []
    codes += ["E9902"] if forced and not codes else []
    if not codes:
        return None
    return json.dumps([{"Codigo": code, "Descricao": _REASONS[code]} for code in codes], ensure_ascii=False)


def _customer(note: Mapping[str, Any], *, nameless: bool) -> dict[str, str]:
    wrong: dict[str, str] = {}
    if not _valid_document(_get(note, "tomador", "cpfCnpj")):
        wrong["tomador.cpfCnpj"] = "CPF ou CNPJ inválido"
    a_person = len(bare(_get(note, "tomador", "cpfCnpj"))) == _CPF
    if a_person and not nameless and not _get(note, "tomador", "razaoSocial"):
        # xNome is mandatory in the national layout; that a company's name is filled in from the register is our guess
        wrong["tomador.razaoSocial"] = "Preenchimento obrigatório"
    address = _get(note, "tomador", "endereco")
    if isinstance(address, dict):
        if len(bare(address.get("cep"))) != _CEP:
            wrong["tomador.endereco.cep"] = "Tamanho mínimo (sem máscara): 8"
        if not address.get("codigoCidade"):
            wrong["tomador.endereco.codigoCidade"] = "Preenchimento obrigatório"
    return wrong


def _service(note: Mapping[str, Any]) -> dict[str, str]:
    services = note.get("servico")
    if not isinstance(services, list) or len(services) != 1 or not isinstance(services[0], dict):
        return {"servico": "Deve conter exatamente um serviço"}
    service = services[0]
    wrong: dict[str, str] = {}
    code = str(service.get("codigo") or "")
    national = note.get("padrao") == "NACIONAL" or isinstance(note.get("emitente"), dict)
    if not code.replace(".", "").isdigit() or (national and not (code.isdigit() and len(code) == _NATIONAL_CODE)):
        wrong["servico[0].codigo"] = "Deve ter exatamente 6 dígitos" if national else "Preenchimento obrigatório"
    text = service.get("discriminacao")
    if not isinstance(text, str) or not 0 < len(text.strip()) <= _MAX_TEXT:
        wrong["servico[0].discriminacao"] = "Preenchimento obrigatório, até 2000 caracteres"
    if not _valid_amount(_get(service, "valor", "servico")):
        wrong["servico[0].valor.servico"] = "Deve ser maior que zero, com até 2 casas decimais"
    return wrong


def _get(holder: Any, *path: str) -> Any:
    for name in path:
        holder = holder.get(name) if isinstance(holder, dict) else None
    return holder


def _valid_document(document: Any) -> bool:
    clean = bare(document)
    return bool(cnpj.is_valid(clean) or cpf.is_valid(clean))


def _valid_amount(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return False
    return amount.is_finite() and amount > 0 and amount == amount.quantize(Decimal("0.01"))
