"""PostgreSQL's errors in Instar's words: SQLSTATE and first line, never a secret."""

from __future__ import annotations

import re

import psycopg

from instar.errors import (
    EngineError,
    EnvironmentProblem,
    InstarError,
    Interrupted,
    OutcomeUnknown,
    VerificationFailed,
)

LOCK_NOT_GRANTED, DEADLOCK, SERIALIZATION, TOO_LARGE = "55P03", "40P01", "40001", "54000"
_PRIVILEGE, _CANCELED, _READ_ONLY = "42501", "57014", "25006"
_DISK_FULL = "53100"
_PASSWORD = ("28P01", "28000")
_BROKEN_ROWS = ("22", "23")
_SHOWN = 300
_GUARDED = re.compile(r'"(a value of .+ does not fit .+)"', re.DOTALL)


class LockNotGranted(EngineError):
    """Nobody let go of the table in time; the statement may be tried again."""


class TooBusy(LockNotGranted):
    """The lock could be had, but would be held too long."""


class TooLarge(EngineError):
    """The transaction passes a limit of the engine; a smaller one may pass."""


class RowsInTheWay(VerificationFailed):
    """Rows broke a promise that the plan had proven: they came later."""


_HELD = "Somebody holds the table: look into pg_stat_activity, then run the command again."
_BY_STATE: dict[str, tuple[type[EngineError], str, str, str | None]] = {
    _PRIVILEGE: (
        EngineError,
        "E252",
        "{engine} does not allow it",
        "The role must own the table, and may need CREATE on its schema and TEMPORARY on the database.",
    ),
    _READ_ONLY: (
        EngineError,
        "E252",
        "{engine} does not allow it",
        "Connect to the primary, not to a standby, and as a role whose default_transaction_read_only is off.",
    ),
    SERIALIZATION: (
        LockNotGranted,
        "E253",
        "another transaction changed the same rows or the schema",
        "It was tried again some times. Let the others end, then run the command again.",
    ),
    LOCK_NOT_GRANTED: (LockNotGranted, "E253", "the lock was not granted", _HELD),
    DEADLOCK: (LockNotGranted, "E253", "the lock was not granted", _HELD),
    TOO_LARGE: (TooLarge, "E254", "{engine} refused a statement", None),
}
"""(error, code, message, hint) by SQLSTATE."""


def first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def translated(error: psycopg.Error, statement: str, engine: str) -> InstarError:
    """The coded error for a statement that failed; its transaction has been rolled back."""
    state = error.sqlstate or ""
    words = first_line(error)
    where = f"\n  in: {_short(statement)}"
    if state == _CANCELED:
        return Interrupted(
            "E223", f"stopped while {engine} was at work; the statement left nothing"
        )
    if found := _BY_STATE.get(state):
        kind, code, said, hint = found
        return kind(code, f"{said.format(engine=engine)} ({state}): {words}{where}", hint=hint)
    if isinstance(error, psycopg.OperationalError) and (not state or state[:2] in ("08", "57")):
        return OutcomeUnknown(
            "E257",
            f"the connection to {engine} was lost: {words}{where}",
            hint="Run the command again: it looks at the table first.",
        )
    if state == _DISK_FULL or "disk space" in (error.diag.message_hint or ""):
        return EngineError(
            "E228",
            f"the server has no room on its disk ({state}): {words}{where}",
            hint="Nothing of the statement is kept. Free some space, then run the command again.",
        )
    if state[:2] in _BROKEN_ROWS:
        return RowsInTheWay(
            "E227",
            f"a row does not fit ({state}): {_said(error, words)}{where}",
            hint="It came after the plan was made. Run `instar plan` again: it shows the rows.",
        )
    return EngineError("E254", f"{engine} refused a statement ({state}): {words}{where}")


def _said(error: psycopg.Error, words: str) -> str:
    """What a guarded cast says, without the cast to integer that only makes it fail; else the row or key, too."""
    if guarded := _GUARDED.search(error.diag.message_primary or ""):
        return _short(guarded[1])
    detail = error.diag.message_detail
    return f"{words}: {_short(detail)}" if detail else words


def _short(statement: str) -> str:
    text = " ".join(statement.split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"


def unreachable(error: psycopg.Error, engine: str) -> EnvironmentProblem:
    """No connection: the driver's first line names host and role, but no password."""
    state = error.sqlstate or ""
    hint = "Is the server up, and are host, port and database right?"
    if state in _PASSWORD or "password" in str(error):
        hint = "Look at the user and where the password comes from."
    return EnvironmentProblem("E251", f"{engine} cannot be reached: {first_line(error)}", hint=hint)


def too_old(version: int) -> EnvironmentProblem:
    return EnvironmentProblem(
        "E255",
        f"this server is PostgreSQL {version // 10000}; Instar needs 16 or newer",
        hint="Casts are proven with pg_input_is_valid, which came with 16.",
    )
