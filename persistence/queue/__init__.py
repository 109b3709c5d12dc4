"""The inbox with its lanes, and the outbox."""
