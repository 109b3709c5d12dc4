"""Every setting of the program, read once from ``PROSA_…`` variables, ``.env`` or secret files; holds no logic."""

from __future__ import annotations

from decimal import Decimal  # noqa: TC003 - pydantic reads annotations at run time
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

LONGEST_REPEAT_DAYS = 8  # Meta repeats a webhook for seven days; what it repeats must still be known
SECRETS_DIR = Path("/run/secrets")  # where Docker and Kubernetes mount secret files


class MissingSettingError(Exception):
    """A setting without which it would not be safe to start."""


class Settings(BaseSettings):
    """Names are ``PROSA_`` + the field in capitals; durations in seconds. A value given as a file works too."""

    model_config = SettingsConfigDict(
        env_prefix="PROSA_",
        env_file=".env",
        extra="ignore",
        secrets_dir=SECRETS_DIR if SECRETS_DIR.is_dir() else None,
        hide_input_in_errors=True,
    )

    home: Path = Path(".prosa")
    database_url: SecretStr | None = None
    redis_url: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = 8080

    whatsapp_api_url: str = "https://graph.facebook.com/v25.0"  # Graph with its version
    whatsapp_phone_number_id: str = ""
    whatsapp_access_token: SecretStr = SecretStr("")
    whatsapp_app_secret: SecretStr = SecretStr("")  # one, or two with a comma while rotating
    whatsapp_verify_token: SecretStr = SecretStr("")

    gateway: Literal["plugnotas"] = "plugnotas"
    plugnotas_url: str = "https://api.plugnotas.com.br"
    plugnotas_api_key: SecretStr = SecretStr("")
    gateway_webhook_secret: SecretStr = SecretStr("")
    gateway_timeout_seconds: float = Field(default=60.0, gt=0)  # the slowest city answers within a minute
    gateway_query_timeout_seconds: float = Field(default=30.0, gt=0)
    fiscal_environment: Literal["producao", "homologacao"] = "producao"  # whose numbers are counted
    gateway_retry_attempts: int = Field(default=3, ge=1)  # then people are told; nothing is given up
    gateway_retry_base_seconds: float = Field(default=1.0, gt=0)
    gateway_retry_factor: float = Field(default=2.0, ge=1)
    gateway_retry_cap_seconds: float = Field(default=30.0, gt=0)
    gateway_retry_jitter: float = Field(default=0.2, ge=0, lt=1)  # the part of a pause that may be taken off it
    gateway_breaker_failures: int = Field(default=10, ge=1)  # in a row; one is weather, and 20 may be in flight
    gateway_breaker_seconds: float = Field(default=10.0, gt=0)  # one probe in so many: users wait for it
    cancel_timeout_seconds: float = Field(default=60.0, gt=0)  # likewise

    cnpj_api_url: str = "https://brasilapi.com.br"

    openai_api_key: SecretStr = SecretStr("")  # none: rules only
    openai_base_url: str = "https://api.openai.com/v1"
    openai_model: str = ""
    openai_price: Annotated[tuple[Decimal, Decimal] | None, NoDecode] = None  # R$ per million tokens read, written

    person_answers_burst: int = Field(default=30, ge=0)  # an invoice takes four or five turns; 0: without limit
    person_answers_per_minute: float = Field(default=6.0, ge=0)  # faster than anybody reads them
    strangers_answers_per_hour: int = Field(default=100, ge=0)  # each is billed; a company's people are registered
    model_calls_per_person_day: int = Field(default=100, ge=0)  # a busy accountant's; most turns need no model
    model_calls_per_day: int = Field(default=5000, ge=0)  # bounds a day's bill, whoever writes

    session_ttl_seconds: int = Field(default=3600, gt=0)
    repeat_window_seconds: int = Field(default=86400, ge=0)  # after an equal one was issued; 0: only while it is open
    debounce_seconds: float = Field(default=1.0, ge=0)
    reconcile_ladder: Annotated[tuple[float, ...], NoDecode] = Field(default=(2, 10, 30, 120, 300, 900, 3600))
    slow_notice_seconds: float = Field(default=30.0, gt=0)  # "typing…" dies after 25 s: then people want a word
    metrics_token: SecretStr = SecretStr("")  # opens /metrics to other machines, as a Bearer token
    probe_port: int = 0  # `prosa worker` answers /healthz, /readyz and /metrics here; 0: nowhere
    retention_messages_days: int = Field(default=365, ge=0)  # a complaint about an invoice comes within its fiscal year
    retention_drafts_days: int = Field(default=90, ge=0)  # of invoices that never were: who comes back, comes in weeks
    retention_strangers_days: int = Field(default=90, ge=0)  # long enough to be registered after having written
    retention_calls_days: int = Field(default=365, ge=0)  # the masked bodies of gateway calls: as long as the messages
    retention_logins_days: int = Field(default=30, ge=0)  # attempts to enter the console: an attack is looked at sooner
    master_key: SecretStr = SecretStr("")  # base64 of 32 bytes; one, or the new and the old with a comma

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"

    @field_validator("reconcile_ladder", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(float(part) for part in value.split(",")) if isinstance(value, str) else value

    @field_validator("openai_price", mode="before")
    @classmethod
    def _two_prices(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(value.split(",")) if value.strip() else None

    @field_validator("openai_price")
    @classmethod
    def _a_price(cls, value: tuple[Decimal, Decimal] | None) -> tuple[Decimal, Decimal] | None:
        if value is not None and not all(part.is_finite() and part >= 0 for part in value):
            raise ValueError(
                "two prices in R$ per million tokens, of what is read and what is written, such as 0.80,3.20"
            )
        return value

    @field_validator("reconcile_ladder")
    @classmethod
    def _positive(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value or min(value) <= 0:
            raise ValueError("seconds above zero, separated by commas, such as 2,10,30,120")
        return value

    @field_validator("retention_messages_days")
    @classmethod
    def _longer_than_meta_repeats(cls, value: int) -> int:
        if 0 < value < LONGEST_REPEAT_DAYS:
            raise ValueError(
                f"at least {LONGEST_REPEAT_DAYS} days, or 0 for ever: Meta sends a message again for seven days, and "
                "one that Prosa has forgotten would be read twice"
            )
        return value

    @field_validator("whatsapp_phone_number_id")
    @classmethod
    def _an_id(cls, value: str) -> str:
        if value and not (value.isascii() and value.isalnum()):
            raise ValueError("Meta's id of the number (digits only), not the phone number itself")
        return value

    @field_validator("whatsapp_access_token", "plugnotas_api_key", "gateway_webhook_secret")
    @classmethod
    def _fits_a_header(cls, value: SecretStr) -> SecretStr:
        secret = value.get_secret_value()
        if not (secret.isascii() and secret.isprintable()) or secret != secret.strip():
            raise ValueError("holds a space, a line end or another character that no HTTP header may carry")
        return value

    @field_validator("master_key")
    @classmethod
    def _keys(cls, value: SecretStr) -> SecretStr:
        from persistence.crypto import parse_keys  # noqa: PLC0415 - only where a key is set

        if value.get_secret_value():
            parse_keys(value.get_secret_value())
        return value

    @field_validator("whatsapp_api_url", "plugnotas_url", "cnpj_api_url", "openai_base_url")
    @classmethod
    def _an_address(cls, value: str) -> str:
        if urlsplit(value).scheme not in {"http", "https"} or not urlsplit(value).hostname:
            raise ValueError("an address such as https://example.com")
        return value.rstrip("/")

    @property
    def app_secrets(self) -> tuple[bytes, ...]:
        """The live application secrets, the newest first."""
        parts = self.whatsapp_app_secret.get_secret_value().split(",")
        return tuple(part.strip().encode() for part in parts if part.strip())

    def require_secrets(self) -> None:
        """Raise ``MissingSettingError`` that names every secret still missing; nothing starts without them."""
        needed = {
            "WHATSAPP_PHONE_NUMBER_ID": bool(self.whatsapp_phone_number_id),
            "WHATSAPP_ACCESS_TOKEN": bool(self.whatsapp_access_token.get_secret_value()),
            "WHATSAPP_APP_SECRET": bool(self.app_secrets),
            "WHATSAPP_VERIFY_TOKEN": bool(self.whatsapp_verify_token.get_secret_value()),
            "PLUGNOTAS_API_KEY": bool(self.plugnotas_api_key.get_secret_value()),
            "GATEWAY_WEBHOOK_SECRET": bool(self.gateway_webhook_secret.get_secret_value()),
        }
        if self.openai_api_key.get_secret_value():  # models come and go: a default would die one day
            needed["OPENAI_MODEL"] = bool(self.openai_model)
        missing = [f"PROSA_{name}" for name, present in needed.items() if not present]
        if missing:
            raise MissingSettingError(
                f"These settings are missing: {', '.join(missing)}. Nothing was started and nothing changed. "
                "Set them in the environment or in .env (docs/operators.md says where each comes from), "
                "or try everything without any account: ./prosa demo"
            )
