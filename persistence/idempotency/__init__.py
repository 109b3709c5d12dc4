"""Idempotency records: who is at an operation, and how it ended."""
