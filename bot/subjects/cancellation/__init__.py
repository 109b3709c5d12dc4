"""Cancelling an issued note by conversation."""
