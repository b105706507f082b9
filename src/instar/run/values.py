"""Default and backfill expressions: in either dialect, brought to the engine's, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from instar.core.types import Column, Decimal, Float, Integer, Type, type_text
from instar.dialects import reading
from instar.errors import Location, ProjectError
from instar.run.dialects import difference
from instar.run.inferring import CannotInfer, Inferrer
from instar.run.keeping import lost

_OTHERS = {"duckdb": ("spark",), "spark": ("duckdb",), "snowflake": ("duckdb", "spark")}
_CUTS = {"duckdb": False, "spark": True, "snowflake": False}
"""Whether a fraction that becomes a whole number is cut off, or rounded."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One expression: what it is for, its text, and where it stands."""

    what: str
    sql: str
    type: Type
    where: Location | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The expression as one dialect reads it, in the engine's words; `spelled` is the same for the same tree."""

    dialect: str
    text: str
    spelled: str


def usable(
    asked: Asked, inferrer: Inferrer, row: tuple[Column, ...], known: Mapping[str, str]
) -> str:
    """The expression in the engine's words. `known`: values of new columns, which no old row has."""
    refused: list[str] = []
    found: list[_Reading] = []
    for one in _readings(asked, inferrer, row, known):
        problem = inferrer.value_problem(one.text, asked.type, row)
        if problem is None:
            found.append(one)
        else:
            refused.append(problem)
    if not found:
        raise _refused(asked, refused)
    _same(asked, inferrer, found, row)
    if not row and (words := lost(found[0].text, asked.type, inferrer)):
        raise ProjectError(
            "E159",
            f"{asked.what} gives no {type_text(asked.type)}: {words}",
            hint="Write it as the value that the column is to hold.",
            where=asked.where,
        )
    return found[0].text


def _readings(
    asked: Asked, inferrer: Inferrer, row: tuple[Column, ...], known: Mapping[str, str]
) -> Iterator[_Reading]:
    """The text read as the engine's dialect, then as the others that it can be said from."""
    import sqlglot
    from sqlglot.errors import ErrorLevel, SqlglotError

    own = inferrer.dialect
    for dialect in (own, *_OTHERS.get(own, ())):
        try:
            tree = sqlglot.parse_one(asked.sql, read=reading(dialect))
        except SqlglotError:
            continue
        tree, replaced = _with_known(tree, known, own)
        if dialect != own or replaced:
            tree = _with_maps(tree)
        if dialect != own:
            tree = _cut_alike(_strict(tree), asked.type, dialect, inferrer, row)
        try:
            spelled = tree.sql(dialect=own, unsupported_level=ErrorLevel.RAISE)
        except SqlglotError:
            if dialect != own or replaced:
                continue
            spelled = asked.sql
        as_it_stands = dialect == own and not replaced
        yield _Reading(dialect, asked.sql if as_it_stands else spelled, spelled)


def _with_known(tree: Any, known: Mapping[str, str], own: str) -> tuple[Any, bool]:
    """Names of new columns replaced by what they hold; whether there were any."""
    import sqlglot
    from sqlglot import exp

    values = {name.casefold(): text for name, text in known.items()}
    used = [c for c in tree.find_all(exp.Column) if not c.table]
    hits = [c for c in used if c.name.casefold() in values]
    for column in hits:
        value = sqlglot.parse_one(f"({values[column.name.casefold()]})", read=reading(own))
        tree = value if column is tree else tree
        if column is not tree:
            column.replace(value)
    return tree, bool(hits)


def _strict(tree: Any) -> Any:
    """Spark's CAST raises an error since Spark 4, as every other; sqlglot takes it for TRY_CAST."""
    from sqlglot import exp

    def strict(node: Any) -> Any:
        if isinstance(node, exp.TryCast) and not node.args.get("safe"):
            return exp.Cast(this=node.this, to=node.args["to"])
        return node

    return tree.transform(strict)


def _cut_alike(
    tree: Any, type_: Type, dialect: str, inferrer: Inferrer, row: tuple[Column, ...]
) -> Any:
    """A fraction becomes a whole number as in the other dialect: Spark cuts it off, DuckDB rounds."""
    from sqlglot import exp

    if _CUTS.get(dialect) == _CUTS.get(inferrer.dialect):
        return tree

    def whole(value: Any) -> Any:
        kind = type_of(value, inferrer, row)
        if not isinstance(kind, Float | Decimal):
            return value
        # DuckDB rounds half of a FLOAT to the even number, half of a DECIMAL away from 0.
        way = "TRUNC" if _CUTS[dialect] else "BROUND" if isinstance(kind, Float) else "ROUND"
        return exp.Anonymous(this=way, expressions=[value.copy()])

    for cast in list(tree.find_all(exp.Cast)):
        if cast.to.this in exp.DataType.INTEGER_TYPES:
            cast.set("this", whole(cast.this))
    return whole(tree) if isinstance(type_, Integer) else tree


def type_of(tree: Any, inferrer: Inferrer, row: tuple[Column, ...]) -> Type | None:
    """What the engine's analyser says of one part of an expression."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    own = inferrer.dialect
    names = (exp.to_identifier(c.name, quoted=True).sql(dialect=own) for c in row)
    source = ", ".join(
        f"{inferrer.null(c.type)} AS {name}" for c, name in zip(row, names, strict=True)
    )
    try:
        text = f"SELECT ({tree.sql(dialect=own)}) AS v"
        return inferrer.infer(f"{text} FROM (SELECT {source}) AS live" if source else text)[0].type
    except (CannotInfer, SqlglotError):
        return None


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


def _same(asked: Asked, inferrer: Inferrer, found: list[_Reading], row: tuple[Column, ...]) -> None:
    """What two dialects read differently is nobody's to choose."""
    known = difference(asked.sql, asked.type, lambda part: type_of(part, inferrer, row))
    if known is not None:
        raise _different(asked, known.words, known.hint)
    texts = [one.text for one in found]
    if len(texts) == 1:
        return
    values = inferrer.values(texts, asked.type, ())
    if values and inferrer.values(texts, asked.type, ()) != values:
        raise ProjectError(
            "E158",
            f"{asked.what} gives another value each time it is asked",
            hint="Write a constant, or compute the value in the query and fill old rows by hand.",
            where=asked.where,
        )
    if not values and len({one.spelled for one in found}) > 1:
        values = inferrer.values(texts, asked.type, row)
    for told in values:
        if len(set(told)) > 1:
            both = zip(told, found, strict=True)
            words = ", ".join(f"{value} in {one.dialect}" for value, one in both)
            raise _different(asked, words, "Write it so that both dialects agree.")


def _different(asked: Asked, words: str, hint: str) -> ProjectError:
    message = f"{asked.what} means different values: {words}"
    return ProjectError("E158", message, hint=hint, where=asked.where)


def _refused(asked: Asked, problems: list[str]) -> ProjectError:
    said = problems[0] if problems else "it cannot be said in this engine's SQL"
    if any(word in said for word in ("onversion", "ast ", "CAST", "DATATYPE", "out of range")):
        return ProjectError(
            "E159",
            f"{asked.what} gives no {type_text(asked.type)}: {said}",
            hint="A text value needs SQL quotes of its own: \"'…'\".",
            where=asked.where,
        )
    return ProjectError("E158", f"{asked.what} cannot be used: {said}", where=asked.where)
