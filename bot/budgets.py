"""Limits what one person, all strangers and the model may cost.

Turns the operator's settings into policies: retries, the ladder, the circuit breakers, how long data are kept.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum, auto
from typing import Final, Literal

import structlog
from redis.exceptions import RedisError

from bot.settings import Settings
from gateway.lines import CallKind, Lines
from persistence.conversations.sessions import RedisLine
from persistence.people.retention import Prazos
from state_machine.protocol.retry import Politica, Retentativas
from state_machine.values.money import LimitesMei
from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)

Budget = Literal["pessoa", "estranhos", "modelo_pessoa", "modelo"]
Owed = Literal["arquivo", "rascunho", "botao", "vaga"]  # why silence would mislead
DAY: Final = 86_400  # seconds
HOUR: Final = 3_600
MINUTE: Final = 60

# A token bucket as the moment at which it will be full again (GCRA), by Redis' clock in ms. 1: a token was taken;
# 2: the first refusal until the bucket could be full; 0: another one.
_BUCKET: Final = """
local t = redis.call('TIME')
local now, every, burst = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
if full - now <= every * (burst - 1) then
    redis.call('SET', KEYS[1], string.format('%d', full + every), 'PX', string.format('%d', full + every - now))
    return 1
end
return redis.call('SET', KEYS[2], '1', 'NX', 'PX', string.format('%d', every * burst)) and 2 or 0
"""
# A count that begins with the first question and is forgotten after its time; refusals do not add to it.
_COUNT: Final = """
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return 1
"""


class Voice(Enum):
    """How a turn may be answered."""

    SPEAK = auto()
    NOTICE = auto()  # one short answer instead
    SILENT = auto()


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent; 0: without limit.

    ``burst`` answers to one person at once, then ``per_minute``; answers to all unknown numbers in an hour; questions
    to the model for one person, and for all, in a day (24 h from the first one).
    """

    burst: int
    per_minute: float
    strangers_per_hour: int
    model_per_person: int
    model_per_day: int


class Budgets:
    """Buckets and counts in Redis, shared by all workers; a Redis that lost them has them full again.

    While Redis is away people are answered as ever, and what only costs money, strangers and the model, is refused.
    """

    def __init__(self, line: RedisLine, limits: Limits, refused: Callable[[Budget], None]) -> None:
        self._line = line
        self._limits = limits
        self._refused = refused

    async def person(self, conversa: str, *, owed: Owed | None = None) -> Voice:
        """Say how a turn of somebody whom we know may be answered; of each kind that is ``owed``, one a minute is."""
        limits = self._limits
        if not limits.burst or not limits.per_minute:
            return Voice.SPEAK
        key, every = f"prosa:orcamento:pessoa:{_nameless(conversa)}", round(60_000 / limits.per_minute)
        found = await self._ask(_BUCKET, (key, f"{key}:aviso"), every, limits.burst)
        if found in {1, None}:
            return Voice.SPEAK
        if owed and await self._ask(_COUNT, (f"prosa:orcamento:devida:{owed}:{_nameless(conversa)}",), 1, MINUTE):
            return Voice.SPEAK
        self._refused("pessoa")
        return Voice.NOTICE if found else Voice.SILENT

    async def stranger(self) -> bool:
        """Say whether one more unknown number may be answered in this hour."""
        return await self._counted("estranhos", "", self._limits.strangers_per_hour, HOUR)

    async def model(self, conversa: str) -> bool:
        """Say whether the model may be asked once more today, for this person and at all."""
        limits = self._limits
        return await self._counted(
            "modelo_pessoa", f":{_nameless(conversa)}", limits.model_per_person, DAY
        ) and await self._counted("modelo", "", limits.model_per_day, DAY)

    async def _counted(self, budget: Budget, whose: str, most: int, seconds: int) -> bool:
        if not most or await self._ask(_COUNT, (f"prosa:orcamento:{budget}{whose}",), most, seconds):
            return True
        self._refused(budget)
        return False

    async def _ask(self, script: str, keys: tuple[str, ...], *arguments: int) -> int | None:
        """Return what a script says, ``None`` while Redis is away."""
        try:
            found: int = await self._line.ask("EVAL", script, len(keys), *keys, *arguments)
        except RedisError as error:
            log.warning("redis_unavailable", operation="budget", error=type(error).__name__)
            return None
        return found


def _nameless(conversa: str) -> str:
    """Return a name for a conversation that does not show its phone."""
    return hashlib.blake2s(conversa.encode(), digest_size=16).hexdigest()


def politica_of(settings: Settings) -> Politica:
    """Return the emission's policy."""
    return Politica(
        settings.reconcile_ladder,
        timedelta(seconds=settings.slow_notice_seconds),
        Retentativas(
            settings.gateway_retry_attempts,
            settings.gateway_retry_base_seconds,
            settings.gateway_retry_factor,
            settings.gateway_retry_cap_seconds,
            settings.gateway_retry_jitter,
        ),
    )


def lines_of(
    settings: Settings, metrics: Metrics, watch: Callable[[str], Callable[[int], None]]
) -> Callable[[], Lines]:
    """Return what opens the lines of one channel; each replica judges by its own calls, figures are of all channels.

    ``watch`` returns, for each kind of call, what is told how many companies' breakers are open.
    """
    heard = {kind: watch(f"gateway_{kind}") for kind in CallKind}
    open_now = dict.fromkeys(CallKind, 0)

    def changed(kind: CallKind, more: int) -> None:
        open_now[kind] += more
        count = open_now[kind]
        metrics.gateway_circuit_open.set(any(open_now.values()))
        metrics.gateway_circuits_open.labels(kind).set(count)
        heard[kind](count)
        if more > 0:
            log.error("gateway_circuit_open", kind=kind, count=count, seconds=settings.gateway_breaker_seconds)
        else:
            log.info("gateway_circuit_closed", kind=kind, count=count)

    for kind in CallKind:
        metrics.gateway_circuits_open.labels(kind).set(0)

    def opened() -> Lines:
        here = dict.fromkeys(CallKind, 0)

        def on_change(kind: CallKind, count: int) -> None:
            before, here[kind] = here[kind], count
            changed(kind, count - before)

        return Lines(
            clock=time.monotonic,
            threshold=settings.gateway_breaker_failures,
            cooldown=settings.gateway_breaker_seconds,
            on_change=on_change,
        )

    return opened


def limits_of(settings: Settings) -> Limits:
    """Return what people, strangers and the model may cost."""
    return Limits(
        burst=settings.person_answers_burst,
        per_minute=settings.person_answers_per_minute,
        strangers_per_hour=settings.strangers_answers_per_hour,
        model_per_person=settings.model_calls_per_person_day,
        model_per_day=settings.model_calls_per_day,
    )


def limites_mei_of(settings: Settings) -> LimitesMei:
    """Return what a MEI may earn in a year."""
    return LimitesMei(Decimal(settings.mei_limit), Decimal(settings.mei_transport_limit))


def prazos_of(settings: Settings) -> Prazos:
    """Return how many days each kind of data is kept."""
    return Prazos(
        mensagens=settings.retention_messages_days,
        rascunhos=settings.retention_drafts_days,
        estranhos=settings.retention_strangers_days,
        chamadas=settings.retention_calls_days,
        entradas=settings.retention_logins_days,
    )
