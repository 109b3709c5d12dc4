"""What a session does when its user speaks; see ``transition`` for the table of who may say what where."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from state_machine.catalogue import acts, messages, questions
from state_machine.catalogue import announcement as anuncio
from state_machine.catalogue.questions import mostra_leituras, unica_leitura
from state_machine.catalogue.texts import memory as memory_texts
from state_machine.catalogue.texts import proposal as proposal_texts
from state_machine.invoice.choices import com_servico
from state_machine.invoice.draft import (
    Cadastro,
    Rascunho,
    StatusCampo,
    aplicar,
    com_leitura,
    sem_apagada,
    sem_editada,
    sem_leituras,
)
from state_machine.invoice.fields import Campo, Motivo
from state_machine.invoice.session import Decision, Emitir, Estado, Responder, Sessao
from state_machine.machine.events import (
    Abriu,
    Apagou,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    Escolheu,
    Evento,
    Informou,
    MandouArquivo,
    Negou,
    PediuAjuda,
    PediuCorrecao,
    PerdeuMensagem,
)
from state_machine.machine.steps import com_rascunho, diz, entra, mostra, permanece
from state_machine.proposal import proposed_by


def abre(sessao: Sessao, evento: Abriu, agora: datetime) -> Decision:
    """Begin empty, or with the data of an ended session and its refused field in doubt."""
    if evento.base is None:
        return entra(sessao, Estado.COLETA)
    base = evento.base
    if evento.corrigir is Campo.NOME:
        base = replace(base, cadastro=None)  # the authority refused the register's name: the user's word counts
    if evento.corrigir:
        recusado = replace(
            base.campo(evento.corrigir), status=StatusCampo.INVALID, motivo=Motivo.RECUSADO, detalhe=None
        )
        base = base.com(evento.corrigir, recusado)
    if evento.proposta:
        return _propoe(sessao, base, agora)
    titulo = memory_texts.igual_a(evento.igual_a) if evento.igual_a else messages.RETOMADA
    return com_rascunho(sessao, base, agora, titulo=titulo)


def _propoe(sessao: Sessao, base: Rascunho, agora: datetime) -> Decision:
    """Show what another system proposes, or ask for what it lacks; either says where it comes from."""
    decision = com_rascunho(sessao, base, agora, titulo=proposal_texts.TITULO)
    if base.completo and decision.sessao.estado is Estado.AGUARDANDO_CONFIRMACAO:
        return decision
    efeitos = (
        replace(efeito, mensagem=proposal_texts.pergunta(base, efeito.mensagem))
        if isinstance(efeito, Responder)
        else efeito
        for efeito in decision.efeitos
    )
    return replace(decision, efeitos=tuple(efeitos))


def informa(sessao: Sessao, evento: Informou, agora: datetime) -> Decision:
    """Merge what was said, with the register's word on the document."""
    rascunho = _somado(sessao.rascunho, evento)
    atraso = anuncio.escrita_em(evento.escritas, agora)
    return com_rascunho(sessao, rascunho, agora, comum=evento.comum, costume=evento.costume, atraso=atraso)


def _somado(rascunho: Rascunho, evento: Informou) -> Rascunho:
    rascunho = aplicar(rascunho, evento.candidates, evento.doubts, evento.clear, evento.escritas)
    return _com_cadastro(rascunho, evento.cadastro)


def _com_cadastro(rascunho: Rascunho, cadastro: Cadastro | None) -> Rascunho:
    if cadastro and cadastro.documento == rascunho.validado(Campo.DOCUMENTO):
        return replace(rascunho, cadastro=cadastro)
    return rascunho


def escolhe(sessao: Sessao, evento: Escolheu, agora: datetime) -> Decision:
    """Take the reading that a button of this very revision offers; an old or forged one gets the question again."""
    lido = sessao.rascunho.campo(evento.campo)
    if evento.revisao != sessao.revisao or lido.status is not StatusCampo.INVALID or not lido.leituras:
        return repergunta(sessao, evento, agora)
    if evento.valor is None:
        return _pede_outro(sessao, evento.campo)
    if evento.valor not in lido.leituras:
        return repergunta(sessao, evento, agora)
    return _toma(sessao, evento.campo, evento.valor, evento, agora)


