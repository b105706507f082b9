"""Which parts of a query decide the rows that it gives: filters, joins, groups, and what is compared whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_CLAUSES = ("where", "group", "having", "qualify", "limit", "offset")


def deciding_nodes(query: Any) -> Iterator[Any]:
    """The expressions of one SELECT that decide its rows; a list that is unfolded decides how many there are."""
    from sqlglot import exp

    if not isinstance(query, exp.Select):
        return
    args = query.args
    yield from (args[c] for c in _CLAUSES if isinstance(args.get(c), exp.Expression))
    if args.get("order") and (args.get("limit") or args.get("offset")):
        yield args["order"]
    if isinstance(distinct := args.get("distinct"), exp.Distinct) and distinct.args.get("on"):
        yield distinct.args["on"]
        yield from (args["order"],) if args.get("order") else ()
    if (group := args.get("group")) is not None and group.args.get("all"):
        yield from (s for s in query.selects if s.find(exp.AggFunc) is None)
    yield from args.get("laterals") or ()
    for join in args.get("joins") or ():
        yield from (join.args["on"],) if join.args.get("on") else ()
        yield from join.args.get("using") or ()
        if isinstance(join.this, exp.Unnest | exp.Lateral):
            yield join.this


def compares_rows(query: Any) -> bool:
    """DISTINCT, and each set operation but UNION ALL: whole rows are compared, so every output decides."""
    from sqlglot import exp

    if isinstance(query, exp.Union):
        return bool(query.args.get("distinct"))
    if isinstance(query, exp.SetOperation):
        return True
    return isinstance(query, exp.Select) and query.args.get("distinct") is not None


def bare_names(node: Any) -> list[str]:
    """Names without a table: ORDER BY may name an output by its alias."""
    from sqlglot import exp

    return [column.name for column in node.find_all(exp.Column) if not column.table]


def in_value(inner: Any, query: Any) -> bool:
    """Whether a query stands in an output column: its clauses are part of that value."""
    node = inner
    while node is not None and node.parent is not query:
        node = node.parent
    return node is not None and node.arg_key == "expressions"
