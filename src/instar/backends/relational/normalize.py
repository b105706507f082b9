"""What is wanted, as an engine would report it had the table been created so; findings for the rest."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import ClassVar

from instar.core.findings import Finding, Severity
from instar.core.matching import Fold
from instar.core.nearest import closest
from instar.core.schema import Check, Constraint, Table, Unique, Wanted
from instar.core.types import Column, Path, Struct, Type


class Normalizer(ABC):
    """Walks one table and gathers findings; an engine brings its types, defaults and CHECKs."""

    engine: ClassVar[str]
    """Its name for people."""
    format: ClassVar[str]
    partitioning: ClassVar[Severity] = Severity.INFO
    """How loudly it is said that partitioning is not kept."""

    def __init__(self, wanted: Wanted, live: Table | None, fold: Fold) -> None:
        self.wanted = wanted
        self.live = live
        self.fold = fold
        self.findings: list[Finding] = []

    def keeps(self, type_: Type) -> bool:
        """The type is a scalar that stays as it is, with nothing to say about it; known at once."""
        del type_
        return False

    @abstractmethod
    def type(self, type_: Type, path: Path) -> Type:
        """The type that the engine keeps."""

    @abstractmethod
    def default(self, sql: str, type_: Type, path: Path) -> str | None:
        """The lasting default as the catalog will report it."""

    @abstractmethod
    def check(
        self, name: str, sql: str, columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> str | None:
        """A CHECK as the catalog will report it; None leaves it out. `names` are the columns as spelled."""

    def say(
        self,
        code: str,
        severity: Severity,
        words: str,
        path: Path = (),
        hint: str | None = None,
        key: str = "",
    ) -> None:
        message = f"[{self.wanted.table.name}] {words}."
        self.findings.append(Finding(code, severity, message, hint, path, key=key))

    def unkept(
        self,
        code: str,
        words: str,
        path: Path = (),
        severity: Severity = Severity.INFO,
        key: str = "",
    ) -> None:
        self.say(code, severity, f"{self.engine} does not keep {words}", path, None, key)

    def bad(
        self, what: str, sql: str, why: str, path: Path = (), rows: tuple[Column, ...] = ()
    ) -> None:
        """`rows`: the columns that it may read."""
        words = f"{what} is not an expression that {self.engine} can use: {sql} ({why.rstrip('.')})"
        hint = _readable(why, rows) or "Write exactly one SQL expression."
        self.say("F606", Severity.ERROR, words, path, hint)

    def moving(self, what: str, functions: frozenset[str], path: Path = ()) -> None:
        """A value that changes from call to call could never be verified, nor repeated after a crash."""
        words = f"{what} answers differently each time: {', '.join(sorted(functions))}"
        self.say("F607", Severity.ERROR, words, path, "Use a repeatable expression.")

    def table(self) -> Table:
        declared = self.wanted.table
        key = {self.fold(name) for name in declared.primary_key}
        columns = tuple(
            [
                c
                if c.default is None and c.identity is None and not key and self.keeps(c.type)
                else self._column(c, self.fold(c.name) in key)
                for c in declared.columns
            ]
        )
        names = tuple(self._spellings()) if key or declared.constraints else ()
        self._unkept_parts(declared)
        return replace(
            declared,
            columns=columns,
            primary_key=self._respelled(declared.primary_key, names),
            constraints=tuple(self._constraints(declared.constraints, columns, names)),
            cluster_by=(),
            partition_by=(),
            properties=MappingProxyType({}),
            change_tracking=None,
            format=self.format,
        )

    def _column(self, column: Column, required: bool) -> Column:
        path = (column.name,)
        type_ = self.type(column.type, path)
        plain = column.default is None and column.identity is None
        if plain and type_ == column.type and not required:
            return column
        return replace(
            column,
            type=type_,
            nullable=column.nullable and not required,
            default=None if column.default is None else self.default(column.default, type_, path),
            identity=None,
        )

    def _unkept_parts(self, declared: Table) -> None:
        if declared.cluster_by:
            words = f"clustering by ({', '.join(declared.cluster_by)})"
            self.unkept("F604", words, key="cluster_by")
        if declared.partition_by:
            words = f"partitioning by ({', '.join(declared.partition_by)})"
            self.unkept("F604", words, severity=self.partitioning, key="partition_by")
        if declared.change_tracking:
            words = "a mark of change tracking; the declaration counts instead"
            self.unkept("F604", words, key="change_tracking")
        for key in declared.properties:
            self.unkept("F604", f"the property '{key}'", key=f"properties.{key}")

    def _constraints(
        self, declared: tuple[Constraint, ...], columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> Iterator[Constraint]:
        for constraint in declared:
            match constraint:
                case Unique(name, unique):
                    yield Unique(name, self._respelled(unique, names))
                case Check(name, sql):
                    said = len(self.findings)
                    if (text := self.check(name, sql, columns, names)) is not None:
                        yield Check(name, text)
                    told = self.findings[said:]
                    self.findings[said:] = [replace(f, key=f"constraints.{name}") for f in told]

    def has_check(self, text: str) -> bool:
        """The live table has a CHECK in this spelling: it is not for a manifest to judge it."""
        there = self.live.constraints if self.live is not None else ()
        return any(isinstance(c, Check) and c.expression == text for c in there)

    def _spellings(self) -> Iterator[str]:
        """Each wanted column as the table will spell it: a live name stays unless a rename is declared."""
        live = self.live.columns if self.live is not None else ()
        names = {self.fold(c.name): c.name for c in live}
        for column in self.wanted.table.columns:
            renamed = self.wanted.hint((column.name,), self.fold).renamed_from is not None
            yield column.name if renamed else names.get(self.fold(column.name), column.name)

    def _respelled(self, columns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
        by_fold = {self.fold(name): name for name in names}
        return tuple(by_fold.get(self.fold(c), c) for c in columns)


_UNKNOWN_COLUMN = re.compile(r'column "([^"]+)"')
_NAMED = 8
"""How many columns a hint names."""


def _readable(why: str, rows: tuple[Column, ...]) -> str | None:
    """What an expression could have read, where it names a column that is not there."""
    unknown = _UNKNOWN_COLUMN.search(why)
    if unknown is None or not rows:
        return None
    names = [c.name for c in rows]
    near = closest(unknown[1], names)
    said = f"Did you mean '{near}'? " if near else ""
    more = ", …" if len(names) > _NAMED else ""
    nested = next((c.name for c in rows if isinstance(c.type, Struct)), None)
    field = f"; a field as {nested}.field" if nested else ""
    return f"{said}It reads the row as it is live: {', '.join(names[:_NAMED])}{more}{field}."
