"""Writes and reads the columns of ``nfse_emissao`` that hold what was confirmed, with its fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from state_machine.documents.service import DocumentoServico

if TYPE_CHECKING:
    from state_machine.documents.document import Documento


def columns(conteudo: Documento) -> dict[str, Any]:
    """Return the columns by name."""
    return {
        "prestador_cnpj": conteudo.prestador,
        "tomador_documento": conteudo.tomador,
        "codigo_servico": conteudo.codigo_servico,
        "valor_servico": conteudo.valor,
        "competencia": conteudo.competencia,
        "descricao_servico": conteudo.descricao,
        "impressao": conteudo.impressao,
    }


def confirmed(row: Any) -> Documento:
    """Return what a row was confirmed to say; it need not be what its fingerprint says."""
    return DocumentoServico(
        row.prestador_cnpj,
        row.tomador_documento,
        row.codigo_servico,
        row.valor_servico,
        row.competencia,
        row.descricao_servico,
    )
