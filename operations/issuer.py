"""What an authority is told of a company that issues: its registration, as an invoice carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.port import Prestador, Tributos

if TYPE_CHECKING:
    from persistence.people.companies import Empresa
    from state_machine.services.own import Servico


def issuer_of(empresa: Empresa, servico: Servico) -> Prestador:
    """Return who issues an invoice of one of the company's services; a burden that is told in part is not told."""
    burden = (empresa.tributos_federal, empresa.tributos_estadual, empresa.tributos_municipal)
    told = [part for part in burden if part is not None]
    return Prestador(
        cnpj=empresa.cnpj,
        razao_social=empresa.razao_social,
        inscricao_municipal=empresa.inscricao_municipal,
        municipio_ibge=empresa.municipio_ibge,
        regime=empresa.regime,
        codigo_servico=servico.codigo,
        cnae=empresa.cnae,
        aliquota=empresa.aliquota,
        tributos_sn=empresa.tributos_sn,
        tributos=Tributos(*told) if len(told) == len(burden) else None,
        informa_im=empresa.informa_im,
        codigo_nbs=servico.nbs,
        ibs_cbs=servico.grupo,
        apuracao_ibscbs=empresa.apuracao_ibscbs,
        atividade_sn=servico.atividade_sn,
    )
