"""SQL expressions of a person, on Spark: exactly one, in one spelling, and what they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from instar.core.findings import Finding, Severity
from instar.core.schema import Check, Wanted
from instar.core.types import Path, path_text, walk

_DIALECT = "spark"
_CHANGING = frozenset(
    (
        "rand",
        "randn",
        "random",
        "randstr",
        "uniform",
        "uuid",
        "shuffle",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "input_file_block_start",
        "input_file_block_length",
    )
)


class NotOneExpression(ValueError):
    """The text is no expression, or more than one."""


def parsed(sql: str) -> exp.Expression:
    """The tree of exactly one expression."""
    try:
        trees = sqlglot.parse(f"SELECT {sql}", dialect=_DIALECT)
    except SqlglotError as error:
        raise NotOneExpression(str(error).splitlines()[0]) from error
    select = trees[0] if len(trees) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise NotOneExpression("it is more than one expression")
    found: exp.Expression = select.expressions[0]
    said = [key for key, value in select.args.items() if value and key != "expressions"]
    if said or isinstance(found, exp.Alias | exp.Star):
        raise NotOneExpression("it is more than an expression")
    if found.find(exp.Query):
        raise NotOneExpression("it holds a query")
    return found


def canonical(sql: str) -> str:
    """One spelling for expressions that differ in blanks, case of keywords or outer brackets."""
    return text_of_tree(parsed(sql))


def text_of_tree(tree: exp.Expression) -> str:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    text: str = tree.sql(dialect=_DIALECT)
    return text


def references(sql: str) -> tuple[Path, ...]:
    """The columns, as paths into structs, that an expression reads."""
    tree = parsed(sql)
    found: list[Path] = []
    for column in tree.find_all(exp.Column):
        path = tuple(part.name for part in column.parts)
        parent = column.parent
        while isinstance(parent, exp.Dot):
            path = (*path, parent.expression.name)
            parent = parent.parent
        found.append(path)
    return tuple(dict.fromkeys(found))


def renamed(sql: str, new_name: Callable[[Path], Path]) -> str:
    """The expression with its column paths renamed."""
    tree = parsed(sql).copy()
    for column in list(tree.find_all(exp.Column)):
        old = tuple(part.name for part in column.parts)
        for part, name in zip(column.parts, new_name(old), strict=True):
            if part.name != name:
                part.replace(exp.to_identifier(name))
    return text_of_tree(tree)


def changing(sql: str) -> str | None:
    """The function in it that gives another value each time, if there is one."""
    for function in parsed(sql).find_all(exp.Func):
        names = {function.sql_name().lower(), function.name.lower(), function.key.lower()}
        if found := names & _CHANGING:
            return sorted(found)[0]
    return None


def expression_findings(wanted: Wanted) -> Iterator[Finding]:
    """An error for every expression that is not exactly one, or that a rewrite cannot repeat."""
    table = wanted.table.name
    for what, path, sql in _expressions(wanted):
        place = path_text(path) or what
        try:
            function = changing(sql)
        except NotOneExpression as error:
            yield Finding(
                "F601",
                Severity.ERROR,
                f"[{table}] the {what} expression of '{place}' cannot be read: {error}.",
                "Write exactly one Spark SQL expression.",
                path,
            )
            continue
        if function is not None and what == "_using":
            yield Finding(
                "F601",
                Severity.ERROR,
                f"[{table}] the _using expression of '{place}' changes each time it runs"
                f" ({function}): no rewrite could be verified.",
                "Use an expression that depends on the old row alone.",
                path,
            )


def _expressions(wanted: Wanted) -> Iterator[tuple[str, Path, str]]:
    for path, column in walk(wanted.table.columns):
        if column.default is not None:
            yield "default", path, column.default
        if column.generated is not None:
            yield "generated", path, column.generated
    for path, hint in wanted.hints.items():
        if hint.default is not None:
            yield "_default", path, hint.default
        if hint.using is not None:
            yield "_using", path, hint.using
    for constraint in wanted.table.constraints:
        if isinstance(constraint, Check):
            yield "CHECK", (constraint.name,), constraint.expression


def overlaps(paths: Mapping[Path, object] | tuple[Path, ...], path: Path) -> bool:
    """Whether one of the paths is the path, holds it or lies in it, whatever the case."""
    wish = tuple(p.casefold() for p in path)
    for other in paths:
        short = tuple(p.casefold() for p in other)
        size = min(len(short), len(wish))
        if short[:size] == wish[:size]:
            return True
    return False
