"""Every setting of the program, read once from ``PROSA_…`` variables, ``.env`` or secret files.

Says in Portuguese what pydantic found wrong in the settings; it repeats no value, which may be a secret.

To add a setting: a field of ``Settings`` under its subject, with default and bounds; a secret is a ``SecretStr``, and
joins ``require_secrets`` if Prosa must not start without it. The composition root (``bot/house.py``, ``bot/wiring``)
passes it down. Then its row in ``docs/settings.md``, its line in ``.env.example`` and in ``docker-compose.yml``, or
its name in ``NOT_PASSED`` of ``tests/repository/test_compose.py``. ``tests/repository/test_docs.py`` compares all of
them.
"""

from __future__ import annotations

import ipaddress
import json
import os
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from state_machine.values.errors import ProsaError
from webhooks.whatsapp_payload import Network, networks

# By pydantic's kind of error; the words in braces are what it says about the bound. Those of ``value_error`` are ours.
_WORDS: Final = {
    "bool_parsing": "é true ou false",
    "int_parsing": "é um número inteiro",
    "int_from_float": "é um número inteiro",
    "float_parsing": "é um número, com ponto nos decimais",
    "decimal_parsing": "é um número, com ponto nos decimais",
    "greater_than": "precisa ser maior que {gt:g}",
    "greater_than_equal": "precisa ser pelo menos {ge:g}",
    "less_than": "precisa ser menor que {lt:g}",
    "less_than_equal": "precisa ser no máximo {le:g}",
    "literal_error": "é um destes: {expected}",
    "too_short": "tem valores de menos",
    "too_long": "tem valores de mais",
    "value_error": "{error}",
}
_SHAPES: Final = {"openai_price": "são dois preços em R$ por milhão de tokens, como 0.80,3.20"}
_ANY: Final = "tem um valor que não serve"


def refusal(error: ValidationError) -> str:
    """Return the sentence for an operator: each setting with what it should be."""
    wrong = "; ".join(f"{variable}: {said}" for variable, said in wrongs(error))
    return (
        f"Estas configurações estão erradas: {wrong}. Nada foi iniciado e nada mudou. "
        "Corrija no ambiente ou em .env; docs/settings.md explica cada uma."
    )


def wrongs(error: ValidationError) -> list[tuple[str, str]]:
    """Return each wrong setting once, with what it should be."""
    said = ((f"PROSA_{str(each['loc'][0]).upper()}", _said(each)) for each in error.errors())
    return list(dict.fromkeys(said))


def _said(each: ErrorDetails) -> str:
    shape = _SHAPES.get(str(each["loc"][0])) if each["type"] != "value_error" else None
    context = {name: _plain(value) for name, value in each.get("ctx", {}).items()}
    return shape or _WORDS.get(each["type"], _ANY).format(**context)


def _plain(value: object) -> object:
    return value.replace("' or '", "', '") if isinstance(value, str) else value


LONGEST_REPEAT_DAYS = 8  # Meta repeats a webhook for seven days; what it repeats must still be known
SHORTEST_SECRET = 16  # 64 bits even in hexadecimal: nobody guesses that over HTTP
SECRETS_DIR = Path("/run/secrets")  # where Docker and Kubernetes mount secret files

LADDER = "são segundos acima de zero, separados por vírgula, como 2,10,30,120"


class MissingSettingError(ProsaError):
    """A setting without which it would not be safe to start."""

    code = "missing_setting"


_LADDERS: Final = (
    *("reconcile_ladder", "smtp_ladder", "paulistana_absence_seconds"),
    *("sefaz_absence_seconds", "sefaz_ladder"),
)


