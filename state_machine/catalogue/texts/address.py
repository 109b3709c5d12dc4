"""Every sentence about the customer's address, which a city may ask for; short, precise pt-BR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from state_machine.invoice.fields import Motivo
from state_machine.values.address import EnderecoDito

PERGUNTA: Final = (
    "Qual é o endereço do cliente? O CEP e o número bastam; se preferir, manda rua, número, bairro, cidade/UF e CEP."
)
DUVIDAS: Final[Mapping[Motivo, tuple[str, str]]] = {  # in the place of what is asked of any field
    Motivo.RECUSADO: (
        "A nota precisa do endereço do cliente. Me manda o CEP e o número, ou: rua, número, bairro, cidade/UF e CEP.",
        "Ainda preciso do endereço do cliente. {exemplo}",
    ),
    Motivo.NAO_CABE: (
        "Antes do resumo, preciso do endereço do cliente.{detalhe} Me manda rua, número, bairro, cidade/UF e CEP.",
        "Ainda preciso do endereço do cliente.{detalhe} {exemplo}",
    ),
    Motivo.INCOMPLETO: (
        "Sobre o endereço do cliente:{li}{detalhe} Me manda o que falta?",
        "Ainda falta uma parte do endereço do cliente.{li}{detalhe} Me manda só ela, ou o endereço inteiro.",
    ),
}
DUVIDAS_DO_LOCAL: Final[Mapping[Motivo, tuple[str, str]]] = {
    Motivo.RECUSADO: (
        "A nota não saiu por causa do local do serviço.{detalhe} Onde foi? O CEP e o número bastam.",
        "Ainda preciso do local do serviço. {exemplo}",
    ),
    Motivo.INCOMPLETO: (
        "Sobre o local do serviço:{li}{detalhe} Me manda o que falta?",
        "Ainda falta uma parte do local do serviço.{li}{detalhe} Me manda só ela, ou o endereço inteiro.",
    ),
}
ONDE: Final = {  # what is asked where a code needs the place, by ``Onde``
    "cidade": "Em que cidade foi o serviço?",
    "obra": "Onde é a obra? O CEP e o número bastam; se ela tem CNO, pode mandar o CNO.",
    "evento": "Onde foi o evento? O CEP e o número do lugar bastam.",
}
ONDE_E_QUANDO: Final = "Onde e em que dia foi o evento? Manda o dia, o CEP e o número do lugar."
SEM_RESPOSTA: Final = "o serviço de CEP não respondeu, e sem ele o endereço não entra na nota; tenta daqui a pouco"
CONFUSO: Final = "algumas partes se confundem; põe vírgulas entre elas"
EXEMPLO: Final = "Por exemplo: _Rua das Flores, 100, sala 2, Centro, São Paulo/SP, 01310-100_."
_DO_CEP: Final = frozenset({"bairro", "cidade", "estado"})  # what the CEP tells where it is said
_PARTES: Final = {  # of an address, with their articles
    "logradouro": "a rua",
    "numero": "o número (ou s/n)",
    "bairro": "o bairro",
    "cidade": "a cidade",
    "estado": "o estado (a sigla)",
    "cep": "o CEP",
}


def outro_estado(uf: str, da_loja: str) -> str:
    """Say that goods go to customers of the shop's state only."""
    return f"Produto para {uf} eu ainda não emito, só para clientes de {da_loja}"


def example_in(cidade: str) -> str:
    """Return the example of an address in a city ("Goiânia/GO")."""
    return f"Por exemplo: _Rua das Flores, 100, sala 2, Centro, {cidade}_, com o CEP."


def sem_cep(cep: str) -> str:
    """Say that nobody knows a CEP."""
    return f"o CEP {cep[:5]}-{cep[5:]} não existe no serviço de CEP"


def outra_cidade(endereco: EnderecoDito, cidade: str, estado: str) -> str:
    """Say that the CEP is another city's than the one that was said."""
    dita = "/".join(filter(None, (endereco.cidade, endereco.estado)))
    return f"o CEP é de {cidade}/{estado}, e não de {dita}"


def faltam(endereco: EnderecoDito) -> str:
    """Say which parts an answer left out, or did not say clearly; "" where it has all. A CEP tells some of them."""
    diz = _DO_CEP if "cep" in endereco.faltam else frozenset()
    *inicio, fim = [_PARTES[parte] for parte in endereco.faltam if parte not in diz] or [""]
    partes = f"{', '.join(inicio)} e {fim}" if inicio else fim
    return f"Não achei {partes}." if partes else ""
