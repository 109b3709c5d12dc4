from __future__ import annotations

import base64
import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from bot.settings import MissingSettingError, Settings, refusal

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "s3gr3d0-que-ninguem-le"
NEW, OLD = "novo-segredo-0123456789", "velho-segredo-0123456789"
SECRETS = {
    "PROSA_WHATSAPP_PHONE_NUMBER_ID": "106",
    "PROSA_WHATSAPP_ACCESS_TOKEN": SECRET,
    "PROSA_WHATSAPP_APP_SECRET": SECRET,
    "PROSA_WHATSAPP_VERIFY_TOKEN": SECRET,
    "PROSA_PLUGNOTAS_API_KEY": SECRET,
    "PROSA_GATEWAY_WEBHOOK_SECRET": SECRET,
}

GATEWAY = {"PROSA_PLUGNOTAS_API_KEY", "PROSA_GATEWAY_WEBHOOK_SECRET"}
GUARDED = [name for name in SECRETS if not name.endswith("_ID")] + ["PROSA_METRICS_TOKEN"]
ENGLISH = re.compile(r"\b(?:should|input|must|such as|seconds|valid|greater|holds|keys are|value)\b", re.IGNORECASE)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory without .env, and an environment without our names."""
    monkeypatch.chdir(tmp_path)
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_missing_secrets_are_all_named_at_once() -> None:
    """Nothing starts without them, and the sentence says which, where they go, and how to try without."""
    with pytest.raises(MissingSettingError) as refused:
        Settings().require_secrets()
    said = str(refused.value)
    for name in SECRETS:
        assert name in said
    assert ".env" in said
    assert "./prosa demo" in said
    assert "Faltam estas configurações" in said


@pytest.mark.parametrize("missing", SECRETS)
def test_each_secret_is_needed(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is left out, or empty, is named; the others are not."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, "" if name == missing else value)
    with pytest.raises(MissingSettingError) as refused:
        Settings().require_secrets()
    assert [name for name in SECRETS if name in str(refused.value)] == [missing]


def test_with_all_of_them_it_may_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else has no default."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    Settings().require_secrets()


def test_the_national_channel_alone_needs_no_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without PlugNotas' two secrets it may start; one of them alone is a slip, and PlugNotas as default needs both."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, "" if name in GATEWAY else value)
    assert set(Settings().missing()) == GATEWAY
    monkeypatch.setenv("PROSA_GATEWAY", "nacional")
    Settings().require_secrets()
    monkeypatch.setenv("PROSA_PLUGNOTAS_API_KEY", SECRET)
    assert Settings().missing() == ["PROSA_GATEWAY_WEBHOOK_SECRET"]


def test_two_app_secrets_while_rotating(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both live, spaces and empty parts don't count; commas alone are no secret."""
    monkeypatch.setenv("PROSA_WHATSAPP_APP_SECRET", f" {SECRET} , {SECRET[::-1]} ,")
    assert Settings().app_secrets == (SECRET.encode(), SECRET[::-1].encode())
    monkeypatch.setenv("PROSA_WHATSAPP_APP_SECRET", " , ,")
    assert Settings().app_secrets == ()


