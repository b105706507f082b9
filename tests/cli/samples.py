"""Plans built as values: what every renderer is shown in these tests."""

from __future__ import annotations

from dataclasses import replace

from instar.app.planning import interrupted
from instar.core.changes import ReorderColumns
from instar.core.classify import Classified, classify
from instar.core.diff import diff
from instar.core.findings import Finding, Severity
from instar.core.plan import Cost, Plan, Rung, Status, Step, TablePlan
from instar.core.policy import Policy
from instar.core.reach import Reached, reach_words
from instar.core.schema import Check, Hint, Table, TableName, Unique, Wanted
from instar.core.types import Column, Decimal, Integer, String, Timestamp, array, struct
from instar.errors import Location

INT, BIGINT, STRING = Integer(32), Integer(64), String()


def changes(live: Table | None, wanted: Wanted) -> tuple[Classified, ...]:
    return tuple(classify(c, wanted, str.casefold) for c in diff(live, wanted))


def customers() -> TablePlan:
    """A new table with everything a table can have."""
    table = Table(
        TableName("main", "customers"),
        (
            Column("ID", BIGINT, nullable=False),
            Column("EMAIL", String(255), comment="where to write"),
            Column("SINCE", Timestamp(zone=True), default="current_timestamp()"),
        ),
        format="delta",
        primary_key=("ID",),
        constraints=(Unique("one_email", ("EMAIL",)), Check("known", "SINCE IS NOT NULL")),
        cluster_by=("SINCE",),
        change_tracking=True,
    )
    step = Step(
        "1",
        "create",
        Rung.METADATA,
        "Create the table",
        ("CREATE TABLE `main`.`customers` (…)",),
        table,
    )
    seen = changes(None, Wanted(table))
    origin = "tables/customers.yml"
    return TablePlan(
        table.name, "delta", Status.CREATE, seen, (), (step,), None, table, origin=origin
    )


def reaching(count: int = 3) -> Plan:
    """A wider column that others are computed from, one behind the other, the last behind a riddle."""
    name = TableName("main", "base")
    live, wanted = Table(name, (Column("n", INT),)), Wanted(Table(name, (Column("n", BIGINT),)))
    names = [f"main.m{i}" for i in range(count)]
    before = ["main.base", *names]
    reached = tuple(
        Reached(table, "n", (f"{before[i]}.n",), perhaps=i == count - 1)
        for i, table in enumerate(names)
    )
    seen = tuple(replace(c, reaches=reached) for c in changes(live, wanted))
    words = reach_words("main.base", "n", reached)
    finding = Finding("F705", Severity.INFO, words, None, ("n",))
    plan = TablePlan(name, "delta", Status.CHANGE, seen, (finding,), (), live, wanted.table)
    return Plan("dev", Policy(), (plan,))


def _orders() -> tuple[Table, Wanted]:
    profile = struct(Column("FIRST", STRING), Column("ADDRESS", struct(Column("ZIP", INT))))
    live = Table(
        TableName("main", "orders"),
        (
            Column("ID", BIGINT, nullable=False),
            Column("EMAIL", STRING),
            Column("AMOUNT", INT, comment="in cents"),
            Column("PROFILE", profile),
            Column("ITEMS", array(struct(Column("SKU", STRING)))),
            Column("NOTE", STRING),
            Column("OLD", INT),
            Column("CREATED_AT", Timestamp(zone=True)),
        ),
        format="delta",
        change_tracking=False,
    )
    address = struct(Column("ZIP", BIGINT), Column("CITY", STRING))
    wanted = replace(
        live,
        columns=(
            Column("ID", BIGINT, nullable=False),
            Column("STATUS", STRING, nullable=False),
            Column("MAIL", String(255), nullable=False),
            Column("AMOUNT", BIGINT, comment="in tenths of a cent"),
            Column("PROFILE", struct(Column("GIVEN", STRING), Column("ADDRESS", address))),
            Column("ITEMS", array(struct(Column("SKU", STRING), Column("PRICE", Decimal(10, 2))))),
            Column("NOTE", STRING),
            Column("CREATED_AT", Timestamp(zone=True)),
        ),
        primary_key=("ID",),
        constraints=(Check("positive", "AMOUNT >= 0"),),
        comment="what was bought",
    )
    hints = {
        ("MAIL",): Hint(renamed_from="EMAIL", default="''"),
        ("STATUS",): Hint(default="'UNDEFINED'"),
        ("PROFILE", "GIVEN"): Hint(renamed_from="FIRST"),
    }
    return live, Wanted(wanted, hints, "tables/orders.yml")


