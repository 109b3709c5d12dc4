"""Every sentence about the customer's address, which a city may ask for; short, precise pt-BR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from state_machine.values.address import EnderecoDito

PERGUNTA: Final = "Qual é o endereço do cliente? Me manda em uma mensagem: rua, número, bairro, cidade/UF e CEP."
EXEMPLO: Final = "Por exemplo: _Rua das Flores, 100, sala 2, Centro, São Paulo/SP, 01310-100_."
_PARTES: Final = {  # of an address, with their articles
    "logradouro": "a rua",
    "numero": "o número (ou s/n)",
    "bairro": "o bairro",
    "cidade": "a cidade",
    "estado": "o estado (a sigla)",
    "cep": "o CEP",
}


def faltam(endereco: EnderecoDito) -> str:
    """Say which parts an answer left out, or did not say clearly; "" where it has all."""
    *inicio, fim = [_PARTES[parte] for parte in endereco.faltam] or [""]
    partes = f"{', '.join(inicio)} e {fim}" if inicio else fim
    return f"Não achei {partes}." if partes else ""
