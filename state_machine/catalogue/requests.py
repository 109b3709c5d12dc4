"""Answers about invoices already issued, and refusals of what cannot be done yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from state_machine.catalogue.questions import BOTOES_MAX
from state_machine.goods import Ncm, Produto, nome_da_nota
from state_machine.invoice.session import Botao, EnviarArquivo, EnviarMes, Mensagem, Opcao, file_name
from state_machine.invoice.summary import BOTAO_MAX, fim
from state_machine.protocol.emission import StatusEmissao
from state_machine.values.documents import formata_documento
from state_machine.values.local_time import SAO_PAULO, MesOuAno
from state_machine.values.money import formata_brl
from state_machine.values.text import apara

LISTADAS = 5  # what a phone shows without scrolling
SERVICO = nome_da_nota(None)  # what the note of a service is called
_NOME_MAX = 40  # UTF-16 units of a client in a list
_DITOS_MAX = 80  # UTF-16 units of what was said for an address
_LOOK_MAX = (100, 120, 400)  # UTF-16 units of a mail's address, subject and text, as it is asked about
_KEY_MAX = 256  # characters of a button's key
_IGUAL = "Igual à última"
_SERVICO_MAX = 300  # UTF-16 units of what a note is for, as its customer is told
_GUARDADA = "\n\nA nota que estamos fazendo continua guardada."
_SITUACAO = {
    StatusEmissao.CONCLUIDO: "autorizada",
    StatusEmissao.REJEITADO: "recusada",
    StatusEmissao.ERRO: "com a equipe, por um problema técnico",
    StatusEmissao.CONFLITO: "com a equipe, para conferência",
    StatusEmissao.DISPENSADO: "dispensada, porque a tentativa anterior saiu",
}
_PRODUTO_MAX = 120  # UTF-16 units of a product's name that a row's id carries
_LINHA_MAX = 72  # UTF-16 units of a row's description
_EM_ANDAMENTO = "em emissão; te mando o PDF assim que sair"


@dataclass(frozen=True, slots=True)
class NotaListada:
    """An emission of this conversation as people speak of it; ``numero`` only once it is authorised."""

    emissao_id: int
    numero: str | None
    status: StatusEmissao
    valor: Decimal
    documento: str
    nome: str | None
    descricao: str
    em: datetime
    cancelada: bool = False
    sessao: str | None = None  # that made it
    competencia: date | None = None
    substituta: str | None = None  # the number of the note that took its place
    tipo: str = SERVICO

    @property
    def cliente(self) -> str:
        """The client's name, else the document."""
        return apara(self.nome or formata_documento(self.documento), _NOME_MAX)

    @property
    def dia(self) -> str:
        """Day and month in Brazil."""
        return f"{self.em.astimezone(SAO_PAULO):%d/%m/%Y}"


def minhas_notas(notas: Sequence[NotaListada]) -> str:
    """List the newest authorised invoices, newest first."""
    if not notas:
        return "Ainda não saiu nenhuma nota por esta conversa."
    linhas = [_linha(nota) for nota in notas[:LISTADAS]]
    titulo = "Sua última nota por aqui:" if len(linhas) == 1 else f"Suas últimas {len(linhas)} notas por aqui:"
    exemplo = next((nota for nota in notas if not nota.cancelada), notas[0])
    como = f"Para receber o PDF de novo: _segunda via da nota {exemplo.numero}_."
    return "\n".join([f"*{titulo}*", *linhas, "", como])


def _linha(nota: NotaListada) -> str:
    """One invoice of the list; one that is over is struck through, as it is worth nothing."""
    dados = f"{formata_brl(nota.valor)} · {nota.cliente} · {nota.dia}"
    return f"• ~{nota.numero} · {dados}~ *{fim(nota.substituta)}*" if nota.cancelada else f"• *{nota.numero}* · {dados}"


