"""Stores: tables, transactions, inbox, lanes, outbox, sessions, emissions."""