def aceita(sessao: Sessao, evento: Confirmou, agora: datetime) -> Decision:
    """Take the only reading that the question shows, for a yes written after it was shown; any other yes is talk."""
    if evento.leitura is not None:
        return _emite(sessao, evento, agora)
    oferta = unica_leitura(sessao.rascunho)
    if oferta is None or evento.revisao is not None or not _viu_o_resumo(sessao, evento):
        return repergunta(sessao, evento, agora)
    return _toma(sessao, *oferta, evento, agora)


def _emite(sessao: Sessao, evento: Confirmou, agora: datetime) -> Decision:
    """Take one of the two amounts that the summary of this very revision shows, and the yes to it, in one press."""
    if evento.revisao != sessao.revisao or evento.leitura not in sessao.rascunho.valores_a_escolher:
        return repergunta(sessao, evento, agora)
    rascunho = com_leitura(sessao.rascunho, Campo.VALOR, evento.leitura)
    escolhida = entra(
        replace(
            sessao,
            rascunho=rascunho,
            pendente=None if rascunho.tomador_nome else Campo.NOME,
            insistencias=0,
            resumos=sessao.resumos + 1,
        ),
        Estado.AGUARDANDO_CONFIRMACAO,
    )
    decision = confirma(escolhida.sessao, evento, agora)
    return replace(decision, efeitos=(*escolhida.efeitos, *decision.efeitos))


def recusa(sessao: Sessao, evento: Negou, agora: datetime) -> Decision:
    """Ask for the value instead of the only reading that was shown; a no to any other question is none to a value."""
    oferta = unica_leitura(sessao.rascunho)
    if oferta is None or sessao.mostrado_em is None:
        return repergunta(sessao, evento, agora)
    return _pede_outro(sessao, oferta[0])


def _toma(sessao: Sessao, campo: Campo, valor: str, evento: Escolheu | Confirmou, agora: datetime) -> Decision:
    rascunho = _com_cadastro(com_leitura(sessao.rascunho, campo, valor), evento.cadastro)
    return com_rascunho(sessao, rascunho, agora, costume=evento.costume)


def _pede_outro(sessao: Sessao, campo: Campo) -> Decision:
    """Ask for the value: no button shown so far counts any more."""
    rascunho = sem_leituras(sessao.rascunho, campo)
    sessao = replace(sessao, rascunho=rascunho, revisao=sessao.revisao + 1, insistencias=0)
    return diz(sessao, questions.outro(sessao, campo))


def edita(sessao: Sessao, evento: Editou, agora: datetime) -> Decision:
    """Read a message as it stands now instead of as it was; no summary shown so far may be confirmed."""
    sessao = replace(sessao, revisao=sessao.revisao + 1, mostrado_em=None)
    if evento.dito is None or evento.mensagem is None:
        return diz(sessao, messages.editou_sem_texto())
    ditos = {c.campo for c in evento.dito.candidates} | {d.campo for d in evento.dito.doubts}
    rascunho = _somado(sem_editada(sessao.rascunho, evento.mensagem, ditos), evento.dito)
    titulo = anuncio.titulo(sessao.rascunho, rascunho) or messages.EDITADA
    return com_rascunho(sessao, rascunho, agora, titulo=titulo)


def apaga(sessao: Sessao, evento: Apagou, agora: datetime) -> Decision:
    """Put in doubt what a deleted message had said; one that gave nothing that stands changes nothing."""
    rascunho = sem_apagada(sessao.rascunho, evento.mensagem)
    if rascunho == sessao.rascunho:
        return permanece(sessao)
    return com_rascunho(replace(sessao, mostrado_em=None), rascunho, agora, titulo=messages.APAGADA)


