"""Turns the operator's settings into policies: retries, the ladder, the circuit breakers, how long data are kept."""

from __future__ import annotations

import time
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import structlog

from bot.budgets import Limits
from gateway.lines import CallKind, Lines
from persistence.people.retention import Prazos
from state_machine.protocol.retry import Politica, Retentativas
from state_machine.values.yearly_limit import LimitesMei

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.settings import Settings
    from telemetry.metrics import Metrics

log = structlog.get_logger(__name__)


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
