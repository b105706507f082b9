"""What is live, read in a handful of queries; what is no table is named as what it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from instar.backends.base import NotATable, Outcome, RunContext
from instar.backends.postgres.engine import open_engine, patience_of
from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.inspect import read_tables
from instar.backends.registry import EngineSettings, rules_for
from instar.core.schema import Check, TableName, Unique
from instar.core.types import Column, Integer, String
from instar.errors import InstarError, OutcomeUnknown

DDL = """
CREATE TABLE parent (k int PRIMARY KEY);
CREATE TABLE t (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  num serial,
  parent int REFERENCES parent,
  "Odd ""name" varchar(5) DEFAULT 'x' NOT NULL CHECK ("Odd ""name" <> ''),
  twice int GENERATED ALWAYS AS (num * 2) STORED,
  UNIQUE (num, parent)
);
COMMENT ON TABLE t IS 'about t';
COMMENT ON COLUMN t.num IS 'about num';
CREATE INDEX partial ON t (lower("Odd ""name")) WHERE num > 3;
CREATE TABLE child (t bigint REFERENCES t);
CREATE VIEW v AS SELECT id, num FROM t;
CREATE MATERIALIZED VIEW m AS SELECT id FROM v;
CREATE TABLE parted (id int) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (10);
"""


def test_a_table_with_everything(world: World) -> None:
    world.sql(DDL)
    world.sql("ALTER TABLE t ADD CONSTRAINT later CHECK (num > 0) NOT VALID")
    live = world.live()
    assert live is not None
    assert live.columns == (
        Column("id", Integer(64), nullable=False, identity=1),
        Column("num", Integer(32), nullable=False, comment="about num", identity=2),
        Column("parent", Integer(32), identity=3),
        Column('Odd "name', String(5), nullable=False, default="'x'", identity=4),
        Column("twice", Integer(32), identity=5, generated='"num" * 2'),
    )
    assert live.primary_key == ("id",)
    assert live.comment == "about t"
    assert set(live.constraints) == {
        Check('t_Odd "name_check', '("Odd ""name")::text <> \'\'::text'),
        Unique("t_num_parent_key", ("num", "parent")),
    }
    facts = facts_of(live)
    assert [(k.name, k.table, k.columns) for k in facts.outgoing] == [
        ("t_parent_fkey", f"{world.schema}.parent", ("parent",))
    ]
    assert [(k.table, k.columns) for k in facts.incoming] == [(f"{world.schema}.child", ("id",))]
    assert [(i.name, i.columns) for i in facts.indexes] == [("partial", ("num", 'Odd "name'))]
    assert [(s.column, s.identity) for s in facts.sequences] == [("id", "ALWAYS"), ("num", "")]
    assert [v.columns for v in facts.views] == [(), ("id", "num")]
    assert facts.unvalidated == ("later",)
    assert facts.owner == "postgres"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v", "a view"),
        ("m", "a materialized view"),
        ("parted", "a partitioned table"),
        ("part", "a partition of another table"),
    ],
)
def test_what_is_no_table(world: World, name: str, kind: str) -> None:
    world.sql(DDL)
    place = TableName(world.schema, name)
    assert world.backend.inspect([place]) == {place: NotATable(place, kind)}
    assert place not in world.backend.list_tables(world.schema)


def test_a_thousand_tables_take_as_many_queries_as_one(world: World) -> None:
    world.sql(
        "DO $$ BEGIN FOR i IN 1..1000 LOOP "
        "EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, a text)', i); END LOOP; END $$"
    )
    asked: list[str] = []

    def ask(sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        asked.append(sql)
        return world.backend.session.ask(sql, values)

    names = [TableName(world.schema, f"t{n}") for n in range(1, 1002)]
    found = read_tables(ask, names)
    assert len(found) == 1000
    assert len(asked) == 8


# --- opening ---


def settings(**options: str) -> EngineSettings:
    return EngineSettings("postgres", "", Path("."), options=options)


def test_opened_by_single_settings(postgres: PostgresServer) -> None:
    engine = open_engine(
        settings(host="127.0.0.1", port=str(postgres.port), user="postgres"), lambda _: None
    )
    assert engine.backend("").rules.name == "postgres"
    engine.close()
    engine.close()


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(InstarError) as caught:
        open_engine(settings(url="postgresql://me:hunter2@127.0.0.1:1/db"), lambda _: None)
    assert caught.value.code == "E251"
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_a_wrong_url_does_not_show_the_password() -> None:
    with pytest.raises(InstarError) as caught:
        open_engine(settings(url="postgresql://me:hunter2@host:notaport/db"), lambda _: None)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_a_wrong_password(postgres: PostgresServer) -> None:
    with pytest.raises(InstarError) as caught:
        open_engine(
            settings(url=postgres.url("nowhere").replace("postgres@", "nobody:hunter2@")),
            lambda _: None,
        )
    assert caught.value.code == "E251"
    assert "hunter2" not in caught.value.message


def test_no_privilege(postgres: PostgresServer, world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY)")
    if not world.sql("SELECT 1 FROM pg_roles WHERE rolname = 'guest'"):
        world.sql("CREATE ROLE guest LOGIN")
    world.sql(f"GRANT USAGE ON SCHEMA {world.schema} TO guest; GRANT SELECT ON t TO guest")
    guest = World(postgres.url().replace("postgres@", "guest@"))
    guest.schema = world.schema
    plan = guest.plan(
        guest.want(Column("id", Integer(32)), Column("n", Integer(32)), primary_key=("id",))
    )
    with pytest.raises(InstarError) as caught:
        guest.run(plan)
    assert caught.value.code == "E252"
    guest.close()


def test_settings_that_are_no_numbers() -> None:
    with pytest.raises(InstarError) as caught:
        patience_of({"lock_timeout": "soon"})
    assert caught.value.code == "E104"


def test_the_rules_need_no_server() -> None:
    rules = rules_for("postgres", "")
    assert rules.name == "postgres"


def test_a_server_that_crashes_loses_nothing() -> None:
    """The server is killed in the middle of a copy and started again: a new client goes on."""
    with PostgresServer() as server:
        world = World(server.url())
        world.enter("s")
        world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
        world.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 1000) AS i")
        wanted = world.want(
            Column("id", Integer(32)), Column("n", Integer(64)), primary_key=("id",)
        )
        plan = world.plan(wanted)
        seen: list[str] = []

        def crash(point: str) -> None:
            seen.append(point)
            if seen.count("recreate batch, not committed") == 3:
                server.kill()

        memo: dict[str, str] = {}
        with pytest.raises(OutcomeUnknown):
            world.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, crash))
        world.close()
        server.start()
        again = World(server.url())
        again.enter("s")
        again.sql("INSERT INTO t VALUES (5000, 5000)")
        assert again.backend.outcome(plan.steps[0], plan.live, memo) is Outcome.NOT_DONE
        again.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, lambda _: None))
        assert again.backend.outcome(plan.steps[0], plan.live, memo) is Outcome.DONE
        assert again.sql("SELECT count(*), sum(n) FROM t") == [(1001, 505500)]
        again.close()


def test_rows_are_counted_where_nobody_has_looked_and_as_far_as_the_role_may(world: World) -> None:
    world.sql(
        "CREATE TABLE t (id int) WITH (autovacuum_enabled = false); INSERT INTO t VALUES (1), (2)"
    )
    assert world.backend.measure([world.t])[world.t].rows == 2
    world.sql("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger")
    session = world.backend.session
    session.execute("SET ROLE stranger")
    try:
        assert world.backend.measure([world.t])[world.t].rows is None
    finally:
        session.execute("RESET ROLE")
    world.sql("ANALYZE t; INSERT INTO t VALUES (3)")
    assert world.backend.measure([world.t])[world.t].rows == 2, "what the engine believes"
