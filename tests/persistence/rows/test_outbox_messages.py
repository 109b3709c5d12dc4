"""What outbox messages say: the stored JSON of each kind, and what cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from persistence.rows import TIPO_DA_MENSAGEM, MisshapenMessageError, parse, to_payload
from state_machine.invoice.session import Botao, EnviarArquivo, EnviarLink, EnviarMes, Mensagem, Opcao

STORED: list[
    tuple[Mensagem | EnviarArquivo | EnviarMes | EnviarLink, dict[str, Any]]
] = [  # as the releases before and after this one write and read it
    (
        Mensagem("oi", (Botao("confirmar:s:1", "Confirmar"),)),
        {"tipo": "texto", "texto": "oi", "botoes": [{"id": "confirmar:s:1", "titulo": "Confirmar"}]},
    ),
    (
        Mensagem("oi", lista=(Opcao("usar:s:1:valor:1.00", "R$ 1,00"), Opcao("outro:s:1:valor", "Outro", "valor"))),
        {
            "tipo": "texto",
            "texto": "oi",
            "botoes": [],
            "lista": [
                {"id": "usar:s:1:valor:1.00", "titulo": "R$ 1,00", "descricao": None},
                {"id": "outro:s:1:valor", "titulo": "Outro", "descricao": "valor"},
            ],
        },
    ),
    (Mensagem("oi"), {"tipo": "texto", "texto": "oi", "botoes": []}),
    (
        EnviarArquivo(7, "pdf", "nota.pdf", "Nota 12"),
        {"tipo": "arquivo", "emissao_id": 7, "formato": "pdf", "nome": "nota.pdf", "legenda": "Nota 12"},
    ),
    (EnviarMes(7, "2026-11"), {"tipo": "mes", "empresa_id": 7, "mes": "2026-11", "formato": "xlsx"}),
    (EnviarLink("abra", "id", "v1.k.x"), {"tipo": "link", "texto": "abra", "link": "id", "selado": "v1.k.x"}),
]


@pytest.mark.parametrize(("mensagem", "payload"), STORED)
def test_a_message_is_stored_as_every_release_knows_it(mensagem: Any, payload: dict[str, Any]) -> None:
    """Both ways; a field that a later release adds is left alone."""
    assert to_payload(mensagem) == payload
    assert parse({**payload, "novo": 1}) == mensagem


def test_every_kind_can_be_read() -> None:
    """A new kind gets its example above."""
    assert {payload["tipo"] for _, payload in STORED} == set(TIPO_DA_MENSAGEM.values())


def test_a_text_of_the_staff_names_its_writer() -> None:
    """The console shows the name beside the text; people get the text."""
    stored = to_payload(Mensagem("*Sara:* oi"), "Sara")
    assert stored["de"] == "Sara"
    assert parse(stored) == Mensagem("*Sara:* oi")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"tipo": "texto"},
        {"tipo": "texto", "texto": "oi", "botoes": [{"id": "x"}]},
        {"tipo": "texto", "texto": "oi", "botoes": [], "lista": [{"id": "x", "titulo": "y"}]},
        {"tipo": "texto", "texto": "oi", "botoes": [], "lista": 1},
        {"tipo": "arquivo", "emissao_id": 7},
        {"tipo": "arquivo", "emissao_id": 7, "formato": "doc", "nome": "x"},
        {"tipo": "lista"},
    ],
)
def test_what_cannot_be_read_is_no_message(payload: dict[str, Any]) -> None:
    """Delivery gives it up, on record for people."""
    with pytest.raises(MisshapenMessageError):
        parse(payload)
