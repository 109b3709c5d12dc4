"""Owns the translation of a rejection into a plain reason and the field that repairs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateway.port import Explicacao
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import Rejected

if TYPE_CHECKING:
    from state_machine.protocol.emission import Nota


_SUPORTE = "isso quem ajusta é o suporte"

EMPRESA = Explicacao(f"a prefeitura recusou um dado do cadastro da sua empresa; {_SUPORTE}", None, suporte=True)
SERVICO = Explicacao(f"o código do serviço no cadastro da sua empresa não foi aceito; {_SUPORTE}", None, suporte=True)
ALIQUOTA = Explicacao(f"a alíquota no cadastro da sua empresa não foi aceita; {_SUPORTE}", None, suporte=True)
CERTIFICADO = Explicacao(f"o certificado digital da sua empresa não foi aceito; {_SUPORTE}", None, suporte=True)
ENDERECO = Explicacao(f"o endereço do cliente falta ou não foi aceito; {_SUPORTE}", None, suporte=True)
TECNICO = Explicacao(f"a nota saiu num formato que a prefeitura não aceitou; {_SUPORTE}", None, suporte=True)
DESCONHECIDO = Explicacao(f"a prefeitura não aceitou a nota e o motivo não veio claro; {_SUPORTE}", None, suporte=True)
_REFUSED = {campo: Explicacao(row.refused, campo) for campo, row in FIELDS.items() if row.refused}
DOCUMENTO_AUSENTE = Explicacao("o CNPJ ou CPF do cliente não consta no cadastro da Receita", Campo.DOCUMENTO)
DOCUMENTO_PROPRIO = Explicacao("o cliente é a própria empresa que emite a nota", Campo.DOCUMENTO)

# Paths of the gateway's validation answer, array indices removed; the first that is a prefix decides.
CAMPOS: tuple[tuple[str, Explicacao], ...] = (
    ("tomador.endereco", ENDERECO),
    ("tomador.razaoSocial", _REFUSED[Campo.NOME]),
    ("tomador.email", _REFUSED[Campo.EMAIL]),
    ("tomador", _REFUSED[Campo.DOCUMENTO]),
    ("servico.discriminacao", _REFUSED[Campo.DESCRICAO]),
    ("servico.valor", _REFUSED[Campo.VALOR]),
    ("servico.iss", ALIQUOTA),
    ("servico", SERVICO),
    ("rps.competencia", _REFUSED[Campo.COMPETENCIA]),
    ("rps", TECNICO),
    ("prestador.certificado", CERTIFICADO),
    ("prestador", EMPRESA),
    ("emitente", EMPRESA),
)

# Codes of the national layout (Anexo I of the SEFIN manual, version 1.01), grouped by who can repair them.
_GRUPOS: tuple[tuple[Explicacao, str], ...] = (
    (_REFUSED[Campo.DOCUMENTO], "E0188 E0206"),
    (DOCUMENTO_AUSENTE, "E0190 E0207"),
    (DOCUMENTO_PROPRIO, "E0202"),
    (_REFUSED[Campo.COMPETENCIA], "E0015 E0016 E0018 E0020 E0023 E0025"),
    (_REFUSED[Campo.VALOR], "E0427 E0428"),
    (_REFUSED[Campo.NOME], "E0233"),
    (ENDERECO, "E0234 E0235 E0237 E0238 E0240"),
    (SERVICO, "E0312 E0314 E0315 E0322"),
    (ALIQUOTA, "E0604 E0617 E0619 E0621 E0628 E0710 E0712 E0713"),
    (EMPRESA, "E0037 E0039 E0082 E0084 E0098 E0099 E0116 E0120 E0124 E0160 E0176 E0178"),
    (CERTIFICADO, "E1200 E1201 E1202 E1203 E1204 E1205 E1206 E1207 E1208 E1209"),
    (TECNICO, "E0004 E0008 E0010 E0121 E0128 E0714 E0717 E0850 E1225 E1226 E1228 E1229 E1235 E1242 E6155"),
)
CODIGOS = {codigo: explicacao for explicacao, lista in _GRUPOS for codigo in lista.split()}


_DESCRICAO = re.compile(r'"[Dd]escricao"\s*:\s*"([^"\\]+)"')
_QUOTE = 200  # characters of the authority's words; more is a text for staff


def explain(rejection: Rejected | Nota) -> Explicacao:
    """Return the plain reason of ``rejection``; what the user can repair is named before what only staff can."""
    campos = rejection.campos if isinstance(rejection, Rejected) else ()
    reasons = [reason for path, _ in campos if (reason := _by_path(path))]
    reasons += [CODIGOS[codigo] for codigo in rejection.codigos if codigo in CODIGOS]
    repairable = (reason for reason in reasons if reason.campo)
    return next(repairable, None) or next(iter(reasons), None) or _in_its_words(rejection.mensagem)


def _in_its_words(mensagem: str | None) -> Explicacao:
    """Quote an authority that gave a reason which we don't know."""
    found = [" ".join(said.split()) for said in _DESCRICAO.findall(mensagem or "")]
    if not found:
        return DESCONHECIDO
    return Explicacao(f"a prefeitura respondeu “{found[0][:_QUOTE]}”", None, suporte=True)


def _by_path(path: str) -> Explicacao | None:
    plain = re.sub(r"\[\d*\]|(?<=\.)\d+\.|^\d+\.", "", path).replace("..", ".").lstrip(".")
    return next((e for prefix, e in CAMPOS if plain == prefix or plain.startswith(prefix + ".")), None)
