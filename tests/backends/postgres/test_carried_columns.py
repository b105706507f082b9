"""What hangs on single columns of a table that is recreated: sequences, and what goes with a column."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from backends.world import BIG, INT
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, Type

OWNED = {
    "a default that is more than its number": "text DEFAULT 'INV-' || nextval('numbers')",
    "no default": "int",
    "another default": "int DEFAULT 5",
    "its identity": "int GENERATED ALWAYS AS IDENTITY",
}
_DEFAULTS = """SELECT a.attname, pg_get_expr(adbin, adrelid), a.attidentity FROM pg_attribute a
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_OWNER = """SELECT s.relname, d.refobjid::regclass::text, d.refobjsubid FROM pg_class s
JOIN pg_depend d ON d.objid = s.oid AND d.deptype IN ('a', 'i') WHERE s.relkind = 'S'
AND s.relnamespace = current_schema()::regnamespace AND s.relname NOT LIKE '%instar%' ORDER BY 1"""


def as_live(world: World, **types: Type | None) -> Wanted:
    """The table as it is, but for the types of some columns; None: the column is left out."""
    live = world.live()
    assert live is not None
    columns = [replace(c, identity=None) for c in live.columns if types.get(c.name, c.type)]
    columns = [replace(c, type=types.get(c.name) or c.type) for c in columns]
    return world.want(*columns, primary_key=live.primary_key, constraints=live.constraints)


@pytest.mark.parametrize("column", OWNED.values(), ids=OWNED.keys())
def test_a_sequence_that_only_belongs_to_a_column_is_not_its_default(
    world: World, column: str
) -> None:
    world.sql(f"CREATE SEQUENCE numbers; CREATE TABLE t (id int PRIMARY KEY, code {column}, n int)")
    world.sql("ALTER SEQUENCE numbers OWNED BY t.code; INSERT INTO t (id) VALUES (1)")
    defaults, owners = world.sql(_DEFAULTS), world.sql(_OWNER)
    world.apply(as_live(world, n=BIG))
    assert (world.sql(_DEFAULTS), world.sql(_OWNER)) == (defaults, owners)


def test_a_foreign_key_and_statistics_go_with_their_column(world: World) -> None:
    world.sql(
        "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE t (id int PRIMARY KEY, n int, "
        "a int CONSTRAINT to_p REFERENCES p, b int CONSTRAINT also_p REFERENCES p);"
        "CREATE STATISTICS gone ON a, b FROM t; CREATE STATISTICS kept ON n, b FROM t;"
        "CREATE STATISTICS by_sum ON (a + b) FROM t"
    )
    plan = world.apply(as_live(world, n=BIG, a=None))
    assert "Not in the new table: a, the foreign key to_p" in str(plan.steps[0].confirm)
    assert [
        r[0]
        for r in world.sql(
            "SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = 't'::regclass"
        )
    ] == ["also_p"]
    assert world.sql("SELECT stxname FROM pg_statistic_ext WHERE stxrelid = 't'::regclass") == [
        ("kept",)
    ]


def test_a_column_of_a_table_whose_children_are_gone(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    world.sql("CREATE TABLE c () INHERITS (t); DROP TABLE c")
    assert world.sql("SELECT relhassubclass FROM pg_class WHERE oid = 't'::regclass") == [(True,)]
    world.apply(as_live(world, n=BIG))


def test_it_is_stored_where_and_how_it_was_whatever_is_usual(
    postgres: PostgresServer, world: World
) -> None:
    world.sql("SET allow_in_place_tablespaces = on")
    if not world.sql("SELECT 1 FROM pg_tablespace WHERE spcname = 'elsewhere'"):
        world.sql("CREATE TABLESPACE elsewhere LOCATION ''")
        world.sql("CREATE ACCESS METHOD heap_too TYPE TABLE HANDLER heap_tableam_handler")
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int) USING heap_too")
    world.sql("CREATE INDEX by_n ON t (n)")
    stored = (
        "SELECT relname, reltablespace, (SELECT amname FROM pg_am WHERE oid = relam) FROM pg_class "
        "WHERE oid = 't'::regclass OR oid = 'by_n'::regclass OR oid = 't_pkey'::regclass ORDER BY 1"
    )
    before = world.sql(stored)
    own = World(f"{postgres.url()}?options=-c%20default_tablespace%3Delsewhere")
    own.schema = world.schema
    own.apply(as_live(own, n=BIG))
    own.close()
    assert world.sql(stored) == before


@pytest.mark.parametrize("name", ["t", "t" * 63])
def test_a_column_that_becomes_required_has_a_name_after_the_table(world: World, name: str) -> None:
    """Not that of the copy on which it was made."""
    world.sql(f'CREATE TABLE "{name}" (id int PRIMARY KEY, f int NOT NULL, e int, n int)')
    world.sql(f'ALTER TABLE "{name}" RENAME CONSTRAINT "{named(world, name)["f"]}" TO e_first')
    world.sql(f'INSERT INTO "{name}" VALUES (1, 2, 3, 4)')
    columns = [Column(c, INT, nullable=False) for c in ("id", "f", "e")]
    place = TableName(world.schema, name)
    table = Table(place, (*columns, Column("n", BIG)), primary_key=("id",))
    before = named(world, name)
    world.apply(Wanted(table))
    after = named(world, name)
    assert {c: after[c] for c in before} == before
    assert not [n for n in after.values() if "__instar" in n]
    assert after["e"].endswith("_not_null")
    if name == "t":
        assert after["e"] == "t_e_not_null"


def test_a_name_that_is_taken_is_not_given_again(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, e int NOT NULL, n int)")
    world.sql("ALTER TABLE t RENAME e TO f; ALTER TABLE t ADD COLUMN e int")
    columns = [Column(c, INT, nullable=False) for c in ("id", "f", "e")]
    table = (columns[0], columns[1], Column("n", BIG), columns[2])
    world.apply(world.want(*table, primary_key=("id",)))
    found = named(world, "t")
    assert (found["f"], found["e"]) == ("t_e_not_null", "t_e_not_null1")


def named(world: World, table: str) -> dict[str, str]:
    """The names of its NOT NULL constraints, by column."""
    rows = world.sql(
        "SELECT attname, conname FROM pg_constraint JOIN pg_attribute "
        "ON attrelid = conrelid AND conkey = ARRAY[attnum] "
        "WHERE conrelid = quote_ident(%s)::regclass AND contype = 'n'",
        [table],
    )
    return {str(column): str(name) for column, name in rows}
