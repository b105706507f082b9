"""A step as parts: each in a transaction of its own (or outside one), skipped when the catalog has it.

What is done looks at the catalog first, so that a script may be run again after a crash at any place.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from instar.backends.base import RunContext
from instar.backends.postgres.errors import RowsInTheWay
from instar.backends.postgres.session import Session
from instar.backends.sql import literal, qualified
from instar.core.schema import TableName
from instar.errors import InstarError

SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class Part:
    """`unless`: a query that is true when the part is done. `outside`: no transaction (CONCURRENTLY).

    `cleanup` is run when rows break the part: nothing half-done is left to bother writers.
    """

    sql: tuple[str, ...]
    unless: str = ""
    outside: bool = False
    cleanup: str = ""


def dump(parts: Sequence[Part]) -> str:
    return json.dumps([asdict(part) for part in parts])


def load(text: str) -> tuple[Part, ...]:
    raw = json.loads(text)
    return tuple(Part(**{**part, "sql": tuple(part["sql"])}) for part in raw)


def run_script(session: Session, parts: Sequence[Part], context: RunContext) -> None:
    for number, part in enumerate(parts, start=1):
        context.failpoint(f"part {number}")
        if part.unless and session.ask(part.unless)[0][0]:
            continue
        try:
            _run(session, part, context)
        except RowsInTheWay:
            if part.cleanup:
                with contextlib.suppress(InstarError):
                    session.execute(part.cleanup)
            raise
        context.failpoint(f"part {number} done")


def _run(session: Session, part: Part, context: RunContext) -> None:
    if part.outside:
        # CONCURRENTLY waits for old transactions; nobody queues behind it.
        for sql in part.sql:
            session.execute(sql)
        return

    def once() -> None:
        with session.transaction():
            session.execute(session.patience.lock_sql)
            for count, sql in enumerate(part.sql, start=1):
                session.execute(sql)
                context.failpoint(f"statement {count}")

    session.patiently(once)


def has_constraint(
    table: TableName, name: str, *, valid: bool = False, columns: Sequence[str] = ()
) -> str:
    """Whether the table has a constraint of that name (validated; over these columns)."""
    checks = [f"k.conrelid = to_regclass({_regclass(table)})", f"k.conname = {literal(name)}"]
    if valid:
        checks.append("k.convalidated")
    if columns:
        names = ", ".join(literal(c) for c in columns)
        checks.append(
            "ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY AS u(n, i) "
            "JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n ORDER BY u.i) "
            f"= ARRAY[{names}]"
        )
    return f"SELECT EXISTS (SELECT 1 FROM pg_constraint k WHERE {' AND '.join(checks)})"


def has_index(table: TableName, index: str) -> str:
    """Whether a valid index of that name stands in the table's schema."""
    place = _regclass(TableName(table.schema, index))
    return (
        "SELECT EXISTS (SELECT 1 FROM pg_index i WHERE i.indisvalid "
        f"AND i.indexrelid = to_regclass({place}))"
    )


def is_required(table: TableName, column: str) -> str:
    return (
        "SELECT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attnotnull "
        f"AND a.attrelid = to_regclass({_regclass(table)}) AND a.attname = {literal(column)})"
    )


def either(*queries: str) -> str:
    return "SELECT " + " OR ".join(f"({query})" for query in queries)


def _regclass(name: TableName) -> str:
    return literal(qualified(name))
