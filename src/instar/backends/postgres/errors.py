"""PostgreSQL's errors in Instar's words: SQLSTATE and first line, never a secret."""

from __future__ import annotations

import psycopg

from instar.errors import (
    EngineError,
    EnvironmentProblem,
    InstarError,
    Interrupted,
    OutcomeUnknown,
    VerificationFailed,
)

LOCK_NOT_GRANTED, DEADLOCK, SERIALIZATION = "55P03", "40P01", "40001"
_PRIVILEGE, _CANCELED = "42501", "57014"
_PASSWORD = ("28P01", "28000")
_BROKEN_ROWS = ("22", "23")
_SHOWN = 300


class LockNotGranted(EngineError):
    """Nobody let go of the table in time; the statement may be tried again."""


class RowsInTheWay(VerificationFailed):
    """Rows broke a promise that the plan had proven: they came later."""


def first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def translated(error: psycopg.Error, statement: str) -> InstarError:
    """The coded error for a statement that failed; its transaction has been rolled back."""
    state = error.sqlstate or ""
    words = first_line(error)
    where = f"\n  in: {_short(statement)}"
    if state == _CANCELED:
        return Interrupted(
            "E223", "stopped while PostgreSQL was at work; the statement left nothing"
        )
    if state == _PRIVILEGE:
        return EngineError(
            "E252",
            f"PostgreSQL does not allow it ({state}): {words}{where}",
            hint="The role must own the table, and may need CREATE on its schema.",
        )
    if state in (LOCK_NOT_GRANTED, DEADLOCK, SERIALIZATION):
        return LockNotGranted(
            "E253",
            f"the lock was not granted ({state}): {words}{where}",
            hint="Somebody holds the table: look into pg_stat_activity, then run the command again.",
        )
    if isinstance(error, psycopg.OperationalError) and (not state or state[:2] in ("08", "57")):
        return OutcomeUnknown(
            "E257",
            f"the connection to PostgreSQL was lost: {words}{where}",
            hint="Run the command again: it looks at the table first.",
        )
    if state[:2] in _BROKEN_ROWS:
        return RowsInTheWay(
            "E227",
            f"a row does not fit ({state}): {words}{where}",
            hint="It came after the plan was made. Run `instar plan` again: it shows the rows.",
        )
    return EngineError("E254", f"PostgreSQL refused a statement ({state}): {words}{where}")


def _short(statement: str) -> str:
    text = " ".join(statement.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"


def unreachable(error: psycopg.Error) -> EnvironmentProblem:
    """No connection: the driver's first line names host and role, but no password."""
    state = error.sqlstate or ""
    hint = "Is the server up, and are host, port and database right?"
    if state in _PASSWORD or "password" in str(error):
        hint = "Look at the user and where the password comes from."
    return EnvironmentProblem(
        "E251", f"PostgreSQL cannot be reached: {first_line(error)}", hint=hint
    )


def too_old(version: int) -> EnvironmentProblem:
    return EnvironmentProblem(
        "E255",
        f"this server is PostgreSQL {version // 10000}; Instar needs 16 or newer",
        hint="Casts are proven with pg_input_is_valid, which came with 16.",
    )
