"""What people read about their company's certificate."""

from __future__ import annotations

from datetime import date

from state_machine.invoice.session import Mensagem
from state_machine.values.text import apara

_NOME_MAX = 200  # UTF-16 units of a company's name
_RECEBIDO = (
    "Não abri nem guardei o arquivo que você mandou: certificado e senha não devem ficar na conversa. "
    "Apague a mensagem daqui, e a senha, se você a escreveu. "
)


def link(empresa: str, minutos: int, *, arquivo: bool) -> str:
    """Return what stands before the link, which lasts ``minutos``; ``arquivo``: a certificate came as an attachment."""
    return (
        f"{_RECEBIDO if arquivo else ''}Para enviar o certificado A1 de *{apara(empresa, _NOME_MAX)}*, toca no link "
        f"abaixo e escolhe o arquivo .pfx ou .p12. Ele vale por {minutos} minutos e serve uma vez só. Não repassa a "
        "ninguém."
    )


def sem_link(*, arquivo: bool) -> Mensagem:
    """This installation offers no links."""
    return Mensagem(
        f"{_RECEBIDO if arquivo else ''}Ainda não recebo certificado por aqui. Peça a quem cuida da instalação da "
        "Prosa: essa pessoa cadastra o arquivo e a senha com você."
    )


def kept_elsewhere(empresa: str, *, arquivo: bool) -> Mensagem:
    """The company's channel keeps its certificate: no key is asked for here."""
    return Mensagem(
        f"{_RECEBIDO if arquivo else ''}O certificado de *{apara(empresa, _NOME_MAX)}* fica no emissor por onde as "
        "notas dela saem, e aqui não preciso dele. Para trocar, fala com quem cuida da instalação da Prosa."
    )


def sem_direito(*, arquivo: bool) -> Mensagem:
    """Who writes belongs to no company."""
    return Mensagem(
        f"{_RECEBIDO if arquivo else ''}O certificado de uma empresa só pode ser enviado por quem emite por ela, e "
        "este número não está ligado a nenhuma. Peça a quem cuida da Prosa na empresa para incluir este número."
    )


def guardado(empresa: str, vence: date) -> Mensagem:
    """A certificate was accepted by the link."""
    return Mensagem(
        f"Recebi e conferi o certificado de *{apara(empresa, _NOME_MAX)}*. Ele vale até {vence:%d/%m/%Y} e está "
        "guardado, cifrado; a senha não foi guardada. Já pode pedir a nota."
    )


def trocado(empresa: str, vence: date) -> Mensagem:
    """Another phone of the company sent a new certificate by a link."""
    return Mensagem(
        f"O certificado de *{apara(empresa, _NOME_MAX)}* foi trocado agora, por um link pedido em outro número da "
        f"empresa. O novo vale até {vence:%d/%m/%Y}. Se não foi alguém de vocês, fale com quem cuida da instalação "
        "da Prosa."
    )


def vence_em(empresa: str, vence: date, dias: int, *, com_link: bool) -> Mensagem:
    """The certificate that is kept ends in so many days; 0: today. ``com_link``: a new one can be sent by a link."""
    envio = "escreve _certificado_ para me mandar o novo" if com_link else "fale com quem cuida da instalação da Prosa"
    quando = {0: "vence hoje", 1: "vence amanhã"}.get(dias, f"vence em {dias} dias")
    return Mensagem(
        f"O certificado de *{apara(empresa, _NOME_MAX)}* {quando}, em {vence:%d/%m/%Y}. Depois disso as notas desta "
        f"empresa podem parar de sair. Renove com a certificadora e {envio}."
    )


def incerta(motivo: str) -> Mensagem:
    """An invoice may have been issued, and nobody can be asked before the company repairs what ``motivo`` says."""
    return Mensagem(
        f"*Ainda não sei se esta nota saiu:* {motivo}. Depois disso eu confiro e te digo. Não pede de novo: se ela "
        "saiu, seriam duas."
    )
