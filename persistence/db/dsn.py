"""Owns the two spellings of a database address; it opens nothing."""

from __future__ import annotations

from sqlalchemy.engine import URL, make_url

PLAIN = "postgresql"
WITH_DRIVER = "postgresql+asyncpg"
KNOWN = {"postgres", PLAIN, WITH_DRIVER}  # "postgres" is what several hosting companies hand out


def for_asyncpg(dsn: str) -> str:
    """`dsn` as `asyncpg.connect` takes it: a plain `postgresql://` address, password included."""
    return _known(dsn).set(drivername=PLAIN).render_as_string(hide_password=False)


def for_sqlalchemy(dsn: str) -> URL:
    """`dsn` as `create_async_engine` takes it.

    SQLAlchemy hands the query to asyncpg as keyword arguments, where libpq's `sslmode` is called `ssl`.
    """
    url = _known(dsn).set(drivername=WITH_DRIVER)
    mode = url.query.get("sslmode")
    if mode is None:
        return url
    return url.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})


def _known(dsn: str) -> URL:
    url = make_url(dsn)
    if url.drivername not in KNOWN:
        raise ValueError(f"PROSA_DATABASE_URL must be a postgresql:// address, not {url.drivername}://")
    return url
