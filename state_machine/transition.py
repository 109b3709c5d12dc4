"""Decides what an event does to a session; a table of pure rules that never does anything itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

from state_machine import messages, questions
from state_machine.efeitos import Decision, Efeito, Emitir, EnviarArquivo, GravarSnapshot, Mensagem, Responder
from state_machine.estado import ESPERAM_USUARIO, REASON_ON_ENTRY, Estado
from state_machine.eventos import (
    EVENTOS,
    Abriu,
    Cancelou,
    Confirmou,
    Conversou,
    EmissaoDemorou,
    EmissaoFalhou,
    Evento,
    Informou,
    MandouArquivo,
    Negou,
    NotaAutorizada,
    NotaRejeitada,
    PediuAjuda,
    PediuCorrecao,
    PerdeuMensagem,
    PrazoVencido,
)
from state_machine.fields import Campo, Motivo
from state_machine.rascunho import Rascunho, StatusCampo, aplicar, mudancas
from state_machine.resumo import NOME_DO_CADASTRO, resumo, titulo_da_mudanca
from state_machine.sessao import Sessao

Regra = Callable[[Sessao, Any, datetime], Decision]

# States in which ``pendente`` says something; elsewhere it is empty, so that a session taken up again starts clean.
_PEDEM_CAMPO = frozenset({Estado.DADOS_INCOMPLETOS, Estado.AGUARDANDO_CONFIRMACAO, Estado.REJEITADO})


def transition(sessao: Sessao, evento: Evento, agora: datetime) -> Decision:
    """Return the session after ``evento`` and the effects wanted; an unlisted pair is a deliberate no-op.

    Pure and total: never raises for any pair of state and event. ``agora`` is aware UTC, the database's clock.
    """
    regra = REGRAS.get((sessao.estado, type(evento)))
    return regra(sessao, evento, agora) if regra else _permanece(sessao)


def _permanece(sessao: Sessao) -> Decision:
    return Decision(sessao, aplicado=False)


def _diz(sessao: Sessao, mensagem: Mensagem) -> Decision:
    """Answer without changing the data. What we said last is what a yes in words answers: no summary any more."""
    return Decision(replace(sessao, mostrado_em=None), (Responder(mensagem),))


def _mostra(sessao: Sessao, mensagem: Mensagem, agora: datetime) -> Decision:
    """Show the summary of the same revision again."""
    return Decision(replace(sessao, mostrado_em=sessao.mostrado_em or agora), (Responder(mensagem),))


def _entra(sessao: Sessao, estado: Estado, *efeitos: Efeito) -> Decision:
    """Enter ``estado``: the snapshot effect with the state's reason comes with it, always."""
    reason = REASON_ON_ENTRY[estado] or sessao.snapshot_reason
    pendente = sessao.pendente if estado in _PEDEM_CAMPO else None
    nova = replace(sessao, estado=estado, snapshot_reason=reason, pendente=pendente)
    return Decision(nova, (GravarSnapshot(reason), *efeitos))


def _com_rascunho(sessao: Sessao, rascunho: Rascunho, agora: datetime, *, titulo: str | None = None) -> Decision:
    """Go where the data lead: to the summary when all stands, else to the next question."""
    mudou = rascunho != sessao.rascunho
    titulo = titulo or _titulo(sessao.rascunho, rascunho)
    sessao = replace(sessao, rascunho=rascunho, revisao=sessao.revisao + mudou)
    if not rascunho.completo:
        pendente = (*questions.duvidosos(rascunho), *rascunho.faltam)[0]
        sessao = replace(sessao, pendente=pendente)
        return _entra(sessao, Estado.DADOS_INCOMPLETOS, Responder(questions.pergunta(rascunho)))
    sessao = replace(
        sessao,
        pendente=None if rascunho.tomador_nome else Campo.NOME,  # nothing waits for it, but it may just be sent
        mostrado_em=agora if mudou else sessao.mostrado_em or agora,
        resumos=sessao.resumos + (mudou or not sessao.resumos),
    )
    mensagem = resumo(sessao, titulo) if titulo else resumo(sessao)
    return _entra(sessao, Estado.AGUARDANDO_CONFIRMACAO, Responder(mensagem))


def _titulo(antes: Rascunho, depois: Rascunho) -> str | None:
    mudou = mudancas(antes, depois)
    if mudou:
        return titulo_da_mudanca(mudou)
    so_o_nome = antes.completo and replace(antes, nome=depois.nome) == depois != antes
    return NOME_DO_CADASTRO if so_o_nome and depois.cadastro else None


# --- the user speaks ----------------------------------------------------------------------------------------------


def _abre(sessao: Sessao, evento: Abriu, agora: datetime) -> Decision:
    if evento.base is None:
        return _entra(sessao, Estado.COLETA)
    base = evento.base
    if evento.corrigir is Campo.NOME:
        base = replace(base, cadastro=None)  # the authority refused the register's name: the user's word counts
    if evento.corrigir:
        recusado = replace(
            base.campo(evento.corrigir), status=StatusCampo.INVALID, motivo=Motivo.RECUSADO, detalhe=None
        )
        base = base.com(evento.corrigir, recusado)
    titulo = "*Retomei os dados da nota anterior.* Se algo mudou, me diz; senão, confirma."
    return _com_rascunho(sessao, base, agora, titulo=titulo)