def test_one_gateway_secret_serves_path_and_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before there was another; each may be two while rotating."""
    monkeypatch.setenv("PROSA_GATEWAY_WEBHOOK_SECRET", f"{NEW}, {OLD}")
    assert Settings().gateway_headers == Settings().gateway_paths == (NEW.encode(), OLD.encode())
    monkeypatch.setenv("PROSA_GATEWAY_WEBHOOK_PATH_SECRET", f"{NEW}-path,{OLD}-path")
    assert Settings().gateway_paths == (f"{NEW}-path".encode(), f"{OLD}-path".encode())
    assert Settings().gateway_headers == (NEW.encode(), OLD.encode())


def test_trusted_proxies_are_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses and CIDRs with commas; nothing by default; what is neither is refused with an example."""
    assert Settings().trusted_proxies == ()
    monkeypatch.setenv("PROSA_TRUSTED_PROXIES", "10.0.0.5, 172.18.0.0/16,2001:db8::/32,")
    assert [str(network) for network in Settings().trusted_proxies] == ["10.0.0.5/32", "172.18.0.0/16", "2001:db8::/32"]
    for wrong in ("proxy", "10.0.0.5/8", "10.0.0.0/33"):
        monkeypatch.setenv("PROSA_TRUSTED_PROXIES", wrong)
        with pytest.raises(ValidationError, match=r"172\.18\.0\.0/16"):
            Settings()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("", ""),
        ("https://prosa.exemplo.com.br/", "https://prosa.exemplo.com.br"),
        ("https://exemplo.com.br/prosa", "https://exemplo.com.br/prosa"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ],
)
def test_the_public_address_is_https_or_this_machine(value: str, kept: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are made of it by adding to it; without one there are none."""
    monkeypatch.setenv("PROSA_PUBLIC_URL", value)
    assert Settings().public_url == kept


def test_no_secret_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing settings, or an error about them, shows no secret."""
    for name in (*SECRETS, "PROSA_DATABASE_URL", "PROSA_REDIS_URL", "PROSA_OPENAI_API_KEY"):
        monkeypatch.setenv(name, "106" if name.endswith("_ID") else SECRET)
    key = base64.b64encode(SECRET.encode().ljust(32)[:32]).decode()
    monkeypatch.setenv("PROSA_MASTER_KEY", key)
    settings = Settings()
    assert key not in repr(settings) + settings.model_dump_json()
    assert SECRET not in repr(settings)
    assert SECRET not in str(settings)
    assert SECRET not in settings.model_dump_json()
    monkeypatch.setenv("PROSA_PLUGNOTAS_API_KEY", f"{SECRET} with space\n")
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert SECRET not in str(refused.value)


def test_a_wrong_master_key_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passphrase in the place of the key is refused before anything starts, without repeating it."""
    monkeypatch.setenv("PROSA_MASTER_KEY", SECRET)
    with pytest.raises(ValidationError, match="master_key") as refused:
        Settings()
    assert SECRET not in str(refused.value)


def test_the_environment_wins_over_the_file(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """.env is read, variables are stronger, unknown names are nobody's business."""
    (elsewhere / ".env").write_text("PROSA_PORT=9001\nPROSA_DEBOUNCE_SECONDS=0.5\nPROSA_UNKNOWN=1\nOTHER=2\n")
    monkeypatch.setenv("PROSA_PORT", "9002")
    settings = Settings()
    assert (settings.port, settings.debounce_seconds) == (9002, 0.5)


def test_the_ladder_is_a_list_of_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commas separate; the specification's ladder is the default."""
    assert Settings().reconcile_ladder == (2, 10, 30, 120, 300, 900, 3600)
    monkeypatch.setenv("PROSA_RECONCILE_LADDER", "0.2, 1,5")
    assert Settings().reconcile_ladder == (0.2, 1.0, 5.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "x"),
        ("RECONCILE_LADDER", "fast"),
        ("RECONCILE_LADDER", ""),
        ("RECONCILE_LADDER", "0,1"),
        ("SMTP_LADDER", "0,1"),
        ("SMTP_URL", "mail.exemplo.com.br"),
        ("SMTP_URL", "smtp+plain://mail.exemplo.com.br"),
        ("SMTP_FROM", "notas"),
        ("SMTP_CA_FILE", "nowhere.pem"),
        ("ICP_BRASIL_CA_FILE", "nowhere.pem"),
        ("ICP_BRASIL_CA_FILE", __file__),
        ("SMTP_UNKNOWN_SECONDS", "0"),
        ("GATEWAY", "other"),
        ("LOG_LEVEL", "LOUD"),
        ("SESSION_TTL_SECONDS", "0"),
        ("GATEWAY_TIMEOUT_SECONDS", "-1"),
        ("DEBOUNCE_SECONDS", "-1"),
        ("PLUGNOTAS_URL", "api.plugnotas.com.br"),
        ("OPENAI_PRICE", "um,dois"),
        ("MASTER_KEY", "senha"),
        ("WHATSAPP_ACCESS_TOKEN", "um-segredo-com-ç-no-meio"),
        ("RETENTION_DRAFTS_DAYS", "-1"),
        ("WHATSAPP_PHONE_NUMBER_ID", "+55 11 98765-4321"),
        ("PUBLIC_URL", "prosa.exemplo.com.br"),
        ("PUBLIC_URL", "http://prosa.exemplo.com.br"),
        ("PUBLIC_URL", "https://ana:senha@prosa.exemplo.com.br"),
        ("PUBLIC_URL", "https://prosa.exemplo.com.br?a=1"),
        ("PUBLIC_URL", "https://prosa.exemplo.com.br/#a"),
        ("PUBLIC_URL", "https://prosa exemplo.com.br"),
    ],
)
def test_a_wrong_setting_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing senseless is started with."""
    monkeypatch.setenv(f"PROSA_{name}", value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    said = refusal(refused.value)
    assert said.startswith(f"Estas configurações estão erradas: PROSA_{name}: ")
    assert not ENGLISH.search(said), said


@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.parametrize("value", ["a", "fifteen-letters", f"{SECRET},short"], ids=["one", "fifteen", "second"])
def test_a_short_secret_is_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a secret has 16 characters or more; the sentence names the setting and how to make one."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    said = refusal(refused.value)
    assert f"{name}: " in said
    assert "pelo menos 16 caracteres" in said
    assert "openssl rand -hex 24" in said
    assert SECRET not in said


@pytest.mark.parametrize("name", GUARDED)
def test_sixteen_characters_are_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound itself is let in."""
    monkeypatch.setenv(name, "sixteen-letters!")
    Settings()


