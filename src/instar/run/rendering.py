"""A query as the engine gets it: its own text, with every table under its full name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from instar.dialects import reading
from instar.sources.models import Target
from instar.sources.models_sql import Read

Place = Callable[[Read, Target], str]


def rendered(text: str, targets: Sequence[tuple[Read, Target]], place: Place, dialect: str) -> str:
    """Only the names of tables change, so the engine reads what the author wrote, line by line."""
    for read, target in sorted(targets, key=lambda item: -item[0].start):
        name = place(read, target)
        lines = text.count("\n", read.start, read.end)
        text = text[: read.start] + name + "\n" * lines + text[read.end :]
    return without_end(text, dialect)


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
