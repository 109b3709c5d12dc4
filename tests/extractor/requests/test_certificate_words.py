"""Who wants to send the certificate, and who only speaks of one."""

from __future__ import annotations

import pytest

from extractor.requests.yes_no import wants_certificate

EXPLICIT = (
    "enviar certificado", "Enviar o certificado", "trocar o certificado", "meu certificado",
    "quero mandar o certificado", "como envio o certificado?", "preciso trocar meu certificado digital",
    "link do certificado",
    "manda o link do certificado", "meu certificado venceu", "o certificado vai vencer", "renovei o certificado",
    "tenho um certificado novo", "atualizar certificado A1", "onde mando o certificado da empresa?",
    "bom dia, quero enviar o certificado digital da minha empresa por favor",
)  # fmt: skip
BARE = ("certificado", "Certificado!", "o certificado", "certificado digital", "oi, certificado a1")
OTHERS = (
    "nota de 1500 para 12.345.678/0001-95, renovação de certificado digital", "emissão de certificado digital",
    "200 reais, certificado de conclusão do curso", "certificado de curso", "cancela a nota do certificado",
    "venda de certificado digital para a Padaria", "", "oi", "certificadora", "o serviço é certificado digital",
    "meu cliente é a Certificado Já", "nota do certificado", "certificado " * 30,
)  # fmt: skip


@pytest.mark.parametrize("texto", EXPLICIT)
def test_who_says_it_in_full_is_understood_beside_a_draft_too(texto: str) -> None:
    """A verb, the link or whose it is."""
    assert wants_certificate(texto, drafting=False)
    assert wants_certificate(texto, drafting=True)


@pytest.mark.parametrize("texto", BARE)
def test_the_bare_word_may_be_the_service_of_a_draft(texto: str) -> None:
    """Alone it is understood only where nothing is being made."""
    assert wants_certificate(texto, drafting=False)
    assert not wants_certificate(texto, drafting=True)


@pytest.mark.parametrize("texto", OTHERS)
def test_a_certificate_that_is_sold_is_no_wish_to_send_one(texto: str) -> None:
    """An invoice for one, or a story about it, stays what it is."""
    assert not wants_certificate(texto, drafting=False)
