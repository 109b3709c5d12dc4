"""Every other sentence that a user reads; short, warm, precise pt-BR. The questions are in ``questions``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from state_machine.documents import formata_documento
from state_machine.efeitos import Botao, Mensagem
from state_machine.fields import Campo
from state_machine.money import centavos, formata_brl, por_extenso
from state_machine.questions import NOME_DO_CAMPO

if TYPE_CHECKING:
    from state_machine.rascunho import Rascunho
    from state_machine.sessao import Sessao

RESUMO_DESCRICAO_MAX = 420  # characters; the whole summary must fit Meta's 1,024 for a text with buttons
_EXEMPLO = "_nota de 1.500 para 12.345.678/0001-95, consultoria de marketing_"  # a textbook CNPJ


def _valor_legivel(campo: Campo, valor: str) -> str:
    if campo is Campo.VALOR:
        return formata_brl(centavos(valor))
    return formata_documento(valor) if campo is Campo.DOCUMENTO else valor


def _botoes_resumo(sessao: Sessao) -> tuple[Botao, ...]:
    alvo = f"{sessao.sessao_id}:{sessao.revisao}"
    return (
        Botao(f"confirmar:{alvo}", "Confirmar"),
        Botao(f"corrigir:{alvo}", "Corrigir"),
        Botao(f"cancelar:{alvo}", "Cancelar"),
    )


def _cliente(rascunho: Rascunho) -> str:
    documento = rascunho.validado(Campo.DOCUMENTO) or ""
    tipo = "CPF" if len(documento) == 11 else "CNPJ"  # noqa: PLR2004 - a CPF has 11 digits
    nome = rascunho.tomador_nome
    linhas = [f"Cliente: {nome}"] if nome else [f"Cliente: nome não encontrado pelo {tipo}"]
    linhas.append(f"{tipo}: {formata_documento(documento)}")
    if rascunho.cadastro and rascunho.cadastro.situacao not in {None, "ATIVA"}:
        linhas.append(f"⚠️ Na Receita este CNPJ consta como *{rascunho.cadastro.situacao}*.")
    return "\n".join(linhas)


def resumo(sessao: Sessao, titulo: str = "*Confere pra mim?*") -> Mensagem:
    """Show exactly what a confirmation would issue, with buttons bound to this session and revision."""
    rascunho = sessao.rascunho
    valor = rascunho.valor_servico
    servico = rascunho.validado(Campo.DESCRICAO) or ""
    if len(servico) > RESUMO_DESCRICAO_MAX:
        servico = f"{servico[:RESUMO_DESCRICAO_MAX]}… (texto inteiro guardado, {len(servico)} caracteres)"
    opcionais = [
        f"{rotulo}: {texto}"
        for rotulo, texto in (
            ("E-mail", rascunho.validado(Campo.EMAIL)),
            ("Competência", _mes(rascunho.validado(Campo.COMPETENCIA))),
            ("Data do serviço", _dia(rascunho.validado(Campo.DATA))),
        )
        if texto
    ]
    linhas = [
        titulo,
        "",
        _cliente(rascunho),
        f"Valor: *{formata_brl(valor)}* ({por_extenso(valor)})",
        f"Serviço: {servico}",
        *opcionais,
        f"Emitente: {sessao.emitente}",
    ]
    return Mensagem("\n".join(linhas), _botoes_resumo(sessao))


def _mes(valor: str | None) -> str | None:
    return f"{valor[5:7]}/{valor[:4]}" if valor else None


def _dia(valor: str | None) -> str | None:
    return f"{valor[8:10]}/{valor[5:7]}/{valor[:4]}" if valor else None


_MUDEI = {
    Campo.DOCUMENTO: "o cliente",
    Campo.VALOR: "o valor",
    Campo.DESCRICAO: "o serviço",
    Campo.NOME: "o nome do cliente",
    Campo.EMAIL: "o e-mail",
    Campo.COMPETENCIA: "a competência",
    Campo.DATA: "a data",
}


def titulo_da_mudanca(mudancas: tuple[tuple[Campo, str, str], ...]) -> str:
    """Say what a correction changed, from what to what."""
    frases = []
    for campo, velho, novo in mudancas:
        if campo is Campo.DESCRICAO:
            frases.append("Troquei o serviço.")
        else:
            frases.append(
                f"Mudei {_MUDEI[campo]} de {_valor_legivel(campo, velho)} para {_valor_legivel(campo, novo)}."
            )
    return f"*{' '.join(frases)}*\nConfere?"


def saudacao() -> Mensagem:
    """Greet and say the one thing that can be done here."""
    return Mensagem(
        "Oi! Eu emito sua nota de serviço por aqui. Me manda o CNPJ ou CPF do cliente, o valor e o serviço, "
        f"tudo junto ou um de cada vez. Por exemplo:\n{_EXEMPLO}"
    )


def ajuda() -> Mensagem:
    """Explain how an invoice is issued, corrected and given up."""
    return Mensagem(
        "*Como funciona*\n"
        f"1. Me manda os dados da nota, como: {_EXEMPLO}\n"
        "2. Eu mostro um resumo. Só emito depois do seu *Confirmar*.\n"
        "3. Quando a nota sai, te mando o PDF e o XML.\n\n"
        "Para mudar algo, é só dizer: _na verdade é 1.800_. Para desistir: _cancela_."
    )


def o_que_muda(sessao: Sessao) -> Mensagem:
    """Ask what to correct, with what stands kept."""
    return Mensagem(
        "O que eu mudo? Me manda só a informação certa: o CNPJ ou CPF, o valor ou o serviço. "
        "O resto continua guardado.",
        _botoes_resumo(sessao)[2:],
    )


def dados_mudaram(sessao: Sessao) -> Mensagem:
    """A yes that answers another summary than the present one confirms nothing."""
    return resumo(sessao, "*Os dados mudaram depois daquele resumo, então ainda não emiti.*\nConfere de novo?")


def lembrete(sessao: Sessao) -> Mensagem:
    """Repeat the summary after words that changed nothing."""
    return resumo(sessao, "*Está tudo pronto, só falta você confirmar.*")


def cancelada(sessao: Sessao) -> Mensagem:
    """Say that nothing was issued and that the data can be taken up again."""
    return Mensagem(
        "Certo, cancelei: nenhuma nota foi emitida. Se mudar de ideia, os dados continuam guardados.",
        (Botao(f"refazer:{sessao.sessao_id}", "Retomar esta nota"),),
    )


def ja_enviada() -> Mensagem:
    """Too late to give up by chat: it is at the authority."""
    return Mensagem("Esta nota já foi enviada para emissão. Assim que a prefeitura responder, eu te aviso aqui.")


def ja_encerrada(estado_legivel: str) -> Mensagem:
    """An old button was pressed; nothing happens again."""
    return Mensagem(f"Esta nota já foi {estado_legivel}; nada novo foi emitido. Para outra, é só me mandar os dados.")


def autorizada(sessao: Sessao, numero: str) -> str:
    """Caption of the PDF: the result in one line."""
    rascunho = sessao.rascunho
    nome = rascunho.tomador_nome or formata_documento(rascunho.validado(Campo.DOCUMENTO) or "")
    return f"NFS-e {numero} autorizada · {formata_brl(rascunho.valor_servico)} · {nome}"


def rejeitada(sessao: Sessao, motivo: str, campo: Campo | None) -> Mensagem:
    """Say why in plain words, what is kept, and how to go on."""
    conserto = (
        f"Toca em *Corrigir nota* e me manda {NOME_DO_CAMPO[campo]} de novo."
        if campo
        else "Depois de resolver, toca em *Corrigir nota* para enviar outra vez."
    )
    return Mensagem(
        f"*A prefeitura não aceitou esta nota.*\nMotivo: {motivo}\n\n"
        f"Nenhuma nota foi emitida e seus dados estão guardados. {conserto}",
        (Botao(f"refazer:{sessao.sessao_id}", "Corrigir nota"),),
    )


def falhou() -> Mensagem:
    """A definite technical failure: who looks after it, and what not to do."""
    return Mensagem(
        "Não consegui concluir esta nota por um problema técnico. Seus dados estão guardados "
        "e a equipe já foi avisada. Não precisa mandar de novo: se ela for autorizada, você recebe aqui."
    )


def demorou() -> Mensagem:
    """The authority is slow; the user need not do anything."""
    return Mensagem(
        "Sua nota foi enviada e a prefeitura ainda está processando. "
        "Não precisa repetir: te mando o PDF assim que sair."
    )


def so_texto(tipo: str) -> Mensagem:
    """Kind answer to what has no words in it."""
    if tipo == "edit":
        return Mensagem("Vi que você editou uma mensagem. Para mudar a nota, me manda o certo em uma mensagem nova?")
    nome = {"audio": "áudio", "image": "foto", "document": "documento", "video": "vídeo"}.get(tipo)
    inicio = f"Ainda não consigo ler {nome} por aqui." if nome else "Essa mensagem eu não consigo ler."
    return Mensagem(f"{inicio} Me escreve o CNPJ ou CPF do cliente, o valor e o serviço?")


def desconhecido() -> Mensagem:
    """A number that belongs to no company gets a way forward, never silence."""
    return Mensagem(
        "Oi! Eu sou a Prosa e emito notas de serviço pelo WhatsApp. Este número ainda não está ligado "
        "a nenhuma empresa. Já avisei a equipe, que vai te responder. "
        "Se a sua empresa já usa a Prosa, peça para incluírem este número."
    )


def expirada(sessao_id: str) -> Mensagem:
    """A yes that comes after the deadline."""
    return Mensagem(
        "Aquela nota ficou parada por muito tempo e expirou sem ser emitida. Os dados continuam guardados.",
        (Botao(f"refazer:{sessao_id}", "Retomar esta nota"),),
    )


def em_andamento() -> Mensagem:
    """Words while the last invoice is at the authority."""
    return Mensagem(
        "Sua nota está em emissão; assim que a prefeitura responder, eu te mando aqui. "
        "Se quiser fazer outra enquanto isso, é só me mandar os dados."
    )


def ja_retomada() -> Mensagem:
    """An old button for data that a later invoice has taken up, or that were issued."""
    return Mensagem("Essa nota já foi retomada. Para fazer outra, me manda o CNPJ ou CPF, o valor e o serviço.")


def nada_a_confirmar() -> Mensagem:
    """A yes, no or small talk when no invoice is open."""
    return Mensagem("Por aqui está tudo em dia. Para uma nova nota, me manda o CNPJ ou CPF, o valor e o serviço.")


def quarentena() -> Mensagem:
    """A message that failed five times; it is kept and people look at it."""
    return Mensagem(
        "Tive um problema para ler sua última mensagem. Ela está guardada e a equipe foi avisada. "
        "Pode tentar mandar de outro jeito; o que você já tinha informado continua valendo."
    )
