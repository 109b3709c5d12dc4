"""Database addresses: one setting, two libraries."""

from __future__ import annotations

import pytest

from persistence.db import engine


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
def test_every_usual_spelling_suits_both_libraries(scheme: str) -> None:
    """Whatever a hosting company hands out becomes what asyncpg and SQLAlchemy take, password and all."""
    given = f"{scheme}://ana:p%40ss@db.example:6543/prosa"
    assert engine.for_asyncpg(given) == "postgresql://ana:p%40ss@db.example:6543/prosa"
    url = engine.for_sqlalchemy(given)
    assert (url.drivername, url.password, url.port) == ("postgresql+asyncpg", "p@ss", 6543)


def test_encryption_demanded_in_the_address_reaches_both() -> None:
    """`sslmode`, libpq's word, stays for asyncpg's own parser and is renamed for SQLAlchemy's."""
    given = "postgresql://db.example/prosa?sslmode=verify-full"
    assert "sslmode=verify-full" in engine.for_asyncpg(given)
    assert dict(engine.for_sqlalchemy(given).query) == {"ssl": "verify-full"}


def test_another_database_is_refused_by_name() -> None:
    """An address of another product is refused at once, with the setting to mend."""
    with pytest.raises(ValueError, match="PROSA_DATABASE_URL must be a postgresql:// address, not mysql"):
        engine.for_asyncpg("mysql://db.example/prosa")
