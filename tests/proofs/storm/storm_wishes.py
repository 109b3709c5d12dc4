"""Who wants what in the books of the tests, and the JSON that a sound house sends for it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from proofs.sandbox.cnpj_register import companies
from proofs.storm.channels.plugnotas import ISSUERS
from proofs.storm.crowd import Wish

CUSTOMERS = ("12345678000195", "99000002000148", "99000003000192", "99000004000137")
CLOSED = "99000031000100"
OTHER = "99000033000107"  # an open company that nobody named
PEOPLE = 20
ANA, BIA, CAIO, DORA = (f"55119800000{n:02}" for n in range(4))  # plain, cancels, refused first, corrects


def wish(number: int) -> Wish:
    """Return what person ``number`` wants; the even ones of a company that numbers through the gateway."""
    plain = Wish(
        who=f"55119800000{number:02}",
        valor=Decimal(100_000 + 7 * number) / 100,
        tomador=CUSTOMERS[number % len(CUSTOMERS)],
        emitente=ISSUERS[number % 2],
        servico="aulas de inglês",
        email=f"financeiro.{number}@cliente.example" if number % 3 == 0 else None,
    )
    special: dict[int, dict[str, Any]] = {
        1: {"cancela": True},
        2: {"recusado": CLOSED},
        3: {"antes": plain.valor + 500_000},
        4: {"data": "15/09/2025"},
        5: {"competencia": "09/2025"},
        6: {"palavra": "sim"},
    }
    return replace(plain, **special.get(number, {}))


def payload(w: Wish, key: str, rps_number: int) -> dict[str, Any]:
    """Return the JSON that the gateway was asked with, as the product of this version writes it."""
    issuer, row = w.emitente, companies()[w.tomador]
    simples = {"regApTribSN": 1} if issuer.regime == "simples" else {}
    competence = {"15/09/2025": "2025-09-15"}.get(w.data or "") or ("2025-09-30" if w.competencia else "2026-01-02")
    service: dict[str, Any] = {"codigo": issuer.codigo_servico, "discriminacao": w.servico}
    service["valor"] = {"servico": float(w.valor)}
    if issuer.cnae:
        service |= {"cnae": issuer.cnae, "iss": {"aliquota": 2.5}}
    rps: dict[str, Any] = {"competencia": competence}
    if issuer.serie_rps:
        rps |= {"serie": issuer.serie_rps, "numero": rps_number}
    return {
        "idIntegracao": key,
        "padrao": "NACIONAL",
        "enviarEmail": False,
        "emitente": {"tipo": 1, "codigoCidade": issuer.municipio, "inscricaoMunicipal": issuer.inscricao_municipal},
        "prestador": {
            "cpfCnpj": issuer.cnpj,
            "inscricaoMunicipal": issuer.inscricao_municipal,
            "opSimpNac": {"mei": 2, "simples": 3}[issuer.regime],
            "regEspTrib": 0,
            **simples,
        },
        **({"regimeApuracaoTributaria": 1} if simples else {}),
        "tomador": {
            "cpfCnpj": w.tomador,
            "razaoSocial": row["razao_social"],
            **({"email": w.email} if w.email else {}),
            "endereco": {
                "logradouro": f"{row['descricao_tipo_de_logradouro']} {row['logradouro']}",
                "numero": row["numero"],
                "bairro": row["bairro"],
                "codigoCidade": str(row["codigo_municipio_ibge"]),
                "descricaoCidade": row["municipio"],
                "estado": row["uf"],
                "cep": row["cep"],
            },
        },
        "servico": [service],
        "rps": rps,
    }
