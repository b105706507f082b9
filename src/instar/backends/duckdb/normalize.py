"""What is wanted, as DuckDB would report it had the table been created so; findings for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.inspect import default_text
from instar.backends.duckdb.spelling import (
    Expression,
    binding_problem,
    canonical_type,
    check_problem,
    default_problem,
    foreign_functions,
    moving_functions,
    safe_text,
    spelled,
    volatile_functions,
)
from instar.backends.duckdb.types import MAX_DIGITS, kept, parse_type
from instar.backends.relational.normalize import Normalizer
from instar.core.findings import Finding, Severity
from instar.core.matching import in_collection
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import (
    Column,
    Decimal,
    Map,
    Opaque,
    Path,
    Type,
    Variant,
    bare,
    children,
    path_text,
    walk,
    with_children,
)
from instar.expressions import BadExpression

Binder = Callable[[str], str | None]
"""Asks a database whether it understands an expression: why not, or None."""


def normalize(
    wanted: Wanted,
    live: Table | None,
    binder: Binder | None = None,
    too_old: Callable[[], str | None] = lambda: None,
) -> tuple[Wanted, tuple[Finding, ...]]:
    """The wanted table in DuckDB's words; `too_old`: the file's storage version, if it holds no VARIANT."""
    work = _Normalizer(wanted, live, binder, too_old)
    table = work.table()
    hints = {path: work.hint(path, hint, table) for path, hint in wanted.hints.items()}
    result = replace(wanted, table=table, hints=MappingProxyType(hints))
    return result, tuple(work.findings)


class _Normalizer(Normalizer):
    """Asks DuckDB's own parser and binder, and the database, where there is one, what only it knows."""

    engine = "DuckDB"
    format = "duckdb"

    def __init__(
        self,
        wanted: Wanted,
        live: Table | None,
        binder: Binder | None,
        too_old: Callable[[], str | None],
    ) -> None:
        super().__init__(wanted, live, fold)
        self.binder, self.too_old = binder, too_old

    def keeps(self, type_: Type) -> bool:
        return _as_is(type_)

    def type(self, type_: Type, path: Path) -> Type:
        if inner := children(type_):
            return with_children(type_, tuple(self._nested(c, type_, path) for c in inner))
        if isinstance(type_, Opaque):
            return self._opaque(type_, path)
        if isinstance(type_, Variant) and (version := self.too_old()):
            words = f"'{path_text(path)}': a database file of storage version {version} holds no VARIANT"
            hint = "Make the file by ATTACH 'FILE' (STORAGE_VERSION 'v1.5.0'), or use JSON."
            self.say("F601", Severity.ERROR, words, path, hint)
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
            self.unkept("F603", f"NOT NULL of '{path_text(here)}'", here, Severity.WARNING)
        if column.comment:
            self.unkept("F604", f"the comment of '{path_text(here)}'", here)
        if column.default is not None:
            self.unkept("F604", f"the default of '{path_text(here)}'", here, Severity.WARNING)
        return Column(column.name, self.type(column.type, here), nullable=not key)

    def _opaque(self, type_: Opaque, path: Path) -> Type:
        canonical = canonical_type(type_.text)
        if canonical is None:
            words = f"'{path_text(path)}': DuckDB knows no type {type_.text}"
            self.say("F601", Severity.ERROR, words, path, "Write a named type out in full.")
            return type_
        return parse_type(canonical)

    def default(self, sql: str, type_: Type, path: Path) -> str | None:
        what = f"the default of '{path_text(path)}'"
        try:
            expression = spelled(sql)
            text = default_text(expression.text)
        except BadExpression as error:
            self.bad(what, sql, str(error), path)
            return None
        problem = text and default_problem(text, type_)
        if expression.has_subquery:
            problem = "a default cannot hold a query"
        elif not problem and text and expression.functions and not self._has_default(path, text):
            problem = self.binder(text) if self.binder is not None else None
        if problem:
            self.bad(what, sql, problem, path)
        return None if problem else text

    def _has_default(self, path: Path, text: str) -> bool:
        found = self.live.column(path) if self.live is not None else None
        return found is not None and found.default == text

    def check(
        self, name: str, sql: str, columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> str | None:
        try:
            expression = spelled(sql, names)
        except BadExpression as error:
            self.bad(f"CHECK '{name}'", sql, str(error))
            return None
        text = expression.text
        if (moving := moving_functions(expression)) and not self.has_check(text):
            self.moving(f"CHECK '{name}'", moving)
            return None
        if problem := check_problem(text, columns):
            self.bad(f"CHECK '{name}'", sql, problem)
            return None
        return text

    def hint(self, path: Path, hint: Hint, table: Table) -> Hint:
        """Migration helpers over the old row, safe to stand inside a statement."""
        # Once it has done its work, what it was computed from may be gone.
        live = self.live
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
        # A default may be the moment of the migration; what comes from the row may not.
        varying = moving_functions if key == "_using" else volatile_functions
        if functions := varying(expression):
            self.moving(what, functions, path)
            return "NULL"
        text = safe_text(sql, names)
        if rows and (problem := binding_problem(text, rows)):
            self.bad(what, sql, problem, path, rows)
            return "NULL"
        return text


@lru_cache(maxsize=8192)
def _as_is(type_: Type) -> bool:
    """A scalar that DuckDB keeps, and about which there is nothing to say."""
    if isinstance(type_, Opaque | Variant) or children(type_):
        return False
    fits = not isinstance(type_, Decimal) or type_.precision <= MAX_DIGITS
    return fits and kept(type_) == (type_, ())


def _not_of_a_row(expression: Expression, path: Path, rows: tuple[Column, ...]) -> str | None:
    """Why it does not give each row one value."""
    if foreign := foreign_functions(expression):
        return f"{', '.join(sorted(foreign))} does not give one value for each row"
    if expression.has_window and in_collection(rows, path, fold):
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
