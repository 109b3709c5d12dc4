"""Keeps what ADN told: what cities agreed to."""
