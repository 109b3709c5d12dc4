from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from state_machine.protocol.retry import Retentativas

sementes = st.text(max_size=50)


def test_the_default_table_is_the_specifications():
    """Three tries, from one second, doubled, thirty at most."""
    tabela = Retentativas(jitter=0.0)
    assert [tabela.espera(n, "x") for n in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert (Retentativas().rodada, Retentativas().base, Retentativas().fator, Retentativas().teto) == (3, 1, 2, 30)


@given(st.integers(-5, 10**9), sementes, st.floats(0.01, 60), st.floats(1, 10), st.floats(0.01, 600), st.floats(0, 0.9))
def test_no_pause_is_longer_than_the_cap_or_shorter_than_its_jitter_allows(feitas, semente, base, fator, teto, jitter):
    """Whatever the settings and however many tries."""
    tabela = Retentativas(3, base, fator, teto, jitter)
    sem = Retentativas(3, base, fator, teto, 0.0).espera(feitas, semente)
    assert sem * (1 - jitter) <= tabela.espera(feitas, semente) <= sem <= teto


@given(st.integers(1, 50), sementes)
def test_the_same_emission_always_waits_the_same(feitas, semente):
    """The jitter is no dice: a decision can be replayed."""
    assert Retentativas().espera(feitas, semente) == Retentativas().espera(feitas, semente)


def test_a_thousand_that_failed_together_do_not_come_back_together():
    """Different emissions get different jitter."""
    esperas = {round(Retentativas().espera(5, f"211126-{n:08x}-r1-1"), 2) for n in range(1000)}
    assert len(esperas) > 200
