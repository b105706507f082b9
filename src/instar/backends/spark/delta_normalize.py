"""What Delta keeps of a wanted table, and a finding for everything it keeps otherwise or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from instar.backends.spark.delta_inspect import MAPPING, NOT_NULL, TRACKING, WIDENING, is_own
from instar.backends.spark.delta_sql import parse_path
from instar.backends.spark.expressions import canonical, expression_findings
from instar.backends.spark.normalizing import Normalizer
from instar.backends.spark.types import kept_scalar
from instar.core.findings import Finding, Severity
from instar.core.schema import Check, Constraint, Hint, Table, Unique, Wanted
from instar.core.types import (
    KEY,
    Array,
    Column,
    Interval,
    Map,
    Path,
    Struct,
    Type,
    children,
    path_text,
    type_text,
    with_children,
)

_SET_BY_US = {MAPPING: "name", WIDENING: "true"}


def normalize_delta(wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
    """What Delta would report had the table been created so."""
    broken = tuple(expression_findings(wanted))
    if broken:
        return wanted, broken
    normalizer = DeltaNormalizer(wanted, live, str.casefold)
    return normalizer.table(), tuple(normalizer.findings)


class DeltaNormalizer(Normalizer):
    def table(self) -> Wanted:
        table = self.wanted.table
        columns = tuple(self._column(c, (c.name,), inside=False) for c in table.columns)
        self.limits(columns)
        if self.live is None:
            self.plain_names()
        tracking, properties = self._properties(table)
        kept = replace(
            table,
            columns=columns,
            format="delta",
            primary_key=tuple(self._name(k) for k in table.primary_key),
            constraints=tuple(self._constraint(c) for c in table.constraints),
            cluster_by=tuple(self._path(c) for c in table.cluster_by),
            partition_by=tuple(self._name(c) for c in table.partition_by),
            properties=properties,
            change_tracking=tracking,
        )
        self._keys(kept)
        if kept.cluster_by and kept.partition_by:
            self.never("a Delta table is clustered or partitioned, never both")
        hints = {path: _spelled_hint(hint) for path, hint in self.wanted.hints.items()}
        return replace(self.wanted, table=kept, hints=MappingProxyType(hints))

    # --- columns ---

    def _column(self, column: Column, path: Path, *, inside: bool, part: bool = False) -> Column:
        """`inside`: within an array or a map, where Delta has no NOT NULL; `part`: the element, key
        or value itself."""
        holds = isinstance(column.type, Array | Map)
        inner = tuple(
            self._column(c, (*path, c.name), inside=inside or holds, part=holds)
            for c in children(column.type)
        )
        type_ = with_children(column.type, inner) if inner else self._scalar(column.type, path)
        default = canonical(column.default) if column.default is not None else None
        if default is not None and len(path) > 1:
            self.say("F604", f"'{path_text(path)}' is nested: its default has no effect", path)
            default = None
        generated = canonical(column.generated) if column.generated is not None else None
        key = part and column.name == KEY
        nullable = column.nullable if key or not inside else self._nullable(column, path)
        comment = column.comment
        if comment and part:
            self.say(
                "F604", f"'{path_text(path)}' cannot have a comment", path, severity=Severity.INFO
            )
            comment = None
        return replace(
            column,
            type=type_,
            default=default,
            generated=generated,
            nullable=nullable,
            comment=comment,
        )

    def _scalar(self, type_: Type, path: Path) -> Type:
        match type_:
            case Struct() | Array() | Map():
                if isinstance(type_, Struct):
                    self.never(f"'{path_text(path)}' has no fields", path)
                return type_
            case Interval():
                words = f"'{path_text(path)}': Delta cannot keep {type_text(type_)}"
                self.never(words, path)
                return type_
            case _:
                kept = kept_scalar(type_)
        if kept != type_:
            words = f"'{path_text(path)}' is kept as {type_text(kept)}, not {type_text(type_)}"
            self.say("F602", words, path, severity=Severity.INFO)
        return kept

    def _nullable(self, column: Column, path: Path) -> bool:
        """Inside an array or a map."""
        there = self.live.column(self._live_path(path)) if self.live else None
        if not column.nullable and (there is None or there.nullable):
            self.say("F604", f"'{path_text(path)}': no NOT NULL inside an array or a map", path)
        # Type text cannot say that elements are never NULL: what is there stays.
        return there.nullable if there is not None else True

    def _live_path(self, path: Path) -> Path:
        """Where the live table has a wanted path, renames not counted."""
        assert self.live is not None
        columns, found = self.live.columns, []
        for part in path:
            same = next((c for c in columns if c.name.casefold() == part.casefold()), None)
            if same is None:
                return path
            found.append(same.name)
            columns = children(same.type)
        return tuple(found)

    # --- names ---

    def _name(self, name: str) -> str:
        return self._spelled((name,))[0]

    def _path(self, text: str) -> str:
        return path_text(self._spelled(parse_path(text)))

    def _spelled(self, path: Path) -> Path:
        """As the column will be spelled: a live spelling stays unless a rename says otherwise."""
        columns = self.wanted.table.columns
        found: Path = ()
        for part in path:
            column = next((c for c in columns if c.name.casefold() == part.casefold()), None)
            if column is None:
                words = f"'{path_text(path)}' is named, but it is not one of the columns"
                self.never(words, path)
                return path
            found = (*found, self._kept_name(column, (*found, column.name)))
            columns = children(column.type)
        return found

    def _kept_name(self, column: Column, path: Path) -> str:
        source = self.wanted.hint(path, str.casefold).renamed_from
        if self.live is None or source is not None:
            return column.name
        there = self.live.column(self._live_path(path))
        return there.name if there is not None else column.name

    # --- the table ---

    def _constraint(self, constraint: Constraint) -> Constraint:
        if isinstance(constraint, Unique):
            return replace(constraint, columns=tuple(self._name(c) for c in constraint.columns))
        if constraint.name.lower().startswith(NOT_NULL):
            words = f"the name of CHECK '{constraint.name}' is one that Instar uses itself"
            self.never(words)
        return Check(constraint.name, canonical(constraint.expression))

    def _keys(self, table: Table) -> None:
        if table.primary_key and (self.live is None or self.live.primary_key != table.primary_key):
            self.say("F603", "Delta does not enforce the primary key: it is proven now, and kept")
        known = self.live.constraints if self.live else ()
        for constraint in table.constraints:
            if isinstance(constraint, Unique) and constraint not in known:
                words = f"Delta does not enforce '{constraint.name}': it is proven now, and kept"
                self.say("F603", words)

    def _properties(self, table: Table) -> tuple[bool | None, Mapping[str, str]]:
        tracking, said = table.change_tracking, table.properties.get(TRACKING)
        if tracking is None and said is not None:
            tracking = said.lower() == "true"
        kept = {k: v for k, v in self.settable().items() if k != TRACKING and k not in _SET_BY_US}
        return tracking, MappingProxyType(kept)

    def reserved(self, key: str) -> bool:
        if key == TRACKING or self.wanted.table.properties[key].lower() == _SET_BY_US.get(key):
            return False
        return super().reserved(key) or is_own(key)


def _spelled_hint(hint: Hint) -> Hint:
    return replace(
        hint,
        default=canonical(hint.default) if hint.default is not None else None,
        using=canonical(hint.using) if hint.using is not None else None,
    )
