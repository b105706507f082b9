"""Names on the command line: what they match, and one answer for those that match nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from instar.core.nearest import closest
from instar.core.schema import TableName
from instar.errors import UsageError


def named(name: TableName, patterns: Sequence[str]) -> bool:
    """By `table`, `schema.table` or a pattern such as `sales.*`."""
    texts = (name.name, f"{name.schema}.{name.name}", str(name))
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def check_names(patterns: Sequence[str], known: Iterable[TableName], what: str) -> None:
    """A name that matches nothing is a slip of the pen, never 'nothing to do'."""
    names = list(known)
    for pattern in patterns:
        if not any(named(name, [pattern]) for name in names):
            near = closest(pattern, dict.fromkeys(t for n in names for t in (n.name, str(n))))
            said = f"Did you mean '{near}'? " if near else ""
            raise UsageError(
                "E116",
                f"there is no {what} '{pattern}'",
                hint=f"{said}Names are 'table', 'schema.table' or patterns such as 'sales.*'.",
            )
