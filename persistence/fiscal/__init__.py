"""Invoices: intents, attempts, notes, numbers, cancellations."""