def confirma(sessao: Sessao, evento: Confirmou, agora: datetime) -> Decision:
    """Issue what the user saw and said yes to; any other yes gets the summary to look at.

    One more invoice that was ordered behind the yes is kept in a button, whatever becomes of this one.
    """
    decision = _confirma(sessao, evento, agora)
    if evento.outra is None:
        return decision
    if decision.sessao.estado is Estado.PROCESSANDO:
        guardada = Responder(acts.outra_guardada(decision.sessao, evento.outra))
        return replace(decision, efeitos=(*decision.efeitos, guardada))
    efeitos = (
        replace(efeito, mensagem=acts.com_outra(decision.sessao, efeito.mensagem, evento.outra))
        if isinstance(efeito, Responder)
        else efeito
        for efeito in decision.efeitos
    )
    return replace(decision, efeitos=tuple(efeitos))


def _confirma(sessao: Sessao, evento: Confirmou, agora: datetime) -> Decision:
    rascunho = com_servico(sessao.rascunho, sessao.rascunho, sessao.servicos)
    if rascunho is not sessao.rascunho or not rascunho.completo:  # stored by another version of us, with other rules
        return com_rascunho(sessao, sessao.rascunho, agora)
    proposta = proposed_by(sessao.rascunho) is not None  # nobody asked for it: a yes may have meant something else
    if evento.revisao is None and (proposta or not _viu_o_resumo(sessao, evento)):
        outro = sessao.mostrado_em is not None and sessao.resumos > 1  # it may have answered an earlier summary
        outro = outro and not proposta
        mensagem = messages.dados_mudaram(sessao) if outro else messages.lembrete(sessao)
        return mostra(sessao, mensagem, agora)
    outra = evento.leitura not in {None, rascunho.validado(Campo.VALOR)}  # of a summary that showed two amounts
    if evento.revisao not in {None, sessao.revisao} or outra:
        mensagem = messages.ja_existe_igual(sessao) if sessao.igual else messages.dados_mudaram(sessao)
        return mostra(sessao, mensagem, agora)
    if evento.esquecida:  # the same revision: a note of it is found by its reference
        return mostra(replace(sessao, mostrado_em=None), memory_texts.pode_ter_saido(sessao), agora)
    if evento.igual is not None and evento.igual != sessao.igual:
        # Another revision: no button of the summary before answers the question whether to issue a second one.
        sessao = replace(sessao, igual=evento.igual, revisao=sessao.revisao + 1, mostrado_em=agora)
        return mostra(sessao, messages.ja_existe_igual(sessao), agora)
    return entra(sessao, Estado.PROCESSANDO, Emitir(sessao.revisao))


def _viu_o_resumo(sessao: Sessao, evento: Confirmou) -> bool:
    """True unless the yes was written before what it answers was shown, or after we changed the subject."""
    if sessao.mostrado_em is None or not evento.visto:
        return False
    # Meta tells the time of writing in whole seconds.
    return evento.escrita_em is None or evento.escrita_em >= sessao.mostrado_em.replace(microsecond=0)


def cancela(sessao: Sessao, evento: Cancelou | Negou, agora: datetime) -> Decision:
    """Give the invoice up; nothing was issued. Words from before a system's proposal was shown do not give that up."""
    escrita_em = evento.escrita_em if isinstance(evento, Cancelou) else None
    shown = sessao.mostrado_em
    if escrita_em and shown and escrita_em <= shown and proposed_by(sessao.rascunho) is not None:
        waits = sessao.estado is Estado.AGUARDANDO_CONFIRMACAO
        return lembra(sessao, evento, agora) if waits else repergunta(sessao, evento, agora)
    return entra(sessao, Estado.CANCELADO_USUARIO, Responder(messages.cancelada(sessao)))


def nega(sessao: Sessao, evento: Negou, agora: datetime) -> Decision:
    """Ask what a no to the summary means; to the question whether a second invoice is wanted it means none."""
    if sessao.igual and sessao.mostrado_em:
        return cancela(sessao, evento, agora)
    return diz(sessao, acts.negou(sessao))


def pede_correcao(sessao: Sessao, evento: PediuCorrecao, agora: datetime) -> Decision:
    """Ask what to change, where a summary was shown; else the question says it."""
    if sessao.estado is Estado.DADOS_INCOMPLETOS and not sessao.rascunho.valores_a_escolher:
        return repergunta(sessao, evento, agora)
    return diz(sessao, messages.o_que_muda(sessao))


