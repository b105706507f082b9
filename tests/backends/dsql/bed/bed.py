"""The bed itself: a server, its databases under the layer, and the proxy in front of it."""

from __future__ import annotations

from pathlib import Path

import psycopg

from backends.dsql.bed.proxy import Proxy
from backends.dsql.bed.statements import judged
from backends.postgres.server import PostgresServer

ADMIN = "admin"
_LAYER = Path(__file__).with_name("layer.sql")
_SETTINGS = (
    f"GRANT ALL ON DATABASE {{database}} TO {ADMIN}",
    f"GRANT ALL ON SCHEMA public TO {ADMIN}",
    f"ALTER ROLE {ADMIN} SET default_transaction_isolation = 'repeatable read'",
    f"ALTER ROLE {ADMIN} SET TimeZone = 'UTC'",
)


class DsqlBed:
    """`url` is what a client is given; `inside` goes around the layer, as the service itself would."""

    def __init__(self) -> None:
        self._server = PostgresServer(version=16)
        self._server.start()
        with psycopg.connect(self._server.url(), autocommit=True) as sql:
            sql.execute(_LAYER.read_text(encoding="utf-8"))
            for setting in _SETTINGS:
                sql.execute(setting.format(database="postgres"))
        self._proxy = Proxy(self._server.port, judged)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{ADMIN}@127.0.0.1:{self._proxy.port}/{database}"

    def inside(self, database: str = "postgres") -> str:
        return self._server.url(database)

    @property
    def server(self) -> PostgresServer:
        """What is below: it can be killed and started again."""
        return self._server

    def limit(self, *, rows: int = 3000, size: int = 10 * 1024 * 1024) -> None:
        """Lower limits make small tests of large tables."""
        self._set("UPDATE bed.limits SET rows = %s, bytes = %s", rows, size)

    def conflict(self, *, commits: int = 0, ddl: int = 0) -> None:
        """So many of the next commits that wrote rows, and of the next DDL, fail with 40001."""
        self._set(
            "UPDATE bed.faults SET commits = (SELECT last_value FROM bed.commits_seen) + %s, "
            "ddl = (SELECT last_value FROM bed.ddl_seen) + %s",
            commits,
            ddl,
        )

    def conflicts_left(self) -> tuple[int, int]:
        with psycopg.connect(self.inside()) as sql:
            found = sql.execute(
                "SELECT commits - (SELECT last_value FROM bed.commits_seen), "
                "ddl - (SELECT last_value FROM bed.ddl_seen) FROM bed.faults"
            ).fetchone()
        assert found is not None
        return max(found[0], 0), max(found[1], 0)

    def _set(self, sql: str, *values: int) -> None:
        with psycopg.connect(self.inside(), autocommit=True) as connection:
            connection.execute(sql, values)

    def stop(self) -> None:
        self._proxy.close()
        self._server.stop()