@pytest.mark.parametrize("name", ["WHATSAPP_API_URL", "PLUGNOTAS_URL", "CNPJ_API_URL", "OPENAI_BASE_URL"])
@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("https://example.com/v1", True),
        ("http://127.0.0.1:9001", True),
        ("http://localhost:9001", True),
        ("http://[::1]:9001", True),
        ("http://example.com/v1", False),
        ("http://localhost.example.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://10.0.0.7", False),
        ("ftp://127.0.0.1", False),
        ("http://[::1", False),
    ],
)
def test_secrets_leave_encrypted(name: str, address: str, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upstream is reached by https; plain http is for this machine alone."""
    monkeypatch.setenv(f"PROSA_{name}", address)
    if allowed:
        Settings()
        return
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert f"PROSA_{name}: " in refusal(refused.value)
    assert "https://" in refusal(refused.value)


@pytest.mark.parametrize(("days", "kept"), [("0", 0), ("8", 8), ("7", None), ("1", None)])
def test_messages_are_kept_longer_than_meta_repeats_them(
    days: str, kept: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that is forgotten within Meta's seven days would be read twice; the sentence names the setting."""
    monkeypatch.setenv("PROSA_RETENTION_MESSAGES_DAYS", days)
    if kept is not None:
        assert Settings().retention_messages_days == kept
        return
    with pytest.raises(ValidationError, match="retention_messages_days") as refused:
        Settings()
    assert "pelo menos 8 dias" in str(refused.value)


def test_a_models_price_is_two_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """R$ per million tokens, read and written; nothing, or an empty value, is no price."""
    assert Settings().openai_price is None
    monkeypatch.setenv("PROSA_OPENAI_PRICE", "")
    assert Settings().openai_price is None
    monkeypatch.setenv("PROSA_OPENAI_PRICE", "0.80, 3.20")
    assert Settings().openai_price == (Decimal("0.80"), Decimal("3.20"))


@pytest.mark.parametrize("wrong", ["0.80", "1,2,3", "-1,2", "NaN,1", "um,dois"])
def test_a_price_that_makes_no_sense_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One number, three, or none that can be a price."""
    monkeypatch.setenv("PROSA_OPENAI_PRICE", wrong)
    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize("name", ["nacional_nt009_producao", "nacional_ibs_cbs_obrigatorio"])
def test_a_day_of_the_authority_is_a_day_or_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty is none; anything else that is no ISO date is refused with how one looks."""
    monkeypatch.setenv(f"PROSA_{name.upper()}", "")
    assert getattr(Settings(), name) is None
    monkeypatch.setenv(f"PROSA_{name.upper()}", "2026-12-01")
    assert getattr(Settings(), name) == date(2026, 12, 1)
    monkeypatch.setenv(f"PROSA_{name.upper()}", "1/12/2026")
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert "é um dia como 2027-01-01" in refusal(refused.value)
