"""A step as parts: each in a transaction of its own (or outside one), skipped when the catalog has it.

What is done looks at the catalog first, so that a script may be run again after a crash at any place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from instar.backends.base import RunContext
from instar.backends.postgres.errors import LockNotGranted, RowsInTheWay
from instar.backends.postgres.session import Session
from instar.backends.sql import literal, qualified
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.errors import EngineError, InstarError, OutcomeUnknown

SCRIPT = "script"


@dataclass(frozen=True, slots=True)
class Part:
    """`unless`: a query that is true when the part is done. `outside`: no transaction (CONCURRENTLY, ASYNC).

    `cleanup` is run when rows break the part, or the engine refuses it for good: nothing half-done is left to
    bother writers. Where only a lock was not granted, what is there serves the next run.
    `once`: the memo counts it, and `unless` is asked only if it is the one whose end nobody saw: after
    later parts the answer would mean something else (a name that a rename has set free, and another took).
    """

    sql: tuple[str, ...]
    unless: str = ""
    outside: bool = False
    cleanup: str = ""
    once: bool = False


def dump(parts: Sequence[Part]) -> str:
    return json.dumps([asdict(part) for part in parts])


def script(parts: Sequence[Part]) -> dict[str, str]:
    """A step's data, from which it is run."""
    return {SCRIPT: dump(parts)}


def script_step(kind: str, title: str, parts: Sequence[Part], after: Table) -> Step:
    """A step that looks at rows while writers go on."""
    statements = tuple(sql for part in parts for sql in part.sql)
    return Step("", kind, Rung.STEPS, title, statements, after, data=script(parts))


def load(text: str) -> tuple[Part, ...]:
    raw = json.loads(text)
    return tuple(Part(**{**part, "sql": tuple(part["sql"])}) for part in raw)


def parts_done(parts: Sequence[Part], memo: Mapping[str, str]) -> int:
    """How many parts are known to be done; the next one may be."""
    return int(memo.get(_mark(parts), "0"))


def _mark(parts: Sequence[Part]) -> str:
    return f"parts {hashlib.sha256(dump(parts).encode()).hexdigest()[:12]}"


def run_script(session: Session, parts: Sequence[Part], context: RunContext) -> None:
    done = parts_done(parts, context.memo)
    for number, part in enumerate(parts, start=1):
        if part.once and number <= done:
            continue
        try:
            _run_part(session, part, number, context)
        except LockNotGranted as error:
            if number == 1:
                raise
            raise _kept(error) from error
        if part.once:
            context.memo[_mark(parts)] = str(number)
        context.failpoint(f"part {number} done")


def _kept(error: LockNotGranted) -> OutcomeUnknown:
    """An index or a constraint that is there already is no longer nothing: the step stays open."""
    hint = f"{error.hint or ''} What is done of this step is kept: `instar apply` goes on with it."
    return OutcomeUnknown(error.code, error.message, hint=hint.strip())


def _run_part(session: Session, part: Part, number: int, context: RunContext) -> None:
    context.failpoint(f"part {number}")
    if part.unless and session.ask(part.unless)[0][0]:
        return
    try:
        _run(session, part, context)
    except (RowsInTheWay, EngineError) as error:
        if part.cleanup and not isinstance(error, (LockNotGranted, OutcomeUnknown)):
            with contextlib.suppress(InstarError):
                session.execute(part.cleanup)
        raise


def _run(session: Session, part: Part, context: RunContext) -> None:
    if part.outside:
        for sql in part.sql:
            session.outside(sql)
        return

    def once() -> None:
        with session.patient_transaction():
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


def has_schema(schema: str) -> str:
    """CREATE SCHEMA IF NOT EXISTS asks for CREATE on the database even where the schema is there."""
    return f"SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = {literal(schema)})"


def has_table(table: TableName) -> str:
    return f"SELECT to_regclass({_regclass(table)}) IS NOT NULL"


def either(*queries: str) -> str:
    return "SELECT " + " OR ".join(f"({query})" for query in queries)


def _regclass(name: TableName) -> str:
    return literal(qualified(name))
