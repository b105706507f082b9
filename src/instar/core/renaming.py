"""Column names inside SQL text: a CHECK follows the rename of a column that it names.

Engines that carry a CHECK over a rename change its text themselves; the comparison and the target must say
the same. Text is read token by token: strings stay, a quoted name is a name, a bare word is one unless it
is a function; what follows a dot is a field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(
    r"""'(?:[^']|'')*'            # a string
    |"(?:[^"]|"")*"               # a name in double quotes
    |`(?:[^`]|``)*`               # a name in backticks
    |(?<![\w$])[^\W\d]\w*(?!\w*\s*\()    # a bare word that is no function
    """,
    re.VERBOSE,
)


def renamed_sql(sql: str, renames: Mapping[str, str]) -> str:
    """The expression with columns under their new names; all renames at once."""
    new = {old.casefold(): name for old, name in renames.items() if old != name}
    if not new:
        return sql

    def respelled(match: re.Match[str]) -> str:
        token = match[0]
        mark = token[0]
        if mark == "'" or sql[: match.start()].endswith("."):
            return token
        if mark in '"`':
            name = new.get(token[1:-1].replace(mark * 2, mark).casefold())
            return token if name is None else mark + name.replace(mark, mark * 2) + mark
        return new.get(token.casefold(), token)

    return _TOKEN.sub(respelled, sql)


def mentions(sql: str, name: str) -> bool:
    """Whether the expression names a column or a field so."""
    return name.casefold() in (_named(m[0]) for m in _TOKEN.finditer(sql))


def _named(token: str) -> str:
    mark = token[0]
    if mark in '"`':
        token = token[1:-1].replace(mark * 2, mark)
    return token.casefold()
