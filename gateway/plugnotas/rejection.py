"""Owns the translation of the gateway's rejection into a plain reason and the field that repairs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gateway.refusals import national_codes
from gateway.refusals.plain import ALIQUOTA, CERTIFICADO, EMPRESA, RECUSADOS, SERVICO, TECNICO
from state_machine.invoice.fields import Campo
from state_machine.protocol.emission import Rejected

if TYPE_CHECKING:
    from gateway.port import Explicacao
    from state_machine.protocol.emission import Nota

# Paths of the gateway's validation answer, array indices removed; the first that is a prefix decides.
CAMPOS: Final[tuple[tuple[str, Explicacao], ...]] = (
    ("tomador.endereco", RECUSADOS[Campo.ENDERECO]),
    ("tomador.razaoSocial", RECUSADOS[Campo.NOME]),
    ("tomador.email", RECUSADOS[Campo.EMAIL]),
    ("tomador", RECUSADOS[Campo.DOCUMENTO]),
    ("servico.discriminacao", RECUSADOS[Campo.DESCRICAO]),
    ("servico.valor", RECUSADOS[Campo.VALOR]),
    ("servico.iss", ALIQUOTA),
    ("servico", SERVICO),
    ("rps.competencia", RECUSADOS[Campo.COMPETENCIA]),
    ("rps", TECNICO),
    ("prestador.certificado", CERTIFICADO),
    ("prestador", EMPRESA),
    ("emitente", EMPRESA),
)


def explain(rejection: Rejected | Nota) -> Explicacao:
    """Return the plain reason of ``rejection``: by the paths that it names, then by the codes of the authority."""
    campos = rejection.campos if isinstance(rejection, Rejected) else ()
    reasons = (reason for path, _ in campos if (reason := _by_path(path)))
    return national_codes.first(reasons, rejection.codigos, rejection.mensagem)


def _by_path(path: str) -> Explicacao | None:
    plain = re.sub(r"\[\d*\]|(?<=\.)\d+\.|^\d+\.", "", path).replace("..", ".").lstrip(".")
    return next((e for prefix, e in CAMPOS if plain == prefix or plain.startswith(prefix + ".")), None)
