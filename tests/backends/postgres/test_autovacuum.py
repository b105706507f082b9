"""An autovacuum holds a lock that the swap needs, and lets go only of who waits longer than deadlock_timeout."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World, keyed, widening
from backends.world import BIG, at

Connection = psycopg.Connection[tuple[object, ...]]
STORED = """SELECT c.relname, c.reloptions, t.reloptions FROM pg_class c
LEFT JOIN pg_class t ON t.oid = c.reltoastrelid
WHERE c.relnamespace = %s::regnamespace AND c.relname = ANY(%s) ORDER BY 1"""
OFF = ["autovacuum_enabled=false"]


def stored(world: World, *names: str) -> list[tuple[object, ...]]:
    return world.sql(STORED, [world.schema, list(names)])


@pytest.mark.parametrize(
    ("own", "table", "toast"),
    [
        ("", None, None),
        (
            "ALTER TABLE t SET (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = false)",
            ["autovacuum_enabled=false", "fillfactor=70"],
            OFF,
        ),
    ],
)
def test_none_comes_to_the_copy_and_the_new_table_has_what_the_old_one_had(
    world: World, own: str, table: object, toast: object
) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int, w text); INSERT INTO t VALUES (1, 2)")
    if own:
        world.sql(own)
    live = world.live()
    assert live is not None
    columns = [
        keyed(world, "n", BIG).table.columns[1] if c.name == "n" else c for c in live.columns
    ]
    during: list[tuple[object, ...]] = []
    plan = world.plan(world.want(*columns, primary_key=("id",)))
    look = at(
        "recreate entered build",
        lambda: during.extend(stored(world, "t__instar_new", "t__instar_log")),
    )
    world.run(plan, look)
    assert [row[1] for row in during] == [OFF, OFF]
    assert during[1][2] == OFF
    ((_, after, after_toast),) = stored(world, "t")
    assert (sorted(after) if after else None, after_toast) == (table, toast)  # type: ignore[call-overload]


@pytest.fixture
def busy(postgres: PostgresServer, world: World) -> Iterator[World]:
    """A server whose autovacuum comes every second."""
    world.sql("ALTER SYSTEM SET autovacuum_naptime = 1")
    world.sql("SELECT pg_reload_conf()")
    yield world
    world.sql("ALTER SYSTEM RESET autovacuum_naptime")
    world.sql("SELECT pg_reload_conf()")


def test_an_autovacuum_of_the_table_gives_way_to_the_swap(busy: World) -> None:
    plan = widening(busy, 5000)

    def vacuumed() -> None:
        """One that would take minutes."""
        busy.sql(
            "ALTER TABLE t SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1, "
            "autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0)"
        )
        busy.sql("UPDATE t SET n = n + 1")
        until = time.monotonic() + 60
        while not busy.sql(
            "SELECT 1 FROM pg_stat_progress_vacuum WHERE relid = %s::regclass", [str(busy.t)]
        ):
            assert time.monotonic() < until, "no autovacuum came"
            time.sleep(0.05)

    busy.run(plan, at("recreate entered swap", vacuumed))
    assert busy.sql("SELECT count(*), sum(n), pg_typeof(min(n))::text FROM t") == [
        (5000, 12507500, "bigint")
    ]


WAITING = """SELECT 1 FROM pg_locks WHERE NOT granted AND relation IN
(SELECT oid FROM pg_class WHERE relname = 't__instar_new')"""


def test_writers_go_on_while_the_swap_waits_for_whoever_holds_the_copy(
    world: World, other: Connection
) -> None:
    plan = widening(world, 1)
    failed: list[BaseException] = []

    def write() -> None:
        """A third client, once the swap waits; the copy is let go of behind it."""
        try:
            with psycopg.connect(world.url, autocommit=True) as client:
                client.execute(f"SET search_path = {world.schema}; SET lock_timeout = '200ms'")
                while not client.execute(WAITING).fetchall():
                    time.sleep(0.02)
                client.execute("INSERT INTO t VALUES (2, 3)")
        except BaseException as error:
            failed.append(error)
        finally:
            other.execute("ROLLBACK")

    writer = threading.Thread(target=write)

    def held() -> None:
        other.execute("BEGIN; LOCK TABLE t__instar_new IN SHARE UPDATE EXCLUSIVE MODE")
        writer.start()

    world.run(plan, at("recreate cut-over", held))
    writer.join()
    assert failed == []
    assert world.sql("SELECT id, n FROM t ORDER BY id") == [(1, 1), (2, 3)]
