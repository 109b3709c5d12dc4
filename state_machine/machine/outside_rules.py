"""What a session does when the clock, the authority or staff speak; see ``transition`` for the table.

What a session does when the staff step in; see ``transition`` for the table. They never confirm for the user.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from state_machine.catalogue import messages, questions, requests, staff_messages
from state_machine.catalogue.texts import certificate as certificate_texts
from state_machine.goods import nome_da_nota
from state_machine.invoice.choices import com_servico
from state_machine.invoice.draft import Rascunho, StatusCampo
from state_machine.invoice.fields import Campo, Motivo
from state_machine.invoice.session import (
    Decision,
    Dispensar,
    Emitir,
    EnviarArquivo,
    Estado,
    Responder,
    RetomarEnvio,
    Sessao,
    file_name,
)
from state_machine.invoice.summary import sem_troca, substituiu
from state_machine.machine.events import (
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    EquipeAssumiu,
    EquipeDevolveu,
    EquipeEncerrou,
    MudouEmissor,
    NaoCabe,
    NaoQuisMais,
    NotaAutorizada,
    NotaRejeitada,
    NumeroTomado,
    PrazoVencido,
    QuisAinda,
    Reprocessou,
)
from state_machine.machine.steps import com_rascunho, diz, entra, mostra, permanece


def expira(sessao: Sessao, _evento: PrazoVencido, agora: datetime) -> Decision:
    """End a session whose deadline passed, unless the user spoke meanwhile."""
    if sessao.expira_em is None or agora < sessao.expira_em:
        return permanece(sessao)  # the user spoke after the sweep looked
    return entra(replace(sessao, expired_at=agora), Estado.EXPIRADO)


def muda_emissor(sessao: Sessao, evento: MudouEmissor, agora: datetime) -> Decision:
    """Void every summary shown so far: it named another company, other data or another channel of it.

    What we said last is said again only if it was a summary; an answer to something else stands for itself.
    """
    novo = evento.emissor
    if novo is None:
        return diz(replace(sessao, revisao=sessao.revisao + 1), messages.sem_empresa())
    outra = novo.id != sessao.empresa_id
    mudou_canal = not outra and sessao.canal is not None and sessao.canal != novo.canal
    mostrado = sessao.mostrado_em is not None
    sessao = replace(
        sessao,
        empresa_id=novo.id,
        emitente=novo.nome,
        empresa_versao=novo.versao,
        canal=novo.canal,
        revisao=sessao.revisao + 1,
        igual=None,
        mostrado_em=None,
    )
    rascunho = _sem_o_proprio(sessao.rascunho, novo.cnpj)
    rascunho = com_servico(sessao.rascunho, rascunho, sessao.servicos)
    if rascunho is not sessao.rascunho:
        return com_rascunho(sessao, rascunho, agora)
    if sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO or not mostrado:
        return Decision(sessao)
    if not rascunho.completo:  # stored by another version of us, with other rules
        return com_rascunho(sessao, rascunho, agora)
    sessao = replace(sessao, resumos=sessao.resumos + 1)
    if mudou_canal:
        return mostra(sessao, messages.canal_mudou(sessao), agora)
    return mostra(sessao, messages.outra_empresa(sessao) if outra else messages.empresa_mudou(sessao), agora)


def nao_cabe(sessao: Sessao, evento: NaoCabe, agora: datetime) -> Decision:
    """Ask for what the channel could never send, in the place of the summary; what is said of it is looked at again.

    Where nothing of the user's is to blame, no button shown so far issues, and the data are kept.
    """
    rascunho, campo = sessao.rascunho, evento.campo
    if campo is None:
        return diz(replace(sessao, revisao=sessao.revisao + 1), questions.nao_cabe(evento.porque))
    if campo is Campo.NOME:
        rascunho = replace(rascunho, cadastro=None)  # the register's name does not fit: the user's word counts
    duvida = replace(
        rascunho.campo(campo), status=StatusCampo.INVALID, motivo=Motivo.NAO_CABE, detalhe=evento.porque, leituras=()
    )
    return com_rascunho(sessao, rascunho.com(campo, duvida), agora)


def _sem_o_proprio(rascunho: Rascunho, cnpj: str) -> Rascunho:
    """Put the customer in doubt, or offer it no more, when it is the new company itself: nobody bills themselves."""
    lido = rascunho.documento
    if cnpj in lido.leituras:
        leituras = tuple(leitura for leitura in lido.leituras if leitura != cnpj)
        return rascunho.com(Campo.DOCUMENTO, replace(lido, leituras=leituras, conta=None))
    if lido.valor != cnpj or lido.status is not StatusCampo.VALIDATED:
        return rascunho
    duvida = replace(lido, status=StatusCampo.INVALID, motivo=Motivo.PROPRIO_DOCUMENTO)
    return rascunho.com(Campo.DOCUMENTO, duvida)


def autoriza(sessao: Sessao, evento: NotaAutorizada, _agora: datetime) -> Decision:
    """Send PDF and XML, and behind them what may be done with them: the invoice exists."""
    tipo = nome_da_nota(sessao.rascunho.validado(Campo.MODELO))
    oferta = Responder(
        requests.depois_da_nota(evento.emissao_id, evento.numero, tipo), f"depois:{evento.emissao_id}", depois=True
    )
    return entra(sessao, Estado.APROVADO, *_arquivos(sessao, evento), oferta)


def autoriza_outra(sessao: Sessao, evento: NotaAutorizada, _agora: datetime) -> Decision:
    """Tell that a second note of the same confirmation was authorised, with its files too."""
    if not evento.outras:
        return permanece(sessao)
    unica = f"duas_notas:{sessao.sessao_id}:{evento.emissao_id}"
    aviso = Responder(messages.duas_notas(evento.numero, evento.outras), unica)
    return Decision(sessao, (aviso, *_arquivos(sessao, evento)))


def _arquivos(sessao: Sessao, evento: NotaAutorizada) -> tuple[EnviarArquivo, EnviarArquivo]:
    legenda, tipo = messages.autorizada(sessao, evento.numero), nome_da_nota(sessao.rascunho.validado(Campo.MODELO))
    if sessao.rascunho.substitui:
        legenda = f"{legenda}\n{substituiu(sessao.rascunho.substitui)}"
    legenda = f"{legenda}\n\n{evento.aviso}" if evento.aviso else legenda
    return (
        EnviarArquivo(evento.emissao_id, "pdf", file_name(evento.numero, "pdf", tipo), legenda),
        EnviarArquivo(evento.emissao_id, "xml", file_name(evento.numero, "xml", tipo)),
    )


def rejeita(sessao: Sessao, evento: NotaRejeitada, _agora: datetime) -> Decision:
    """Say why the authority refused, and what to mend; where it takes no other note in a note's place, the way."""
    sessao = replace(sessao, pendente=evento.campo)  # what a repairing session asks for first
    antiga = sessao.rascunho.substitui
    if antiga and evento.troca:
        antiga = replace(antiga, recusada=True)
        sessao = replace(sessao, rascunho=replace(sessao.rascunho, substitui=antiga))
        return entra(sessao, Estado.REJEITADO, Responder(sem_troca(antiga, evento.motivo)))
    return entra(sessao, Estado.REJEITADO, Responder(messages.rejeitada(sessao, evento.motivo, evento.campo)))