def _informa(sessao: Sessao, evento: Informou, agora: datetime) -> Decision:
    rascunho = aplicar(sessao.rascunho, evento.candidates, evento.doubts, evento.clear)
    cadastro = evento.cadastro
    if cadastro and cadastro.documento == rascunho.validado(Campo.DOCUMENTO):
        rascunho = replace(rascunho, cadastro=cadastro)
    return _com_rascunho(sessao, rascunho, agora)


def _confirma(sessao: Sessao, evento: Confirmou, agora: datetime) -> Decision:
    """Issue what the user saw and said yes to; any other yes gets the summary to look at."""
    if not sessao.rascunho.completo:  # stored by another version of us, with other rules
        return _com_rascunho(sessao, sessao.rascunho, agora)
    if evento.emitente is not None:
        sessao = replace(sessao, emitente=evento.emitente, revisao=sessao.revisao + 1, mostrado_em=agora)
        return _mostra(sessao, messages.empresa_mudou(sessao), agora)
    if evento.revisao is None and not _viu_o_resumo(sessao, evento):
        outro = sessao.mostrado_em is not None and sessao.resumos > 1  # it may have answered an earlier summary
        mensagem = messages.dados_mudaram(sessao) if outro else messages.lembrete(sessao)
        return _mostra(sessao, mensagem, agora)
    if evento.revisao not in {None, sessao.revisao}:
        return _mostra(sessao, messages.dados_mudaram(sessao), agora)
    return _entra(sessao, Estado.PROCESSANDO, Emitir(sessao.revisao))


def _viu_o_resumo(sessao: Sessao, evento: Confirmou) -> bool:
    """True unless the yes was written before the present summary was shown, or after we changed the subject."""
    if sessao.mostrado_em is None or not evento.visto:
        return False
    # Meta tells the time of writing in whole seconds.
    return evento.escrita_em is None or evento.escrita_em >= sessao.mostrado_em.replace(microsecond=0)


def _cancela(sessao: Sessao, _evento: Cancelou | Negou, _agora: datetime) -> Decision:
    return _entra(sessao, Estado.CANCELADO_USUARIO, Responder(messages.cancelada(sessao)))


def _pede_correcao(sessao: Sessao, _evento: PediuCorrecao, _agora: datetime) -> Decision:
    return _diz(sessao, messages.o_que_muda(sessao))


def _sauda(sessao: Sessao, _evento: Evento, _agora: datetime) -> Decision:
    return _diz(sessao, messages.saudacao())


def _repergunta(sessao: Sessao, _evento: Evento, _agora: datetime) -> Decision:
    return _diz(sessao, questions.pergunta(sessao.rascunho))


def _lembra(sessao: Sessao, _evento: Evento, agora: datetime) -> Decision:
    return _mostra(sessao, messages.lembrete(sessao), agora)


def _ajuda(sessao: Sessao, _evento: PediuAjuda, _agora: datetime) -> Decision:
    return _diz(sessao, messages.ajuda())


def _so_texto(sessao: Sessao, evento: MandouArquivo, _agora: datetime) -> Decision:
    return _diz(sessao, messages.so_texto(evento.tipo))


def _perde(sessao: Sessao, _evento: PerdeuMensagem, _agora: datetime) -> Decision:
    """Perhaps it was a correction: no summary shown so far may be confirmed, by a button or in words."""
    return _diz(replace(sessao, revisao=sessao.revisao + 1), messages.quarentena())


def _ja_enviada(sessao: Sessao, _evento: Evento, _agora: datetime) -> Decision:
    unica = f"ja_enviada:{sessao.sessao_id}"
    return Decision(sessao, (Responder(messages.ja_enviada(), unica),))


_ENCERRADA = {
    Estado.APROVADO: "emitida",
    Estado.REJEITADO: "recusada pela prefeitura",
    Estado.ERRO: "encaminhada para a equipe",
    Estado.CANCELADO_USUARIO: "cancelada",
    Estado.EXPIRADO: "encerrada por tempo",
}


def _ja_encerrada(sessao: Sessao, _evento: Confirmou, _agora: datetime) -> Decision:
    unica = f"ja_encerrada:{sessao.sessao_id}:{sessao.estado}"
    return Decision(sessao, (Responder(messages.ja_encerrada(_ENCERRADA[sessao.estado]), unica),))


# --- the clock and the authority speak ----------------------------------------------------------------------------


def _expira(sessao: Sessao, _evento: PrazoVencido, agora: datetime) -> Decision:
    if sessao.expira_em is None or agora < sessao.expira_em:
        return _permanece(sessao)  # the user spoke after the sweep looked
    return _entra(replace(sessao, expired_at=agora), Estado.EXPIRADO)


