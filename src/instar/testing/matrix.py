"""The capability matrix: one small scenario per operation, run on a real engine to see the rung it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from instar.core.capabilities import Rules
from instar.core.findings import Severity
from instar.core.plan import Cost, Rung, TablePlan
from instar.core.planner import draft, finish
from instar.core.schema import Check, Hint, TableName, Unique, Wanted
from instar.core.types import Type, array, map_of, struct
from instar.testing.runner import NonConformance, Refused, run_scenario
from instar.testing.scenario import DROP, REORDER, Harness, Row, Scenario, Shape
from instar.testing.words import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    WALL_CLOCK,
    c,
    dec,
    required,
    shape,
    varchar,
)

BACKENDS = ("duckdb", "delta", "iceberg", "parquet")
_X = c("x", INT)
_S = struct(c("a", INT), c("b", STRING))
_S_MORE = struct(c("a", INT), c("b", STRING), c("n", STRING))
_S_VALUE = {"a": 1, "b": "u"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one engine does for one operation. `rung` is never for what it refuses (`note` says why)."""

    rung: str
    note: str = ""


def _plain(name: str, live: Shape, wanted: Shape, **more: Any) -> Scenario:
    """Two rows with x = 1 and NULL, which every operation here must keep."""
    rows: tuple[Row, ...] = ({"id": 1, "x": 1}, {"id": 2, "x": None})
    after = more.pop("after", rows)
    return Scenario(name, live, more.pop("rows", rows), wanted, after, **more)


def _typed(old: Type, new: Type, before: object, after: object, name: str) -> Scenario:
    rows: tuple[Row, ...] = ({"id": 1, "x": before}, {"id": 2, "x": None})
    then: tuple[Row, ...] = ({"id": 1, "x": after}, {"id": 2, "x": None})
    return Scenario(name, shape(c("x", old)), rows, shape(c("x", new)), then)


def _nested(
    name: str, old: Type, new: Type, before: object, after: object, **more: Any
) -> Scenario:
    rows: tuple[Row, ...] = ({"id": 1, "s": before}, {"id": 2, "s": None})
    then: tuple[Row, ...] = ({"id": 1, "s": after}, {"id": 2, "s": None})
    return Scenario(name, shape(c("s", old)), rows, shape(c("s", new)), then, **more)


def operations() -> tuple[Scenario, ...]:
    """Every row of the matrix, in the order it is printed."""
    return (*_added(), *_moved(), *_types(), *_structs(), *_collections(), *_rest())


def _added() -> tuple[Scenario, ...]:
    def wide(value: object) -> tuple[Row, ...]:
        return ({"id": 1, "x": 1, "n": value}, {"id": 2, "x": None, "n": value})

    return (
        _plain("add a nullable column", shape(_X), shape(_X, c("n", STRING)), after=wide(None)),
        _plain(
            "add a column at a position",
            shape(_X),
            shape(c("n", STRING), _X),
            after=wide(None),
            policy=REORDER,
        ),
        _plain(
            "add a NOT NULL column with a default",
            shape(_X),
            shape(_X, required("n", STRING)),
            after=wide("u"),
            hints={("n",): Hint(default="'u'")},
        ),
        _plain(
            "add a column computed from the row",
            shape(_X),
            shape(_X, c("n", INT)),
            after=({"id": 1, "x": 1, "n": 2}, {"id": 2, "x": None, "n": 3}),
            hints={("n",): Hint(using="id + 1")},
        ),
    )


def _moved() -> tuple[Scenario, ...]:
    both = shape(_X, c("y", INT))
    pair: tuple[Row, ...] = ({"id": 1, "x": 1, "y": 2}, {"id": 2, "x": None, "y": 3})
    swapped: tuple[Row, ...] = ({"id": 1, "x": 2, "y": 1}, {"id": 2, "x": 3, "y": None})
    return (
        _plain("remove a column", both, shape(_X), rows=pair, policy=DROP),
        _plain(
            "rename a column",
            shape(_X),
            shape(c("n", INT)),
            after=({"id": 1, "n": 1}, {"id": 2, "n": None}),
            hints={("n",): Hint(renamed_from="x")},
        ),
        _plain(
            "rename a column by case only",
            shape(_X),
            shape(c("X", INT)),
            after=({"id": 1, "X": 1}, {"id": 2, "X": None}),
            hints={("X",): Hint(renamed_from="x")},
        ),
        _plain(
            "swap the names of two columns",
            both,
            both,
            rows=pair,
            after=swapped,
            hints={("x",): Hint(renamed_from="y"), ("y",): Hint(renamed_from="x")},
        ),
        _plain(
            "reorder columns", both, shape(c("y", INT), _X), rows=pair, after=pair, policy=REORDER
        ),
    )


