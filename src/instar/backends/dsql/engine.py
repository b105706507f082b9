"""Opens an Aurora DSQL environment: one connection, its password a token or taken from the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from instar.backends.dsql.backend import DsqlBackend
from instar.backends.dsql.batches import MOST_ROWS
from instar.backends.dsql.session import DsqlSession
from instar.backends.dsql.token import ADMIN, region_of, token
from instar.backends.postgres.engine import patience_of
from instar.backends.postgres.session import conninfo_of
from instar.backends.registry import Engine, EngineSettings
from instar.errors import ProjectError

_DATABASE = "postgres"
_BATCH = 1000


def open_engine(settings: EngineSettings, note: Callable[[str], None]) -> Engine:
    """From a host (or a URL); `batch_rows` never passes what a transaction may write."""
    del note
    options = settings.options
    patience = patience_of({"batch_rows": str(_BATCH), **options})
    patience = replace(patience, batch=max(1, min(patience.batch, MOST_ROWS)))
    backend = DsqlBackend(DsqlSession(_conninfo(settings), patience))
    return Engine({"": backend, "dsql": backend}, "", backend.close)


def _conninfo(settings: EngineSettings) -> Callable[[], str]:
    options, engine = settings.options, DsqlSession.engine
    if url := options.get("url"):
        return lambda: conninfo_of(url, {}, engine)
    host, user = options.get("host"), options.get("user", ADMIN)
    if not host:
        raise ProjectError("E104", "an environment of type dsql needs a host (or a url)")
    given = {
        "host": host,
        "user": user,
        "dbname": settings.database or _DATABASE,
        "port": options.get("port", ""),
        "sslmode": options.get("sslmode", "verify-full"),
        "sslrootcert": options.get("sslrootcert", "system"),
    }
    if password := options.get("password"):
        return lambda: conninfo_of(None, {**given, "password": password}, engine)
    region = options.get("region") or region_of(host)
    if region is None:
        raise ProjectError("E104", f"the region of {host} is not in its name: write `region`")
    return lambda: conninfo_of(None, {**given, "password": token(host, region, user)}, engine)
