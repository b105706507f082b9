"""Manifests for live tables that have none, and a word about every table that gets none."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from instar.app.naming import check_names, named
from instar.backends.base import Backend, NotATable
from instar.backends.registry import Engine
from instar.core.schema import Table, TableName
from instar.sources.importer import manifest_text
from instar.sources.names import is_own

Formats = Mapping[str, Table]
"""What lives under one name, by format: two catalogs may each have a table of that name."""


@dataclass(frozen=True, slots=True)
class Imported:
    """`manifests` are (path, text) each, not yet written; `left` says why a live table has none.

    `live`: how many tables there are, with a manifest or without.
    """

    manifests: tuple[tuple[Path, str], ...]
    left: tuple[str, ...] = ()
    live: int = 0


def imported(
    engine: Engine,
    schema: str,
    declared: Mapping[TableName, str],
    patterns: Sequence[str],
    folder: Path,
) -> Imported:
    """`declared` are the tables that the project knows, with their formats."""
    live: dict[TableName, Formats] = {}
    others: dict[TableName, str] = {}
    for each in _schemas(schema, patterns):
        there, beside = _live(engine, each)
        live, others = live | there, others | beside
    check_names(patterns, (*live, *others), "live table")
    known = {name.folded: format_ for name, format_ in declared.items()}

    def chosen(name: TableName) -> bool:
        return (not patterns or named(name, patterns)) and not is_own(name.name)

    made: dict[Path, str] = {}
    left = [
        f"{name} is {what}, which Instar does not evolve: it gets no manifest"
        for name, what in sorted(others.items())
        if chosen(name) and name.folded not in known and name not in live
    ]
    for name in filter(chosen, sorted(live)):
        format_ = known.get(name.folded)
        kept = format_ or (
            engine.default if engine.default in live[name] else next(iter(live[name]))
        )
        left += _clashing(name, kept, live[name])
        if format_ is None:
            taken = {path.name.casefold() for path in made}
            made[_path(folder, name, taken)] = manifest_text(live[name][kept])
    return Imported(tuple(made.items()), tuple(left), len(live))


def _schemas(schema: str, patterns: Sequence[str]) -> tuple[str, ...]:
    """The environment's own schema, and those that a pattern names in full: `sales.*`."""
    named_ones = (p.rpartition(".")[0] for p in patterns)
    full = (s for s in named_ones if s and not set(s) & set("*?["))
    return tuple(dict.fromkeys((schema, *full)))


def _live(engine: Engine, schema: str) -> tuple[dict[TableName, Formats], dict[TableName, str]]:
    """The tables of a schema, and what else there is that calls itself a table."""
    live: dict[TableName, dict[str, Table]] = {}
    others: dict[TableName, str] = {}
    for format_, backend in _each(engine):
        for name, found in backend.inspect(backend.list_tables(schema)).items():
            if isinstance(found, NotATable):
                others[name] = found.what
            else:
                live.setdefault(name, {})[format_] = backend.shown(found)
        others |= {other.name: other.what for other in backend.foreign(schema)}
    return dict(live), others


def undeclared(engine: Engine, schema: str, declared: Sequence[TableName]) -> tuple[TableName, ...]:
    """The live tables of a schema that no manifest and no model knows; copies of Instar's own are not."""
    known = {name.folded for name in declared}
    live = {name for _, backend in _each(engine) for name in backend.list_tables(schema)}
    return tuple(sorted(n for n in live if n.folded not in known and not is_own(n.name)))


def _each(engine: Engine) -> Iterator[tuple[str, Backend]]:
    """Every backend once, under the first of its formats."""
    seen: set[int] = set()
    for format_, backend in engine.backends.items():
        if id(backend) not in seen:
            seen.add(id(backend))
            yield format_, backend


def _clashing(name: TableName, kept: str, tables: Formats) -> Iterator[str]:
    for format_ in tables:
        if format_ != kept:
            yield (
                f"{name} is there as {format_} too, and that table gets no manifest: a name has only"
                f" one, and it is for {kept}"
            )


def _path(folder: Path, name: TableName, taken: Container[str]) -> Path:
    """A file name that is safe everywhere, also where upper and lower case are one."""
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name.name) or "table"
    path, n = folder / f"{safe}.yml", 2
    while path.exists() or path.name.casefold() in taken:
        path, n = folder / f"{safe}_{n}.yml", n + 1
    return path