def _types() -> tuple[Scenario, ...]:
    from datetime import date, datetime
    from decimal import Decimal

    price = Decimal("1.50")
    return (
        _typed(INT, BIGINT, 7, 7, "widen INT → BIGINT"),
        _typed(FLOAT, DOUBLE, 1.5, 1.5, "widen FLOAT → DOUBLE"),
        _typed(INT, DOUBLE, 7, 7.0, "widen INT → DOUBLE"),
        _typed(INT, dec(12, 2), 7, Decimal("7.00"), "widen INT → DECIMAL(12, 2)"),
        _typed(dec(10, 2), dec(12, 2), price, price, "widen DECIMAL(10, 2) → (12, 2)"),
        _typed(dec(10, 2), dec(14, 4), price, Decimal("1.5000"), "widen DECIMAL(10, 2) → (14, 4)"),
        _typed(varchar(5), varchar(9), "ab", "ab", "widen VARCHAR(5) → VARCHAR(9)"),
        _typed(
            DATE, WALL_CLOCK, date(2020, 1, 2), datetime(2020, 1, 2), "widen DATE → TIMESTAMP_NTZ"
        ),
        _typed(INT, STRING, 7, "7", "convert INT → STRING"),
        _typed(BIGINT, INT, 7, 7, "narrow BIGINT → INT, every value fits"),
        _typed(STRING, INT, "7", 7, "convert STRING → INT, every value parses"),
    )


def _structs() -> tuple[Scenario, ...]:
    row = _S_VALUE
    return (
        _nested("add a struct field", _S, _S_MORE, row, {**row, "n": None}),
        _nested("remove a struct field", _S, struct(c("a", INT)), row, {"a": 1}, policy=DROP),
        _nested(
            "rename a struct field",
            _S,
            struct(c("a", INT), c("n", STRING)),
            row,
            {"a": 1, "n": "u"},
            hints={("s", "n"): Hint(renamed_from="b")},
        ),
        _nested("widen in a struct", _S, struct(c("a", BIGINT), c("b", STRING)), row, row),
        _nested(
            "widen and add in one struct",
            _S,
            struct(c("a", BIGINT), c("b", STRING), c("n", INT)),
            row,
            {**row, "n": None},
        ),
        _nested(
            "reorder struct fields",
            _S,
            struct(c("b", STRING), c("a", INT)),
            row,
            row,
            policy=REORDER,
        ),
    )


def _collections() -> tuple[Scenario, ...]:
    row, more = _S_VALUE, {**_S_VALUE, "n": None}
    return (
        _nested("widen an array's elements", array(INT), array(BIGINT), [1, None], [1, None]),
        _nested(
            "add a field to an array of structs",
            array(_S),
            array(_S_MORE),
            [row],
            [more],
        ),
        _nested(
            "widen a map's values", map_of(STRING, INT), map_of(STRING, BIGINT), {"k": 1}, {"k": 1}
        ),
        _nested(
            "add a field to a map of structs",
            map_of(STRING, _S),
            map_of(STRING, _S_MORE),
            {"k": row},
            {"k": more},
        ),
        _nested("change a map's keys", map_of(INT, INT), map_of(BIGINT, INT), {1: 2}, {1: 2}),
    )


