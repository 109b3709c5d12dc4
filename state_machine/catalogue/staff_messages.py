"""What a user reads when the staff step into a conversation or out of it; the rest of the catalogue is ``messages``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from state_machine.catalogue import messages, questions
from state_machine.invoice.field_table import FIELDS
from state_machine.invoice.summary import resumo
from state_machine.machine.effects import Botao, EnviarArquivo, Mensagem
from state_machine.values.text_length import apara

if TYPE_CHECKING:
    from state_machine.machine.session import Sessao

_NOME_MAX = 40  # UTF-16 units; a name of the staff is shorter
_VOLTEI = "*Voltei a te atender por aqui.*"


def assumiu(quem: str) -> Mensagem:
    """Say who speaks now, and that nothing is issued meanwhile."""
    return Mensagem(
        f"Oi! Aqui é *{apara(quem, _NOME_MAX)}*, da equipe. Vou falar com você por aqui. "
        "Enquanto isso, eu não emito nada e nenhum botão antigo vale; o que você já informou está guardado."
    )


def devolveu(sessao: Sessao | None) -> Mensagem:
    """Say that the bot is back, and go on where the data stand: what was said to people is not in them."""
    if sessao is None:
        return Mensagem(f"{_VOLTEI} Para uma nota, me manda o CNPJ ou CPF do cliente, o valor e o serviço.")
    if sessao.rascunho.completo:
        return resumo(sessao, f"{_VOLTEI}\nO que você combinou com a equipe eu não li. Confere?")
    if sessao.rascunho.faltam and any(sessao.rascunho.validado(c) for c in FIELDS):
        pergunta = questions.pergunta(sessao)
        return replace(pergunta, texto=f"{_VOLTEI}\n\n{pergunta.texto}")
    return Mensagem(f"{_VOLTEI}\n\n{messages.saudacao().texto}")


def encerrou(sessao: Sessao) -> Mensagem:
    """Say that people closed it, that nothing was issued, and how to take it up."""
    return Mensagem(
        "A equipe encerrou esta nota: nada foi emitido. Os dados continuam guardados, se quiser retomar.",
        (Botao(f"refazer:{sessao.sessao_id}", "Retomar esta nota"),),
    )


def de_novo(emissao_id: int, numero: str, *, cancelada: bool) -> tuple[EnviarArquivo, EnviarArquivo]:
    """Return an issued note's PDF and XML, as staff send them once more."""
    legenda = f"Segunda via da NFS-e {numero}{' (cancelada)' if cancelada else ''}"
    pdf = EnviarArquivo(emissao_id, "pdf", f"NFSe-{numero}.pdf", legenda)
    return pdf, EnviarArquivo(emissao_id, "xml", f"NFSe-{numero}.xml")


def da_equipe(quem: str, texto: str) -> str:
    """Return words of the staff as the user reads them: with the name of who wrote."""
    return f"*{apara(quem, _NOME_MAX)}, da equipe:*\n{texto}"
