"""The state on PostgreSQL: made once, told from others' schemas, its troubles in coded words, no secret shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer
from instar.errors import EnvironmentProblem, InstarError, StateError, UsageError
from instar.state import Store, open_store
from instar.state import postgres as on_postgres
from instar.state.database import FORMAT

ORDERS = TableName("main", "orders")
TABLE = Table(ORDERS, (Column("id", Integer(64)),))
NOWHERE = Path("/nowhere")
_NUMBERS = count(1)

Sql = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """A database of its own."""
    name = f"state_{next(_NUMBERS)}"
    with psycopg.connect(postgres.url(), autocommit=True) as sql:
        sql.execute(f"CREATE DATABASE {name}")
        yield postgres.url(name)
        sql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def admin(database: str) -> Iterator[Sql]:
    with psycopg.connect(database, autocommit=True) as sql:
        yield sql


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with open_store(database, NOWHERE) as opened:
        yield opened


def refused(url: str, *, reading: bool = False) -> InstarError:
    with pytest.raises(InstarError) as caught:
        open_store(url, NOWHERE, reading=reading).close()
    return caught.value


def tables(sql: Sql) -> set[tuple[object, ...]]:
    return set(
        sql.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
    )


def of_guest(url: str) -> str:
    return url.replace("postgres@", "instar_guest@")


@pytest.fixture
def guest(admin: Sql, database: str) -> str:
    """The address of a role without any privilege."""
    if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = 'instar_guest'").fetchall():
        admin.execute("CREATE ROLE instar_guest LOGIN")
    return of_guest(database)


# --- made, and told from others' ---


def test_everything_is_in_one_schema(admin: Sql, database: str) -> None:
    assert tables(admin) == set()
    open_store(database, NOWHERE).close()
    assert {schema for schema, _ in tables(admin)} == {"instar"}
    assert admin.execute("SELECT * FROM instar.about").fetchall() == [("instar", FORMAT)]


def test_two_projects_have_a_schema_each(database: str) -> None:
    first, second = (f"{database}?sslmode=prefer&schema={name}" for name in ("shop", "billing"))
    with open_store(first, NOWHERE) as one, open_store(second, NOWHERE) as two:
        one.record_version("dev", ORDERS, TABLE)
        assert two.versions("dev", ORDERS) == ()
        with one.lock("dev", ORDERS, "me"), two.lock("dev", ORDERS, "me"):
            pass


def test_somebody_elses_schema_is_E301_and_left_alone(admin: Sql, database: str) -> None:
    admin.execute("CREATE SCHEMA instar; CREATE TABLE instar.about (product text)")
    before = tables(admin)
    for reading in (False, True):
        error = refused(database, reading=reading)
        assert error.code == "E301"
        assert "schema=NAME" in (error.hint or "")
    assert tables(admin) == before


def test_a_newer_format_is_E302_when_opened_and_when_written(
    store: Store, admin: Sql, database: str
) -> None:
    admin.execute("UPDATE instar.about SET format = format + 1")
    for reading in (False, True):
        assert refused(database, reading=reading).code == "E302"
    with pytest.raises(StateError) as caught:
        store.record_version("dev", ORDERS, TABLE)
    assert caught.value.code == "E302"
    admin.execute("UPDATE instar.about SET format = format - 1")
    store.record_version("dev", ORDERS, TABLE)


@pytest.mark.parametrize(
    "harm", ["DROP TABLE instar.versions", "DROP SCHEMA instar CASCADE", "DELETE FROM instar.about"]
)
def test_what_was_taken_away_is_E301(store: Store, admin: Sql, harm: str) -> None:
    admin.execute(harm)
    with pytest.raises(StateError) as caught:
        store.record_version("dev", ORDERS, TABLE)
    assert caught.value.code == "E301"
    assert "backup" in (caught.value.hint or "")


def test_a_table_that_was_altered_is_a_coded_error(store: Store, admin: Sql) -> None:
    admin.execute("ALTER TABLE instar.versions ADD CHECK (n > 5)")
    with pytest.raises(StateError) as caught:
        store.record_version("dev", ORDERS, TABLE)
    assert caught.value.code == "E313"
    assert store.kept("dev") == ()


def test_a_role_that_may_not_make_it_is_E305(guest: str) -> None:
    assert refused(guest).code == "E305"


def test_a_role_with_an_empty_schema_of_its_own_makes_it(admin: Sql, guest: str) -> None:
    admin.execute("CREATE SCHEMA instar AUTHORIZATION instar_guest")
    with open_store(guest, NOWHERE) as store:
        assert store.record_version("dev", ORDERS, TABLE) == 1


def test_a_role_that_may_only_read_can_look(store: Store, admin: Sql, guest: str) -> None:
    store.record_version("dev", ORDERS, TABLE)
    assert refused(guest, reading=True).code == "E305"
    admin.execute(
        "GRANT USAGE ON SCHEMA instar TO instar_guest;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA instar TO instar_guest"
    )
    with open_store(guest, NOWHERE, reading=True) as seen:
        assert [v.n for v in seen.versions("dev", ORDERS)] == [1]
        assert seen.models.results("dev") == ()
        with pytest.raises(StateError) as caught:
            seen.record_version("dev", ORDERS, TABLE)
    assert caught.value.code == "E305"


def test_a_database_in_another_encoding_is_E305(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as sql:
        sql.execute(
            "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'"
        )
    error = refused(postgres.url("latin"))
    assert (error.code, "LATIN1" in error.message) == ("E305", True)


# --- connections ---


def backends(sql: Sql) -> list[int]:
    rows = sql.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'instar'"
    ).fetchall()
    return [int(str(pid)) for (pid,) in rows]


def cut(sql: Sql) -> None:
    """The server ends every connection of a store."""
    for pid in backends(sql):
        assert sql.execute("SELECT pg_terminate_backend(%s, 5000)", [pid]).fetchall() == [(True,)]


def test_a_connection_that_was_lost_in_between_is_made_again(store: Store, admin: Sql) -> None:
    cut(admin)
    store.record_version("dev", ORDERS, TABLE)
    cut(admin)
    assert [v.n for v in store.versions("dev", ORDERS)] == [1]
    assert len(backends(admin)) == 1


def test_a_connection_that_is_lost_inside_a_transaction_is_E312_and_nothing_is_kept(
    store: Store, admin: Sql
) -> None:
    def work() -> None:
        with store._database.write():
            store.record_version("dev", ORDERS, TABLE)
            cut(admin)
            store.record_version("dev", TableName("main", "items"), TABLE)

    with pytest.raises(StateError) as caught:
        work()
    assert caught.value.code == "E312"
    assert store.versions("dev", ORDERS) == ()


def test_a_connection_that_is_lost_before_the_commit_is_E312(store: Store, admin: Sql) -> None:
    def work() -> None:
        with store._database.write():
            store.record_version("dev", ORDERS, TABLE)
            cut(admin)

    with pytest.raises(StateError) as caught:
        work()
    assert caught.value.code == "E312"
    assert store.versions("dev", ORDERS) == ()


def test_a_failed_statement_that_was_caught_does_not_pass_for_a_commit(store: Store) -> None:
    def work() -> None:
        with store._database.write() as sql:
            store.record_version("dev", ORDERS, TABLE)
            with pytest.raises(psycopg.Error):
                sql.execute("SELECT 1 / 0")

    with pytest.raises(StateError):
        work()
    assert store.versions("dev", ORDERS) == ()


def test_nothing_depends_on_the_session(store: Store) -> None:
    """Behind a pool that gives each transaction another connection, settings of a session are lost."""
    connection = store._database._connection  # type: ignore[attr-defined]
    with store.lock("dev", ORDERS, "me") as lock:
        connection.execute("DISCARD ALL")
        lock.check()
        connection.execute("DISCARD ALL")
        assert store.holder("dev", ORDERS) is not None


def test_a_transaction_that_somebody_keeps_open_is_E307(
    store: Store, admin: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_postgres, "BUSY_SECONDS", 0.2)
    with admin.transaction():
        admin.execute("SELECT * FROM instar.about FOR UPDATE")
        with pytest.raises(StateError) as caught:
            store.record_version("dev", ORDERS, TABLE)
    assert caught.value.code == "E307"
    store.record_version("dev", ORDERS, TABLE)


def test_a_client_that_sleeps_in_a_transaction_is_sent_away(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        with store._database.write():
            monkeypatch.undo()
            with open_store(database, NOWHERE) as other:
                other.record_version("dev", ORDERS, TABLE)

    monkeypatch.setattr(on_postgres, "BUSY_SECONDS", 0.2)
    with pytest.raises(StateError) as caught:
        work()
    assert caught.value.code == "E312"


def test_a_role_whose_commits_do_not_wait_for_the_disk_waits_here(
    database: str, admin: Sql
) -> None:
    admin.execute("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        with open_store(database, NOWHERE) as store, store._database.write():
            assert store._database.read("SHOW synchronous_commit") == [("on",)]
    finally:
        admin.execute("ALTER ROLE postgres RESET synchronous_commit")


def test_a_standby_can_be_looked_at_and_is_E305_for_those_who_write() -> None:
    with PostgresServer() as server:
        with open_store(server.url(), NOWHERE) as store:
            store.record_version("dev", ORDERS, TABLE)
        server.kill()
        (server.root / "data" / "standby.signal").touch()
        server.start()
        with open_store(server.url(), NOWHERE, reading=True) as seen:
            assert [v.n for v in seen.versions("dev", ORDERS)] == [1]
        with open_store(server.url(), NOWHERE) as store, pytest.raises(StateError) as caught:
            store.record_version("dev", ORDERS, TABLE)
        assert caught.value.code == "E305"
        assert refused(f"{server.url()}?schema=other").code == "E305"


# --- the clock ---


def test_leases_go_by_the_clock_of_the_server(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.lock("dev", ORDERS, "me"):
        held = store.holder("dev", ORDERS)
        assert held is not None
        tomorrow = time.time() + 86400
        monkeypatch.setattr(time, "time", lambda: tomorrow)
        with open_store(database, NOWHERE) as other:
            with pytest.raises(StateError) as caught, other.lock("dev", ORDERS, "somebody"):
                pass
            other.keep("dev", ORDERS, ORDERS, "r")
            assert other.kept("dev")[0].when < held.expires
    assert caught.value.code == "E303"


# --- secrets and addresses ---


def told(error: InstarError) -> str:
    return f"{error.message} {error.hint} {error.__cause__} {error.__context__}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hush@127.0.0.1:1/db",
        "postgres://me:hush@127.0.0.1:1,127.0.0.1:2/db",
        "postgresql://me@127.0.0.1:1/db?password=hush",
        "postgresql://me:hush@no.such.host.invalid/db",
    ],
)
def test_a_server_that_is_not_there_is_E312_without_the_password(url: str) -> None:
    for reading in (False, True):
        error = refused(url, reading=reading)
        assert isinstance(error, StateError)
        assert error.code == "E312"
        assert "host '" in error.message
        assert "hush" not in f"{error.message} {error.hint}"
        assert error.__suppress_context__


def test_a_wrong_user_or_database_is_E312(postgres: PostgresServer) -> None:
    for url in (postgres.url("nowhere"), postgres.url().replace("postgres@", "nobody:hush@")):
        error = refused(url)
        assert error.code == "E312"
        assert "hush" not in told(error)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hu@sh@host/db",
        "postgresql://me:hu/sh@host/db",
        "postgresql://me:hush@host:sh/db",
        "postgresql://me:hush%2@host/db",
        "postgresql://me:hush@host/db?nosuch=sh",
        "postgresql://me:hush@host/db?schema=",
        "postgresql://me:hush@host/db?schema=a%22b",
        "postgresql://me:hush@host/db?schema=sh;drop",
    ],
)
def test_an_address_that_cannot_be_read_is_E311_and_shows_no_piece_of_it(url: str) -> None:
    error = refused(url)
    assert isinstance(error, UsageError)
    assert error.code == "E311"
    assert "sh" not in error.message
    assert "hush" not in f"{error.hint}"
    assert error.__suppress_context__ or error.__context__ is None


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "instar.state.postgres")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused("postgresql://me:hush@host/db")
    assert isinstance(error, EnvironmentProblem)
    assert (error.code, error.hint) == ("E230", "pip install 'instar[postgres]'")