def _rest() -> tuple[Scenario, ...]:
    full: tuple[Row, ...] = ({"id": 1, "x": 1}, {"id": 2, "x": 2})
    keyed = Shape((required("id", INT), _X), primary_key=("id",))
    limit = Check("limit_x", "x < 100")
    return (
        _plain("set NOT NULL", shape(_X), shape(required("x", INT)), rows=full, after=full),
        _plain("drop NOT NULL", shape(required("x", INT)), shape(_X), rows=full, after=full),
        _plain("set a default", shape(_X), shape(c("x", INT, default="5"))),
        _plain("drop a default", shape(c("x", INT, default="5")), shape(_X)),
        _plain("set a comment", shape(_X), shape(c("x", INT, comment="said"))),
        _plain(
            "fill old rows of a new column",
            shape(_X),
            shape(_X, c("n", INT)),
            after=({"id": 1, "x": 1, "n": 9}, {"id": 2, "x": None, "n": 9}),
            hints={("n",): Hint(default="9")},
        ),
        _plain("add a primary key", Shape((required("id", INT), _X)), keyed),
        _plain("add a unique key", shape(_X), shape(_X, constraints=(Unique("one_x", ("x",)),))),
        _plain("add a CHECK", shape(_X), shape(_X, constraints=(limit,))),
        _plain("drop a CHECK", shape(_X, constraints=(limit,)), shape(_X), policy=DROP),
    )


def probe(harness: Harness, scenario: Scenario) -> Cell:
    """Run the operation; the rows are compared, so a cell is true or the probe fails."""
    planned = foreseen(harness.backend.rules, scenario)
    refused = Refused(planned.note.split(":")[0], planned.note) if planned.rung == "never" else None
    return _cell(run_scenario(harness, scenario, refused))


def foreseen(rules: Rules, scenario: Scenario, extras: Mapping[str, str] | None = None) -> Cell:
    """What the rules say without an engine, from the live table as the engine would report it.

    `extras`: facts that it would report of a table that it has made itself.
    """
    name = TableName("main", "t")
    live, _ = rules.normalize(Wanted(scenario.live.named(name)), None)
    reported = replace(live.table, change_tracking=False, extras=extras or {})
    wanted = Wanted(scenario.wanted.named(name), scenario.hints)
    return _cell(finish(draft(wanted, reported, rules, scenario.policy), (), Cost(), rules))


def _cell(plan: TablePlan) -> Cell:
    errors = [f for f in plan.findings if f.severity is Severity.ERROR]
    if errors:
        return Cell("never", f"{errors[0].code}: {_without_table(errors[0].message)}")
    if not plan.steps:
        kept = [f for f in plan.findings if f.code.startswith("F6")]
        note = f"{kept[0].code}: {_without_table(kept[0].message)}" if kept else ""
        return Cell("not kept" if kept else "nothing", note)
    rung = max((s.rung for s in plan.steps), key=lambda r: r.height)
    why = next((s.why_not_cheaper for s in plan.steps if s.rung is rung and s.why_not_cheaper), "")
    return Cell(rung.value, why if rung is not Rung.METADATA else "")


def _without_table(message: str) -> str:
    return message.split("] ", 1)[-1]


Matrix = Mapping[str, Mapping[str, Cell]]
"""Operation → backend → cell."""


def matrix_text(matrix: Matrix, versions: Mapping[str, str]) -> str:
    """The file that is published."""
    rows = {
        op: {b: {"rung": cell.rung, "note": cell.note} for b, cell in row.items()}
        for op, row in matrix.items()
    }
    document = {"engines": dict(versions), "operations": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


Known = dict[str, dict[str, Cell]]


def probed(
    harnesses: Sequence[Harness], known: Known, seen: Callable[[str, str, Known], None]
) -> Matrix:
    """Every operation on every engine; `known` cells are not run again, `seen` hears of each new one."""
    for scenario in operations():
        row = known.setdefault(scenario.name, {})
        for harness in harnesses:
            backend = harness.backend.rules.name
            if backend in row:
                continue
            try:
                row[backend] = probe(harness, scenario)
            except NonConformance as error:
                raise NonConformance(f"{backend}: {scenario.name}: {error}") from error
            seen(scenario.name, backend, known)
    order = [h.backend.rules.name for h in harnesses]
    return {s.name: {b: known[s.name][b] for b in order} for s in operations()}