class Settings(BaseSettings):
    """Names are ``PROSA_`` + the field in capitals; durations in seconds. A value given as a file works too."""

    model_config = SettingsConfigDict(
        env_prefix="PROSA_",
        env_file=".env",
        extra="ignore",
        secrets_dir=SECRETS_DIR if SECRETS_DIR.is_dir() else None,
        hide_input_in_errors=True,
    )

    home: Path = Path(".prosa")  # of the clone; see ``place_of_files``
    database_url: SecretStr | None = None
    database_owner_url: SecretStr | None = None  # of the account that migrates, if apart from the one that runs
    redis_url: SecretStr | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    api_port: int = 0  # where `prosa api` listens; 0: as ``port``
    api_chave_estrita: bool = True  # an idempotency key that comes with another body is refused
    webhook_redes_permitidas: Annotated[
        tuple[Network, ...], NoDecode
    ] = ()  # that webhooks may lead to beside the internet
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = ()  # whose X-Forwarded-For is believed
    public_url: str = ""  # where people's browsers reach the pages of ``public``; none: no links are offered

    whatsapp_api_url: str = "https://graph.facebook.com/v25.0"  # Graph with its version
    whatsapp_phone_number_id: str = ""
    whatsapp_access_token: SecretStr = SecretStr("")
    whatsapp_app_secret: SecretStr = SecretStr("")  # one, or two with a comma while rotating
    whatsapp_verify_token: SecretStr = SecretStr("")

    gateway: Literal["plugnotas", "nacional", "paulistana"] = (
        "plugnotas"  # of new companies; a row of ``gateway.registry``
    )
    plugnotas_url: str = "https://api.plugnotas.com.br"
    plugnotas_api_key: SecretStr = SecretStr("")
    nacional_sefin_url: str = ""  # none: the host of ``fiscal_environment``
    nacional_adn_url: str = ""  # likewise
    nacional_nt009_producao: date | None = None  # first day of NT 009 in production; none: ``layouts.NT009``
    nacional_nt009_sozinho: bool = False  # the other layout is tried by itself, once, where this one is refused
    nacional_nt009_mei: bool = False  # whether a MEI is asked for its cAtvSN too: nobody knows yet
    nacional_ibs_cbs_obrigatorio: date | None = None  # none: ``layouts.IBS_CBS_MUST``, at the authority's own hosts
    nacional_ca_file: Path | None = None  # PEM of authorities trusted beside the system's, for these servers only
    paulistana_url: str = "https://nfews.prefeitura.sp.gov.br/lotenfe.asmx"  # the whole address of its service
    paulistana_ca_file: Path | None = None  # likewise, for it; ``nacional_ca_file`` is trusted there too
    paulistana_soap: Literal["soap11", "soap12-header", "soap12-action"] = "soap12-header"
    paulistana_absence_seconds: Annotated[tuple[float, ...], NoDecode] = Field(
        default=(210, 60), min_length=2, max_length=2
    )  # how old a sending is at the first absence, and how far the second lies from it
    sefaz_url: str = ""  # a base that replaces all hosts: {base}/NFeAutorizacao4; none: ``sefaz_hosts_file``
    sefaz_hosts_file: Path | None = None  # JSON: state, model (55, 65), environment, service: its whole address
    sefaz_maker_file: Path | None = None  # JSON: who made the program (infRespTec), the secret of each state (CSRT)
    sefaz_csc_file: Path | None = None  # JSON, "ID:TOKEN" by CNPJ: their NFC-e have a QR code of version 2
    sefaz_ca_file: Path | None = None  # as ``paulistana_ca_file``
    sefaz_absence_seconds: Annotated[tuple[float, ...], NoDecode] = Field(default=(120, 60), min_length=2, max_length=2)
    sefaz_ladder: Annotated[tuple[float, ...], NoDecode] = Field(default=(120, 180, 720, 2520, 3600), min_length=1)
    icp_brasil_ca_file: Path | None = None  # PEM of the roots of which one must answer for a company's certificate
    icp_brasil_unchecked_replaces: bool = False  # without roots, a company's certificate may replace a good one
    gateway_webhook_secret: SecretStr = SecretStr("")  # of the header; one, or two with a comma while rotating
    gateway_webhook_path_secret: SecretStr = SecretStr("")  # likewise, of the path; none: the header's serve both
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
    plugnotas_cancel_hours: float = Field(default=1.0, gt=0, le=24 * 30)  # a person's time to answer; a session's own
    cancel_timeout_seconds: float = Field(default=60.0, gt=0)  # likewise

    cnpj_api_url: str = "https://brasilapi.com.br"
    cnpj_api_timeout_seconds: float = Field(default=3.0, gt=0)  # somebody waits for the summary, which can do without
    cep_url: str = "https://viacep.com.br"

    openai_api_key: SecretStr = SecretStr("")  # none: rules only
    openai_base_url: str = "https://api.openai.com/v1"
    openai_model: str = ""
    openai_price: Annotated[tuple[Decimal, Decimal] | None, NoDecode] = None  # R$ per million tokens read, written

    smtp_url: SecretStr = SecretStr("")  # where mails are handed in; none: no batch is sent
    smtp_from: str = ""  # the sender's address of every mail
    smtp_ca_file: Path | None = None  # PEM of the authorities trusted for that server; none: the system's
    smtp_ladder: Annotated[tuple[float, ...], NoDecode] = Field(default=(60, 600, 3600))  # seconds after each 4xx
    smtp_unknown_seconds: float = Field(default=600.0, gt=0)  # after a lost answer; then once more, and no third time
    smtp_domain_per_minute: int = Field(default=100, ge=0)  # mails to one domain; large ones defer the rest; 0: any

    person_answers_burst: int = Field(default=30, ge=0)  # an invoice takes four or five turns; 0: without limit
    person_answers_per_minute: float = Field(default=6.0, ge=0)  # faster than anybody reads them
    strangers_answers_per_hour: int = Field(default=100, ge=0)  # each is billed; a company's people are registered
    model_calls_per_person_day: int = Field(default=100, ge=0)  # a busy accountant's; most turns need no model
    model_calls_per_day: int = Field(default=5000, ge=0)  # bounds a day's bill, whoever writes

    company_requests_per_minute: int = Field(default=600, ge=0)  # to the API, of each process; 0: without limit
    company_lists_at_once: int = Field(default=1, ge=0)  # that are read, likewise
    company_list_bytes_per_day: int = Field(default=50_000_000, ge=0)  # five of the largest lists
    company_mails_per_day: int = Field(default=10_000, ge=0)  # a list has no more rows

    session_ttl_seconds: int = Field(default=3600, gt=0)
    repeat_window_seconds: int = Field(default=86400, ge=0)  # after an equal one was issued; 0: only while it is open
    mei_limit: int = Field(default=81000, gt=0)  # R$ a year; LC 123/2006, art. 18-A, § 1º
    mei_transport_limit: int = Field(default=251600, gt=0)  # R$ a year; LC 123/2006, art. 18-F
    debounce_seconds: float = Field(default=1.0, ge=0)
    reconcile_ladder: Annotated[tuple[float, ...], NoDecode] = Field(default=(2, 10, 30, 120, 300, 900, 3600))
    slow_notice_seconds: float = Field(default=30.0, gt=0)  # "typing…" dies after 25 s: then people want a word
    metrics_token: SecretStr = SecretStr("")  # opens /metrics, as a Bearer token
    probe_port: int = 0  # `prosa worker` answers /healthz, /readyz and /metrics here; 0: nowhere
    retention_messages_days: int = Field(default=365, ge=0)  # a complaint about an invoice comes within its fiscal year
    retention_drafts_days: int = Field(default=90, ge=0)  # of invoices that never were: who comes back, comes in weeks
    retention_strangers_days: int = Field(default=90, ge=0)  # long enough to be registered after having written
    retention_calls_days: int = Field(default=365, ge=0)  # the masked bodies of gateway calls: as long as the messages
    retention_logins_days: int = Field(default=30, ge=0)  # attempts to enter the console: an attack is looked at sooner
    master_key: SecretStr = SecretStr("")  # base64 of 32 bytes; one, or the new and the old with a comma

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_format: Literal["json", "console"] = "json"

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if "home" not in self.model_fields_set:
            self.__dict__["home"] = place_of_files(self.home)
        return self

    @field_validator(*_LADDERS, mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return tuple(float(part) for part in value.split(","))
        except ValueError as error:
            raise ValueError(LADDER) from error

    @field_validator("trusted_proxies", "webhook_redes_permitidas", mode="before")
    @classmethod
    def _some_networks(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return networks(value)
        except ValueError as error:
            raise ValueError("são endereços ou redes, separados por vírgula, como 10.0.0.5,172.18.0.0/16") from error

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
                "são dois preços em R$ por milhão de tokens, do que é lido e do que é escrito, como 0.80,3.20"
            )
        return value

    @field_validator(*_LADDERS)
    @classmethod
    def _positive(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value or min(value) <= 0:
            raise ValueError(LADDER)
        return value

    @field_validator("retention_messages_days")
    @classmethod
    def _longer_than_meta_repeats(cls, value: int) -> int:
        if 0 < value < LONGEST_REPEAT_DAYS:
            raise ValueError(
                f"use pelo menos {LONGEST_REPEAT_DAYS} dias, ou 0 para guardar sempre: a Meta repete uma mensagem "
                "durante sete dias, e uma já esquecida seria lida outra vez"
            )
        return value

    @field_validator("whatsapp_phone_number_id")
    @classmethod
    def _an_id(cls, value: str) -> str:
        if value and not (value.isascii() and value.isalnum()):
            raise ValueError("é o id que a Meta dá ao número (só dígitos), não o próprio telefone")
        return value

    @field_validator(
        "whatsapp_access_token", "plugnotas_api_key", "gateway_webhook_secret", "gateway_webhook_path_secret"
    )
    @classmethod
    def _fits_a_header(cls, value: SecretStr) -> SecretStr:
        secret = value.get_secret_value()
        if not (secret.isascii() and secret.isprintable()) or secret != secret.strip():
            raise ValueError(
                "tem espaço na ponta, quebra de linha ou outro caractere que não cabe em um cabeçalho HTTP"
            )
        return value

    @field_validator(
        "whatsapp_access_token",
        "whatsapp_app_secret",
        "whatsapp_verify_token",
        "plugnotas_api_key",
        "gateway_webhook_secret",
        "gateway_webhook_path_secret",
        "metrics_token",
    )
    @classmethod
    def _long_enough(cls, value: SecretStr) -> SecretStr:
        """Each part of a secret; a model's key is not among them: a local server takes any text."""
        parts = (part.strip() for part in value.get_secret_value().split(","))
        if any(0 < len(part) < SHORTEST_SECRET for part in parts):
            raise ValueError(
                f"use pelo menos {SHORTEST_SECRET} caracteres. Os da Meta e da PlugNotas são maiores: confira se foi "
                "copiado inteiro. Um seu se faz com: openssl rand -hex 24"
            )
        return value

    @field_validator("master_key")
    @classmethod
    def _keys(cls, value: SecretStr) -> SecretStr:
        from persistence.crypto import parse_keys  # noqa: PLC0415 - only where a key is set

        if value.get_secret_value():
            try:
                parse_keys(value.get_secret_value())
            except ValueError as error:
                raise ValueError("é uma chave de 32 bytes em base64, como a de: openssl rand -base64 32") from error
        return value

    @field_validator("nacional_nt009_producao", "nacional_ibs_cbs_obrigatorio", mode="before")
    @classmethod
    def _a_day(cls, value: object) -> object:
        try:
            return date.fromisoformat(value) if isinstance(value, str) and value else value or None
        except ValueError as error:
            raise ValueError("é um dia como 2027-01-01") from error

    @field_validator("sefaz_maker_file", "sefaz_csc_file", mode="before")
    @classmethod
    def _of_the_state(cls, value: object, info: ValidationInfo) -> object:
        if not value:
            return None
        from gateway.nfe.adapter import codes, makers  # noqa: PLC0415 - only where one is set

        read, said = {
            "sefaz_maker_file": (makers, "com cnpj, contato, email, fone e csrt"),
            "sefaz_csc_file": (codes, 'como {"11222333000181": "1:0123456789ABCDEF"}'),
        }[info.field_name or ""]
        try:
            read(Path(str(value)))
        except (OSError, ValueError, AttributeError) as error:
            raise ValueError(f"é o caminho de um arquivo JSON {said}") from error
        return value

    @field_validator("sefaz_hosts_file", mode="before")
    @classmethod
    def _hosts(cls, value: object) -> object:
        if not value:
            return None
        try:
            told = json.loads(Path(str(value)).read_bytes())
        except (OSError, ValueError):
            told = None
        if not isinstance(told, dict):
            raise ValueError(  # noqa: TRY004 - a wrong setting
                'é o caminho de um arquivo JSON, como {"SP": {"55": {"producao": {"NFeAutorizacao4": "https://…"}}}}'
            )
        return value

    @field_validator(
        "nacional_ca_file",
        "paulistana_ca_file",
        "sefaz_ca_file",
        "icp_brasil_ca_file",
        "smtp_ca_file",
        mode="before",
    )
    @classmethod
    def _a_file(cls, value: object) -> object:
        if not value:
            return None
        if not Path(str(value)).is_file():
            raise ValueError("é o caminho de um arquivo PEM, com as autoridades em que também se confia")
        return value

    @field_validator("icp_brasil_ca_file")
    @classmethod
    def _authorities(cls, value: Path | None) -> Path | None:
        from cryptography.x509 import load_pem_x509_certificates  # noqa: PLC0415 - only where one is set

        if value:
            try:
                load_pem_x509_certificates(value.read_bytes())
            except (OSError, ValueError) as error:
                raise ValueError("é o caminho de um arquivo PEM, com as raízes da ICP-Brasil") from error
        return value

    @field_validator("smtp_url")
    @classmethod
    def _a_mail_server(cls, value: SecretStr) -> SecretStr:
        from gateway.mail.message import parse_server  # noqa: PLC0415 - only where one is set

        if value.get_secret_value():
            try:
                parse_server(value.get_secret_value())
            except ValueError as error:
                raise ValueError(
                    "é um endereço como smtps://usuario:senha@smtp.exemplo.com.br:465, ou smtp://…:587 (STARTTLS); "
                    "smtp+plain:// só vale para esta mesma máquina"
                ) from error
        return value

    @field_validator("smtp_from")
    @classmethod
    def _a_sender(cls, value: str) -> str:
        from state_machine.mailing.reading import NotAnAddressError, normalised  # noqa: PLC0415 - likewise

        try:
            return value and normalised(value)
        except NotAnAddressError as error:
            raise ValueError("é um endereço de e-mail, como notas@exemplo.com.br") from error

    @field_validator(
        "whatsapp_api_url",
        "plugnotas_url",
        "cnpj_api_url",
        "cep_url",
        "openai_base_url",
        "nacional_sefin_url",
        "nacional_adn_url",
        "paulistana_url",
        "sefaz_url",
        "public_url",
    )
    @classmethod
    def _an_address(cls, value: str, info: ValidationInfo) -> str:
        if not value and not cls.model_fields[info.field_name or ""].default:
            return value
        try:
            scheme, host = urlsplit(value).scheme, urlsplit(value).hostname or ""
        except ValueError:
            scheme = host = ""
        if not host or not (scheme == "https" or (scheme == "http" and _is_this_machine(host))):
            raise ValueError("é um endereço como https://exemplo.com.br; http:// só vale para esta mesma máquina")
        return value.rstrip("/")

    @field_validator("public_url")
    @classmethod
    def _only_a_place(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.query or parts.fragment or parts.username is not None or not value.isprintable() or " " in value:
            raise ValueError("é só o endereço e, se houver, o caminho, como https://exemplo.com.br")
        return value

    def company_roots(self) -> bytes:
        """Return the roots of which one must answer for a company's certificate, PEM; none: nobody is asked."""
        return self.icp_brasil_ca_file.read_bytes() if self.icp_brasil_ca_file else b""

    @property
    def app_secrets(self) -> tuple[bytes, ...]:
        """The live application secrets, the newest first."""
        return _parts(self.whatsapp_app_secret)

    @property
    def gateway_headers(self) -> tuple[bytes, ...]:
        """What the gateway's webhooks may carry in their header, the newest first."""
        return _parts(self.gateway_webhook_secret)

    @property
    def gateway_paths(self) -> tuple[bytes, ...]:
        """What may stand in the path of the gateway's webhooks, the newest first; without any, the header's."""
        return _parts(self.gateway_webhook_path_secret) or self.gateway_headers

    def missing(self) -> list[str]:
        """Return the names of what must be set before anything may start, and is not."""
        needed = {
            "WHATSAPP_PHONE_NUMBER_ID": bool(self.whatsapp_phone_number_id),
            "WHATSAPP_ACCESS_TOKEN": bool(self.whatsapp_access_token.get_secret_value()),
            "WHATSAPP_APP_SECRET": bool(self.app_secrets),
            "WHATSAPP_VERIFY_TOKEN": bool(self.whatsapp_verify_token.get_secret_value()),
        }
        plugnotas = {
            "PLUGNOTAS_API_KEY": bool(self.plugnotas_api_key.get_secret_value()),
            "GATEWAY_WEBHOOK_SECRET": bool(self.gateway_headers),
        }
        if self.gateway == "plugnotas" or any(plugnotas.values()):  # half of it is a slip
            needed |= plugnotas
        if self.smtp_url.get_secret_value():
            needed["SMTP_FROM"] = bool(self.smtp_from)
            needed["PUBLIC_URL"] = bool(self.public_url)  # where readers say no to more mails
        if self.openai_api_key.get_secret_value():  # models come and go: a default would die one day
            needed["OPENAI_MODEL"] = bool(self.openai_model)
        return [f"PROSA_{name}" for name, present in needed.items() if not present]

    def require_secrets(self) -> None:
        """Raise ``MissingSettingError`` that names every secret still missing; nothing starts without them."""
        missing = self.missing()
        if missing:
            raise MissingSettingError(
                f"Faltam estas configurações: {', '.join(missing)}. Nada foi iniciado e nada mudou. "
                "Ponha cada uma no ambiente ou em .env (docs/settings.md diz de onde vem), "
                "ou experimente tudo sem conta nenhuma: ./prosa demo"
            )


def _parts(secret: SecretStr) -> tuple[bytes, ...]:
    return tuple(part.strip().encode() for part in secret.get_secret_value().split(",") if part.strip())


def place_of_files(name: Path) -> Path:
    """Return where the embedded servers keep their data when nobody says so: one place, wherever one stands.

    That is the clone's own folder, and ``$XDG_STATE_HOME/prosa`` for an installed package, which has none. A folder
    of this name in the working directory, which earlier releases made, is gone on with.
    """
    clone = Path(__file__).resolve().parents[1]
    if name.is_dir():
        return name
    if (clone / "pyproject.toml").is_file():
        return clone / name
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state") / "prosa"


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