def status(ultima: NotaListada | None, numero: str | None = None) -> str:
    """Say how the newest invoice stands, or the one of this number."""
    if ultima is None:
        return sem_nota(numero) if numero else "Ainda não enviei nenhuma nota por esta conversa."
    qual = f"nota {ultima.numero}" if ultima.numero else "última nota"
    situacao = fim(ultima.substituta) if ultima.cancelada else _SITUACAO.get(ultima.status, _EM_ANDAMENTO)
    return f"A {qual}, de {formata_brl(ultima.valor)} para {ultima.cliente} ({ultima.dia}), está {situacao}."


def segunda_via(nota: NotaListada, formato: Literal["pdf", "xml"] = "pdf") -> EnviarArquivo:
    """Send the PDF or XML of an authorised invoice once more."""
    cancelada = f" ({fim(nota.substituta)})" if nota.cancelada else ""
    legenda = f"Segunda via da {nota.tipo} {nota.numero}{cancelada} · {formata_brl(nota.valor)} · {nota.cliente}"
    return EnviarArquivo(nota.emissao_id, formato, file_name(nota.numero or "", formato, nota.tipo), legenda)


def sem_arquivo(arquivo: EnviarArquivo, numero: str) -> str:
    """Say that WhatsApp lost an invoice's file, with the news that it carried, and how to get it."""
    tipo = arquivo.formato.upper()
    pedido = f"segunda via da nota {numero}" if tipo == "PDF" else f"manda o xml da nota {numero}"
    qual = f"{arquivo.legenda}\nO {tipo} dela" if arquivo.legenda else f"O {tipo} da NFS-e {numero}"
    return f"{qual} não chegou pelo WhatsApp. Para receber, escreve _{pedido}_."


def segunda_via_enviada(arquivos: Sequence[EnviarArquivo | EnviarMes]) -> str:
    """Say which files come, beside what is open."""
    quais = " e o ".join(arquivo.formato.upper() for arquivo in arquivos)
    return f"O {quais} {'está' if len(arquivos) == 1 else 'estão'} indo."


def depois_da_nota(emissao_id: int, numero: str, tipo: str) -> Mensagem:
    """Say what a button does with the note that has just come; no question, so that a yes is none to it.

    One of goods is not repeated by a button.
    """
    mandar, igual = Botao(f"mandar_cliente:{emissao_id}", "Mandar ao cliente"), Botao(f"repetir:{emissao_id}", _IGUAL)
    qual = f"{tipo} {apara(numero, _NOME_MAX)}: toca para mandar ao cliente"
    return (
        Mensagem(f"{qual} ou fazer outra igual.", (mandar, igual))
        if tipo == SERVICO
        else Mensagem(f"{qual}.", (mandar,))
    )


def para_o_cliente(nota: NotaListada, chave: str | None, pagina: str | None) -> Mensagem:
    """Tell a customer of their note, as its issuer would: to be forwarded as it is, with the way to check it."""
    descricao = apara(" ".join(nota.descricao.split()).rstrip("."), _SERVICO_MAX)
    confere = f"\nPara conferir: {pagina}" if pagina else f"\nChave de acesso: {chave}" if chave else ""
    return Mensagem(f"Olá! Segue a {nota.tipo} {nota.numero}, de {formata_brl(nota.valor)}: {descricao}.{confere}")


def cliente_de_cancelada(nota: NotaListada) -> Mensagem:
    """A note that is worth nothing is no customer's."""
    return Mensagem(
        f"A nota {nota.numero} está {fim(nota.substituta)}, então não preparei nada para o cliente. "
        f"Para ter o PDF: _segunda via da nota {nota.numero}_."
    )


def sem_email(nota: NotaListada) -> str:
    """Files are sent here where no server takes mails. Whose invoice goes is said: nobody forwards another's."""
    return (
        f"E-mail eu não mando: aqui não há servidor de e-mail. O PDF e o XML da nota {nota.numero}, de {nota.cliente}, "
        "vão nesta conversa: é só encaminhar."
    )


