"""What is wanted, as DuckDB would report it had the table been created so; findings for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from instar.backends.duckdb.folding import fold, in_collection
from instar.backends.duckdb.inspect import default_text
from instar.backends.duckdb.spelling import (
    BadExpression,
    Expression,
    binding_problem,
    canonical_type,
    check_problem,
    default_problem,
    foreign_functions,
    safe_text,
    spelled,
    volatile_functions,
)
from instar.backends.duckdb.types import MAX_DIGITS, kept, parse_type
from instar.core.findings import Finding, Severity
from instar.core.schema import Check, Constraint, Hint, Table, TableName, Unique, Wanted
from instar.core.types import (
    Column,
    Decimal,
    Map,
    Opaque,
    Path,
    Type,
    bare,
    children,
    path_text,
    walk,
    with_children,
)


def normalize(wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
    """The wanted table in DuckDB's words."""
    work = _Normalizer(wanted.table.name)
    table = work.table(wanted, live)
    hints = {path: work.hint(path, hint, table, live) for path, hint in wanted.hints.items()}
    result = replace(wanted, table=table, hints=MappingProxyType(hints))
    return result, tuple(work.findings)


class _Normalizer:
    """Walks one table and gathers findings."""

    def __init__(self, name: TableName) -> None:
        self.name = name
        self.findings: list[Finding] = []

    def say(
        self, code: str, severity: Severity, words: str, path: Path = (), hint: str | None = None
    ) -> None:
        self.findings.append(Finding(code, severity, f"[{self.name}] {words}.", hint, path))

    def unkept(self, code: str, words: str, path: Path = (), *, warn: bool = False) -> None:
        severity = Severity.WARNING if warn else Severity.INFO
        self.say(code, severity, f"DuckDB does not keep {words}", path)

    def table(self, wanted: Wanted, live: Table | None) -> Table:
        declared = wanted.table
        key = {fold(name) for name in declared.primary_key}
        columns = tuple(self.column(c, required=fold(c.name) in key) for c in declared.columns)
        names = tuple(_spellings(wanted, live))
        self._unkept_parts(declared)
        return replace(
            declared,
            columns=columns,
            primary_key=_respelled(declared.primary_key, names),
            constraints=tuple(self.constraints(declared.constraints, columns, names)),
            cluster_by=(),
            partition_by=(),
            properties=MappingProxyType({}),
            change_tracking=None,
            format="duckdb",
        )

    def _unkept_parts(self, declared: Table) -> None:
        if declared.cluster_by:
            self.unkept("F604", f"clustering by ({', '.join(declared.cluster_by)})")
        if declared.partition_by:
            self.unkept("F604", f"partitioning by ({', '.join(declared.partition_by)})")
        if declared.change_tracking:
            self.unkept("F604", "change tracking; the declaration counts instead", warn=True)
        for key in declared.properties:
            self.unkept("F604", f"the property '{key}'")

    def column(self, column: Column, *, required: bool) -> Column:
        path = (column.name,)
        type_ = self.type(column.type, path)
        return replace(
            column,
            type=type_,
            nullable=column.nullable and not required,
            default=self.default(column.default, type_, path),
            identity=None,
        )

    def type(self, type_: Type, path: Path) -> Type:
        if inner := children(type_):
            return with_children(type_, tuple(self._nested(c, type_, path) for c in inner))
        if isinstance(type_, Opaque):
            return self._opaque(type_, path)
        if isinstance(type_, Decimal) and type_.precision > MAX_DIGITS:
            words = f"'{path_text(path)}': DuckDB has no decimal of more than {MAX_DIGITS} digits"
            self.say("F601", Severity.ERROR, words, path)
            return Decimal(MAX_DIGITS, min(type_.scale, MAX_DIGITS))
        known, lost = kept(type_)
        for words in lost:
            self.unkept("F602", f"{words} of '{path_text(path)}'", path)
        return known

    def _nested(self, column: Column, parent: Type, path: Path) -> Column:
        """A field, element, key or value: DuckDB keeps its name and type, nothing else."""
        here = (*path, column.name)
        key = isinstance(parent, Map) and column is parent.key
        if not column.nullable and not key:
            self.unkept("F603", f"NOT NULL of '{path_text(here)}'", here, warn=True)
        if column.comment:
            self.unkept("F604", f"the comment of '{path_text(here)}'", here)
        return Column(column.name, self.type(column.type, here), nullable=not key)

    def _opaque(self, type_: Opaque, path: Path) -> Type:
        canonical = canonical_type(type_.text)
        if canonical is None:
            words = f"'{path_text(path)}': DuckDB knows no type {type_.text}"
            self.say("F601", Severity.ERROR, words, path, "Write a named type out in full.")
            return type_
        return parse_type(canonical)

    def default(self, default: str | None, type_: Type, path: Path) -> str | None:
        if default is None:
            return None
        try:
            text = default_text(spelled(default).text, ())
        except BadExpression as error:
            self.bad(f"the default of '{path_text(path)}'", default, str(error), path)
            return None
        problem = text and default_problem(text, type_)
        if problem:
            self.bad(f"the default of '{path_text(path)}'", default, problem, path)
        return text

    def bad(self, what: str, sql: str, why: str, path: Path = ()) -> None:
        words = f"{what} is not an expression that DuckDB can use: {sql} ({why.rstrip('.')})"
        self.say("F606", Severity.ERROR, words, path, "Write exactly one SQL expression.")

    def constraints(
        self, declared: tuple[Constraint, ...], columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> Iterator[Constraint]:
        for constraint in declared:
            match constraint:
                case Unique(name, unique):
                    yield Unique(name, _respelled(unique, names))
                case Check(name, sql):
                    try:
                        text = spelled(sql, names).text
                    except BadExpression as error:
                        self.bad(f"CHECK '{name}'", sql, str(error))
                        continue
                    if problem := check_problem(text, columns):
                        self.bad(f"CHECK '{name}'", sql, problem)
                        continue
                    yield Check(name, text)

    def hint(self, path: Path, hint: Hint, table: Table, live: Table | None) -> Hint:
        """Migration helpers over the old row, safe to stand inside a statement."""
        # Once it has done its work, what it was computed from may be gone.
        rows = live.columns if live is not None and not _settled(path, table, live) else ()
        using = self._helper("_using", hint.using, path, rows)
        default = self._helper("_default", hint.default, path, rows)
        return replace(hint, using=using, default=default)

    def _helper(
        self, key: str, sql: str | None, path: Path, rows: tuple[Column, ...]
    ) -> str | None:
        if sql is None:
            return None
        names = tuple(c.name for c in rows)
        what = f"the {key} of '{path_text(path)}'"
        try:
            expression = spelled(sql, names)
        except BadExpression as error:
            self.bad(what, sql, str(error), path)
            return "NULL"
        if why := _not_of_a_row(expression, path, rows):
            self.bad(what, sql, why, path)
            return "NULL"
        if volatile := volatile_functions(expression):
            words = f"{what} answers differently each time: {', '.join(sorted(volatile))}"
            self.say("F607", Severity.ERROR, words, path, "Use a repeatable expression.")
            return "NULL"
        text = safe_text(sql, names)
        if rows and (problem := binding_problem(text, rows)):
            self.bad(what, sql, problem, path)
            return "NULL"
        return text


def _not_of_a_row(expression: Expression, path: Path, rows: tuple[Column, ...]) -> str | None:
    """Why it does not give each row one value."""
    if foreign := foreign_functions(expression):
        return f"{', '.join(sorted(foreign))} does not give one value for each row"
    if expression.has_window and in_collection(rows, path):
        return "a window function cannot stand inside an array or a map"
    return None


def _settled(path: Path, table: Table, live: Table) -> bool:
    """The column is there as it is wanted: its helpers have nothing to do."""
    where = tuple(map(fold, path))
    ends = [
        (bare(column.type), column.nullable)
        for columns in (table.columns, live.columns)
        for here, column in walk(columns)
        if tuple(map(fold, here)) == where
    ]
    return len(ends) == 2 and ends[0] == ends[1]


def _spellings(wanted: Wanted, live: Table | None) -> Iterator[str]:
    """Each wanted column as the table will spell it: a live name stays unless a rename is declared."""
    names = {fold(c.name): c.name for c in live.columns} if live is not None else {}
    for column in wanted.table.columns:
        renamed = wanted.hint((column.name,), fold).renamed_from is not None
        yield column.name if renamed else names.get(fold(column.name), column.name)


def _respelled(columns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    by_fold = {fold(name): name for name in names}
    return tuple(by_fold.get(fold(c), c) for c in columns)
