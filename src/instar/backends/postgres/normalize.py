"""What is wanted, as PostgreSQL would report it had the table been created so; findings for the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from instar.backends.postgres.names import LIMIT, too_long
from instar.backends.postgres.scratch import NotTaken, Speller
from instar.backends.postgres.spelling import (
    BadExpression,
    Expression,
    is_literal,
    plain_default,
    spelled,
)
from instar.backends.postgres.types import MAX_DIGITS, kept
from instar.core.findings import Finding, Severity
from instar.core.schema import Check, Constraint, Hint, Table, TableName, Unique, Wanted
from instar.core.types import Array, Column, Decimal, Path, Type, bare, children, path_text


def normalize(
    wanted: Wanted, live: Table | None, speller: Speller | None
) -> tuple[Wanted, tuple[Finding, ...]]:
    """The wanted table in PostgreSQL's words."""
    work = _Normalizer(wanted, live, speller)
    table = work.table()
    hints: dict[Path, Hint] = {
        path: work.hint(path, hint) for path, hint in wanted.hints.items() if len(path) == 1
    }
    result = replace(wanted, table=table, hints=MappingProxyType(hints))
    return result, tuple(work.findings)


class _Normalizer:
    """Walks one table and gathers findings."""

    def __init__(self, wanted: Wanted, live: Table | None, speller: Speller | None) -> None:
        self.wanted = wanted
        self.live = live
        self.speller = speller
        self.name: TableName = wanted.table.name
        self.findings: list[Finding] = []

    def say(
        self, code: str, severity: Severity, words: str, path: Path = (), hint: str | None = None
    ) -> None:
        self.findings.append(Finding(code, severity, f"[{self.name}] {words}.", hint, path))

    def unkept(self, code: str, words: str, path: Path = (), *, warn: bool = False) -> None:
        severity = Severity.WARNING if warn else Severity.INFO
        self.say(code, severity, f"PostgreSQL does not keep {words}", path)

    def table(self) -> Table:
        declared = self.wanted.table
        self._names(declared)
        key = {name.casefold() for name in declared.primary_key}
        columns = tuple(self.column(c, required=c.name.casefold() in key) for c in declared.columns)
        spellings = tuple(_spellings(self.wanted, self.live))
        self._unkept_parts(declared)
        return replace(
            declared,
            columns=columns,
            primary_key=_respelled(declared.primary_key, spellings),
            constraints=tuple(self.constraints(declared.constraints, columns, spellings)),
            cluster_by=(),
            partition_by=(),
            properties=MappingProxyType({}),
            change_tracking=None,
            format="postgres",
        )

    def _names(self, declared: Table) -> None:
        names = [declared.name.schema, declared.name.name, *(c.name for c in declared.columns)]
        for name in (*names, *(c.name for c in declared.constraints)):
            if too_long(name):
                words = (
                    f"the name '{name}' has {len(name.encode())} bytes; PostgreSQL cuts at {LIMIT}"
                )
                self.say("F601", Severity.ERROR, words, (), "Choose a shorter name.")
            if "\x00" in name:
                self.say("F601", Severity.ERROR, "a name holds a zero byte", ())

    def _unkept_parts(self, declared: Table) -> None:
        if declared.cluster_by:
            self.unkept("F604", f"clustering by ({', '.join(declared.cluster_by)})")
        if declared.partition_by:
            self.unkept("F604", f"partitioning by ({', '.join(declared.partition_by)})", warn=True)
        if declared.change_tracking:
            self.unkept("F604", "change tracking", warn=True)
        for key in declared.properties:
            self.unkept("F604", f"the property '{key}'")

    def column(self, column: Column, *, required: bool) -> Column:
        path = (column.name,)
        type_ = self.type(column.type, path)
        return replace(
            column,
            type=type_,
            nullable=column.nullable and not required,
            default=self.default(column, type_, path),
            identity=None,
        )

    def type(self, type_: Type, path: Path) -> Type:
        bad = [t for t in (type_, *(c.type for c in children(type_))) if _too_wide(t)]
        if bad:
            words = (
                f"'{path_text(path)}': PostgreSQL has no decimal of more than {MAX_DIGITS} digits"
            )
            self.say("F601", Severity.ERROR, words, path)
            return Decimal(MAX_DIGITS, 0)
        known, lost = kept(type_)
        for words in lost:
            self.unkept("F602", f"{words} of '{path_text(path)}'", path)
        if isinstance(type_, Array) and isinstance(known, Array) and not type_.element.nullable:
            self.unkept("F603", f"NOT NULL of '{path_text((*path, 'element'))}'", path, warn=True)
        return known

    def default(self, column: Column, type_: Type, path: Path) -> str | None:
        """The lasting default as the catalog will report it."""
        if column.default is None:
            return None
        what = f"the default of '{path_text(path)}'"
        try:
            expression = spelled(column.default)
        except BadExpression as error:
            self.bad(what, column.default, str(error), path)
            return None
        text = plain_default(expression.text)
        if text is None or self._live_default(column.name) == text or self.speller is None:
            return text
        try:
            found = plain_default(self.speller.default(expression.text, type_))
        except NotTaken as error:
            self.bad(what, column.default, str(error), path)
            return text
        return text if is_literal(text) and found == text else found

    def _live_default(self, name: str) -> str | None:
        live = self.live.columns if self.live is not None else ()
        return next((c.default for c in live if c.name.casefold() == name.casefold()), None)

    def bad(self, what: str, sql: str, why: str, path: Path = ()) -> None:
        words = f"{what} is not an expression that PostgreSQL can use: {sql} ({why.rstrip('.')})"
        self.say("F606", Severity.ERROR, words, path, "Write exactly one SQL expression.")

    def constraints(
        self, declared: tuple[Constraint, ...], columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> Iterator[Constraint]:
        for constraint in declared:
            match constraint:
                case Unique(name, unique):
                    yield Unique(name, _respelled(unique, names))
                case Check(name, sql):
                    yield Check(name, self._check(name, sql, columns, names))

    def _check(
        self, name: str, sql: str, columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> str:
        """As the catalog spells it; the server is asked unless the table has it already."""
        try:
            text = spelled(sql, names).text
        except BadExpression as error:
            self.bad(f"CHECK '{name}'", sql, str(error))
            return sql
        if self.speller is None or self._has_check(text, columns, names):
            return text
        as_named = tuple(replace(c, name=n) for c, n in zip(columns, names, strict=True))
        try:
            return spelled(self.speller.check(text, as_named), names).text
        except NotTaken as error:
            self.bad(f"CHECK '{name}'", sql, str(error))
        except BadExpression:
            pass
        return text

    def _has_check(self, text: str, columns: tuple[Column, ...], names: tuple[str, ...]) -> bool:
        """The table has it in this spelling, and no type changes that would alter it."""
        if self.live is None:
            return False
        types = {name: bare(c.type) for c, name in zip(columns, names, strict=True)}
        stay = all(types.get(c.name, bare(c.type)) == bare(c.type) for c in self.live.columns)
        there = (c for c in self.live.constraints if isinstance(c, Check))
        return stay and any(c.expression == text for c in there)

    def hint(self, path: Path, hint: Hint) -> Hint:
        """Migration helpers over the old row."""
        return replace(
            hint,
            using=self._helper("_using", hint.using, path),
            default=self._helper("_default", hint.default, path),
        )

    def _helper(self, key: str, sql: str | None, path: Path) -> str | None:
        if sql is None:
            return None
        if self._has_done_its_work(key, path):
            return sql
        what = f"the {key} of '{path_text(path)}'"
        rows = self.live.columns if self.live is not None else ()
        try:
            expression = spelled(sql, tuple(c.name for c in rows))
        except BadExpression as error:
            self.bad(what, sql, str(error), path)
            return "NULL"
        if expression.has_subquery:
            self.bad(what, sql, "it holds a query", path)
            return "NULL"
        if self._moves(what, key, expression, path):
            return "NULL"
        if rows and self.speller is not None:
            try:
                self.speller.type_of(expression.text, rows)
            except NotTaken as error:
                self.bad(what, sql, str(error), path)
                return "NULL"
        return expression.text

    def _has_done_its_work(self, key: str, path: Path) -> bool:
        """What it was for is live: the columns that it reads may be gone."""
        if self.live is None:
            return False
        wish = next((c for c in self.wanted.table.columns if (c.name,) == path), None)
        names = {path[0].casefold(), (self.wanted.hint(path).renamed_from or path[0]).casefold()}
        found = next((c for c in self.live.columns if c.name.casefold() in names), None)
        if wish is None or found is None:
            return False
        required = found.nullable and not wish.nullable
        if key == "_default":
            return not required
        return bare(found.type) == bare(kept(wish.type)[0])

    def _moves(self, what: str, key: str, expression: Expression, path: Path) -> bool:
        """A value that changes from call to call could never be verified, nor repeated after a crash."""
        moving = expression.volatile
        if key == "_using" and expression.varies:
            moving = moving or expression.functions
        if not moving:
            return False
        words = f"{what} answers differently each time: {', '.join(sorted(moving))}"
        self.say("F607", Severity.ERROR, words, path, "Use a repeatable expression.")
        return True


def _too_wide(type_: Type) -> bool:
    return isinstance(type_, Decimal) and type_.precision > MAX_DIGITS


def _spellings(wanted: Wanted, live: Table | None) -> Iterator[str]:
    """Each wanted column as the table will spell it: a live name stays unless a rename is declared."""
    names = {c.name.casefold(): c.name for c in live.columns} if live is not None else {}
    for column in wanted.table.columns:
        renamed = wanted.hint((column.name,)).renamed_from is not None
        yield column.name if renamed else names.get(column.name.casefold(), column.name)


def _respelled(columns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    by_fold = {name.casefold(): name for name in names}
    return tuple(by_fold.get(c.casefold(), c) for c in columns)
