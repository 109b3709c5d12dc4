"""What ``prosa doctor`` asks Meta and the gateway: tokens, ids, webhook and clock."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from yarl import URL

from bot.operator.doctor import SECONDS, about_clock, aviso, falha, ok
from gateway.http.client import Destination, origin
from gateway.http.wire import NoAnswerError

if TYPE_CHECKING:
    from bot.operator.doctor import Achado
    from bot.settings import Settings
    from gateway.http.wire import Answer

_REFUSED: Final = {401, 403}
_OK: Final = 200
_NOT_FOUND: Final = 404
_WRONG_TOKEN: Final = 190  # Meta's code of an access token that is wrong, expired or revoked
_HOOK: Final = "/webhooks/gateway/"
# Nobody has put this question to the real service yet: what rests on its answer alone is no failure.
_UNSURE: Final = ". Pergunta ainda não conferida com o serviço real: confirme no painel dele"


def _nothing_open() -> None:
    """Guard of the calls: this command opens no transaction while it asks."""


async def _ask(base: str, path: str, headers: dict[str, str]) -> Answer | str:
    """Return the answer, or the name of what went wrong."""
    try:
        async with Destination(base, timeout=SECONDS, guard=_nothing_open, headers=headers) as way:
            return await way.request("GET", path)
    except NoAnswerError as error:
        return error.reason
    except ValueError as error:  # an address that is none
        return type(error).__name__


def _clock(against: str, answer: Answer) -> list[Achado]:
    ours = datetime.now(UTC)
    try:
        theirs = parsedate_to_datetime(answer.headers["date"])
    except (KeyError, ValueError, TypeError):
        return [aviso(f"relógio e {against}", "a resposta veio sem data; compare o relógio de outro modo")]
    return [about_clock(against, theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC), ours)]


async def about_meta(settings: Settings) -> list[Achado]:
    """Say whether Meta takes the token, and knows the number under it."""
    token, number = settings.whatsapp_access_token.get_secret_value(), settings.whatsapp_phone_number_id
    if not (token and number):
        return [falha("Meta", "não perguntei: faltam PROSA_WHATSAPP_ACCESS_TOKEN ou PROSA_WHATSAPP_PHONE_NUMBER_ID")]
    path = f"/{number}?fields=display_phone_number,verified_name"
    answer = await _ask(settings.whatsapp_api_url, path, {"authorization": f"Bearer {token}"})
    if isinstance(answer, str):
        return [falha("Meta", f"sem resposta ({answer}). Confira PROSA_WHATSAPP_API_URL e a saída para a internet")]
    said = _json(answer)
    error = said.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if answer.status in _REFUSED or code == _WRONG_TOKEN:
        why = "a Meta recusou o token. Gere um permanente do usuário do sistema: PROSA_WHATSAPP_ACCESS_TOKEN"
        return [falha("Meta: token", why), *_clock("Meta", answer)]
    if answer.status != _OK:
        why = (
            f"a Meta não conhece este id (HTTP {answer.status}, código {code}). Confira PROSA_WHATSAPP_PHONE_NUMBER_ID"
        )
        return [ok("Meta: token", "aceito"), falha("Meta: número", why), *_clock("Meta", answer)]
    phone = said.get("display_phone_number") or "sem número à mostra"
    return [ok("Meta: token", "aceito"), ok("Meta: número", str(phone)), *_clock("Meta", answer)]


async def about_gateway(settings: Settings) -> list[Achado]:
    """Say whether the gateway takes the token, and whether the webhook registered there is ours and answers."""
    key = settings.plugnotas_api_key.get_secret_value()
    if not key and "PROSA_PLUGNOTAS_API_KEY" not in settings.missing():
        return [ok("gateway", "sem PlugNotas: empresa nesse canal não emite até haver PROSA_PLUGNOTAS_API_KEY")]
    if not key:
        return [falha("gateway", "não perguntei: falta PROSA_PLUGNOTAS_API_KEY")]
    answer = await _ask(settings.plugnotas_url, "/webhook", {"x-api-key": key, "accept": "application/json"})
    if isinstance(answer, str):
        return [falha("gateway", f"sem resposta ({answer}). Confira PROSA_PLUGNOTAS_URL e a saída para a internet")]
    if answer.status in _REFUSED:
        why = f"recusado em GET /webhook (HTTP {answer.status}). Confira PROSA_PLUGNOTAS_API_KEY{_UNSURE}"
        return [aviso("gateway: token", why), *_clock("gateway", answer)]
    if answer.status not in {_OK, _NOT_FOUND}:
        why = f"o gateway respondeu HTTP {answer.status}; tente de novo daqui a pouco{_UNSURE}"
        return [aviso("gateway: token", why), *_clock("gateway", answer)]
    return [ok("gateway: token", "aceito"), *_clock("gateway", answer), await _webhook(settings, _address(answer))]


def _address(answer: Answer) -> str:
    """Return the registered address; PlugNotas shows one object, other accounts a list of them."""
    said: Any = _json(answer)
    said = said.get("data", said) if isinstance(said, dict) else said
    said = said[0] if isinstance(said, list) and said else said
    return str(said.get("url") or "") if isinstance(said, dict) else ""


async def _webhook(settings: Settings, address: str) -> Achado:
    """Knock at the registered address, if it is ours: what the gateway reaches, this machine reaches too."""
    subject = "gateway: webhook"
    if not address:
        why = "não vi nenhum cadastrado no gateway; sem ele as notas só andam pelas consultas (README, 4)"
        return aviso(subject, f"{why}{_UNSURE}")
    if not any(address.endswith(f"{_HOOK}{part.decode()}") for part in settings.gateway_paths):
        why = "o endereço cadastrado não termina em /webhooks/gateway/ e o segredo daqui. Cadastre de novo (README, 4)"
        return aviso(subject, f"{why}{_UNSURE}")
    url = URL(address)
    answer = await _ask(origin(url), url.raw_path, {})
    if isinstance(answer, str):
        return falha(
            subject, f"cadastrado, mas ninguém atende em {url.host} ({answer}). A Prosa e o proxy estão no ar?"
        )
    if answer.status != _OK:
        return falha(subject, f"cadastrado, mas {url.host} respondeu HTTP {answer.status}. Confira o proxy")
    return ok(subject, f"cadastrado, e {url.host} atende")


def _json(answer: Answer) -> Any:
    try:
        said = json.loads(answer.body)
    except ValueError:
        return {}
    return said if isinstance(said, dict | list) else {}
