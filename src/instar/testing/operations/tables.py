"""Operations on what holds for a table: keys, constraints, defaults, comments, layout, properties."""

from __future__ import annotations

from dataclasses import replace

from instar.core.schema import Check, Hint, Unique
from instar.testing.operations.kit import X, plain
from instar.testing.scenario import DROP, Row, Scenario, Shape
from instar.testing.words import BIGINT, INT, c, required, shape


def tables() -> tuple[Scenario, ...]:
    return (*_rest(), *_constrained(), *_layout(), *_said())


def _rest() -> tuple[Scenario, ...]:
    full: tuple[Row, ...] = ({"id": 1, "x": 1}, {"id": 2, "x": 2})
    keyed = Shape((required("id", INT), X), primary_key=("id",))
    limit = Check("limit_x", "x < 100")
    return (
        plain("set NOT NULL", shape(X), shape(required("x", INT)), rows=full, after=full),
        plain("drop NOT NULL", shape(required("x", INT)), shape(X), rows=full, after=full),
        plain("set a default", shape(X), shape(c("x", INT, default="5"))),
        plain("drop a default", shape(c("x", INT, default="5")), shape(X)),
        plain("set a comment", shape(X), shape(c("x", INT, comment="said"))),
        plain(
            "fill old rows of a new column",
            shape(X),
            shape(X, c("n", INT)),
            after=({"id": 1, "x": 1, "n": 9}, {"id": 2, "x": None, "n": 9}),
            hints={("n",): Hint(default="9")},
        ),
        plain("add a primary key", Shape((required("id", INT), X)), keyed),
        plain("add a unique key", shape(X), shape(X, constraints=(Unique("one_x", ("x",)),))),
        plain("add a CHECK", shape(X), shape(X, constraints=(limit,))),
        plain("drop a CHECK", shape(X, constraints=(limit,)), shape(X), policy=DROP),
    )


def _constrained() -> tuple[Scenario, ...]:
    """A key or a CHECK that goes, or that a changing column is part of."""
    keyed = Shape((required("id", INT), X), primary_key=("id",))
    limit, later = Check("limit_x", "x < 100"), Check("limit_x", "n < 100")
    renamed: tuple[Row, ...] = ({"id": 1, "n": 1}, {"id": 2, "n": None})
    return (
        plain("drop a primary key", keyed, Shape((required("id", INT), X)), policy=DROP),
        plain(
            "drop a unique key",
            shape(X, constraints=(Unique("one_x", ("x",)),)),
            shape(X),
            policy=DROP,
        ),
        plain(
            "rename a column that a CHECK names",
            shape(X, constraints=(limit,)),
            shape(c("n", INT), constraints=(later,)),
            after=renamed,
            hints={("n",): Hint(renamed_from="x")},
        ),
        plain(
            "widen a column that a CHECK names",
            shape(X, constraints=(limit,)),
            shape(c("x", BIGINT), constraints=(limit,)),
        ),
    )


def _layout() -> tuple[Scenario, ...]:
    base, more, other = shape(X), shape(X, c("y", INT)), shape(c("n", INT))
    pair: tuple[Row, ...] = ({"id": 1, "x": 1, "y": 2}, {"id": 2, "x": None, "y": 3})
    renamed: tuple[Row, ...] = ({"id": 1, "n": 1}, {"id": 2, "n": None})
    from_x = {("n",): Hint(renamed_from="x")}

    def clustered(shape_: Shape, *columns: str) -> Shape:
        return replace(shape_, cluster_by=columns)

    def parted(shape_: Shape, *columns: str) -> Shape:
        return replace(shape_, partition_by=columns)

    def both(name: str, live: Shape, wanted: Shape) -> Scenario:
        return plain(name, live, wanted, rows=pair, after=pair)

    def moved(name: str, live: Shape, wanted: Shape) -> Scenario:
        return plain(name, live, wanted, after=renamed, hints=from_x)

    wide = shape(c("x", BIGINT))
    return (
        plain("cluster a table", base, clustered(base, "x")),
        both("change clustering", clustered(more, "x"), clustered(more, "y")),
        plain("stop clustering", clustered(base, "x"), base, policy=DROP),
        moved("rename a clustering column", clustered(base, "x"), clustered(other, "n")),
        plain("partition a table", base, parted(base, "x")),
        plain("partition a table by a transform", base, parted(base, "bucket(4, x)")),
        both("change partitioning", parted(more, "x"), parted(more, "y")),
        plain("stop partitioning", parted(base, "x"), base, policy=DROP),
        moved("rename a partition column", parted(base, "x"), parted(other, "n")),
        plain("widen a partition column", parted(base, "x"), parted(wide, "x")),
    )


def _said() -> tuple[Scenario, ...]:
    base = shape(X)

    def owned(who: str) -> Shape:
        return replace(base, properties={"team": who})

    def tracked(on: bool) -> Shape:
        return replace(base, change_tracking=on)

    return (
        plain("set a table's comment", base, replace(base, comment="said")),
        plain("set a table property", base, owned("shop")),
        plain("change a table property", owned("shop"), owned("store")),
        plain("switch change tracking on", base, tracked(True)),
        plain("switch change tracking off", tracked(True), tracked(False)),
    )
