"""DuckDB's errors in Instar's words."""

from __future__ import annotations

import duckdb

from instar.core.guards import refused
from instar.errors import EngineError, EnvironmentProblem, InstarError, Interrupted, no_room

_EXPRESSION = "Look at the expressions of the manifest: their columns and functions."
_AMBIGUOUS = (
    "The database file and a schema in it have one name, which DuckDB cannot tell apart:"
    " rename the file, or use another schema."
)


def translated(error: duckdb.Error, statement: str) -> InstarError:
    """The coded error for a statement that failed; its transaction has been rolled back."""
    text = str(error).strip()
    if isinstance(error, duckdb.InterruptException):
        return Interrupted("E223", "stopped while DuckDB was at work; nothing was changed")
    if isinstance(error, duckdb.InvalidInputException) and (own := refused(text)):
        return own
    if isinstance(error, duckdb.TransactionException) or "onflict" in text.splitlines()[0]:
        return EngineError(
            "E221",
            f"another connection wrote to the table: {text}",
            hint="Run the command again once the other writer is done.",
        )
    if isinstance(error, duckdb.BinderException | duckdb.ParserException):
        return EngineError(
            "E222",
            f"DuckDB does not understand a statement: {text}\n  in: {statement}",
            hint=_AMBIGUOUS if "Ambiguous reference to catalog or schema" in text else _EXPRESSION,
        )
    full = no_room(text) if isinstance(error, duckdb.IOException) else None
    return full or EngineError("E220", f"DuckDB refused a statement: {text}\n  in: {statement}")


def not_opened(error: duckdb.Error, path: str) -> EnvironmentProblem:
    """The database could not be opened."""
    text = str(error).strip()
    if "could not set lock" in text.lower():
        return EnvironmentProblem(
            "E225",
            f"the database {path} is open in another process",
            hint="Close the other program; DuckDB lets one process write to a file.",
        )
    hint = "Check the path, and that this DuckDB can read the file's version."
    if "Permission denied" in text:
        hint = "The file may not be written: mend its permissions, or those of its folder."
    return EnvironmentProblem(
        "E226", f"the database {path} cannot be opened: {text.splitlines()[0]}", hint=hint
    )
