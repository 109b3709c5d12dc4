"""Owns a real PostgreSQL and a real Valkey for a laptop, a demo and the tests."""

from persistence.embedded.home import EmbeddedError
from persistence.embedded.supervisor import Embedded, Servers

__all__ = ["Embedded", "EmbeddedError", "Servers"]
