"""SQL expressions of a person, on Spark: exactly one, in one spelling, and what they refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from instar.core.findings import Finding, Severity
from instar.core.schema import Check, Wanted
from instar.core.types import Path, path_text, walk
from instar.expressions import BadExpression, one_expression

_DIALECT = "spark"
CLOCK = frozenset(
    (
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "curdate",
        "unix_timestamp",
        "currenttimestamp",
        "currentdate",
        "current_user",
        "session_user",
        "user",
    )
)
"""What answers differently in another statement."""
_WORDS = frozenset(("localtimestamp", "session_user"))
"""Functions without parentheses that the parser takes for columns."""
_MOMENTS = frozenset(("now", "today", "tomorrow", "yesterday"))
"""Words that are days or instants to Spark."""
CHANGING = frozenset(
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
        "aes_encrypt",
        "reflect",
        "try_reflect",
        "java_method",
    )
)
"""What answers differently on every call, or in every file; `reflect` may call anything."""


def parsed(sql: str) -> exp.Expr:
    """The tree of exactly one expression."""
    found = one_expression(sql, _DIALECT)
    if found.find(exp.Query):
        raise BadExpression("it holds a query")
    return found


def canonical(sql: str) -> str:
    """One spelling for expressions that differ in blanks, case of keywords or outer brackets."""
    return text_of_tree(parsed(sql))


def text_of_tree(tree: exp.Expr) -> str:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    text: str = tree.sql(dialect=_DIALECT)
    return text


def references(sql: str) -> tuple[Path, ...]:
    """The columns, as paths into structs, that an expression reads."""
    paths = (tuple(part.name for part in parts) for parts in _named(parsed(sql)))
    return tuple(dict.fromkeys(paths))


def renamed(sql: str, new_name: Callable[[Path], Path]) -> str:
    """The expression with its column paths renamed."""
    tree = parsed(sql).copy()
    for parts in list(_named(tree)):
        old = tuple(part.name for part in parts)
        for part, name in zip(parts, new_name(old), strict=True):
            if part.name != name:
                part.replace(exp.to_identifier(name))
    return text_of_tree(tree)


def _named(tree: exp.Expr) -> Iterator[list[exp.Expr]]:
    """The parts of each column path; the parser takes four for a column and hangs the others behind it."""
    for column in tree.find_all(exp.Column):
        parts: list[exp.Expr] = [*column.parts]
        parent = column.parent
        while isinstance(parent, exp.Dot):
            parts.append(parent.expression)
            parent = parent.parent
        yield parts


def changing(sql: str, *, clock: bool = False) -> str | None:
    """The function in it that gives another value each time, if there is one."""
    looked_for = CHANGING | CLOCK if clock else CHANGING
    tree = parsed(sql)
    for function in tree.find_all(exp.Func):
        names = {function.sql_name().lower(), function.name.lower(), function.key.lower()}
        if found := names & looked_for:
            return sorted(found)[0]
    return next(_unsaid(tree), None) if clock else None


def _unsaid(tree: exp.Expr) -> Iterator[str]:
    """The clock, where no function is called by its name."""
    for column in tree.find_all(exp.Column):
        if column.name.lower() in _WORDS and not column.this.args.get("quoted"):
            yield column.name.lower()
    for cast in tree.find_all(exp.Cast):
        word = cast.this.name.strip().lower()
        if cast.this.is_string and word in _MOMENTS and cast.to.this in exp.DataType.TEMPORAL_TYPES:
            yield f"'{word}'"


_OF_THE_ROW = ("_using", "CHECK", "generated")
"""What may depend on the row alone; a default may be the moment of the migration."""


def expression_findings(wanted: Wanted) -> Iterator[Finding]:
    """An error for every expression that is not exactly one, or that a rewrite cannot repeat."""
    table = wanted.table.name
    for what, path, sql, key in _expressions(wanted):
        place = path_text(path) or key.partition(".")[2]
        try:
            function = changing(sql, clock=what in _OF_THE_ROW)
        except BadExpression as error:
            yield Finding(
                "F606",
                Severity.ERROR,
                f"[{table}] the {what} expression of '{place}' cannot be read: {error}.",
                "Write exactly one Spark SQL expression.",
                path,
                key=key,
            )
            continue
        if function is not None and what in (*_OF_THE_ROW, "_default"):
            yield Finding(
                "F607",
                Severity.ERROR,
                f"[{table}] the {what} expression of '{place}' answers differently each time:"
                f" {function}.",
                "Use an expression that depends on the row alone.",
                path,
                key=key,
            )


def _expressions(wanted: Wanted) -> Iterator[tuple[str, Path, str, str]]:
    """(what, path of the column, text, key of the manifest)"""
    for path, column in walk(wanted.table.columns):
        if column.default is not None:
            yield "default", path, column.default, ""
        if column.generated is not None:
            yield "generated", path, column.generated, ""
    for path, hint in wanted.hints.items():
        if hint.default is not None:
            yield "_default", path, hint.default, ""
        if hint.using is not None:
            yield "_using", path, hint.using, ""
    for constraint in wanted.table.constraints:
        if isinstance(constraint, Check):
            yield "CHECK", (), constraint.expression, f"constraints.{constraint.name}"


def overlaps(paths: Mapping[Path, object] | tuple[Path, ...], path: Path) -> bool:
    """Whether one of the paths is the path, holds it or lies in it, whatever the case."""
    wish = tuple(p.casefold() for p in path)
    for other in paths:
        short = tuple(p.casefold() for p in other)
        size = min(len(short), len(wish))
        if short[:size] == wish[:size]:
            return True
    return False
