from __future__ import annotations

import pytest

from proofs.sandbox.faults import Fault, Faults


def test_a_seed_replays_whatever_the_order() -> None:
    """The same tries strike with the same seed, in any order of arrival; another seed strikes others."""
    keys = [f"note-{number}" for number in range(200)]

    def struck(seed: int, order: list[str]) -> set[str]:
        faults = Faults(seed=seed)
        faults.set(Fault.LOSE_ANSWER, chance=0.2)
        return {key for key in order if faults.strike(Fault.LOSE_ANSWER, key)}

    assert struck(1, keys) == struck(1, keys[::-1])
    assert struck(1, keys) != struck(2, keys)
    assert 20 <= len(struck(1, keys)) <= 60


def test_the_same_key_is_drawn_anew_each_time() -> None:
    """A retry of a struck request is not doomed: each try has its own draw."""
    faults = Faults(seed=3)
    faults.set(Fault.ERROR_500, chance=0.5)
    assert {bool(faults.strike(Fault.ERROR_500, "same")) for _ in range(50)} == {True, False}


def test_a_switch_with_times_ends_by_itself() -> None:
    """``times`` strikes and no more, counted."""
    faults = Faults()
    faults.set(Fault.REJECT, times=2)
    assert [bool(faults.strike(Fault.REJECT, "x")) for _ in range(3)] == [True, True, False]
    assert faults.hits[Fault.REJECT] == 2
    assert not faults.is_on(Fault.REJECT)


def test_faults_of_acceptance_spare_questions() -> None:
    """Losing an answer after acceptance is for POST; a slow service is slow for all."""
    faults = Faults()
    faults.configure({"perder_resposta": True, "lento": {"seconds": 1}})
    assert faults.strike(Fault.LOSE_ANSWER, "x", method="GET") is None
    assert faults.strike(Fault.LOSE_ANSWER, "x", method="POST")
    assert faults.strike(Fault.SLOW, "x", method="GET")


def test_configures_from_json() -> None:
    """True, false, a chance and a dict of settings are understood; an unknown name is an error."""
    faults = Faults()
    faults.configure({"rejeitar": True, "sem_webhook": True, "html_200": 0.25, "lento": {"seconds": 9, "times": 1}})
    faults.configure({"sem_webhook": False})
    on = faults.as_dict()["on"]
    assert set(on) == {"rejeitar", "html_200", "lento"}
    assert (on["html_200"]["chance"], on["lento"]["seconds"]) == (0.25, 9)
    with pytest.raises(ValueError, match="nada"):
        faults.configure({"nada": True})
