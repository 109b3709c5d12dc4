"""A company's own service codes: which they are, and how people are told of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from state_machine.services.codes import dotted, text_of

# Codes of NT 009 and what they mean, of a company of the Simples.
ATIVIDADES_SN: Final = {  # cAtvSN
    "07": "serviços só do Anexo III",
    "08": "escritório contábil com ISS fixo",
    "09": "serviços sujeitos ao Fator R",
    "10": "transporte municipal de passageiros",
    "11": "locação de bens móveis e o que não paga ISS",
    "12": "construção do Anexo III",
    "13": "construção do Anexo IV",
    "14": "serviços do Anexo IV",
    "90": "não tributado",
}
APURACOES_IBSCBS: Final = {  # regApIBSCBSSN
    "1": "os dois no Simples",
    "2": "a CBS no Simples, o IBS fora",
    "3": "os dois fora do Simples",
}


@dataclass(frozen=True, slots=True)
class IbsCbs:
    """How IBS and CBS see a service: ``cIndOp`` (six digits), ``CST`` (three) and ``cClassTrib`` (six)."""

    ind_op: str
    cst: str
    class_trib: str


@dataclass(frozen=True, slots=True)
class Servico:
    """A national code (six digits) of a company, what the company calls it, its cNBS (nine digits) and IBS/CBS.

    ``atividade_sn`` is its cAtvSN (two digits), of a company of the Simples.
    """

    codigo: str
    descricao: str | None = None
    nbs: str | None = None
    ibs_cbs: IbsCbs | None = None
    atividade_sn: str | None = None

    @property
    def grupo(self) -> IbsCbs | None:
        """What a note says of IBS and CBS: nothing without the cNBS, which the group asks for (E0322)."""
        return self.ibs_cbs if self.nbs else None

    @property
    def nome(self) -> str:
        """What people read beside the code: the company's own words, else the table's."""
        return self.descricao or text_of(self.codigo) or "código que a lista nacional não tem"


def named(codigo: str) -> str:
    """Return "01.07.01 – Suporte técnico …", or the code alone where the table does not have it."""
    texto = text_of(codigo)
    return f"{dotted(codigo)} – {texto}" if texto else dotted(codigo)