def _autoriza(sessao: Sessao, evento: NotaAutorizada, _agora: datetime) -> Decision:
    legenda = messages.autorizada(sessao, evento.numero)
    return _entra(
        sessao,
        Estado.APROVADO,
        EnviarArquivo(evento.emissao_id, "pdf", f"NFSe-{evento.numero}.pdf", legenda),
        EnviarArquivo(evento.emissao_id, "xml", f"NFSe-{evento.numero}.xml"),
    )


def _rejeita(sessao: Sessao, evento: NotaRejeitada, _agora: datetime) -> Decision:
    sessao = replace(sessao, pendente=evento.campo)  # what a repairing session asks for first
    return _entra(sessao, Estado.REJEITADO, Responder(messages.rejeitada(sessao, evento.motivo, evento.campo)))


def _falha(sessao: Sessao, _evento: EmissaoFalhou, _agora: datetime) -> Decision:
    return _entra(sessao, Estado.ERRO, Responder(messages.falhou()))


def _demora(sessao: Sessao, _evento: EmissaoDemorou, _agora: datetime) -> Decision:
    unica = f"demorou:{sessao.sessao_id}:{sessao.revisao}"
    return Decision(sessao, (Responder(messages.demorou(), unica),))


_E = Estado
REGRAS: dict[tuple[Estado, type[Evento]], Regra] = {
    # the first message
    (_E.COLETA, Abriu): _abre,
    # collecting
    **{(estado, Informou): _informa for estado in ESPERAM_USUARIO},
    **{(estado, Cancelou): _cancela for estado in ESPERAM_USUARIO},
    **{(estado, PediuAjuda): _ajuda for estado in ESPERAM_USUARIO},
    **{(estado, MandouArquivo): _so_texto for estado in ESPERAM_USUARIO},
    **{(estado, PerdeuMensagem): _perde for estado in ESPERAM_USUARIO},
    **{(estado, PrazoVencido): _expira for estado in ESPERAM_USUARIO},
    **{(_E.COLETA, evento): _sauda for evento in (Conversou, Confirmou, Negou, PediuCorrecao)},
    **{(_E.DADOS_INCOMPLETOS, evento): _repergunta for evento in (Conversou, Confirmou, Negou, PediuCorrecao)},
    # the summary is on the screen
    (_E.AGUARDANDO_CONFIRMACAO, Confirmou): _confirma,
    (_E.AGUARDANDO_CONFIRMACAO, Negou): _cancela,
    (_E.AGUARDANDO_CONFIRMACAO, PediuCorrecao): _pede_correcao,
    (_E.AGUARDANDO_CONFIRMACAO, Conversou): _lembra,
    # at the authority
    (_E.PROCESSANDO, Cancelou): _ja_enviada,
    (_E.PROCESSANDO, PediuCorrecao): _ja_enviada,
    (_E.PROCESSANDO, NotaAutorizada): _autoriza,
    (_E.PROCESSANDO, NotaRejeitada): _rejeita,
    (_E.PROCESSANDO, EmissaoFalhou): _falha,
    (_E.PROCESSANDO, EmissaoDemorou): _demora,
    # late truth: the authority's word prevails over what we had concluded
    (_E.ERRO, NotaAutorizada): _autoriza,
    (_E.ERRO, NotaRejeitada): _rejeita,
    (_E.REJEITADO, NotaAutorizada): _autoriza,
    # an old button
    **{(estado, Confirmou): _ja_encerrada for estado in _ENCERRADA},
}

_USUARIO = {
    Abriu,
    Informou,
    Confirmou,
    Negou,
    Cancelou,
    PediuCorrecao,
    Conversou,
    PediuAjuda,
    MandouArquivo,
    PerdeuMensagem,
}
_AUTORIDADE = {NotaAutorizada, NotaRejeitada, EmissaoFalhou, EmissaoDemorou}

_VERDADE_TARDIA = {(_E.ERRO, NotaAutorizada), (_E.ERRO, NotaRejeitada), (_E.REJEITADO, NotaAutorizada)}

# Pairs that do nothing on purpose. Together with REGRAS they cover every state and event (a test).
IGNORADOS: frozenset[tuple[Estado, type[Evento]]] = frozenset(
    {
        *((estado, Abriu) for estado in Estado if estado is not _E.COLETA),  # a session opens once
        *((estado, evento) for estado in ESPERAM_USUARIO for evento in _AUTORIDADE),  # nothing was sent yet
        # while one is at the authority, new words open a new session
        *((_E.PROCESSANDO, evento) for evento in _USUARIO - {Cancelou, PediuCorrecao}),
        (_E.PROCESSANDO, PrazoVencido),  # it waits for the authority, not for the user
        *((estado, evento) for estado in _ENCERRADA for evento in _USUARIO - {Abriu, Confirmou}),  # final is final
        *((estado, PrazoVencido) for estado in _ENCERRADA),
        *({(estado, evento) for estado in _ENCERRADA for evento in _AUTORIDADE} - _VERDADE_TARDIA),
    }
)

assert len(EVENTOS) == len(_USUARIO) + len(_AUTORIDADE) + 1  # noqa: S101 - a new event must be placed above