def orders() -> TablePlan:
    """Altered in place: nested changes, a rename, and a column that stays because nobody may drop it."""
    live, wanted = _orders()
    seen = tuple(
        replace(c, accepted=False) if type(c.change).__name__ == "DropColumn" else c
        for c in changes(live, wanted)
    )
    add = Step(
        "1",
        "add",
        Rung.METADATA,
        "Add 3 columns",
        ("ALTER TABLE `main`.`orders` ADD COLUMNS (`STATUS` STRING AFTER `ID`)",),
        live,
    )
    upgrade = Step(
        "2",
        "widen",
        Rung.METADATA,
        "Widen AMOUNT",
        ("ALTER TABLE `main`.`orders` ALTER COLUMN `AMOUNT` TYPE BIGINT",),
        live,
        reversible=False,
        confirm="Upgrade the table's protocol? Older readers can no longer read it.",
        irreversible=("the protocol upgrade for type widening",),
    )
    stays = Finding(
        "F102",
        Severity.WARNING,
        "[main.orders] 'OLD' is live but not declared; it stays.",
        "Declare it, or drop it with --column-conflict drop.",
        ("OLD",),
    )
    noted = Finding(
        "F502",
        Severity.WARNING,
        "[main.orders] cannot be undone: the protocol upgrade for type widening.",
    )
    return TablePlan(
        live.name,
        "delta",
        Status.CHANGE,
        seen,
        (stays, noted),
        (add, upgrade),
        live,
        wanted.table,
        origin="tables/orders.yml",
    )


def events() -> TablePlan:
    """Rewritten, because the engine cannot narrow a type; one column goes."""
    live = Table(
        TableName("main", "events"),
        (Column("id", BIGINT), Column("kind", STRING), Column("score", BIGINT), Column("tmp", INT)),
        format="parquet",
        change_tracking=False,
    )
    target = replace(live, columns=(live.columns[1], live.columns[0], Column("score", INT)))
    cost = Cost(1_234_567, 340_000_000, 12)
    copy = Step(
        "1",
        "copy",
        Rung.REWRITE,
        "Copy the rows into a new table and swap",
        ("CREATE TABLE `main`.`events__instar_new` AS\nSELECT …",),
        target,
        cost=cost,
        why_not_cheaper="parquet cannot narrow a column in place",
    )
    drop = Step(
        "2",
        "drop_old",
        Rung.REWRITE,
        "Drop the old table",
        ("DROP TABLE `main`.`events__instar_old`",),
        target,
        destructive=True,
        reversible=False,
        confirm="Drop the old copy of main.events (1,234,567 rows)? It is the last one with 'tmp'.",
    )
    return TablePlan(
        live.name,
        "parquet",
        Status.CHANGE,
        changes(live, Wanted(target)),
        (),
        (copy, drop),
        live,
        target,
    )


def payments() -> TablePlan:
    """Blocked by values that would not survive, with witnesses."""
    live = Table(
        TableName("main", "payments"),
        (Column("ID", BIGINT, nullable=False), Column("AMOUNT", STRING)),
        format="delta",
        primary_key=("ID",),
        change_tracking=False,
    )
    wanted = Wanted(replace(live, columns=(live.columns[0], Column("AMOUNT", INT))))
    finding = Finding(
        "F201",
        Severity.ERROR,
        "[main.payments] 100 rows of 'AMOUNT' would be lost or changed by STRING → INT.",
        "Mend the rows, or say how with a '_using' expression in the yml.",
        ("AMOUNT",),
        100,
        tuple({"ID": str(n), "AMOUNT": value} for n, value in enumerate(_BAD, start=17)),
        Location("tables/payments.yml", 7, 12, "  - {name: AMOUNT, type: INT}"),
    )
    return TablePlan(
        live.name,
        "delta",
        Status.BLOCKED,
        changes(live, wanted),
        (finding,),
        (),
        live,
        wanted.table,
        origin="tables/payments.yml",
    )


_BAD = ("abc", "12.5", "", None, "\x1b[31mred\x1b[0m", "twelve", "1e400")


def tracked() -> TablePlan:
    """A change-tracked table whose declared order differs: nothing to do, something to say."""
    live = Table(
        TableName("main", "stream"),
        (Column("a", INT), Column("b", INT), Column("c", INT)),
        format="delta",
        change_tracking=True,
    )
    seen = Classified(
        ReorderColumns((), ("a", "b", "c"), ("a", "c", "b")),
        classify(ReorderColumns((), (), ()), Wanted(live), str.casefold).safety,
        "only the order changes",
        accepted=False,
    )
    return TablePlan(
        live.name, "delta", Status.NO_CHANGE, (seen,), (), (), live, live, ("a", "b", "c")
    )


def quiet(name: str) -> TablePlan:
    table = Table(TableName("main", name), (Column("id", INT),), format="delta")
    return TablePlan(table.name, "delta", Status.NO_CHANGE, (), (), (), table, table)


def unfinished() -> TablePlan:
    return replace(quiet("half_done"), findings=(interrupted(TableName("main", "half_done")),))


def plan(*tables: TablePlan, policy: Policy = Policy()) -> Plan:
    return Plan("dev", policy, tables)


def everything() -> Plan:
    return plan(customers(), orders(), events(), payments(), tracked(), quiet("one"), quiet("two"))