def email_de_cancelada(nota: NotaListada) -> str:
    """A note that is worth nothing goes to nobody."""
    return (
        f"A nota {nota.numero} está {fim(nota.substituta)}, e essa eu não mando por e-mail. "
        f"Para ter o PDF aqui: _segunda via da nota {nota.numero}_."
    )


def qual_email(nota: NotaListada, ditos: Sequence[str]) -> str:
    """Ask where a note shall go: no address is known, several were said, or what was said is none."""
    dito = apara(", ".join(ditos), _DITOS_MAX)
    por_que = (
        f"um endereço só, e de e-mail ({dito})" if ditos else f"para qual e-mail; o de {nota.cliente} eu não tenho"
    )
    return f"Nada foi ainda. Me diz {por_que}: _manda a nota {nota.numero} pro e-mail ana@exemplo.com.br_."


def ask_to_mail(nota: NotaListada, email: str, pergunta: int) -> Mensagem:
    """Ask before a note goes to an address; the button carries both, and which question it is of."""
    sim = Botao(f"mandar_email:{nota.emissao_id}:{pergunta}:{email}", "Mandar")
    if len(sim.id) > _KEY_MAX:
        return Mensagem(qual_email(nota, [email]))
    return Mensagem(
        f"Mando a nota {nota.numero} ({formata_brl(nota.valor)}, para {nota.cliente}) para *{email}*?",
        (sim, Botao(f"nao_mandar:{nota.emissao_id}", "Não")),
    )


@dataclass(frozen=True, slots=True)
class Carried:
    """What goes by mail, with its article and what is attached; ``aqui``: the words that bring it into the chat."""

    article: Literal["a", "o"]
    nome: str
    attached: str
    aqui: str

    def __str__(self) -> str:
        return f"{self.article} {self.nome}"


def carried_note(numero: str) -> Carried:
    """A note, for its customer."""
    return Carried("a", f"nota {numero}", "em PDF e XML", f"Para ter o PDF: _segunda via da nota {numero}_.")


def carried_month(mes: str) -> Carried:
    """A month such as "novembro de 2026", for the company's accountant."""
    fechamento = f"fechamento de {mes}"
    return Carried("o", fechamento, "em planilha e com o link de tudo", f"Para ter aqui: _{fechamento}_.")


def ask_to_mail_month(empresa_id: int, mes: MesOuAno, email: str | None, pergunta: int) -> str | Mensagem:
    """Ask before a month goes to the accountant; the button carries whose, which, where, and the question.

    Where no mail goes the answer is in words alone, and the plan sends the month into the chat.
    """
    sim = Botao(f"mandar_mes:{empresa_id}.{mes.prefixo[:-1]}:{pergunta}:{email}", "Mandar")
    if email is None or len(sim.id) > _KEY_MAX:
        return (
            "Por e-mail ao contador não vai: aqui falta o endereço dele, que quem cuida do cadastro põe, ou o servidor "
            "de e-mail. O fechamento vai nesta conversa, com o link: é só encaminhar."
        )
    return Mensagem(
        f"Mando o fechamento de {mes} para *{email}*? Vai a planilha, com um link para o PDF e o XML de cada nota.",
        (sim, Botao(f"nao_mandar:{empresa_id}", "Não")),
    )


def email_a_caminho(o_que: Carried, email: str) -> Mensagem:
    """A mail was asked for, and goes."""
    return Mensagem(f"Está indo: {o_que.nome} para {email}. Aviso quando sair.")


def email_ja_pedido(o_que: Carried, email: str) -> Mensagem:
    """The same button once more: nothing goes twice."""
    return Mensagem(f"Esse e-mail já está pedido: {o_que.nome} para {email}. Não vai duas vezes.")


def mail_dropped() -> Mensagem:
    """The question was answered with a no."""
    return Mensagem("Certo, não mandei.")


def mail_without_server(o_que: Carried) -> Mensagem:
    """The server that took mails when it was asked is gone."""
    return Mensagem(f"Não mandei: o servidor de e-mail foi desligado. {o_que.aqui}")


