"""The local time of the people who issue invoices: America/Sao_Paulo."""

from __future__ import annotations

from zoneinfo import ZoneInfo

SAO_PAULO = ZoneInfo("America/Sao_Paulo")  # "today" on an invoice, and every time that people read