def falha(sessao: Sessao, _evento: EmissaoFalhou, _agora: datetime) -> Decision:
    """Say that people look after it now."""
    return entra(sessao, Estado.ERRO, Responder(messages.falhou()))


def demora(sessao: Sessao, evento: EmissaoDemorou, _agora: datetime) -> Decision:
    """Say once that it takes long, and once what the company must repair first."""
    unica = f"demorou:{sessao.sessao_id}:{sessao.revisao}"
    unica = unica if evento.motivo is None else f"{unica}:motivo"
    if evento.motivo is not None and evento.incerta:
        return Decision(sessao, (Responder(certificate_texts.incerta(evento.motivo), unica),))
    return Decision(sessao, (Responder(messages.demorou(evento.motivo), unica),))


def pergunta_se_quer(sessao: Sessao, evento: EmissaoParada, _agora: datetime) -> Decision:
    """Ask whether the invoice is still wanted: nobody has accepted it for a day, or the one it mends exists now."""
    return Decision(sessao, (Responder(messages.ainda_quer(sessao, evento.outra)),))


def retoma_envio(sessao: Sessao, evento: QuisAinda, _agora: datetime) -> Decision:
    """Let the stored bytes go; also of an error that certainly nobody accepted, which staff may send."""
    if not evento.autorizado:
        return Decision(sessao, (Responder(messages.sem_direito()),))
    if not evento.parada:
        andamento = messages.em_andamento() if sessao.estado is Estado.PROCESSANDO else messages.falhou()
        return Decision(sessao, (Responder(andamento),))
    efeitos = (RetomarEnvio(sessao.revisao), Responder(messages.envio_retomado()))
    return (
        Decision(sessao, efeitos)
        if sessao.estado is Estado.PROCESSANDO
        else entra(sessao, Estado.PROCESSANDO, *efeitos)
    )