def mail_limit() -> Mensagem:
    """The company has had its mails of a day."""
    return Mensagem("Não mandei: sua empresa já mandou todos os e-mails de um dia. Amanhã dá.")


def mail_sent(o_que: Carried, email: str) -> Mensagem:
    """The mail server took it."""
    return Mensagem(f"Saiu: {o_que}, {o_que.attached}, foi para {email}.")


def mail_failed(o_que: Carried, email: str, problema: Mapping[str, str]) -> Mensagem:
    """The mail server took it not, or nobody knows."""
    detalhe = problema.get("detalhe", "")
    match problema.get("codigo"):
        case "suprimido":
            por_que = f"não saiu: este endereço não recebe mais e-mails da empresa ({detalhe})"
        case "sem_resposta":
            por_que = f"pode não ter chegado: {detalhe}"
        case _:
            por_que = f"não saiu: {detalhe}"
    return Mensagem(f"O e-mail d{o_que} para {email} {por_que}. {o_que.aqui}")


def email_demora(o_que: Carried, email: str) -> Mensagem:
    """The mail server cannot be reached; it is tried again."""
    return Mensagem(
        f"O servidor de e-mail não responde. {o_que.article.upper()} {o_que.nome} para {email} continua na fila, e eu "
        f"aviso quando sair. {o_que.aqui}"
    )


def sem_nota(numero: str | None, talvez: str | None = None) -> str:
    """There is no such invoice to send again; ``talvez`` is the only number that ends like this one."""
    if numero is None:
        return "Ainda não saiu nenhuma nota por esta conversa, então não tenho segunda via para mandar."
    if talvez:
        return f"Não achei a nota {numero}. Se é a {talvez}, escreve _segunda via da nota {talvez}_."
    return (
        f"Não achei a nota {numero} entre as autorizadas nesta conversa. "
        "Se ela saiu por outro contato ou no site do emissor, é lá que está a segunda via."
    )


def parar() -> str:
    """Nobody is written to who does not write."""
    return (
        "Eu só escrevo em resposta a você ou sobre uma nota sua; não mando propaganda. Tirar seu número da Prosa eu "
        "ainda não faço por aqui: pede para quem liberou. Para desistir de uma nota em aberto, escreve _cancela_."
    )


def parar_lote(lote: tuple[int, str], cancelados: int) -> str:
    """A list was stopped; its number and its file's name."""
    quantos = "1 e-mail não sai" if cancelados == 1 else f"{cancelados} e-mails não saem"
    return f"Lote {lote[0]} ({lote[1]}) parado: {quantos} mais. O que já saiu, saiu."


def ask_to_send(
    lote: tuple[int, str], revisao: str, mails: tuple[int, int], primeiro: tuple[str, str, str] | None
) -> Mensagem:
    """Ask whether a system's list goes; ``mails``: all, and to new addresses; ``primeiro``: address, subject, text."""
    numero, nome = lote
    todos, novos = mails
    quantos = "1 e-mail" if todos == 1 else f"{todos} e-mails"
    look = ""
    if primeiro is not None:
        email, assunto, texto = (apara(each, most) for each, most in zip(primeiro, _LOOK_MAX, strict=True))
        look = f"\n\nO primeiro, para {email}:\n*{assunto}*\n{texto}"
    return Mensagem(
        f"Um sistema da sua empresa quer mandar o lote {numero} ({apara(nome, _DITOS_MAX)}): {quantos}, {novos} para "
        f"quem nunca recebeu um e-mail de vocês. Nada saiu ainda.{look}\n\nEnvio?",
        (
            Botao(f"enviar_lista:{numero}::{revisao}", "Enviar"),
            Botao(f"nao_enviar_lista:{numero}::{revisao}", "Não enviar"),
        ),
    )


def list_goes(lote: tuple[int, str], quantos: int) -> str:
    """A person said yes to a list."""
    mails = "1 e-mail começa" if quantos == 1 else f"{quantos} e-mails começam"
    return f"Certo: {mails} a sair. Para parar, escreve _para o lote {lote[0]}_."


