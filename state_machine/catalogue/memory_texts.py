"""What is said of a company's own clients and of invoices to repeat."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from state_machine.catalogue.choices import duvidosos
from state_machine.invoice.summary import legivel
from state_machine.machine.effects import Botao, Mensagem
from state_machine.values.documents import formata_documento
from state_machine.values.text_length import TEXTO_COM_BOTOES_MAX, apara, tamanho

if TYPE_CHECKING:
    from collections.abc import Sequence

    from state_machine.invoice.known_clients import Cliente, Costume
    from state_machine.machine.session import Sessao

NOMEADOS = 3  # clients named in a question; more are told apart by a longer name
_SERVICO_MAX = 120  # UTF-16 units of a service that is offered
_NUMERO_MAX = 20  # UTF-16 units of an invoice's number
_NOME_MAX = 34  # UTF-16 units of each: three fit into the detail of a question


def quais_clientes(clientes: Sequence[Cliente]) -> str:
    """Return the detail of a question about clients whom a name may mean."""
    if len(clientes) == 1:
        return f"entre os seus clientes há {_cliente(clientes[0])}"
    nomeados = "; ".join(f"{n}) {_cliente(cliente)}" for n, cliente in enumerate(clientes[:NOMEADOS], 1))
    mais = len(clientes) - NOMEADOS
    return f"seus clientes: {nomeados}{f'; e mais {mais}' if mais > 0 else ''}"


def _cliente(cliente: Cliente) -> str:
    documento = formata_documento(cliente.documento)
    return f"{apara(cliente.nome, _NOME_MAX)}, {documento}" if cliente.nome else documento


def qual_cliente(nome: str, clientes: Sequence[Cliente]) -> str:
    """Ask which client is meant where an invoice was asked for by its name."""
    dito = apara(nome, _NOME_MAX)
    if not clientes:
        return sem_nota_para(nome)
    return f"Não sei qual cliente é “{dito}”: {quais_clientes(clientes)}. Me diz o nome inteiro, ou o número da nota."


def sem_nota_para(nome: str) -> str:
    """Say that no issued invoice of this conversation is to such a client."""
    return (
        f"Não achei nota para “{apara(nome, _NOME_MAX)}” nesta conversa, e não fiz nada. Escreve _minhas notas_ para "
        "ver as que saíram por aqui."
    )


def nada_a_repetir() -> str:
    """Say that there is no invoice to make another one like it."""
    return (
        "Ainda não saiu nenhuma nota por esta conversa, então não tenho qual repetir. "
        "Me manda o CNPJ ou CPF, o valor e o serviço."
    )


def outra_aberta() -> str:
    """Say that the invoice at hand comes before a copy of another one."""
    return "Antes de repetir outra nota, confirma esta que está aberta ou escreve _cancela_."


def igual_a(numero: str) -> str:
    """Return the first line of the summary of an invoice that was made like another one."""
    return f"*Igual à nota {apara(numero, _NUMERO_MAX)}; ainda não emiti.*\nSe algo mudou, me diz; senão, confirma."


def de_sempre(sessao: Sessao, pergunta: Mensagem, costume: Costume) -> Mensagem:
    """Offer beside a question what is usually invoiced to this client, with buttons bound to this revision."""
    oferta = costume.preenche(sessao.rascunho)
    if not oferta or duvidosos(sessao.rascunho):
        return pergunta
    ditos = ", ".join(apara(legivel(campo, valor) or "", _SERVICO_MAX) for campo, valor in oferta.items())
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    texto = f"{pergunta.texto}\n\nDe sempre: {ditos}."
    if tamanho(texto) > TEXTO_COM_BOTOES_MAX:
        return pergunta
    botoes = (Botao(f"usar_costume:{alvo}", "Usar"), Botao(f"mudar_costume:{alvo}", "Mudar"), *pergunta.botoes)
    return replace(pergunta, texto=texto, botoes=botoes)


def depois_da_nota(sessao: Sessao, numero: str, aviso: str | None = None) -> Mensagem:
    """Offer another invoice like the one just issued; no question, so that a yes that follows is none to it."""
    texto = f"A nota {numero} saiu. Para outra igual, toca em *Igual à última*: o resumo vem antes de emitir."
    texto = f"{aviso}\n\n{texto}" if aviso else texto
    return Mensagem(texto, (Botao(f"repetir:{sessao.sessao_id}:{sessao.revisao}", "Igual à última"),))
