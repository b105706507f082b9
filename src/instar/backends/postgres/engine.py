"""Opens a PostgreSQL environment: one connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from instar.backends.postgres.backend import PostgresBackend
from instar.backends.postgres.session import Patience, Session, conninfo_of
from instar.backends.registry import Engine, EngineSettings
from instar.errors import ProjectError

_DRIVER = ("host", "port", "user", "password", "sslmode", "sslrootcert", "passfile", "service")


def open_engine(settings: EngineSettings, note: Callable[[str], None]) -> Engine:
    """From a URL, or host, port, database, user and password; what is missing, libpq finds itself."""
    del note
    options = settings.options
    given = {key: options[key] for key in _DRIVER if key in options}
    if settings.database:
        given["dbname"] = settings.database
    session = Session(conninfo_of(options.get("url"), given), patience_of(options))
    backend = PostgresBackend(session)
    return Engine({"": backend, "postgres": backend}, "", backend.close)


def patience_of(options: Mapping[str, str]) -> Patience:
    """`lock_timeout` in seconds, `lock_attempts`, and the rows of a copy's first batch."""
    plain = Patience()
    try:
        return Patience(
            lock_timeout=float(options.get("lock_timeout", plain.lock_timeout)),
            attempts=int(options.get("lock_attempts", plain.attempts)),
            batch=int(options.get("batch_rows", plain.batch)),
        )
    except ValueError as error:
        raise ProjectError(
            "E104", f"lock_timeout, lock_attempts and batch_rows are numbers: {error}"
        ) from None
