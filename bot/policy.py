"""Turns the operator's settings into policies: retries, the ladder, the circuit breaker, how long data are kept."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from persistence.retention import Prazos
from state_machine.breaker import Breaker
from state_machine.reconciliation import Politica
from state_machine.retry import Retentativas

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.metrics import Metrics
    from bot.settings import Settings

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


def open_breaker(settings: Settings, metrics: Metrics, heard: Callable[[bool], None]) -> Breaker:
    """Return this process's breaker for the fiscal gateway; each replica judges by its own calls."""

    def changed(opened: bool) -> None:
        metrics.gateway_circuit_open.set(opened)
        heard(opened)
        if opened:
            log.error("gateway_circuit_open", seconds=settings.gateway_breaker_seconds)
        else:
            log.info("gateway_circuit_closed")

    return Breaker(
        clock=time.monotonic,
        threshold=settings.gateway_breaker_failures,
        cooldown=settings.gateway_breaker_seconds,
        on_change=changed,
    )


def prazos_of(settings: Settings) -> Prazos:
    """Return how many days each kind of data is kept."""
    return Prazos(
        mensagens=settings.retention_messages_days,
        rascunhos=settings.retention_drafts_days,
        estranhos=settings.retention_strangers_days,
        chamadas=settings.retention_calls_days,
        entradas=settings.retention_logins_days,
    )
