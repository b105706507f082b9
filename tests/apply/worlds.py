"""Small worlds for apply: a table with rows, what is wanted of it, and what must come out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from instar.apply import apply_table
from instar.backends.base import Backend, NotATable
from instar.backends.memory import MemoryBackend
from instar.core.plan import Cost, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Check, Hint, Table, TableName, Unique, Wanted
from instar.core.types import Column, Integer, Path, String, array, struct
from instar.state import Store

ENV = "dev"
NAME = TableName("main", "orders")

Row = Mapping[str, Any]

DROP = Policy(ColumnConflict.DROP, allow_rewrite=True)
REORDER = Policy(ColumnConflict.REORDER, allow_rewrite=True)
REWRITE = Policy(allow_rewrite=True)

ID = Column("id", Integer(64), nullable=False)
STATUS = Column("status", String())
AMOUNT = Column("amount", Integer(32))


def table(*columns: Column, **more: Any) -> Table:
    return Table(NAME, columns, **more)


def wanted(*columns: Column, hints: Mapping[Path, Hint] = {}, **more: Any) -> Wanted:
    return Wanted(table(*columns, **more), MappingProxyType(dict(hints)), "tables/orders.yml")


@dataclass(frozen=True)
class Case:
    """From `start` with `rows` to `wish`: exactly `result` must be there, however often it was killed."""

    name: str
    start: Table | None
    rows: tuple[Row, ...]
    wish: Wanted
    result: tuple[Row, ...]
    policy: Policy = field(default=REWRITE)


def row(id_: int, **values: Any) -> Row:
    return {"id": id_, **values}


PLAIN = table(ID, STATUS, AMOUNT)
ROWS = (
    row(1, status="new", amount=10),
    row(2, status=None, amount=20),
    row(3, status="it's ü", amount=None),
)
PEOPLE = table(ID, Column("name", struct(Column("first", String()), Column("last", String()))))
PEOPLE_ROWS = (
    row(1, name={"first": "Ada", "last": "Lovelace"}),
    row(2, name={"first": None, "last": "Noether"}),
    row(3, name=None),
)
PENDING = Column("status", String(), default="'pending'")
CODED = table(ID, Column("code", String(), nullable=False))
CODED_ROWS = (row(1, code="a"), row(2, code="b"))
NAMES = (Column("first_name", String()), Column("last_name", String()))
NAMES_ROWS = (
    row(1, first_name="Ada", last_name="Lovelace"),
    row(2, first_name=None, last_name=None),
)
FULL_ROWS = (row(1, full_name="Ada Lovelace"), row(2, full_name=None))
LINES = table(ID, Column("items", array(struct(Column("sku", String())))))


def _with(rows: tuple[Row, ...], **values: Any) -> tuple[Row, ...]:
    return tuple({**r, **{k: v(r) if callable(v) else v for k, v in values.items()}} for r in rows)


def _without(rows: tuple[Row, ...], *names: str) -> tuple[Row, ...]:
    return tuple({k: v for k, v in r.items() if k not in names} for r in rows)


PAIR = table(ID, Column("a", String()), Column("b", String()))
SWAP = Case(
    "swap",
    PAIR,
    (row(1, a="x", b="y"), row(2, a=None, b="z")),
    wanted(
        *PAIR.columns,
        hints={("a",): Hint(renamed_from="b"), ("b",): Hint(renamed_from="a")},
    ),
    (row(1, a="y", b="x"), row(2, a="z", b=None)),
)
CASES = (
    Case("create", None, (), wanted(ID, STATUS), ()),
    Case(
        "add",
        PLAIN,
        ROWS,
        wanted(*PLAIN.columns, Column("note", String())),
        _with(ROWS, note=None),
    ),
    Case(
        "add not null with _default",
        PLAIN,
        ROWS,
        wanted(
            *PLAIN.columns,
            Column("kind", String(), nullable=False),
            hints={("kind",): Hint(default="'UNDEFINED'")},
        ),
        _with(ROWS, kind="UNDEFINED"),
    ),
    Case("drop", PLAIN, ROWS, wanted(ID, STATUS), _without(ROWS, "amount"), DROP),
    Case(
        "rename",
        PLAIN,
        ROWS,
        wanted(
            ID,
            Column("state", String()),
            AMOUNT,
            hints={("state",): Hint(renamed_from="status")},
        ),
        tuple({"id": r["id"], "state": r["status"], "amount": r["amount"]} for r in ROWS),
    ),
    SWAP,
    replace(SWAP, name="swap in place", policy=REORDER),
    Case("widen", PLAIN, ROWS, wanted(ID, STATUS, Column("amount", Integer(64))), ROWS),
    Case(
        "text to number",
        table(ID, Column("code", String())),
        (row(1, code="7"), row(2, code=None)),
        wanted(ID, Column("code", Integer(32))),
        (row(1, code=7), row(2, code=None)),
    ),
    Case(
        "text to number beside a key",
        table(ID, Column("code", String()), primary_key=("id",)),
        tuple(row(n, code=str(n * 7)) for n in (-2, 0, 1, 2, 5)),
        wanted(ID, Column("code", Integer(32)), primary_key=("id",)),
        tuple(row(n, code=n * 7) for n in (-2, 0, 1, 2, 5)),
    ),
    Case(
        "fill and require",
        PLAIN,
        ROWS,
        wanted(
            ID,
            Column("status", String(), nullable=False),
            AMOUNT,
            hints={("status",): Hint(default="'none'")},
        ),
        _with(ROWS, status=lambda r: r["status"] or "none"),
    ),
    Case(
        "nested",
        PEOPLE,
        PEOPLE_ROWS,
        wanted(
            ID,
            Column(
                "name",
                struct(
                    Column("given", String()), Column("last", String()), Column("title", String())
                ),
            ),
            hints={("name", "given"): Hint(renamed_from="first")},
        ),
        (
            row(1, name={"given": "Ada", "last": "Lovelace", "title": None}),
            row(2, name={"given": None, "last": "Noether", "title": None}),
            row(3, name=None),
        ),
    ),
    Case(
        "nested in an array",
        LINES,
        (row(1, items=[{"sku": "a"}, {"sku": None}]), row(2, items=[]), row(3, items=None)),
        wanted(
            ID, Column("items", array(struct(Column("sku", String()), Column("n", Integer(32)))))
        ),
        (
            row(1, items=[{"sku": "a", "n": None}, {"sku": None, "n": None}]),
            row(2, items=[]),
            row(3, items=None),
        ),
    ),
    Case("key", PLAIN, ROWS, wanted(*PLAIN.columns, primary_key=("id",)), ROWS),
    Case(
        "check",
        PLAIN,
        ROWS,
        wanted(*PLAIN.columns, constraints=(Check("positive", "amount >= 0"),)),
        ROWS,
    ),
    Case(
        "rewrite with _using",
        PLAIN,
        ROWS,
        wanted(
            *PLAIN.columns,
            Column("label", String()),
            hints={("label",): Hint(using="upper(status)")},
        ),
        _with(ROWS, label=lambda r: r["status"].upper() if r["status"] else None),
    ),
    Case("reorder", PLAIN, ROWS, wanted(AMOUNT, ID, STATUS), ROWS, REORDER),
    Case("set default", PLAIN, ROWS, wanted(ID, PENDING, AMOUNT), ROWS),
    Case("drop default", table(ID, PENDING, AMOUNT), ROWS, wanted(*PLAIN.columns), ROWS),
    Case(
        "drop not null",
        CODED,
        CODED_ROWS,
        wanted(ID, Column("code", String())),
        CODED_ROWS,
    ),
    Case(
        "drop constraint",
        table(*PLAIN.columns, constraints=(Check("positive", "amount >= 0"),)),
        ROWS,
        wanted(*PLAIN.columns),
        ROWS,
        DROP,
    ),
    Case(
        "unique",
        PLAIN,
        ROWS,
        wanted(*PLAIN.columns, constraints=(Unique("one_status", ("status",)),)),
        ROWS,
    ),
    Case(
        "another key",
        replace(CODED, primary_key=("code",)),
        CODED_ROWS,
        wanted(*CODED.columns, primary_key=("id",)),
        CODED_ROWS,
    ),
    Case(
        "split",
        table(ID, Column("full_name", String())),
        FULL_ROWS,
        wanted(
            ID,
            *NAMES,
            hints={
                ("first_name",): Hint(using="split_part(full_name, ' ', 1)"),
                ("last_name",): Hint(using="split_part(full_name, ' ', 2)"),
            },
        ),
        NAMES_ROWS,
        DROP,
    ),
    Case(
        "merge",
        table(ID, *NAMES),
        NAMES_ROWS,
        wanted(
            ID,
            Column("full_name", String()),
            hints={("full_name",): Hint(using="first_name || ' ' || last_name")},
        ),
        FULL_ROWS,
        DROP,
    ),
    Case(
        "everything at once",
        PLAIN,
        ROWS,
        wanted(
            ID,
            Column("total", Integer(64)),
            Column("kind", String(), nullable=False),
            Column("label", String()),
            hints={
                ("total",): Hint(renamed_from="amount"),
                ("kind",): Hint(default="'?'"),
                ("label",): Hint(using="lower(status)"),
            },
        ),
        tuple(
            row(
                r["id"],
                total=r["amount"],
                kind="?",
                label=r["status"].lower() if r["status"] else None,
            )
            for r in ROWS
        ),
        DROP,
    ),
)


def plan(
    backend: Backend, store: Store | None, wish: Wanted, policy: Policy = REWRITE
) -> TablePlan:
    """The plan of one table, its rows proven: what `instar plan` does."""
    name = wish.table.name
    live = backend.inspect([name]).get(name)
    assert not isinstance(live, NotATable)
    done = store.done_renames(ENV, name) if store else frozenset()
    sketch = draft(wish, live, backend.rules, policy, done)
    results = backend.prove(sketch.job, sketch.proofs) if live and sketch.proofs else ()
    cost = backend.measure([name]).get(name, Cost()) if live else Cost()
    return finish(sketch, tuple(results), cost, backend.rules)


def filled(backend: MemoryBackend, store: Store) -> MemoryBackend:
    """PLAIN is there, with its ROWS."""
    apply_table(plan(backend, store, Wanted(PLAIN)), backend, store, ENV)
    backend.insert(NAME, ROWS)
    return backend