def desiste_do_envio(sessao: Sessao, evento: NaoQuisMais, _agora: datetime) -> Decision:
    """End an invoice that nobody accepted and nobody wants any more."""
    if not evento.autorizado:
        return Decision(sessao, (Responder(messages.sem_direito()),))
    if not evento.parada:
        return Decision(sessao, (Responder(messages.ja_enviada()),))
    return entra(sessao, Estado.CANCELADO_USUARIO, Dispensar(sessao.revisao), Responder(messages.cancelada(sessao)))


def renumera(sessao: Sessao, evento: NumeroTomado, _agora: datetime) -> Decision:
    """Send what was confirmed under another number; its person has nothing to do and hears nothing."""
    return Decision(sessao, (Emitir(sessao.revisao, evento.tentativa),))


def reprocessa(sessao: Sessao, evento: Reprocessou, _agora: datetime) -> Decision:
    """Try the confirmed revision again, unless the authority blamed what the user said: that only the user mends.

    What may not take another note's place is not sent again as what does.
    """
    antiga = sessao.rascunho.substitui
    if sessao.pendente is not None or (antiga and antiga.recusada):
        return permanece(sessao)
    unica = f"reprocessa:{sessao.sessao_id}:{evento.tentativa}"
    emitir = Emitir(sessao.revisao, evento.tentativa)
    return entra(sessao, Estado.PROCESSANDO, emitir, Responder(messages.reprocessando(), unica))


def assume(sessao: Sessao, evento: EquipeAssumiu, _agora: datetime) -> Decision:
    """Void every summary shown so far: what is said from now on may change what the user wants."""
    return diz(replace(sessao, revisao=sessao.revisao + 1), staff_messages.assumiu(evento.quem))


def devolve(sessao: Sessao, evento: EquipeDevolveu, agora: datetime) -> Decision:
    """Show what stands, under a revision of its own, and ask again; only this summary can be confirmed."""
    sessao = replace(sessao, revisao=sessao.revisao + 1)
    if sessao.estado is not Estado.AGUARDANDO_CONFIRMACAO or not sessao.rascunho.completo:
        return diz(sessao, staff_messages.devolveu(sessao, evento.esperam))
    sessao = replace(sessao, mostrado_em=agora, resumos=sessao.resumos + 1)
    return Decision(sessao, (Responder(staff_messages.devolveu(sessao, evento.esperam)),))


def encerra(sessao: Sessao, _evento: EquipeEncerrou, _agora: datetime) -> Decision:
    """Give it up on the user's behalf, and tell them."""
    return entra(sessao, Estado.CANCELADO_USUARIO, Responder(staff_messages.encerrou(sessao)))
