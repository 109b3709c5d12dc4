"""A reference is one revision's attempt for ever, and a fingerprint the content that was confirmed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from persistence.intents import NovaEmissao, fingerprint, integration_id

NOVA = NovaEmissao(
    session_id=1,
    sessao_id="231126-0a1b2c3d",
    revisao=1,
    prestador_id=1,
    prestador_cnpj="44555666000181",
    tomador_id=1,
    tomador_documento="12345678000195",
    id_integracao="231126-0a1b2c3d-r1-1",
    valor=Decimal("1500.00"),
    descricao="consultoria",
    codigo_servico="01.01",
    competencia=date(2026, 11, 23),
    payload=b"[]",
    correlacao=None,
)


@pytest.mark.parametrize(
    "other",
    [
        {"prestador_cnpj": "11222333000181"},
        {"tomador_documento": "11222333000181"},
        {"valor": Decimal("1500.01")},
        {"descricao": "consultoria de marketing"},
        {"codigo_servico": "01.02"},
        {"competencia": date(2026, 10, 31)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_content_has_another_fingerprint(other: dict[str, object]) -> None:
    """Each field that the authority prints counts, the amount to the centavo."""
    assert fingerprint(replace(NOVA, **other)) != fingerprint(NOVA)


def test_equal_content_has_an_equal_fingerprint() -> None:
    """Whichever session, revision or attempt it comes from."""
    again = replace(NOVA, session_id=2, sessao_id="s", revisao=2, tentativa=2, id_integracao="s-r2-2", payload=b"x")
    assert fingerprint(again) == fingerprint(NOVA)


def test_a_reference_names_session_revision_and_attempt() -> None:
    """No two of them share one, and the same one is made again."""
    made = [integration_id(s, r, t) for s in ("a", "b") for r in (1, 2, 11) for t in (1, 2, 11)]
    assert len(set(made)) == len(made)
    assert integration_id("231126-0a1b2c3d", 1) == "231126-0a1b2c3d-r1-1"
