"""The state in a schema of a PostgreSQL database: its format, short transactions, its failures in our words.

Nothing depends on the session: each transaction says its settings itself, and a connection that was lost
between two transactions is made again. The server's clock counts, for it is the only one that all share.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from instar.errors import StateError, UsageError
from instar.state.database import APPLICATION, BUSY_SECONDS, FORMAT, Answer, Database
from instar.state.redact import redacted
from instar.state.tables import MODEL_TABLES, TABLES

SCHEMA = "instar"
PRODUCT = "instar"
Rows = list[tuple[Any, ...]]

_SCHEMA_IN_URL = re.compile(r"(?<=[?&])schema=([^&]*)&?")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_PORTS = re.compile(r"[0-9,]*")
_TYPES = {"TEXT": 'TEXT COLLATE "C"', "REAL": "DOUBLE PRECISION", "INTEGER": "BIGINT"}
_TYPE = re.compile(rf"\b({'|'.join(_TYPES)})\b")
_ABOUT = "CREATE TABLE about (product TEXT NOT NULL, format INTEGER NOT NULL)"
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
# A journal entry that the disk forgets is worse than one that took longer to write.
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
_IN_SCHEMA = (
    "SELECT c.relname, has_schema_privilege(n.oid, 'USAGE') FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
    " ON n.oid = c.relnamespace WHERE n.nspname = ?"
)
_DEFAULTS = {
    "application_name": "instar",
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    # A connection that a firewall has forgotten is noticed within a minute, not within hours.
    "keepalives_idle": "20",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

_SHOWN = 400
_UP = "Is the server up, and is the address that `state` in instar.yml says right?"
_GRANT = "The role needs its schema (CREATE on the database makes it) and the tables in it."


class PostgresDatabase(Database):
    """One schema holds the whole store; the row of its table `about` is what writers queue for."""

    lost = "rename the schema"

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._conninfo, self.schema, self.title = _read(url)
        self._name = f'"{self.schema}"'
        self._connection: psycopg.Connection[Rows] | None = None
        self._now = 0.0
        with self._words():
            self._connected()

    def exists(self) -> bool:
        """Whether the store has been made; an error when something else is there under its name."""
        with self._words():
            found: dict[str, bool] = dict(self._rows(_IN_SCHEMA, [self.schema]))
            if not found:
                return False
            # Without it the server would say that there are no tables.
            if not all(found.values()):
                raise self.unusable("the role has no USAGE on the schema", _GRANT)
            about = self._rows("SELECT * FROM about", ()) if "about" in found else []
            if [row[0] for row in about] != [PRODUCT]:
                raise StateError(
                    "E301",
                    f"{self.title} is not a state store of Instar",
                    hint="Say another schema at the end of the address: …?schema=NAME.",
                )
            self.check_format(about[0][1])
            return True

    def make(self) -> None:
        """All tables at once, by one of those who want to."""
        if self.exists():
            return
        with self._words():
            encoding = self._connected().info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise self.unusable(
                    f"the database has the encoding {encoding}", "Take a database in UTF8."
                )
            self._start(f"SELECT pg_advisory_xact_lock({APPLICATION})")
            self._inside = True
            try:
                if not self.exists():
                    self._create()
                self._commit()
            except BaseException:
                self._rollback()
                raise
            finally:
                self._inside = False

    def _create(self) -> None:
        spaces = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = ?"
        if not self._rows(spaces, [self.schema]):
            self.execute(f"CREATE SCHEMA {self._name}")
        for statement in (*TABLES, *MODEL_TABLES, _ABOUT):
            self.execute(_TYPE.sub(lambda found: _TYPES[found[0]], statement))
        self.execute("INSERT INTO about VALUES (?, ?)", (PRODUCT, FORMAT))

    def clock(self) -> float:
        """The server's time; inside a transaction, that of its beginning."""
        with self._guard:
            return self._now if self._inside else float(self.read(_NOW)[0][0])

    def another(self) -> PostgresDatabase:
        return PostgresDatabase(self._url)

    def add_tables(self, statements: Sequence[str]) -> None:
        """They were all made with the schema; a role that may only read needs none."""

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Answer:
        return self._connected().execute(_marks(sql), [_storable(v) for v in values])

    def executemany(self, sql: str, rows: Any, /) -> None:
        with self._connected().cursor() as cursor:
            cursor.executemany(_marks(sql), [[_storable(v) for v in row] for row in rows])

    def _sql(self) -> PostgresDatabase:
        return self

    def _begin(self) -> None:
        about, now = self._start("SELECT product, format FROM about FOR UPDATE", _NOW)
        try:
            if [row[0] for row in about] != [PRODUCT]:
                raise self.damaged("its table 'about' does not say what it is")
            self.check_format(about[0][1])
        except StateError:
            self._rollback()
            raise
        self._now = float(now[0][0])

    def _start(self, *statements: str) -> list[Rows]:
        """A transaction begins, with what each of the statements answers."""
        wait = round(BUSY_SECONDS * 1000)
        settings = (
            "BEGIN ISOLATION LEVEL READ COMMITTED",
            f"SET LOCAL search_path = {self._name}",
            f"SET LOCAL lock_timeout = {wait}",
            # A client that sleeps in the middle must not keep all the others waiting.
            f"SET LOCAL idle_in_transaction_session_timeout = {wait}",
            _DURABLE,
        )
        return self._answers("; ".join([*settings, *statements]))[len(settings) :]

    def _commit(self) -> None:
        connection = self._connected()
        # The server answers the COMMIT of a transaction that has failed with a quiet ROLLBACK.
        if connection.info.transaction_status == pq.TransactionStatus.INERROR:
            raise psycopg.OperationalError("the transaction has failed before its end")
        connection.commit()

    def _rollback(self) -> None:
        connection = self._connection
        if connection is not None and not connection.closed:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()

    def _rows(self, sql: str, values: Sequence[Any]) -> Rows:
        if self._inside:
            return self._answers(_marks(sql), values)[0]
        text = f"BEGIN READ ONLY; SET LOCAL search_path = {self._name}; {_marks(sql)}; COMMIT"
        return self._answers(text, values)[2]

    def _answers(self, text: str, values: Sequence[Any] = ()) -> list[Rows]:
        """One journey to the server; outside a transaction, a second one if the connection was gone."""
        old = self._connection if self._connection and not self._connection.closed else None
        try:
            return self._sent(text, values)
        except psycopg.Error:
            if self._inside:
                raise
            self._rollback()
            if old is None or not old.closed:
                raise
        return self._sent(text, values)

    def _sent(self, text: str, values: Sequence[Any]) -> list[Rows]:
        with psycopg.ClientCursor(self._connected()) as cursor:
            cursor.execute(text, [_storable(v) for v in values])
            found: list[Rows] = []
            while True:
                found.append(cursor.fetchall() if cursor.description is not None else [])
                if not cursor.nextset():
                    return found

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or (self._connection.closed and not self._inside):
            self._connection = psycopg.connect(
                self._conninfo, autocommit=True, prepare_threshold=None
            )
        return self._connection

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error) -> StateError:
        """By SQLSTATE; the driver's text names host and role, but no password."""
        state = error.sqlstate or ""
        said = redacted(" ".join(str(error).split())[:_SHOWN] or type(error).__name__)
        if state in ("42P01", "42703") or state.startswith("XX"):
            return self.damaged(said)
        if state in ("42501", "25006", "3F000"):
            return self.unusable(said, _GRANT)
        if state in ("55P03", "57014", "40P01", "40001"):
            return self.busy()
        if state == "53100":
            return self.full(said)
        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if (
            state[:2] in ("08", "28", "53", "57")
            or state in ("25P03", "3D000")
            or (lost and not state)
        ):
            hint = _UP if "password" not in said else "Look where the password comes from."
            return StateError("E312", f"{self.title} cannot be reached: {said}", hint=hint)
        return StateError(
            "E313",
            f"{self.title} refused a statement ({state or type(error).__name__}): {said}",
            hint="What was journalled is kept. Is it a plain PostgreSQL, and its schema untouched?",
        )