def list_changed(numero: int) -> str:
    """The button is of other rows or words than those that stand there, or nobody asks any more."""
    return f"Nada foi feito: o lote {numero} mudou ou não espera este sim. Se esperar outro, eu pergunto de novo."


def list_decided(numero: int, *, stopped: bool) -> str:
    """Somebody else decided first."""
    if stopped:
        return f"O lote {numero} já foi parado; nada mais sai."
    return f"O lote {numero} já foi confirmado. Para parar o que não saiu, escreve _para o lote {numero}_."


def list_of_another_environment(numero: int) -> str:
    """The company issues elsewhere since the list was sent."""
    return f"Não mandei o lote {numero}: ele veio do outro ambiente da empresa. O sistema precisa mandar de novo."


def list_without_server(numero: int) -> str:
    """The server that took mails when it was asked is gone."""
    return f"Não mandei o lote {numero}: o servidor de e-mail foi desligado."


def qual_lote(lotes: Sequence[tuple[int, str]]) -> str:
    """Several lists are under way: which one is meant?"""
    nomes = "\n".join(f"{numero}: {nome}" for numero, nome in lotes)
    return f"Nada parou ainda. Qual lote? Escreve por exemplo _para o lote {lotes[0][0]}_.\n{nomes}"


def sem_lote(numero: int | None) -> str:
    """There is no such list under way."""
    qual = "nenhum lote" if numero is None else f"o lote {numero}"
    return f"Nada mudou: não achei {qual} em andamento na sua empresa."


def cancelar_emitida(numero: str | None) -> str:
    """Say how cancelling is asked for, where ``bot.subjects.cancellation_talk`` took the words as no order."""
    qual = f"a nota {numero}" if numero else "uma nota já emitida"
    return (
        f"Nada foi cancelado. Para cancelar {qual}, escreve só _cancelar nota {numero or 123}_. "
        "Só cancelo depois que você confirmar."
    )


def qual_cancelar(notas: Sequence[NotaListada], numero: str | None) -> Mensagem:
    """Ask by buttons which issued note is to be cancelled; what is asked then is the cancellation's own.

    ``numero`` is the one that was said, where no note has it.
    """
    if not notas:
        return Mensagem(cancelar_emitida(numero))
    linhas = "\n".join(f"• nota {n.numero}, de {formata_brl(n.valor)} para {n.cliente}" for n in notas[:BOTOES_MAX])
    return Mensagem(
        f"Nada foi cancelado. Qual é para cancelar?\n{linhas}",
        tuple(Botao(f"cancelar_nota:{n.emissao_id}", apara(f"Nota {n.numero}", BOTAO_MAX)) for n in notas[:BOTOES_MAX]),
    )


def nada_a_retomar() -> str:
    """No invoice was given up lately."""
    return "Não tenho nota para retomar. Para uma nova, me manda o CNPJ ou CPF do cliente, o valor e o serviço."


def mensagem(dito: str | Mensagem, *, em_aberto: bool) -> Mensagem:
    """Return the answer; ``em_aberto``: an invoice is being made and stays as it is."""
    dito = Mensagem(dito) if isinstance(dito, str) else dito
    return replace(dito, texto=dito.texto + (_GUARDADA if em_aberto else ""))


WHICH_CODE = "qual é o NCM?"  # in every message that asks for one


def ask_ncm(texto: str, preco: str, codigos: Sequence[Ncm], *, em_aberto: bool) -> Mensagem:
    """Offer the codes that a product may have; its tax is not chosen by us."""
    custa = f"*{apara(texto, _NOME_MAX)}*, {formata_brl(preco)}"  # ``read_asked`` takes it up
    ainda = "\n\nA nota aberta continua guardada." if em_aberto else ""
    if not codigos:
        return Mensagem(f"{custa}: qual é o NCM? A contabilidade sabe. Manda só ele: _ncm 19059090_.{ainda}")
    centavos = preco.replace(".", "")
    linhas = tuple(
        Opcao(
            f"produto:{each.codigo}:{centavos}:{apara(texto, _PRODUTO_MAX)}", each.codigo, apara(each.texto, _LINHA_MAX)
        )
        for each in codigos
    )
    return Mensagem(
        f"{custa}: qual é o NCM? Se não for nenhum destes, manda só ele: _ncm 19059090_.{ainda}", (), linhas
    )


