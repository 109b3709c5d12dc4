"""What passwords, seeds and one-time codes are made of, and which of them are taken."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyotp
import pytest

from webhooks.console.deps import SENHA_MAX, SENHA_MIN, STEP_SECONDS, new_password, new_secret, step_of

if TYPE_CHECKING:
    from tests.webhooks.console.conftest import Office

NOW = datetime(2026, 11, 23, 12, 0, 10, tzinfo=UTC)


def test_seeds_and_first_passwords_are_long_and_never_the_same() -> None:
    """160 bits of an authenticator's seed, 96 of a first password."""
    seeds, words = {new_secret() for _ in range(1000)}, {new_password() for _ in range(1000)}
    assert (len(seeds), len(words)) == (1000, 1000)
    assert {len(base64.b32decode(seed)) for seed in seeds} == {20}
    assert {len(bytes.fromhex(word.replace("-", ""))) for word in words} == {12}


@pytest.mark.parametrize(("steps", "taken"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_code_lives_one_step_beside_its_own(steps: int, taken: bool) -> None:
    """Half a minute early or late is a clock's drift; a minute is an old code."""
    seed = new_secret()
    code = pyotp.TOTP(seed).at(NOW + timedelta(seconds=steps * STEP_SECONDS))
    assert (step_of(seed, code, NOW) is not None) is taken


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("x" * (SENHA_MIN - 1), False),
        ("x" * SENHA_MIN, True),
        ("x" * SENHA_MAX, True),
        ("x" * (SENHA_MAX + 1), False),
        ("{nome} na garagem azul", False),
        ("dois cavalos na garagem", True),
    ],
)
async def test_a_new_password_is_long_enough_and_holds_no_name_of_its_owner(
    office: Office, made: str, taken: bool
) -> None:
    """12 to 128 characters of any kind, without the login; the present one is asked for again."""
    async with office.at_work() as ana:
        nova = made.format(nome=ana.who.nome)
        fields = {"atual": ana.who.senha, "nova": nova, "repetida": nova}
        stolen = {**fields, "atual": "nao-sei-qual-e-a-senha"}
        assert (await ana.post("/console/senha", stolen, form="/console/senha"))[0] == 422
        assert (await ana.post("/console/senha", fields, form="/console/senha"))[0] == (303 if taken else 422)
