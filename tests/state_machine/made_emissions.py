"""Emissions under way and notes for the tests of reconciliation."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from state_machine.documents import ConteudoServico
from state_machine.protocol.emission import Nota, Rejected, Situacao, StatusEmissao
from state_machine.protocol.retry import Politica, Retentativas
from state_machine.protocol.standing import Andamento
from tests.state_machine.made_sessions import AGORA, CNPJ

S = StatusEmissao
POLITICA = Politica(retentativas=Retentativas(jitter=0.0))
PRESTADOR = "44555666000181"
ID = "211126-0a1b2c3d-r1-1"
RECUSA = Rejected("valor inválido", ("E123",))
DIA = timedelta(days=1)
CONTEUDO = ConteudoServico(PRESTADOR, CNPJ, "17.01", Decimal("1500.00"), date(2026, 11, 21), "Consultoria de gestão")


def andamento(status=S.DESCONHECIDO, **mais):
    return Andamento(ID, CONTEUDO, CONTEUDO.impressao, status, AGORA, **mais)


def nota(situacao=Situacao.AUTORIZADA, **mais):
    campos = {
        "id_externo": "ext",
        "id_integracao": ID,
        "situacao": situacao,
        "prestador": PRESTADOR,
        "tomador": CNPJ,
        "valor": Decimal("1500.00"),
        "numero": "1042" if situacao is Situacao.AUTORIZADA else None,
        "descricao": "Consultoria de gestão",
        "competencia": "2026-11-21",
        "codigo_servico": "1701",
    }
    return Nota(**{**campos, **mais})


def depois(segundos=5.0):
    return AGORA + timedelta(seconds=segundos)
