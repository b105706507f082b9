"""What PySpark raises, in Instar's words: refused, unreachable, or nobody knows."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator

from instar.core.guards import refused
from instar.errors import EngineError, EnvironmentProblem, InstarError, OutcomeUnknown, no_room

_SENTENCE_END = re.compile(r"(?<=[^.][.!?])\s")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*(.*)", re.DOTALL)
_CAUSE = re.compile(r"Caused by: \S+ (?:\[([A-Z][A-Z0-9_.]+)\]\s*)?(.*)")
_JAVA_CLASS = re.compile(r"^\(?(?:[a-z]\w*\.)+[A-Z][\w$]*\)?:?\s+")
# The operation or its session is gone from the server: what it did is not known here.
_LOST_CONDITIONS = ("INVALID_HANDLE.", "RESPONSE_ALREADY_RECEIVED", "INVALID_CURSOR.")
_LOST_STATUS = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
_LOST_TEXT = (
    "Cannot call methods on a stopped SparkContext",
    "SparkContext was shut down",
    "incorrect server side session identifier",
)
_LOST_CLASSES = ("Py4JNetworkError", "ConnectionError", "ConnectionRefusedError", "EOFError")
# PySpark writes every refused statement to stderr as JSON, with a stack.
_CHATTERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class SparkSqlError(EngineError):
    """A statement that Spark refused or that failed in it; `detail` is its whole message."""

    def __init__(
        self,
        message: str,
        *,
        condition: str | None,
        sqlstate: str | None,
        detail: str,
        hint: str | None = None,
    ) -> None:
        super().__init__("E210", message, hint=hint)
        self.condition = condition
        self.sqlstate = sqlstate
        self.detail = detail


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Around any use of a session or DataFrame: PySpark's exceptions come out as Instar's."""
    try:
        yield
    except InstarError:
        raise
    except Exception as error:
        known = translate(error)
        if known is None:
            raise
        raise known from error


def translate(error: Exception) -> InstarError | None:
    """The error in Instar's words; None when it did not come from the engine."""
    if not _from_engine(error):
        return None
    condition, text = _condition(error), str(error)
    status = status_name(error)
    if status == "UNAUTHENTICATED":
        return token_refused()
    if _is_lost(error, condition, status, text):
        return OutcomeUnknown(
            "E211",
            "The connection to Spark was lost while a statement ran.",
            hint="It may or may not have been done. Nothing was tried again; run the command once"
            " more and it looks at the table first.",
        )
    stack = _stack(error)
    return refused(text) or no_room(f"{text}\n{stack}") or _refused(error, condition, text, stack)


def token_refused() -> EnvironmentProblem:
    return EnvironmentProblem(
        "E203",
        "The Spark server refused the token.",
        hint="Give the server's token in the address (`;token=${NAME}`) or in the variable"
        " SPARK_CONNECT_AUTHENTICATE_TOKEN.",
    )


def status_name(error: Exception) -> str | None:
    """The gRPC status by name, where there is one."""
    for name in ("getGrpcStatusCode", "code"):
        ask = getattr(error, name, None)
        if callable(ask):
            return str(getattr(ask(), "name", "")) or None
    return None


def silence() -> None:
    """Keep PySpark's own reports off stderr; each failure is reported once, by us."""
    for name in _CHATTERS:
        logging.getLogger(name).disabled = True
    warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
    # A setting of old that its owner has switched on is switched off as long as we work.
    warnings.filterwarnings("ignore", message=r"The SQL config '.*' has been deprecated")


def _refused(error: Exception, condition: str | None, text: str, stack: str) -> SparkSqlError:
    inner = _CONDITION.search(text)
    if inner and (condition is None or inner.group(1) == condition):
        condition, said = inner.group(1), _first_sentence(inner.group(2))
    else:
        said = _first_sentence(text)
    ask = getattr(error, "getSqlState", None)
    state = ask() if callable(ask) else None
    message = f"[{condition}] {said}" if condition else said
    return SparkSqlError(
        message + _root_cause(stack, message),
        condition=condition,
        sqlstate=str(state) if state else None,
        detail=text.split("\n\nJVM stacktrace:")[0],
    )


def _stack(error: Exception) -> str:
    """The server's own, with its causes."""
    ask = getattr(error, "getStackTrace", None)
    return str(ask()) if callable(ask) else str(getattr(error, "_stackTrace", ""))


def _root_cause(stack: str, message: str) -> str:
    """The innermost condition in the server's stack, else its innermost words: a failed task hides why."""
    causes = [found.groups() for line in stack.splitlines() if (found := _CAUSE.match(line))]
    if not causes:
        return ""
    condition, words = next((c for c in reversed(causes) if c[0]), causes[-1])
    said = _first_sentence(words)
    if (condition or said) in message:
        return ""
    return f" [{condition}] {said}" if condition else f" {said}"


def _from_engine(error: Exception) -> bool:
    packages = ("pyspark.", "py4j.", "grpc.")
    return type(error).__module__.startswith(packages) or isinstance(
        error, ConnectionError | EOFError
    )


def _condition(error: Exception) -> str | None:
    ask = getattr(error, "getCondition", None)
    told = ask() if callable(ask) else None
    return str(told) if told else None


def _is_lost(error: Exception, condition: str | None, status: str | None, text: str) -> bool:
    return (
        status in _LOST_STATUS
        or (condition or "").startswith(_LOST_CONDITIONS)
        or type(error).__name__ in _LOST_CLASSES
        or any(sign in text for sign in _LOST_TEXT)
    )


def _first_sentence(text: str) -> str:
    line = next((part.strip() for part in text.splitlines() if part.strip()), "no reason given")
    return _SENTENCE_END.split(_JAVA_CLASS.sub("", line), maxsplit=1)[0]
