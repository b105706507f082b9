"""What Snowflake keeps and can do. Its SQL is golden-tested; it was never run on the real service."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.snowflake.render import Renderer
from instar.backends.snowflake.types import kept_type
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangePartitioning,
    ChangeProperty,
    DefaultChange,
    ModifyColumn,
    ReorderColumns,
    TypeChange,
    modification,
)
from instar.core.findings import Finding, Severity
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.promotions import Verdict, promotion
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column, Decimal, Path, String, Type, type_text

_METADATA = Capability(Rung.METADATA)
_NO_SWAP = "the table is change-tracked: a swap would break its streams and dynamic tables"
_TIME_TRAVEL = "time travel on the table starts anew from the swap"


class SnowflakeRules:
    """Unquoted names are upper case; constraints are declared, never enforced."""

    name = "snowflake"
    dialect = "snowflake"
    positions = False
    one_layout = False

    def fold(self, name: str) -> str:
        return name

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        table, findings = wanted.table, list[Finding]()
        hints = {tuple(map(kept_name, path)): _upper_hint(h) for path, h in wanted.hints.items()}
        columns = tuple(_kept_column(c, table.name, findings) for c in table.columns)
        if live is not None:
            columns = tuple(_lasting_default(c, live, hints, findings) for c in columns)
        constraints = tuple(c for c in table.constraints if not isinstance(c, Check))
        if len(constraints) != len(table.constraints):
            findings.append(_not_kept(table.name, "CHECK constraints are not supported"))
        if table.partition_by:
            findings.append(_not_kept(table.name, "there are no partitions, only clustering"))
        kept = replace(
            table,
            name=TableName(kept_name(table.name.schema), kept_name(table.name.name)),
            columns=columns,
            constraints=constraints,
            primary_key=tuple(map(kept_name, table.primary_key)),
            cluster_by=tuple(map(kept_name, table.cluster_by)),
            partition_by=(),
            format="",
        )
        return replace(wanted, table=kept, hints=hints), tuple(findings)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        found = self._capability(change, wanted)
        if found.rung is Rung.REWRITE and live.change_tracking:
            return Capability(Rung.NEVER, f"{found.why}, and {_NO_SWAP}")
        return found

    def _capability(self, change: Change, wanted: Wanted) -> Capability:
        match change:
            case AddColumn(path, column, after) if (
                after is not None or wanted.hint(path, self.fold).using
            ):
                why = (
                    "a column is added at the end only"
                    if after is not None
                    else "_using needs the old row"
                )
                return _swap(f"'{column.name}': {why}")
            case ReorderColumns():
                return _swap("columns cannot be moved in place")
            case ModifyColumn():
                return _modified(change)
            case ChangePartitioning():
                return Capability(Rung.NEVER, "there are no partitions on Snowflake")
            case AddConstraint(Check()):
                return Capability(Rung.NEVER, "CHECK constraints are not supported")
            case ChangeProperty(key) if key not in ("comment", "change_tracking"):
                return Capability(Rung.NEVER, f"there is no table property '{key}' on Snowflake")
            case _:
                return _METADATA

    def steps(self, job: Job) -> tuple[Step, ...]:
        return Renderer(self.fold).steps(job)


def kept_name(name: str) -> str:
    """A plain word is upper case, as if it had been written without quotes."""
    return name.upper() if name.isascii() and name.isidentifier() else name


def _upper_hint(hint: Hint) -> Hint:
    source = hint.renamed_from
    return hint if source is None else replace(hint, renamed_from=kept_name(source))


def _kept_column(column: Column, table: TableName, findings: list[Finding]) -> Column:
    kept = kept_type(column.type)
    if promotion(column.type, kept).verdict is not Verdict.LOSSLESS:
        words = f"'{column.name}' {type_text(column.type)} is kept as {type_text(kept)}"
        findings.append(_not_kept(table, words, column.name))
    return replace(column, name=kept_name(column.name), type=kept)


def _lasting_default(
    column: Column, live: Table, hints: dict[Path, Hint], findings: list[Finding]
) -> Column:
    """A default that came with ADD COLUMN can never be dropped: the live one is accepted."""
    now = live.column((column.name,))
    helper = hints.get((column.name,), Hint()).default
    if (
        column.default is None
        and helper is not None
        and now is not None
        and now.default is not None
    ):
        words = f"'{column.name}' keeps the default it was added with"
        findings.append(_not_kept(live.name, words, column.name))
        return replace(column, default=now.default)
    return column


def _not_kept(table: TableName, words: str, column: str = "") -> Finding:
    return Finding("F602", Severity.INFO, f"[{table}] {words}.", path=(column,) if column else ())


def _swap(why: str) -> Capability:
    return Capability(Rung.REWRITE, why, (_TIME_TRAVEL,))


def _modified(change: ModifyColumn) -> Capability:
    typed = modification(change, TypeChange)
    if typed is not None and not _in_place(typed.old, typed.new):
        words = f"{type_text(typed.old)} → {type_text(typed.new)}"
        return _swap(f"{words} is not done in place")
    default = modification(change, DefaultChange)
    if default is not None and default.new is not None:
        return _swap("a default cannot be set on an existing column")
    return _METADATA


def _in_place(old: Type, new: Type) -> bool:
    """Longer text and more precision; never another scale or another kind."""
    match old, new:
        case String(a), String(b):
            return b is None or (a is not None and a <= b)
        case Decimal(p1, s1), Decimal(p2, s2):
            return s1 == s2 and p1 <= p2
        case _:
            return False
