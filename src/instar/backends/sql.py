"""Names and literals in SQL text: the one place that quotes them, and finds what is quoted or in brackets."""

from __future__ import annotations

from instar.core.schema import TableName


def quote_double(name: str) -> str:
    """Standard SQL quoting: DuckDB, PostgreSQL, Snowflake."""
    return '"' + name.replace('"', '""') + '"'


def quote_backtick(name: str) -> str:
    """Spark's quoting."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str | None) -> str:
    """A string literal in standard SQL."""
    return "NULL" if text is None else "'" + text.replace("'", "''") + "'"


def block(body: str) -> str:
    """A block of PL/pgSQL, whatever stands in its literals: a comment may hold any dollar quote."""
    return f"DO {literal(body)}"


def literal_spark(text: str | None) -> str:
    """A string literal in Spark SQL, where a backslash escapes."""
    if text is None:
        return "NULL"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def qualified(name: TableName, *, backtick: bool = False, catalog: str | None = None) -> str:
    quote = quote_backtick if backtick else quote_double
    parts = [catalog, name.schema, name.name] if catalog else [name.schema, name.name]
    return ".".join(quote(part) for part in parts)


def closing(text: str, start: int = 0) -> int:
    """Where the first bracket from `start` on is closed, whatever its quoted parts hold; -1 if nowhere."""
    depth, quote = 0, ""
    for place in range(start, len(text)):
        char = text[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return place
    return -1
