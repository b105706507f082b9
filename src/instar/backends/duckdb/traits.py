"""What a parsed expression is made of, where ALTER … USING cannot take what SELECT can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from instar.backends.duckdb.folding import fold

Node = dict[str, Any]


def nodes(value: object, *, into_subqueries: bool = True) -> Iterator[Node]:
    """Every node of a parse tree, outer ones first."""
    if isinstance(value, dict):
        yield value
        if value.get("class") == "SUBQUERY" and not into_subqueries:
            return
        for inner in value.values():
            yield from nodes(inner, into_subqueries=into_subqueries)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner, into_subqueries=into_subqueries)


def captures(tree: object) -> bool:
    """A lambda reads more than its own parameters; a list comprehension is lambdas too.

    ALTER … USING computes such a lambda from the wrong row, without a word.
    """
    return any(_free(n["expr"]) - _names(n["lhs"]) for n in nodes(tree) if _is_lambda(n))


def _is_lambda(node: Node) -> bool:
    return node.get("class") == "LAMBDA"


def _names(tree: object) -> set[str]:
    found = (n["column_names"][0] for n in nodes(tree) if n.get("class") == "COLUMN_REF")
    return {fold(name) for name in found}


def _free(value: object) -> set[str]:
    """The names that come from outside."""
    if isinstance(value, list):
        return set().union(*map(_free, value))
    if not isinstance(value, dict):
        return set()
    if value.get("class") == "COLUMN_REF":
        return _names(value)
    if _is_lambda(value):
        body, own = _free(value["expr"]), _names(value["lhs"])
        # `j -> '$.a'` is parsed as a lambda: what its body does not use may be a value.
        return (body - own) | (own - body)
    return set().union(*map(_free, value.values()))


def windows(tree: object) -> bool:
    """It looks at other rows, by a window function."""
    return any(n.get("class") == "WINDOW" for n in nodes(tree, into_subqueries=False))


def tries(tree: object) -> bool:
    """It uses TRY, which does not bind in ALTER … USING."""
    return any(n.get("type") == "OPERATOR_TRY" for n in nodes(tree))


def called(tree: object) -> frozenset[str]:
    """The functions that are called for the row itself, not inside a subquery."""
    found = nodes(tree, into_subqueries=False)
    return frozenset(fold(n["function_name"]) for n in found if n.get("class") == "FUNCTION")
