"""Every metric that the product shows to its operator, named and explained in one place.

To add a metric: an instrument here with its help; a counter is named without ``_total``, and labels have few, known
values. Count where it happens; a count of rows is set at the scrape (``webhooks/app.py``). Then its row in
``docs/runbook.md``, the help verbatim, and an alarm in ``docs/assets/alarmes.yml`` if it is worth one.
``tests/repository/test_docs.py`` and ``tests/repository/test_alarms.py`` compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

# Meta wants a median below 250 ms and less than 1 % above 1 s; idle, an acknowledgement takes 1 ms.
_WEBHOOK_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_TURN_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True, slots=True)
class Described:
    """One line of the operator's table of metrics."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


class Metrics:
    """The instruments, on a registry of their own: made by the composition root and passed down."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._table: list[Described] = []
        self.webhook_requests = self._counter(
            "prosa_webhook_requests", "Webhook requests by sender and HTTP status answered.", "origem", "status"
        )
        self.webhook_seconds = self._histogram(
            "prosa_webhook_seconds", "Time from a webhook's arrival to its answer.", _WEBHOOK_SECONDS, "origem"
        )
        self.arrivals = self._counter(
            "prosa_arrivals", "Things found in webhooks, repeated ones included, by kind of inbox row.", "tipo"
        )
        self.arrivals_stored = self._counter(
            "prosa_arrivals_stored", "Inbox rows stored by webhooks: arrivals without repetitions.", "origem"
        )
        self.messages = self._counter(
            "prosa_messages", "WhatsApp messages by Meta's type; types that we do not know count as outro.", "type"
        )
        self.mails = self._counter(
            "prosa_mails", "Attempts to hand a mail in, by what came of it; lost ones may have arrived.", "resultado"
        )
        self.hooks_given_up = self._counter(
            "prosa_hooks_given_up",
            "Happenings that another system was not told of, after all tries or a 410.",
        )
        self.messages_foreign = self._counter(
            "prosa_messages_foreign",
            "Signed messages for numbers other than ours, which are only kept.",
        )
        self.rows_done = self._counter(
            "prosa_inbox_done",
            "Inbox rows that workers processed to the end, so without ticks applied on arrival.",
            "tipo",
        )
        self.rows_failed = self._counter("prosa_inbox_failures", "Failed attempts at inbox rows.", "tipo")
        self.rows_quarantined = self._counter(
            "prosa_inbox_quarantined", "Inbox rows set aside after their last attempt, for staff to look at.", "tipo"
        )
        self.leases_lost = self._counter(
            "prosa_leases_lost", "Lanes that another worker took over while this one held them."
        )
        self.lanes_postponed = self._counter(
            "prosa_lanes_postponed", "Lanes left alone for a moment because the database was away."
        )
        self.lanes_running = self._gauge("prosa_lanes_running", "Lanes that this worker is processing now.")
        self.handler_seconds = self._histogram(
            "prosa_handler_seconds", "Time that one run of inbox rows took.", _TURN_SECONDS, "tipo"
        )
        self.messages_out = self._counter(
            "prosa_messages_out", "Attempts to hand a message to WhatsApp, by what came of it.", "resultado"
        )
        self.budget_refusals = self._counter(
            "prosa_budget_refusals",
            "Answers and questions to the model that a budget held back, by which: one person's answers, those to "
            "strangers, the model for one person, the model for all.",
            "orcamento",
        )
        self.messages_undelivered = self._counter(
            "prosa_messages_undelivered", "Messages that WhatsApp took and then failed to deliver.", "resultado"
        )
        self.outbox_open = self._gauge("prosa_outbox_open", "Messages that have not left yet.")
        self.outbox_failed = self._gauge("prosa_outbox_failed", "Messages of the last day that could not be sent.")
        self.emissions = self._gauge(
            "prosa_emissions", "Emissions that are not settled, and those that people must look at.", "status"
        )
        self.emission_age_seconds = self._gauge(
            "prosa_emission_oldest_seconds", "Age of the oldest emission without a final answer."
        )
        self.companies_suspended = self._gauge(
            "prosa_companies_suspended", "Companies for which the gateway refuses our credentials."
        )
        self.certificates_ending = self._gauge(
            "prosa_certificates_ending",
            "Certificates that Prosa keeps, by the days they have left: up to 1, 7 or 30; 0 for those that ended.",
            "dias",
        )
        self.gateway_circuit_open = self._gauge(
            "prosa_gateway_circuit_open",
            "1 while this process leaves the gateway alone after failures in a row, for any company and kind of call.",
        )
        self.gateway_circuits_open = self._gauge(
            "prosa_gateway_circuits_open",
            "Companies for which this process leaves the gateway alone, by kind of call.",
            "chamada",
        )
        self.emissions_held = self._gauge(
            "prosa_emissions_held", "Emissions that wait without a call to the gateway, by why.", "retida"
        )
        self.notes_superseded = self._counter(
            "prosa_notes_superseded", "Notes that an authority cancelled for the one it issued under the same RPS."
        )
        self.audits = self._counter(
            "prosa_audits", "Companies compared with the gateway's listing, by whether it could tell.", "resultado"
        )
        self.audit_differences = self._counter(
            "prosa_audit_differences", "Differences that the daily audit found, by kind, each day anew.", "tipo"
        )
        self.inbox_open = self._gauge("prosa_inbox_open", "Inbox rows not yet processed.")
        self.inbox_in_quarantine = self._gauge("prosa_inbox_in_quarantine", "Inbox rows in quarantine now.")
        self.inbox_lag_seconds = self._gauge(
            "prosa_inbox_lag_seconds", "For how long the most patient lane has been due without a worker."
        )
        self.lanes_due = self._gauge("prosa_lanes_due", "Lanes that are due and that nobody holds.")
        self.lanes_leased = self._gauge("prosa_lanes_leased", "Lanes held by workers, on all replicas.")

    def expose(self) -> bytes:
        """Return the figures in Prometheus' text format."""
        return generate_latest(self.registry)

    def table(self) -> Iterator[Described]:
        """Return what ``docs`` says about each metric, in the order above."""
        return iter(self._table)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        self._table.append(Described(f"{name}_total", "counter", labels, text))
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        self._table.append(Described(name, "gauge", labels, text))
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        self._table.append(Described(name, "histogram", labels, text))
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)
