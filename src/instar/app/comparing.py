"""Compare any two sides: environments, recorded versions, manifest files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from instar.app.opening import open_state
from instar.app.retracing import Runs, Side, retraced
from instar.core.changes import Change, CreateTable
from instar.core.diff import diff
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, without_identity
from instar.errors import UsageError
from instar.sources.manifest import load_manifest
from instar.sources.names import is_own
from instar.state import Store

if TYPE_CHECKING:
    from instar.app.project import Project


@dataclass(frozen=True, slots=True)
class TableDifference:
    """`changes` lead from left to right; `gone` is a table that only the left has."""

    table: TableName
    changes: tuple[Change, ...] = ()
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The tables that differ between two sides."""

    left: str
    right: str
    tables: tuple[TableDifference, ...]

    @property
    def same(self) -> bool:
        return not self.tables


def compare(project: Project, left: str, right: str, spark: Any = None) -> Comparison:
    """What leads from the left side to the right one, table by table."""
    one, other = _side(project, left, right, spark), _side(project, right, left, spark)
    files = [tables for side, tables in ((left, one), (right, other)) if _single_file(side)]
    names = set().union(*files) if files else set(one) | set(other)
    found = [_difference(name, one.get(name), other.get(name)) for name in sorted(names)]
    return Comparison(left, right, tuple(d for d in found if d is not None))


def _single_file(side: str) -> bool:
    return side.endswith((".yml", ".yaml"))


def _side(project: Project, side: str, other: str, spark: Any) -> dict[str, Side]:
    """By bare name in the home schema: two environments may keep a table in schemas of their own."""
    names = project.config.names
    if _single_file(side):
        if not Path(side).is_file():
            raise UsageError("E117", f"there is no manifest file '{side}'")
        beside = other.partition("@")[0]
        chosen = project.environment(beside if beside in names else None)
        wanted = load_manifest(project.config, chosen, Path(side))
        return {_key(wanted.table.name, chosen.schema): Side(wanted)}
    env, _, version = side.partition("@")
    if env not in names:
        raise UsageError(
            "E117",
            f"'{side}' is neither an environment, a version (env@3) nor a manifest file",
            hint=f"Environments: {', '.join(names)}.",
        )
    home = project.environment(env).schema
    found = _recorded(project, env, version) if version else _live(project, env, spark)
    with open_state(project.config, reading=True) as store:
        return {
            _key(t.name, home): Side(Wanted(t), _runs(store, env, t.name, run))
            for t, run in found
            if not is_own(t.name.name)
        }


def _runs(store: Store, env: str, table: TableName, run: str | None) -> Runs:
    return {(env, n): done for n, done in store.renames_until(env, table, run)}


def _key(name: TableName, home: str) -> str:
    return name.name if name.schema == home else f"{name.schema}.{name.name}"


def _live(project: Project, env: str, spark: Any) -> Iterator[tuple[Table, None]]:
    """What is in the home schema, and in other schemas what is declared or was applied."""
    home = project.environment(env).schema
    with open_state(project.config, reading=True) as store:
        known = {event.table for event in store.history(env)}
    known.update(w.table.name for w in project.wanted(env))
    abroad = sorted(name for name in known if name.schema != home)
    found = project.live(env, spark=spark)
    everything = (*found, *project.live(env, abroad, spark=spark)) if abroad else found
    return ((table, None) for table in everything)


def _recorded(project: Project, env: str, version: str) -> tuple[tuple[Table, str], ...]:
    """The tables of that version, each with the run that made it so."""
    if not version.isdigit():
        raise UsageError("E117", f"'{version}' is not a version number", hint="Example: dev@2")
    with open_state(project.config, reading=True) as store:
        names = {event.table for event in store.history(env)}
        found = [v for name in sorted(names) for v in store.versions(env, name)]
    tables = tuple((v.table, v.run) for v in found if v.n == int(version))
    if not tables:
        raise UsageError(
            "E117", f"no table has version {version} in '{env}'", hint="See `instar history`."
        )
    return tables


def _difference(name: str, one: Side | None, other: Side | None) -> TableDifference | None:
    del name
    if other is None:
        assert one is not None
        return TableDifference(one.table.name, gone=True)
    if one is None:
        return TableDifference(other.table.name, (CreateTable(other.table),))
    source = replace(one.table, columns=_told(one.table, other.table))
    target = replace(
        other.table,
        name=one.table.name,
        columns=tuple(without_identity(c) for c in _told(other.table, one.table)),
    )
    changes = diff(source, replace(other.wanted, table=target, hints=retraced(one, other)))
    return TableDifference(one.table.name, changes) if changes else None


def _told(table: Table, beside: Table) -> tuple[Column, ...]:
    """A column that is computed otherwise on the other side says so where its default stands.

    A plan never changes how a live column is computed, so `diff` has no change of its own for it.
    """
    known = {c.name.casefold(): c for c in beside.columns}

    def told(column: Column) -> Column:
        other = known.get(column.name.casefold())
        if column.generated is None or other is None or other.generated == column.generated:
            return column
        return replace(column, default=f"GENERATED ALWAYS AS ({column.generated})")

    return tuple(told(c) for c in table.columns)
