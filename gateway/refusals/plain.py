"""The plain reasons that channels share, by who can repair them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.port import Explicacao
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.fields import Campo


def of_staff(texto: str) -> Explicacao:
    """Return a reason that only staff can repair; the phrase says so at its end."""
    return Explicacao(f"{texto}; isso quem ajusta é o suporte", None, suporte=True)


RECUSADOS: Final[Mapping[Campo, Explicacao]] = {
    campo: Explicacao(row.refused, campo) for campo, row in FIELDS.items() if row.refused
}
EMPRESA: Final = of_staff("um dado do cadastro da sua empresa não foi aceito")
SERVICO: Final = of_staff("o código do serviço no cadastro da sua empresa não foi aceito")
ALIQUOTA: Final = of_staff("a alíquota no cadastro da sua empresa não foi aceita")
CERTIFICADO: Final = of_staff("o certificado digital da sua empresa não foi aceito")
TECNICO: Final = of_staff("a nota saiu num formato que não foi aceito")
DESCONHECIDO: Final = of_staff("a nota não foi aceita e o motivo não veio claro")
DOCUMENTO_AUSENTE: Final = Explicacao("o CNPJ ou CPF do cliente não consta no cadastro da Receita", Campo.DOCUMENTO)