def _read(url: str) -> tuple[str, str, str]:
    """What the driver takes, the schema, and a title without the user and the password.

    The driver's own complaint is not shown: a password that is not written as it must be is in it.
    """
    named = _SCHEMA_IN_URL.search(url)
    schema = unquote(named[1]) if named else SCHEMA
    try:
        read = conninfo_to_dict(_SCHEMA_IN_URL.sub("", url).rstrip("?&"))
    except (psycopg.Error, UnicodeError):
        raise _no_address() from None
    given = {key: str(value) for key, value in read.items() if value is not None}
    # Where a password's own @, / or : splits the address, the rest of it is taken for one of these.
    places = [given.get(key, "") for key in ("host", "dbname", "port")]
    if "@" in "".join(places) or not _PORTS.fullmatch(places[-1]) or not _PLAIN.fullmatch(schema):
        raise _no_address()
    words = {"host": given.get("host"), "database": given.get("dbname"), "schema": schema}
    where = ", ".join(f"{word} '{value}'" for word, value in words.items() if value)
    title = f"the state store on PostgreSQL ({where})"
    return make_conninfo("", **{**_DEFAULTS, **given}), schema, title


def _no_address() -> UsageError:
    return UsageError(
        "E311",
        "`state` in instar.yml is no address of a PostgreSQL database",
        hint="Write `postgresql://user:password@host:5432/database`, with odd characters of the"
        " password as %40 (for @), %2F (for /) and so on; `?schema=NAME` takes a plain name.",
    )


def _marks(sql: str) -> str:
    return sql.replace("?", "%s")


def _storable(value: Any) -> Any:
    """Text there cannot hold the character zero."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
