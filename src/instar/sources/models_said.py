"""What the settings of a model mean: its columns, how it is built, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from instar.core.types import Path
from instar.errors import Location, ProjectError
from instar.expressions import BadExpression, check_expression
from instar.sources.models_front import Said
from instar.sources.paths import split_path
from instar.sources.rings import RING_HINT, ring, ring_words
from instar.sources.yamlfile import SourceFile

Materialization = Literal["view", "table", "incremental"]


@dataclass(frozen=True, slots=True)
class ColumnSaid:
    """What is said about one output column; `places` by attribute."""

    default: str | None = None
    backfill: str | None = None
    renamed_from: str | None = None
    nullable: bool = True
    places: Mapping[str, Location] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Incremental:
    """One of three ways: merge by `unique_key`, replace partitions, or replace intervals."""

    unique_key: tuple[str, ...] = ()
    partition_column: str | None = None
    event_time_column: str | None = None
    granularity: str = "day"

    @property
    def columns(self) -> tuple[str, ...]:
        others = (self.partition_column, self.event_time_column)
        return (*self.unique_key, *(c for c in others if c))


def columns_said(said: Said) -> dict[str, ColumnSaid]:
    """What is said about columns; renames that cannot be are refused, at every depth."""
    found = {name: _column(name, values, said) for name, values in said.columns.items()}
    renames: dict[Path, dict[str, str]] = {}
    for name, column in found.items():
        if column.renamed_from is not None:
            path = split_path(name) or (name,)
            if column.renamed_from == path[-1]:
                words = f"'{name}' cannot be renamed from itself"
                raise _impossible(found, name, words, "Remove 'renamed_from'.")
            parent = tuple(part.casefold() for part in path[:-1])
            renames.setdefault(parent, {})[name] = column.renamed_from
    for level in renames.values():
        _check_renames(found, level)
    return found


def _check_renames(columns: Mapping[str, ColumnSaid], level: Mapping[str, str]) -> None:
    """Of one level: no two from one, and not round in a ring."""
    taken: dict[str, str] = {}
    for name, old in level.items():
        first = taken.setdefault(old.casefold(), name)
        if first != name:
            words = f"'{name}' and '{first}' cannot both be renamed from '{old}'"
            hint = "Keep one; the other may take the value with `backfill`."
            raise _impossible(columns, name, words, hint)
    names = {(split_path(name) or (name,))[-1].casefold(): name for name in level}
    if found := ring({new: level[name].casefold() for new, name in names.items()}):
        raise _impossible(columns, names[found[0]], ring_words(found), RING_HINT)


def _impossible(
    columns: Mapping[str, ColumnSaid], name: str, words: str, hint: str
) -> ProjectError:
    where = columns[name].places.get("renamed_from")
    return ProjectError("E132", words, hint=hint, where=where)


def _column(name: str, values: Mapping[str, object], said: Said) -> ColumnSaid:
    prefix = f"columns.{name}."
    places = {k.removeprefix(prefix): v for k, v in said.places.items() if k.startswith(prefix)}
    for key in ("default", "backfill"):
        if key in values:
            _one_expression(str(values[key]), f"the {key} of '{name}'", places.get(key))
    return ColumnSaid(
        default=_text(values.get("default")),
        backfill=_text(values.get("backfill")),
        renamed_from=_text(values.get("renamed_from")),
        nullable=bool(values.get("nullable", True)),
        places=places,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _one_expression(text: str, what: str, where: Location | None) -> None:
    """It must be one expression in at least one of the two families; which one, the engine decides."""
    problems: list[str] = []
    for dialect in ("duckdb", "spark"):
        try:
            check_expression(text, dialect)
            return
        except BadExpression as error:
            problems.append(str(error))
    raise ProjectError(
        "E158", f"{what}: {problems[0]}", hint="Write exactly one SQL expression.", where=where
    )


def materialization_said(
    said: Said, file: SourceFile
) -> tuple[Materialization, Incremental | None]:
    kind = said.values.get("materialization", "table")
    raw = said.values.get("incremental")
    if raw is None:
        if kind == "incremental":
            raise ProjectError(
                "E160",
                "an incremental model must say how: 'incremental' is missing",
                hint="One of unique_key, partition_column, event_time_column.",
                where=said.places.get("materialization", file.location(1, 1)),
            )
        return kind, None
    where = said.places.get("incremental")
    if kind == "view":
        raise ProjectError("E160", "a view cannot be incremental", where=where)
    ways = [k for k in ("unique_key", "partition_column", "event_time_column") if raw.get(k)]
    if len(ways) != 1:
        told = "names none of" if not ways else "names more than one of"
        raise ProjectError(
            "E160",
            f"'incremental' {told} unique_key, partition_column, event_time_column",
            hint="Name exactly one.",
            where=where,
        )
    if "granularity" in raw and ways[0] != "event_time_column":
        raise ProjectError(
            "E160",
            "'granularity' belongs to event_time_column",
            where=said.places.get("incremental.granularity", where),
        )
    return "incremental", Incremental(
        tuple(raw.get("unique_key", ())),
        raw.get("partition_column"),
        raw.get("event_time_column"),
        raw.get("granularity", "day"),
    )


def check_parquet(format_: str, way: Incremental | None, said: Said) -> None:
    """Parquet has no commit that replaces some rows: only whole partitions can be put in."""
    if format_ != "parquet" or way is None or way.partition_column:
        return
    key = "unique_key" if way.unique_key else "event_time_column"
    raise ProjectError(
        "E161",
        f"Parquet cannot replace single rows, as '{key}' asks for",
        hint="Use partition_column, or the format delta or iceberg.",
        where=said.places.get(f"incremental.{key}", said.places.get("incremental")),
    )
