"""A small house around ``transition``, driven at random; ``./prosa test --nightly`` makes it walk 100,000 steps.

Time only goes on, by a second at least between two steps: Meta tells when a message was written in whole seconds, and
what the user writes within a second the turn takes together, so that two things of one second are one turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from state_machine.invoice.fields import Campo
from state_machine.invoice.session import FINAIS, REASON_ON_ENTRY, Estado, Responder
from state_machine.machine.events import (
    Abriu,
    Confirmou,
    Informou,
    NotaAutorizada,
    NotaRejeitada,
    PediuCorrecao,
    PrazoVencido,
    Reprocessou,
)
from state_machine.machine.transition import transition
from state_machine.values.documents import formata_documento
from state_machine.values.money import formata_brl
from tests.nightly import NIGHTLY
from tests.state_machine.made_sessions import (
    AGORA,
    CNPJ,
    PADARIA,
    TUDO,
    emissoes,
    informes,
    lido,
    nova,
    resposta,
)
from tests.state_machine.made_walks import jumps, lasting, news, openings, words

TTL = timedelta(hours=1)  # as the turn sets the deadline
SESSIONS = 6  # of one conversation, at most: enough to have some of every kind
TARDIAS = {  # the only ways out of a final state
    (Estado.ERRO, Estado.APROVADO),
    (Estado.ERRO, Estado.REJEITADO),
    (Estado.REJEITADO, Estado.APROVADO),
    (Estado.REJEITADO, Estado.PROCESSANDO),  # staff only, and only the revision that was confirmed
}


@dataclass(frozen=True)
class Summary:
    """What the user saw: the text, and the revision that its button confirms."""

    revisao: int
    texto: str


REMINDS = "espera o seu sim"


@dataclass(frozen=True)
class Letter:
    """An event on its way; for a yes in words, the revision whose summary its writer had before the eyes."""

    sessao_id: str
    evento: object
    saw: int | None = None


class House(RuleBasedStateMachine):
    """Sessions of one conversation, their mail, and what the user has been shown."""

    def __init__(self):
        super().__init__()
        self.agora = AGORA
        self.sessoes = {}
        self.mail = []  # on its way
        self.delivered = []
        self.shown = {}  # sessao_id -> every Summary, oldest first
        self.last_word = {}  # sessao_id -> the Summary, or None when we said something else last
        self.confirmed = set()  # (sessao_id, revisao) to which the user said yes, by that button or to that text
        self.issued = {}  # (sessao_id, revisao) -> the draft that goes to the authority
        self.attempts = {}  # (sessao_id, revisao) -> how often it was issued

    # --- the user -------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.sessoes) < SESSIONS)
    @rule(said=openings)
    def opens(self, said):
        """A new invoice begins with some words."""
        sessao_id = f"211126-{len(self.sessoes):08x}"
        self.sessoes[sessao_id] = replace(nova(), sessao_id=sessao_id)
        self._apply(Letter(sessao_id, Abriu()))
        self._apply(Letter(sessao_id, said))

    @precondition(lambda self: len(self.sessoes) < SESSIONS and self._ended())
    @rule(pick=lasting)
    def takes_up(self, pick):
        """A new session repairs or repeats an ended one, as *Retomar* and *Corrigir nota* do."""
        old = self._one(self._ended(), pick)
        sessao_id = f"211126-{len(self.sessoes):08x}"
        self.sessoes[sessao_id] = replace(nova(), sessao_id=sessao_id)
        self._apply(Letter(sessao_id, Abriu(old.rascunho, old.pendente)))

    @precondition(lambda self: self.sessoes)
    @rule(pick=lasting, said=words, late=st.booleans())
    def says(self, pick, said, late):
        """Anything but a yes: data, corrections, small talk, no."""
        self._send(Letter(self._any(pick), said), late)

    @precondition(lambda self: self.sessoes)
    @rule(pick=lasting, said=informes)
    def rambles(self, pick, said):
        """Whatever an extractor could ever make of words."""
        self._apply(Letter(self._any(pick), said))

    @precondition(lambda self: self.sessoes)
    @rule(pick=lasting, late=st.booleans())
    def says_yes(self, pick, late):
        """A yes in words, to whatever stands on the screen now, read now or later."""
        sessao_id = self._any(pick)
        seen = self.last_word.get(sessao_id)
        if seen:
            self.confirmed.add((sessao_id, seen.revisao))
        written = self.agora.replace(microsecond=0)
        self._send(Letter(sessao_id, Confirmou(None, written), saw=seen.revisao if seen else -1), late)

    @precondition(lambda self: self.shown)
    @rule(pick=lasting, which=lasting, late=st.booleans())
    def presses(self, pick, which, late):
        """Any button that was ever shown, old ones too."""
        sessao_id = self._one(sorted(self.shown), pick)
        revisao = self._one(self.shown[sessao_id], which).revisao
        self.confirmed.add((sessao_id, revisao))
        self._send(Letter(sessao_id, Confirmou(revisao)), late)

    @precondition(lambda self: self.sessoes)
    @rule(pick=lasting, ahead=st.integers(1, 5))
    def forges(self, pick, ahead):
        """A button that we never showed; Meta repeats none such, so that it doesn't come again."""
        sessao_id = self._any(pick)
        for revisao in (self.sessoes[sessao_id].revisao + ahead, -1):
            self._apply(Letter(sessao_id, Confirmou(revisao)))
            self.delivered.pop()

    # --- the authority, the clock, the mail -----------------------------------------------------------------------

    @precondition(lambda self: self.issued)
    @rule(pick=lasting, what=news, late=st.booleans())
    def authority_speaks(self, pick, what, late):
        """News of what was issued, contradictions included."""
        sessao_id, _ = self._one(sorted(self.issued), pick)
        self._send(Letter(sessao_id, what), late)

    @precondition(lambda self: self.issued)
    @rule(pick=lasting)
    def staff_reprocess(self, pick):
        """An order to try again; it counts the attempts in the records as it is carried out, so none comes twice."""
        sessao_id, revisao = self._one(sorted(self.issued), pick)
        self._apply(Letter(sessao_id, Reprocessou(self.attempts[sessao_id, revisao] + 1)))
        self.delivered.pop()

    @rule(by=jumps)
    def time_passes(self, by):
        """From seconds to a week."""
        self.agora += by

    @precondition(lambda self: self.sessoes)
    @rule(pick=lasting, late=st.booleans())
    def sweeps(self, pick, late):
        """The sweep saw a deadline pass, or is mistaken."""
        self._send(Letter(self._any(pick), PrazoVencido()), late)

    @precondition(lambda self: self.mail)
    @rule(pick=lasting)
    def delivers(self, pick):
        """In any order, however late."""
        self._apply(self.mail.pop(pick % len(self.mail)))

    @precondition(lambda self: self.delivered)
    @rule(pick=lasting)
    def repeats(self, pick):
        """The same thing once more."""
        self._apply(self._one(self.delivered, pick))

    # --- how it works ---------------------------------------------------------------------------------------------

    def _one(self, things, pick):
        return things[pick % len(things)]

    def _any(self, pick):
        """One of the sessions; three times of four one that waits for the user, where most happens."""
        waiting = [sessao_id for sessao_id, sessao in sorted(self.sessoes.items()) if sessao.espera_usuario]
        return self._one(waiting if waiting and pick % 4 else sorted(self.sessoes), pick // 4)

    def _ended(self):
        return [s for _, s in sorted(self.sessoes.items()) if s.final and s.estado is not Estado.APROVADO]

    def _send(self, letter, late):
        if late:
            self.mail.append(letter)
        else:
            self._apply(letter)

    def _apply(self, letter):
        self.agora += timedelta(seconds=1)
        antes = self.sessoes[letter.sessao_id]
        decision = transition(antes, letter.evento, self.agora)
        depois = decision.sessao
        self.delivered.append(letter)
        self._check_step(antes, decision)
        for emitir in emissoes(decision):
            if isinstance(letter.evento, Reprocessou):
                self._check_reissue(letter, antes, emitir)
            else:
                assert emitir.tentativa == 1
                self._check_issue(letter, antes, emitir.revisao)
            self.issued[letter.sessao_id, emitir.revisao] = antes.rascunho
            self.attempts[letter.sessao_id, emitir.revisao] = emitir.tentativa
        if any(isinstance(efeito, Responder) for efeito in decision.efeitos):
            self._show(letter.sessao_id, resposta(decision))
        if decision.aplicado:
            depois = replace(depois, expira_em=self.agora + TTL if depois.espera_usuario else None)
        self.sessoes[letter.sessao_id] = depois

    def _show(self, sessao_id, mensagem):
        revisoes = [int(b.id.rsplit(":", 1)[1]) for b in mensagem.botoes if b.id.startswith("confirmar:")]
        self.last_word[sessao_id] = Summary(revisoes[0], mensagem.texto) if revisoes else None
        if (
            revisoes and REMINDS in mensagem.texto
        ):  # an aside shows no summary again: that of this revision stands above
            known = [summary for summary in self.shown.get(sessao_id, []) if summary.revisao == revisoes[0]]
            assert known, "a reminder of a summary that nobody saw"
            self.last_word[sessao_id] = known[-1]
        if revisoes:
            self.shown.setdefault(sessao_id, []).append(self.last_word[sessao_id])

    def _check_step(self, antes, decision):
        depois = decision.sessao
        assert depois.revisao >= antes.revisao, "a revision decreased"
        if depois.rascunho != antes.rascunho:
            assert depois.revisao > antes.revisao, "the data changed under the same revision"
        if not decision.aplicado:
            assert (depois, decision.efeitos) == (antes, ())
        if depois.estado is not antes.estado:
            assert depois.snapshot_reason is (REASON_ON_ENTRY[depois.estado] or antes.snapshot_reason)
        if antes.estado in FINAIS:
            assert (antes.estado, depois.estado) in TARDIAS or depois == antes, "final was not final"
            assert depois.rascunho == antes.rascunho
        if depois.estado is Estado.EXPIRADO and antes.estado is not Estado.EXPIRADO:
            assert antes.espera_usuario, "what waits for the authority expired"
            assert antes.expira_em is not None
            assert self.agora >= antes.expira_em, "expired early"

    def _check_reissue(self, letter, sessao, emitir):
        key = (letter.sessao_id, emitir.revisao)
        assert sessao.estado is Estado.REJEITADO, "tried again though it was not refused"
        assert sessao.pendente is None, "tried again though the authority blamed what the user said"
        assert key in self.confirmed, "tried again without the user's yes to that very revision"
        assert self.issued[key] == sessao.rascunho, "tried again with other data"
        assert emitir.tentativa == self.attempts[key] + 1, "the same attempt twice"

    def _check_issue(self, letter, sessao, revisao):
        key = (letter.sessao_id, revisao)
        assert key not in self.issued, "issued twice"
        assert not any(s == letter.sessao_id for s, _ in self.issued), "a session issued two revisions"
        assert isinstance(letter.evento, Confirmou)
        assert key in self.confirmed, "issued without a yes to that very revision"
        if letter.evento.revisao is None:
            assert letter.saw == revisao, "a yes in words confirmed what its writer had not seen"
        texto = self.shown[letter.sessao_id][-1].texto
        assert self.shown[letter.sessao_id][-1].revisao == revisao, "the last summary was another revision's"
        rascunho = sessao.rascunho
        assert rascunho.completo
        assert re.findall(r"^(?:CNPJ|CPF): (.+)$", texto, re.MULTILINE) == [formata_documento(rascunho.documento.valor)]
        assert re.findall(r"^Valor: \*(.+?)\*", texto, re.MULTILINE) == [formata_brl(rascunho.valor_servico)]
        (nome,) = re.findall(r"^Cliente: (.+)$", texto, re.MULTILINE)
        assert nome.startswith((rascunho.tomador_nome or "*sem nome*")[:30])

    @invariant()
    def at_most_one_note_for_each_session(self):
        """A session ends with its one confirmed revision."""
        sessions = [sessao_id for sessao_id, _ in self.issued]
        assert len(sessions) == len(set(sessions))

    @invariant()
    def what_waits_for_the_user_has_a_deadline_and_nothing_else_has(self):
        """As the turn sets it."""
        for sessao in self.sessoes.values():
            assert (sessao.expira_em is not None) == sessao.espera_usuario

    @invariant()
    def what_the_authority_got_is_what_the_session_keeps(self):
        """Nothing issued is changed, expired or given up afterwards."""
        for (sessao_id, revisao), rascunho in self.issued.items():
            sessao = self.sessoes[sessao_id]
            assert (sessao.rascunho, sessao.revisao) == (rascunho, revisao)
            assert sessao.estado not in {Estado.EXPIRADO, Estado.CANCELADO_USUARIO}


TestHouse = House.TestCase
TestHouse.settings = settings(max_examples=5_000 if NIGHTLY else 100, stateful_step_count=50, deadline=None)


def test_the_model_reaches_what_it_judges():
    """The house of the random walk is no empty one: an invoice can be issued, repaired and late truth can come."""
    house = House()
    house.opens(Informou(TUDO, cadastro=PADARIA))
    house.presses(0, 0, late=False)
    house.authority_speaks(0, NotaRejeitada("recusada", Campo.VALOR), late=False)
    house.takes_up(0)
    house.says(1, Informou((lido(Campo.VALOR, "1400"),)), late=False)
    house.says_yes(1, late=True)
    house.says(1, Informou((lido(Campo.VALOR, "1300"),)), late=False)
    house.delivers(0)
    assert len(house.issued) == 1  # the late yes was to 1.400
    house.says(1, PediuCorrecao(), late=False)
    house.says_yes(1, late=False)
    assert len(house.issued) == 1  # and this one to "O que eu mudo?"
    house.says_yes(1, late=False)
    house.repeats(len(house.delivered) - 1)
    house.authority_speaks(0, NotaAutorizada("7", 1), late=False)
    assert [r.valor.valor for r in house.issued.values()] == ["1500.00", "1300.00"]
    assert {s.estado for s in house.sessoes.values()} == {Estado.APROVADO, Estado.PROCESSANDO}
    assert all(r.documento.valor == CNPJ for r in house.issued.values())
    house.authority_speaks(1, NotaRejeitada("recusada", None), late=False)
    house.staff_reprocess(1)
    house.staff_reprocess(1)  # at the authority again: nothing to try
    assert sorted(house.attempts.values()) == [1, 2]
