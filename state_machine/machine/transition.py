"""Decides what an event does to a session: a table of pure rules.

To add an event: a class in ``state_machine/machine/events.py`` (its union and ``EVENTOS``) and an example in
``EXEMPLOS`` of ``proofs/diagrams/session.py``. To add a state: ``state_machine/invoice/session.py`` with
``REASON_ON_ENTRY`` and one of the sets beside it, its row in ``docs/console.md``, its words
in ``webhooks/console/render/labels.py`` and ``webhooks/console/pages/why.py``. Then ``REGRAS`` or ``IGNORADOS`` here,
which cover every pair; a state is entered through ``entra``. New arrows stand in ``OURS`` of
``tests/state_machine/machine/test_diagram.py``. The page is made by ``python -m proofs.diagrams.session
docs/estados.md``. Where an index knows the state, ``tests/persistence/test_state_sets.py`` asks for a migration.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from state_machine.invoice.session import ESPERAM_USUARIO, FINAIS, Decision, Estado, Sessao
from state_machine.machine import outside_rules as outside
from state_machine.machine import outside_rules as staff
from state_machine.machine import user_rules as user
from state_machine.machine.events import (
    EVENTOS,
    Abriu,
    Apagou,
    Cancelou,
    Confirmou,
    Conversou,
    Editou,
    EmissaoDemorou,
    EmissaoFalhou,
    EmissaoParada,
    Encaminhou,
    EquipeAssumiu,
    EquipeDevolveu,
    EquipeEncerrou,
    Escolheu,
    Evento,
    Informou,
    MandouArquivo,
    MudouEmissor,
    NaoCabe,
    NaoQuisMais,
    Negou,
    NotaAutorizada,
    NotaRejeitada,
    NumeroTomado,
    PediuAjuda,
    PediuCorrecao,
    PerdeuMensagem,
    PrazoVencido,
    QuisAinda,
    Reprocessou,
)
from state_machine.machine.steps import permanece

Regra = Callable[[Sessao, Any, datetime], Decision]


def transition(sessao: Sessao, evento: Evento, agora: datetime) -> Decision:
    """Return the session after ``evento`` and the effects wanted; an unlisted pair is a deliberate no-op.

    Pure and total: never raises for any pair of state and event. ``agora`` is aware UTC, the database's clock.
    """
    regra = REGRAS.get((sessao.estado, type(evento)))
    return regra(sessao, evento, agora) if regra else permanece(sessao)


_E = Estado
REGRAS: dict[tuple[Estado, type[Evento]], Regra] = {
    # the first message
    (_E.COLETA, Abriu): user.abre,
    # collecting
    **{(estado, Informou): user.informa for estado in ESPERAM_USUARIO},
    **{(estado, Cancelou): user.cancela for estado in ESPERAM_USUARIO},
    **{(estado, PediuAjuda): user.ajuda for estado in ESPERAM_USUARIO},
    **{(estado, MandouArquivo): user.so_texto for estado in ESPERAM_USUARIO},
    **{(estado, Editou): user.edita for estado in ESPERAM_USUARIO},
    **{(estado, Apagou): user.apaga for estado in ESPERAM_USUARIO},
    **{(estado, PerdeuMensagem): user.perde for estado in ESPERAM_USUARIO},
    **{(estado, MudouEmissor): outside.muda_emissor for estado in ESPERAM_USUARIO},
    **{(estado, PrazoVencido): outside.expira for estado in ESPERAM_USUARIO},
    **{(_E.COLETA, evento): user.sauda for evento in (Conversou, Confirmou, Negou, PediuCorrecao, Encaminhou)},
    (_E.COLETA, Escolheu): user.sauda,  # nothing was read yet: forged
    **{(_E.DADOS_INCOMPLETOS, evento): user.repergunta for evento in (Conversou, Encaminhou)},
    (_E.DADOS_INCOMPLETOS, PediuCorrecao): user.pede_correcao,
    # a doubt is asked about, with what the words may mean
    (_E.DADOS_INCOMPLETOS, Escolheu): user.escolhe,
    (_E.DADOS_INCOMPLETOS, Confirmou): user.aceita,
    (_E.DADOS_INCOMPLETOS, Negou): user.recusa,
    # the staff step in and out
    **{(estado, EquipeAssumiu): staff.assume for estado in ESPERAM_USUARIO},
    **{(estado, EquipeDevolveu): staff.devolve for estado in ESPERAM_USUARIO},
    **{(estado, EquipeEncerrou): staff.encerra for estado in ESPERAM_USUARIO},
    # the summary is on the screen
    (_E.AGUARDANDO_CONFIRMACAO, Confirmou): user.confirma,
    (_E.AGUARDANDO_CONFIRMACAO, Negou): user.nega,
    (_E.AGUARDANDO_CONFIRMACAO, PediuCorrecao): user.pede_correcao,
    (_E.AGUARDANDO_CONFIRMACAO, Conversou): user.lembra,
    (_E.AGUARDANDO_CONFIRMACAO, Escolheu): user.lembra,  # an old button: nothing is in doubt any more
    (_E.AGUARDANDO_CONFIRMACAO, Encaminhou): user.nao_vale,
    (_E.AGUARDANDO_CONFIRMACAO, NaoCabe): outside.nao_cabe,
    # at the authority
    (_E.PROCESSANDO, Cancelou): user.ja_enviada,
    (_E.PROCESSANDO, PediuCorrecao): user.ja_enviada,
    (_E.PROCESSANDO, NotaAutorizada): outside.autoriza,
    (_E.PROCESSANDO, NotaRejeitada): outside.rejeita,
    (_E.PROCESSANDO, EmissaoFalhou): outside.falha,
    (_E.PROCESSANDO, EmissaoDemorou): outside.demora,
    (_E.PROCESSANDO, EmissaoParada): outside.pergunta_se_quer,
    (_E.PROCESSANDO, NumeroTomado): outside.renumera,
    (_E.PROCESSANDO, QuisAinda): outside.retoma_envio,
    (_E.PROCESSANDO, NaoQuisMais): outside.desiste_do_envio,
    # late truth: the authority's word prevails over what we had concluded
    (_E.ERRO, NotaAutorizada): outside.autoriza,
    (_E.ERRO, NotaRejeitada): outside.rejeita,
    (_E.REJEITADO, NotaAutorizada): outside.autoriza,
    (_E.APROVADO, NotaAutorizada): outside.autoriza_outra,
    # staff repaired what was ours
    (_E.REJEITADO, Reprocessou): outside.reprocessa,
    # staff send what certainly nobody accepted
    (_E.ERRO, QuisAinda): outside.retoma_envio,
    # an old button
    **{(estado, evento): user.ja_encerrada for estado in FINAIS for evento in (Confirmou, Escolheu)},
    **{(estado, QuisAinda): user.ja_encerrada for estado in FINAIS - {_E.ERRO}},
    **{(estado, NaoQuisMais): user.ja_encerrada for estado in FINAIS},
}

_USUARIO = {
    Abriu,
    Informou,
    Confirmou,
    Escolheu,
    Negou,
    Cancelou,
    PediuCorrecao,
    Conversou,
    PediuAjuda,
    MandouArquivo,
    Encaminhou,
    Editou,
    Apagou,
    PerdeuMensagem,
    MudouEmissor,
}
_AUTORIDADE: set[type[Evento]] = {
    NotaAutorizada,
    NotaRejeitada,
    EmissaoFalhou,
    EmissaoDemorou,
    EmissaoParada,
    NumeroTomado,
}
_VONTADE: set[type[Evento]] = {QuisAinda, NaoQuisMais}

_CONFERENCIA: set[type[Evento]] = {NaoCabe}
_EQUIPE = {EquipeAssumiu, EquipeDevolveu, EquipeEncerrou}

_VERDADE_TARDIA = {
    (_E.ERRO, NotaAutorizada),
    (_E.ERRO, NotaRejeitada),
    (_E.REJEITADO, NotaAutorizada),
    (_E.APROVADO, NotaAutorizada),
}

# Pairs that do nothing on purpose. Together with REGRAS they cover every state and event (a test).
IGNORADOS: frozenset[tuple[Estado, type[Evento]]] = frozenset(
    {
        *((estado, Abriu) for estado in Estado if estado is not _E.COLETA),  # a session opens once
        *((estado, evento) for estado in ESPERAM_USUARIO for evento in _AUTORIDADE | _VONTADE),  # nothing was sent yet
        # only what would be shown is looked at
        *((estado, NaoCabe) for estado in Estado if estado is not _E.AGUARDANDO_CONFIRMACAO),
        # while one is at the authority, new words open a new session
        *((_E.PROCESSANDO, evento) for evento in _USUARIO - {Cancelou, PediuCorrecao}),
        (_E.PROCESSANDO, PrazoVencido),  # it waits for the authority, not for the user
        # final is final; an old button is answered
        *((estado, evento) for estado in FINAIS for evento in _USUARIO - {Abriu, Confirmou, Escolheu}),
        *((estado, PrazoVencido) for estado in FINAIS),
        # what is at the authority, or over, the staff do not change by taking the conversation
        *((estado, evento) for estado in Estado if estado not in ESPERAM_USUARIO for evento in _EQUIPE),
        *({(estado, evento) for estado in FINAIS for evento in _AUTORIDADE} - _VERDADE_TARDIA),
        *((estado, Reprocessou) for estado in Estado if estado is not _E.REJEITADO),  # only what was refused
    }
)

assert len(EVENTOS) == len(_USUARIO | _AUTORIDADE | _VONTADE | _EQUIPE | _CONFERENCIA | {PrazoVencido, Reprocessou})  # noqa: S101 - a new event must be placed above
