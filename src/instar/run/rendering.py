"""A query as the engine gets it: its own text, with every table under its full name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from instar.core.schema import TableName
from instar.dialects import reading
from instar.run.inferring import Inferrer
from instar.sources.models import Target
from instar.sources.models_sql import Read

Place = Callable[[Read, Target], str]
Edit = tuple[int, int, str]


def rendered(
    text: str,
    targets: Sequence[tuple[Read, Target]],
    place: Place,
    dialect: str,
    edits: Sequence[Edit] = (),
) -> str:
    """Only the names of tables change, so the engine reads what the author wrote, line by line."""
    named = [(read.start, read.end, place(read, target)) for read, target in targets]
    for start, end, name in sorted((*named, *edits), reverse=True):
        lines = text.count("\n", start, end)
        text = text[:start] + name + "\n" * lines + text[end:]
    return without_end(text, dialect)


def stand_in(
    text: str,
    targets: Sequence[tuple[Read, Target]],
    inferrer: Inferrer,
    outside: Callable[[Read, Target], str | None] = lambda read, target: None,
) -> str:
    """The query over the tables of an inferrer; `outside`: how one is named that is none of them."""
    declared = [(read, target) for read, target in targets if outside(read, target) is None]
    names = Aliases(text, declared, inferrer)

    def place(read: Read, target: Target) -> str:
        return outside(read, target) or inferrer.place(target.table, names.of(read, target.table))

    return rendered(text, targets, place, inferrer.dialect, names.edits)


class Aliases:
    """What tables are called that stand for others under an alias: such a one bears no schema.

    A column may name its table with the schema (`main.orders.id`), and then the alias stands in for both.
    Where names stay as they are, they are those of another catalog.
    """

    def __init__(
        self, text: str, targets: Sequence[tuple[Read, Target]], inferrer: Inferrer
    ) -> None:
        bare = {(t.table.schema.casefold(), r.name.casefold()) for r, t in targets if r.bare}
        self.edits: list[Edit] = []
        self._twice: set[tuple[str, str]] = set()
        names = [name for _, name in bare]
        for key, first, schema, end in _qualified(text, bare, inferrer.dialect):
            if not inferrer.renames:
                self.edits.append((first, schema, ""))
                continue
            if names.count(key[1]) > 1:
                self._twice.add(key)
            self.edits.append((first, end, _quoted(self._called(key, key[1]))))

    def of(self, read: Read, table: TableName) -> str:
        """Empty where the query has one of its own."""
        return self._called((table.schema.casefold(), read.name.casefold()), read.name) * read.bare

    def _called(self, key: tuple[str, str], name: str) -> str:
        return ".".join(key) if key in self._twice else name


def _qualified(
    text: str, tables: set[tuple[str, str]], dialect: str
) -> Iterator[tuple[tuple[str, str], int, int, int]]:
    """Where `catalog.schema.table.` stands before a column: which, its begin, its schema's, and the last dot."""
    from sqlglot import tokenize

    parts = "|".join(re.escape(schema) for schema, _ in tables)
    if not parts or not re.search(rf"({parts})[\"`]?\s*\.[^.]*\.", text, re.IGNORECASE):
        return
    tokens = tokenize(text, read=reading(dialect))
    for at in range(len(tokens) - 3):
        schema, dot, table, last = tokens[at : at + 4]
        key = schema.text.casefold(), table.text.casefold()
        if key in tables and dot.text == last.text == ".":
            first = tokens[at - 2] if at > 1 and tokens[at - 1].text == "." else schema
            yield key, first.start, schema.start, table.end + 1


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def without_end(text: str, dialect: str) -> str:
    """Without the semicolon that may end a statement."""
    if ";" not in text:
        return text
    import sqlglot

    tokens = sqlglot.tokenize(text, read=reading(dialect))
    while tokens and tokens[-1].token_type is sqlglot.TokenType.SEMICOLON:
        text = text[: tokens[-1].start]
        tokens.pop()
    return text
