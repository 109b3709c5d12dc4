"""What the summary shows is what every channel sends, letter for letter, or there is no summary."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.nacional.dps import build
from gateway.nacional.layouts import NS, parse
from gateway.nacional.payload import circumstances
from gateway.plugnotas import payload
from state_machine.documents import DocumentoServico, Prestador, Rps, Tomador
from state_machine.invoice.draft import Cadastro
from state_machine.invoice.fields import Campo
from state_machine.machine.events import Abriu, Informou
from state_machine.protocol.channel import Ambiente
from state_machine.values.text import latin1
from tests.state_machine.made_sessions import AGORA, CNPJ, DOC, MORE, VALOR, diz, lido, nova, resposta

EXAMPLES = 150 * MORE
WORDS = st.text(max_size=400) | st.text("ab 1⅔⁄₂²⁵ŁıĐœ…—“”😀会Дз\u0301\u0336≠", max_size=80).filter(str.strip)
ISSUER = Prestador(
    cnpj="12ABC34501DE35",
    razao_social="ANA DESIGN",
    inscricao_municipal="123456",
    municipio_ibge="3550308",
    regime="mei",
    codigo_servico="010101",
    cnae=None,
    aliquota=None,
)


def agrees(line: str, text: str) -> bool:
    """Tell whether a line of the summary shows this text: whole, or its beginning and how long it is."""
    beginning, cut, said = line.partition("…")
    whole = line == text or line == " ".join(text.split())
    return whole or (
        cut == "…" and text.startswith(beginning) and said in {"", f" (texto inteiro guardado, {len(text)} caracteres)"}
    )


@settings(max_examples=EXAMPLES, deadline=None)
@given(WORDS, WORDS)
def test_what_is_shown_is_what_is_signed(servico: str, nome: str) -> None:
    """Service and customer's name: the summary, the JSON of one channel, the XML of the other, and what a PDF draws."""
    ditos = (DOC, VALOR, lido(Campo.DESCRICAO, servico))
    decision = diz(nova(), Abriu(), Informou(ditos, cadastro=Cadastro(CNPJ, nome, "ATIVA")))
    answer, rascunho = resposta(decision), decision.sessao.rascunho
    if not any(key.startswith("confirmar:") for key in answer.ids):
        assert not rascunho.completo
        return
    lines = dict(line.split(": ", 1) for line in answer.texto.splitlines() if ": " in line)
    intent = DocumentoServico(
        id_integracao="zap-1",
        prestador=ISSUER,
        tomador=Tomador(CNPJ, rascunho.tomador_nome or "X"),
        valor=Decimal("1500.00"),
        descricao=rascunho.validado(Campo.DESCRICAO) or "",
        competencia=date(2026, 11, 20),
        rps=Rps("900", 7),
    )
    (note,) = json.loads(payload.build(intent))
    xml = parse(build(intent, circumstances(intent, Ambiente.HOMOLOGACAO, AGORA)))
    for label, sent, element in (
        ("Serviço", note["servico"][0]["discriminacao"], "xDescServ"),
        ("Cliente", note["tomador"]["razaoSocial"], "xNome"),
    ):
        [signed] = [found.text or "" for found in xml.iter(f"{{{NS}}}{element}")]
        assert sent == signed == latin1(signed)
        assert agrees(lines[label], signed) or (label == "Cliente" and "sem nome" in lines[label])
