"""A CHECK is compared in the text that PostgreSQL keeps, however often that text is sent and reported again."""

from __future__ import annotations

import pytest

from backends.postgres.world import World
from backends.world import BIG, INT, TEXT
from instar.backends.postgres.scratch import Scratch
from instar.backends.postgres.session import Session
from instar.backends.postgres.settled import settled
from instar.core.schema import Check, Wanted
from instar.core.types import Column, String, Type, array
from instar.errors import InstarError, Interrupted, OutcomeUnknown

ID = Column("id", INT, nullable=False)
COLUMNS = (
    "v varchar(5), u varchar, t text, n int, m numeric(9, 2), f float8, va varchar[], b boolean"
)
EXPRESSIONS = [
    "v in ('x', 'y')",
    "v not in ('it''s, [y]', 'b)')",
    "u in ('x', null)",
    "t in ('x', 'y')",
    "v = any (array[u, v, 'z'])",
    "v = any (array['x', 'y']::varchar[])",
    "v in ('a', 'b') or not b and n in (1, -2)",
    "case when v in ('a', 'b') then coalesce(u, 'c') in ('c', 'd') else n > -1 end",
    "(v collate \"C\") in ('a', 'b')",
    "va[1] in ('a', 'b')",
    "va <@ array['a', 'b']::varchar[]",
    "array[array[v], array['x']] <> array[array['y']]::varchar[]",
    "m = any (array[1, 2])",
    "f = any (array[1, 2])",
    "length(u) < 100 and u like 'a%'",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_settled_text_is_what_the_server_reports_of_it(world: World, expression: str) -> None:
    first = reported(world, expression)
    second = reported(world, first)
    assert settled(first) == settled(second) == second == reported(world, second)


def reported(world: World, expression: str) -> str:
    world.sql("SET search_path = ''")
    world.sql(f"CREATE TABLE {world.schema}.c ({COLUMNS}, CHECK ({expression}))")
    rows = world.sql(
        "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conrelid = %s::regclass",
        [f"{world.schema}.c"],
    )
    world.sql(f"DROP TABLE {world.schema}.c; SET search_path = {world.schema}")
    return str(rows[0][0])


def wanted(world: World, expression: str, type_: Type, n: Type) -> Wanted:
    columns = (ID, Column("n", n), Column("b", type_))
    return world.want(*columns, primary_key=("id",), constraints=(Check("c", expression),))


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("b in ('x', 'y')", String(5)),
        ("b in ('x', 'y')", TEXT),
        ("b[1] in ('x', 'y')", array(String(5))),
    ],
)
def test_a_check_of_a_list_is_made_kept_by_a_recreation_and_by_a_native_change(
    world: World, expression: str, type_: Type
) -> None:
    world.apply(wanted(world, expression, type_, INT))
    world.apply(wanted(world, expression, type_, BIG))
    if type_ == String(5):
        world.apply(wanted(world, expression, String(9), BIG))


@pytest.mark.parametrize(
    ("expression", "sql", "type_"),
    [
        ("length(b) < 100", "varchar", TEXT),
        ("b in ('x', 'y')", "varchar", TEXT),
        ("b in ('x', 'y')", "varchar(5)", String(5)),
        ("'x' = any (b)", "varchar[]", array(TEXT)),
    ],
)
def test_a_check_that_somebody_made_is_no_change(
    world: World, expression: str, sql: str, type_: Type
) -> None:
    world.sql(
        f"CREATE TABLE t (id int PRIMARY KEY, n int, b {sql}, CONSTRAINT c CHECK ({expression}))"
    )
    assert world.plan(wanted(world, expression, type_, INT)).steps == ()
    plan = world.apply(wanted(world, expression, type_, BIG))
    assert [type(c.change).__name__ for c in plan.changes] == ["ModifyColumn"]


def test_a_generated_column_over_a_list_is_kept_by_a_recreation(world: World) -> None:
    world.sql(
        "CREATE TABLE t (id int PRIMARY KEY, n int, b varchar(5), "
        "g boolean GENERATED ALWAYS AS (b IN ('x', 'y')) STORED)"
    )
    live = world.live()
    assert live is not None
    columns = [Column("n", BIG) if c.name == "n" else c for c in live.columns]
    world.apply(world.want(*columns, primary_key=("id",)))


@pytest.mark.parametrize("error", [OutcomeUnknown("E257", "lost"), Interrupted("E223", "stopped")])
def test_a_lost_connection_is_no_fault_of_the_expression(
    world: World, monkeypatch: pytest.MonkeyPatch, error: InstarError
) -> None:
    scratch = Scratch(world.backend.session)

    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(Session, "describe", failing)
    monkeypatch.setattr(Session, "ask", failing)
    for asked in (scratch.check, scratch.type_of):
        with pytest.raises(type(error)):
            asked("id > 0", [ID])
