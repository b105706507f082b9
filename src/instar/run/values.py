"""Default and backfill expressions: in either dialect, brought to the engine's, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from instar.core.types import Column, Type
from instar.dialects import reading
from instar.errors import Location, ProjectError
from instar.run.dialects import difference
from instar.run.inferring import Inferrer

_OTHERS = {"duckdb": ("spark",), "spark": ("duckdb",), "snowflake": ("duckdb", "spark")}


@dataclass(frozen=True, slots=True)
class Asked:
    """One expression: what it is for, its text, and where it stands."""

    what: str
    sql: str
    type: Type
    where: Location | None = None


def usable(
    asked: Asked, inferrer: Inferrer, row: tuple[Column, ...], known: Mapping[str, str]
) -> str:
    """The expression in the engine's words. `known`: values of new columns, which no old row has."""
    refused: list[str] = []
    found: dict[str, str] = {}
    for dialect, text in _readings(asked.sql, inferrer.dialect, known):
        problem = inferrer.value_problem(text, asked.type, row)
        if problem is None:
            found[dialect] = text
        else:
            refused.append(problem)
    if not found:
        raise _refused(asked, refused)
    _same(asked, inferrer, found)
    return next(iter(found.values()))


def _readings(sql: str, own: str, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The text read as the engine's dialect, then as the others that it can be said from."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel, SqlglotError

    replaced = {name.casefold(): text for name, text in known.items()}
    for dialect in (own, *_OTHERS.get(own, ())):
        try:
            tree = sqlglot.parse_one(sql, read=reading(dialect))
        except SqlglotError:
            continue
        used = [c for c in tree.find_all(exp.Column) if not c.table]
        hits = [c for c in used if c.name.casefold() in replaced]
        for column in hits:
            value = sqlglot.parse_one(f"({replaced[column.name.casefold()]})", read=reading(own))
            tree = value if column is tree else tree
            if column is not tree:
                column.replace(value)
        if dialect == own and not hits:
            yield dialect, sql
            continue
        tree = _with_maps(tree)
        try:
            yield dialect, tree.sql(dialect=own, unsupported_level=ErrorLevel.RAISE)
        except SqlglotError:
            continue


def _with_maps(tree: Any) -> Any:
    """MAP {k: v} as lists of keys and values, which every dialect can say."""
    from sqlglot import exp

    def listed(node: Any) -> Any:
        if not isinstance(node, exp.ToMap) or not isinstance(node.this, exp.Struct):
            return node
        pairs = [p for p in node.this.expressions if isinstance(p, exp.PropertyEQ)]
        return exp.Map(
            keys=exp.Array(expressions=[p.this for p in pairs]),
            values=exp.Array(expressions=[p.expression for p in pairs]),
        )

    return tree.transform(listed)


def _same(asked: Asked, inferrer: Inferrer, found: Mapping[str, str]) -> None:
    """What two dialects read differently is nobody's to choose."""
    if words := difference(asked.sql, inferrer.dialect):
        raise ProjectError(
            "E158",
            f"{asked.what} means different values: {words}",
            hint="Write it so that both dialects agree.",
            where=asked.where,
        )
    values = {d: inferrer.constant(text) for d, text in found.items()}
    told = {v for v in values.values() if v is not None}
    if len(told) > 1:
        _constant(asked, inferrer, found, values)
        both = ", ".join(f"{v} in {d}" for d, v in values.items())
        raise ProjectError(
            "E158",
            f"{asked.what} means different values: {both}",
            hint="Write it so that both dialects agree.",
            where=asked.where,
        )


def _constant(
    asked: Asked, inferrer: Inferrer, found: Mapping[str, str], values: Mapping[str, str | None]
) -> None:
    """Two answers of the clock or of chance are no sign that two dialects differ."""
    if all(inferrer.constant(text) == values[dialect] for dialect, text in found.items()):
        return
    raise ProjectError(
        "E158",
        f"{asked.what} gives another value each time it is asked",
        hint="Write a constant, or compute the value in the query and fill old rows by hand.",
        where=asked.where,
    )


def _refused(asked: Asked, problems: list[str]) -> ProjectError:
    said = problems[0] if problems else "it cannot be said in this engine's SQL"
    if any(word in said for word in ("onversion", "ast ", "CAST", "DATATYPE", "out of range")):
        from instar.core.types import type_text

        return ProjectError(
            "E159",
            f"{asked.what} gives no {type_text(asked.type)}: {said}",
            hint="A text value needs SQL quotes of its own: \"'…'\".",
            where=asked.where,
        )
    return ProjectError("E158", f"{asked.what} cannot be used: {said}", where=asked.where)