def sauda(sessao: Sessao, evento: Evento, _agora: datetime) -> Decision:
    """Greet once: there is nothing yet to answer; then ask for what an invoice needs."""
    saudacao = (evento.saudacao if isinstance(evento, Conversou) else None) or messages.saudacao(
        vende=bool(sessao.mercado)
    )
    mensagem = questions.insiste(sessao) if sessao.insistencias else saudacao
    return diz(replace(sessao, insistencias=sessao.insistencias + 1), mensagem)


def repergunta(sessao: Sessao, evento: Evento, agora: datetime) -> Decision:
    """Ask the open question again, in other words."""
    sessao = replace(sessao, insistencias=sessao.insistencias + 1)
    if isinstance(evento, Negou):
        return diz(sessao, questions.insiste(sessao, negou=True))
    mensagem = questions.insiste(sessao)
    return mostra(sessao, mensagem, agora) if mostra_leituras(sessao.rascunho) else diz(sessao, mensagem)


def lembra(sessao: Sessao, _evento: Evento, agora: datetime) -> Decision:
    """Show the summary again: nothing was changed."""
    return mostra(sessao, messages.lembrete(sessao), agora)


def nao_vale(sessao: Sessao, _evento: Evento, agora: datetime) -> Decision:
    """Say that words of a forwarded or edited message decide nothing, with the summary and its buttons."""
    return mostra(sessao, messages.encaminhada(sessao), agora)


def ajuda(sessao: Sessao, evento: PediuAjuda, agora: datetime) -> Decision:
    """Answer what was asked, else say how it works; the buttons of what is no longer wanted as it was stop issuing.

    Where the same words made the summary, it stands under the answer: nobody confirms what was never shown.
    """
    if evento.retem:
        sessao = replace(sessao, revisao=sessao.revisao + 1, sem=evento.sem or sessao.sem)
    resposta = evento.resposta or messages.ajuda(vende=bool(sessao.mercado))
    made = sessao.estado is Estado.AGUARDANDO_CONFIRMACAO and sessao.mostrado_em == agora
    if evento.aberto and made and not resposta.botoes:
        return diz(sessao, messages.com_o_resumo(sessao, resposta))  # a yes in words may answer an earlier one
    return diz(sessao, acts.em_aberto(sessao, resposta) if evento.aberto else resposta)


def so_texto(sessao: Sessao, evento: MandouArquivo, _agora: datetime) -> Decision:
    """Ask for words instead of a file; what is open stays, and is shown."""
    if sessao.estado is Estado.COLETA:
        return diz(sessao, messages.so_texto(evento.tipo))
    return diz(sessao, acts.em_aberto(sessao, messages.so_texto_em_aberto(evento.tipo)))


def perde(sessao: Sessao, _evento: PerdeuMensagem, _agora: datetime) -> Decision:
    """Perhaps it was a correction: no summary shown so far may be confirmed, by a button or in words."""
    return diz(replace(sessao, revisao=sessao.revisao + 1), messages.quarentena())


def ja_enviada(sessao: Sessao, _evento: Evento, _agora: datetime) -> Decision:
    """Say once that it is too late to give up or change."""
    unica = f"ja_enviada:{sessao.sessao_id}"
    return Decision(sessao, (Responder(messages.ja_enviada(), unica),))


_ENCERRADA = {
    Estado.APROVADO: "emitida",
    Estado.REJEITADO: "recusada",
    Estado.ERRO: "encaminhada para a equipe",
    Estado.CANCELADO_USUARIO: "cancelada",
    Estado.EXPIRADO: "encerrada por tempo",
}


def ja_encerrada(sessao: Sessao, _evento: Evento, _agora: datetime) -> Decision:
    """Answer an old button: nothing happens again."""
    unica = f"ja_encerrada:{sessao.sessao_id}:{sessao.estado}"
    return Decision(sessao, (Responder(messages.ja_encerrada(_ENCERRADA[sessao.estado]), unica),))
