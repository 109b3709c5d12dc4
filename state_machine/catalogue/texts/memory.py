"""What is said of a company's own clients and of invoices to repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from state_machine.catalogue.questions import LINHA_MAX
from state_machine.catalogue.requests import NotaListada
from state_machine.invoice.choices import Cliente, Costume
from state_machine.invoice.draft import LEITURA_MAX
from state_machine.invoice.session import DIZER, Botao, Mensagem, Opcao, Sessao
from state_machine.invoice.summary import fim, legivel, resumo
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from state_machine.values.text import TEXTO_COM_BOTOES_MAX, apara, tamanho

NOMEADOS = 3  # clients named in the text of a question; its list shows more
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
    """Ask which client is meant where a file was asked for by its name."""
    if not clientes:
        return sem_nota_para(nome)
    dito = apara(nome, _NOME_MAX)
    return f"Não sei qual cliente é “{dito}”: {quais_clientes(clientes)}. Me diz o nome inteiro, ou o número da nota."


def qual_repetir(nome: str, notas: Sequence[NotaListada]) -> Mensagem:
    """Ask which invoice to repeat where the client is not clear by its name: a row for the last one of each."""
    linhas = tuple(
        Opcao(
            f"repetir:{nota.emissao_id}",
            apara(nota.cliente, LINHA_MAX),
            apara(f"{_dados(nota)} · {formata_documento(nota.documento)}", LEITURA_MAX),
        )
        for nota in notas
    )
    dito = apara(nome, _NOME_MAX)
    texto = f"Não tenho certeza de qual cliente é “{dito}”. Qual nota eu repito? O resumo vem antes de emitir."
    return Mensagem(texto, (), linhas)


def sem_nota_para(nome: str) -> str:
    """Say that no issued invoice of this conversation is to such a client."""
    return (
        f"Não achei nota para “{apara(nome, _NOME_MAX)}” nesta conversa, e não fiz nada. Escreve _minhas notas_ para "
        "ver as que saíram por aqui."
    )


def nada_a_repetir() -> Mensagem:
    """Say that there is no invoice to make another one like it."""
    return Mensagem(
        "Não achei nota desta conversa que esteja valendo, então não tenho qual repetir. "
        "Me manda o CNPJ ou CPF, o valor e o serviço."
    )


def sem_repetir(nota: NotaListada | None) -> Mensagem:
    """Say why the invoice of a button is not repeated: it is over, or is not of the company of now."""
    porque = "Aquela nota não é da empresa pela qual você emite agora"
    if nota:
        porque = f"A {_qual(nota)}, foi {fim(nota.substituta)}"
    return Mensagem(f"{porque}, então não repeti. Para outra nota, me manda o CNPJ ou CPF, o valor e o serviço.")


def sem_repetir_produtos(nota: NotaListada) -> Mensagem:
    """Say that a note for goods is not repeated, and how to ask for another one."""
    return Mensagem(
        f"A {nota.tipo} {apara(nota.numero or '', _NUMERO_MAX)} é de produtos, e essa eu não repito. "
        "Me diz quantos de cada produto e para quem."
    )


def e_o_cliente(cliente: Cliente) -> str:
    """Return who the customer of the open invoice is."""
    return f"O cliente desta nota é {_cliente(cliente)}."


def documentos_de(clientes: Sequence[Cliente]) -> str:
    """Return the documents of the company's clients that were asked about."""
    return "\n".join(f"{_cliente(each)}." for each in clientes[:NOMEADOS])


def outra_aberta() -> Mensagem:
    """Say that the invoice at hand comes before a copy of another one."""
    return Mensagem("Antes de repetir outra nota, confirma esta que está aberta ou escreve _cancela_.")


def igual_a(numero: str) -> str:
    """Return the first line of the summary of an invoice that was made like another one."""
    return f"*Igual à nota {apara(numero, _NUMERO_MAX)}; ainda não emiti.*\nSe algo mudou, me diz; senão, confirma."


def com_oferta(resposta: Mensagem, nota: NotaListada) -> Mensagem:
    """Add to an answer the button that repeats this very invoice; every wording names it.

    No question, so that a yes that follows is none to it. Buttons of the matter at hand let it no room; of those that
    stand for words the first makes room.
    """
    if not all(each.startswith(DIZER) for each in resposta.ids):
        return resposta
    oferta = f"\n\nPara repetir a {_qual(nota)}, toca em *Igual à última*."
    return replace(
        resposta,
        texto=resposta.texto + oferta,
        botoes=(Botao(f"repetir:{nota.emissao_id}", "Igual à última"), *resposta.botoes[1:]),
        outras=tuple(outra + oferta for outra in resposta.outras),
    )


def _qual(nota: NotaListada) -> str:
    return f"nota {_dados(nota)} para {nota.cliente}"


def _dados(nota: NotaListada) -> str:
    return f"{apara(nota.numero or '', _NUMERO_MAX)}, de {formata_brl(nota.valor)}"


def de_sempre(sessao: Sessao, pergunta: Mensagem, costume: Costume) -> Mensagem:
    """Offer beside a question what is usually invoiced to this client, with buttons bound to revision and offer."""
    oferta = costume.preenche(sessao.rascunho)
    if not oferta or sessao.rascunho.em_duvida:
        return pergunta
    ditos = ", ".join(apara(legivel(campo, valor) or "", _SERVICO_MAX) for campo, valor in oferta.items())
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    texto = f"{pergunta.texto}\n\nDe sempre: {ditos}."
    if tamanho(texto) > TEXTO_COM_BOTOES_MAX:
        return pergunta
    usar, mudar = Botao(f"usar_costume:{alvo}:{costume.marca}", "Usar"), Botao(f"mudar_costume:{alvo}", "Mudar")
    return replace(pergunta, texto=texto, botoes=(usar, mudar, *pergunta.botoes))


def pode_ter_saido(sessao: Sessao) -> Mensagem:
    """A yes that may be the second one to this summary: the database may have forgotten the first."""
    return resumo(
        sessao,
        "*Tivemos um problema, e esta nota pode já ter saído.* Ainda não emiti outra.\nConfere e confirma de novo?",
    )
