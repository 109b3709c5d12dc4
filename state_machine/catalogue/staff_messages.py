"""What a user reads when the staff step into a conversation or out of it; the rest of the catalogue is ``messages``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from state_machine.catalogue import messages, questions
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.session import Botao, EnviarArquivo, Mensagem, Sessao, file_name
from state_machine.invoice.summary import resumo
from state_machine.machine.events import NotaQueEspera
from state_machine.values.money import formata_brl
from state_machine.values.text import apara

_NOME_MAX = 40  # UTF-16 units; a name of the staff is shorter
_VOLTEI = "*Voltei a te atender por aqui.*"


def chamada(*, ja: bool) -> str:
    """Say that somebody of the staff was asked for; ``ja``: they had been asked for before."""
    if ja:
        return "A equipe já foi chamada e vai te responder por aqui. Enquanto isso, pode continuar comigo."
    return "Chamei a equipe: alguém te responde por aqui. Enquanto isso, pode continuar comigo."


def pedido_encerrado() -> Mensagem:
    """Say that people closed the request for one of them without taking the conversation over."""
    return Mensagem(
        "A equipe viu o seu pedido e deu como resolvido. Se ainda precisar, escreve _falar com uma pessoa_."
    )


def que_esperam(notas: Sequence[NotaQueEspera]) -> str:
    """Name what was confirmed and waits, so that nobody orders it again."""
    return "\n".join(
        f"A nota de {formata_brl(nota.valor or Decimal(0))} para {apara(nota.cliente, _NOME_MAX)} "
        f"{'está com a equipe' if nota.com_a_equipe else 'está em emissão'}: não precisa pedir de novo."
        for nota in notas
    )


def assumiu(quem: str) -> Mensagem:
    """Say who speaks now, and that nothing is issued meanwhile."""
    return Mensagem(
        f"Oi! Aqui é *{apara(quem, _NOME_MAX)}*, da equipe. Vou falar com você por aqui. "
        "Enquanto isso, a Prosa não emite nada e nenhum botão antigo vale; o que você já informou está guardado."
    )


def devolveu(sessao: Sessao | None, esperam: Sequence[NotaQueEspera] = ()) -> Mensagem:
    """Say that the bot is back and what waits, and go on where the data stand: what was said to people is not there."""
    voltei = "\n".join(filter(None, (_VOLTEI, que_esperam(esperam))))
    if sessao is None:
        if esperam:
            return Mensagem(f"{voltei}\nQuando sair, te aviso.")
        return Mensagem(f"{voltei} Para uma nota, me manda o CNPJ ou CPF do cliente, o valor e o serviço.")
    if sessao.rascunho.completo:
        return resumo(sessao, f"{voltei}\nO que você combinou com a equipe eu não li. Confere?")
    if sessao.rascunho.faltam and any(sessao.rascunho.validado(c) for c in FIELDS):
        pergunta = questions.pergunta(sessao)
        return replace(pergunta, texto=f"{voltei}\n\n{pergunta.texto}")
    return Mensagem(f"{voltei}\n\n{messages.saudacao().texto}")


def encerrou(sessao: Sessao) -> Mensagem:
    """Say that people closed it, that nothing was issued, and how to take it up."""
    return Mensagem(
        "A equipe encerrou esta nota: nada foi emitido. Os dados continuam guardados, se quiser retomar.",
        (Botao(f"refazer:{sessao.sessao_id}", "Retomar esta nota"),),
    )


def de_novo(emissao_id: int, numero: str, tipo: str, *, cancelada: bool) -> tuple[EnviarArquivo, EnviarArquivo]:
    """Return an issued note's PDF and XML, as staff send them once more."""
    legenda = f"Segunda via da {tipo} {numero}{' (cancelada)' if cancelada else ''}"
    pdf = EnviarArquivo(emissao_id, "pdf", file_name(numero, "pdf", tipo), legenda)
    return pdf, EnviarArquivo(emissao_id, "xml", file_name(numero, "xml", tipo))


def da_equipe(quem: str, texto: str) -> str:
    """Return words of the staff as the user reads them: with the name of who wrote."""
    return f"*{apara(quem, _NOME_MAX)}, da equipe:*\n{texto}"