def product_kept(produto: Produto, *, em_aberto: bool = False) -> Mensagem:
    """The product is kept, and how an invoice for it is asked for."""
    kept = f"*{apara(produto.texto, _NOME_MAX)}* cadastrado: {formata_brl(produto.preco)}, NCM {produto.ncm}."
    if em_aberto:
        return Mensagem(kept)
    return Mensagem(f"{kept}\nPara a nota: _nota de 2 {apara(produto.texto, _NOME_MAX)} pra …, cpf …_.")


def product_refused(texto: str, porque: str) -> Mensagem:
    """The product is not kept, and why."""
    return Mensagem(f"Não guardei *{apara(texto, _NOME_MAX)}*: {porque}.")


_PRODUTOS_MAX = 40  # of the company's that one message lists


def product_list(produtos: Sequence[Produto], *, em_aberto: bool) -> Mensagem:
    """Name the company's products with their prices, and how one more is kept."""
    if not produtos:
        return Mensagem("Ainda não há produtos no cadastro. Para guardar um: _cadastra caneca 35,00_.")
    linhas = [f"• {apara(each.texto, _NOME_MAX)}: {formata_brl(each.preco)}" for each in produtos[:_PRODUTOS_MAX]]
    resto = len(produtos) - len(linhas)
    linhas += [f"… e mais {resto}; a lista inteira está com a equipe."] if resto else []
    fim = "Outro: _cadastra chaveiro 10,00_. Outro preço: _muda o preço da caneca pra 40_."
    return Mensagem("\n".join(["*Seus produtos*", *linhas, "", fim + (_GUARDADA if em_aberto else "")]))


def price_changed(antes: Produto, depois: Produto, *, em_aberto: bool = False) -> Mensagem:
    """A product costs another price from now on."""
    dito = f"*{apara(antes.texto, _NOME_MAX)}*: de {formata_brl(antes.preco)} para {formata_brl(depois.preco)}"
    return Mensagem(f"{dito} no cadastro.{_GUARDADA if em_aberto else ''}")


def price_not_here() -> Mensagem:
    """The note or the product that a button was about is there no more."""
    return Mensagem("Isso já mudou, então não mexi em nada. Os preços de agora: escreve _meus produtos_.")


def code_of_what(ncm: str) -> Mensagem:
    """An NCM came alone, and nothing asked for one lately."""
    return Mensagem(f"NCM {ncm} de qual produto? Manda junto: _cadastra chaveiro 10,00 ncm {ncm}_.")


def ask_price_where(produto: Produto, preco: str, sessao_id: str) -> Mensagem:
    """Ask whether a new price is this note's alone, while one with the product is open."""
    alvo = f"{produto.codigo}:{preco.replace('.', '')}"
    return Mensagem(
        f"*{apara(produto.texto, _NOME_MAX)}* a {formata_brl(preco)}: só nesta nota, ou também no cadastro?",
        (
            Botao(f"preco:{alvo}:nota {sessao_id}", "Só nesta nota"),
            Botao(f"preco:{alvo}:cadastro {sessao_id}", "No cadastro também"),
        ),
    )


_ASKED = re.compile(r"\*(?P<texto>[^*\n]+)\*, R\$\s(?P<preco>[\d.]+,\d\d): qual é o NCM\?")


def read_asked(texto: str) -> tuple[str, str] | None:
    """Return the product, and its price as "10.00", whose NCM a message of ours asks for; ``None`` for other messages.

    A name that was cut is none.
    """
    found = _ASKED.search(texto)
    if found is None or found["texto"].endswith("…"):
        return None
    return found["texto"], found["preco"].replace(".", "").replace(",", ".")
