"""Asks the server how it spells an expression and what type it has, on columns alone: no row is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

from instar.backends.postgres.errors import LockNotGranted
from instar.backends.postgres.session import Session
from instar.backends.postgres.types import parse_type, type_sql
from instar.backends.sql import qualified, quote_double
from instar.core.schema import Table
from instar.core.types import Column, Type
from instar.errors import EngineError, InstarError, Interrupted, OutcomeUnknown

_DEFAULT = """SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
WHERE adrelid = '{table}'::regclass AND adnum = 1"""
_CHECK = """SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint
WHERE conrelid = '{table}'::regclass AND contype = 'c'"""
_VOLATILE = """SELECT proname FROM pg_proc WHERE proname = ANY(%s::name[])
GROUP BY proname HAVING bool_and(provolatile = 'v')"""
_CALLED = """SELECT string_agg(DISTINCT p.proname, ' ') FROM pg_constraint k
JOIN pg_depend d ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
WHERE k.conrelid = '{table}'::regclass AND k.contype = 'c' AND p.provolatile = 'v'"""
_TYPE = "SELECT format_type(%s::oid, %s::integer)"
_FORBIDDEN, _NO_ROOM = "E252", "E228"
"""That the role may not create a table, or that there is no room for one, says nothing about the expression."""


class Speller(Protocol):
    """What the rules may ask: the answer, or why the server does not take the expression."""

    def default(self, sql: str, type_: Type) -> str | None: ...

    def check(self, sql: str, columns: Sequence[Column]) -> str: ...

    def type_of(self, sql: str, columns: Sequence[Column]) -> Type | None: ...

    def volatile(
        self, functions: frozenset[str], sql: str, columns: Sequence[Column]
    ) -> frozenset[str]: ...

    def of_a_row(self, sql: str, columns: Sequence[Column]) -> None: ...

    def index(self, body: str, table: Table, types: Mapping[str, Type]) -> None: ...


class NotTaken(Exception):
    """The server refuses the expression; the message is its first line."""


class Scratch:
    """A temporary table in a transaction that is always rolled back."""

    kind: ClassVar[str] = "TEMP TABLE"
    table: ClassVar[str] = "pg_temp.instar_scratch"

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[tuple[object, ...], object] = {}

    def default(self, sql: str, type_: Type) -> str | None:
        """The default as the catalog will report it."""
        make = f"CREATE {self.kind} {self.table} (c {type_sql(type_)} DEFAULT ({sql}))"
        rows = self._cached(("default", sql, type_), lambda: self._try(make, _DEFAULT))
        return str(rows) if rows is not None else None

    def check(self, sql: str, columns: Sequence[Column]) -> str:
        """The expression of a CHECK as the catalog will report it."""
        make = self._checked(sql, columns)
        found = self._cached(("check", sql, tuple(columns)), lambda: self._try(make, _CHECK))
        return str(found)

    def type_of(self, sql: str, columns: Sequence[Column]) -> Type | None:
        """The type of an expression over a row of these columns; None where it cannot be told."""
        row = ", ".join(
            f"CAST(NULL AS {type_sql(c.type)}) AS {quote_double(c.name)}" for c in columns
        )
        query = f"SELECT ({sql}) FROM (SELECT {row or '1 AS one'}) AS live LIMIT 0"

        def work() -> Type | None:
            try:
                column = self._session.describe(query)[0]
            except InstarError as error:
                if _cut_off(error):
                    raise
                raise NotTaken(_reason(error)) from error
            # 705 is `unknown`: a bare literal takes whatever type it is put into.
            if column.type_code == 705:
                return None
            modifier = column._fmod if hasattr(column, "_fmod") else -1
            return parse_type(str(self._session.ask(_TYPE, [column.type_code, modifier])[0][0]))

        found = self._cached(("type", sql, tuple(columns)), work)
        assert found is None or not isinstance(found, str)
        return found  # type: ignore[return-value]

    def volatile(
        self, functions: frozenset[str], sql: str, columns: Sequence[Column]
    ) -> frozenset[str]:
        """Those of an expression's functions that are declared volatile.

        The server's own by name, if each of their forms is; people's by what the server binds the call to.
        """

        def work() -> frozenset[str]:
            rows = self._session.ask(_VOLATILE, [sorted(functions)])
            return frozenset(str(row[0]) for row in rows) | self._called(sql, columns)

        found = self._cached(("volatile", sql, tuple(columns)), work)
        assert isinstance(found, frozenset)
        return found

    def of_a_row(self, sql: str, columns: Sequence[Column]) -> None:
        """Refuses what does not give each row one value: a CHECK takes no aggregates and no sets."""
        make = self._checked(f"({sql}) IS NULL", columns)
        try:
            self._cached(("row", sql, tuple(columns)), lambda: self._try(make, "SELECT NULL"))
        except EngineError as error:
            if error.code != _FORBIDDEN:
                raise
        except NotTaken as error:
            words = str(error).replace("in check constraints", "here: each row has one value")
            raise NotTaken(words) from error

    def _called(self, sql: str, columns: Sequence[Column]) -> frozenset[str]:
        try:
            found = self._try(self._checked(f"({sql}) IS NULL", columns), _CALLED)
        except NotTaken:
            return frozenset()
        except EngineError as error:
            if error.code != _FORBIDDEN:
                raise
            return frozenset()
        return frozenset((found or "").split())

    def _checked(self, sql: str, columns: Sequence[Column]) -> str:
        body = ", ".join(f"{quote_double(c.name)} {type_sql(c.type)}" for c in columns)
        return f"CREATE {self.kind} {self.table} ({body}, CHECK ({sql}))"

    def index(self, body: str, table: Table, types: Mapping[str, Type]) -> None:
        """Whether an index of the table could be built if these columns had other types."""
        alters = (
            f"ALTER TABLE {self.table} ALTER COLUMN {quote_double(c)} TYPE {type_sql(t)} USING NULL"
            for c, t in types.items()
        )
        make = (
            f"CREATE {self.kind} {self.table} (LIKE {qualified(table.name)})",
            *alters,
            f"CREATE INDEX ON {self.table} {body}",
        )
        self._try("; ".join(make), "SELECT NULL")

    def _cached(self, key: tuple[object, ...], work: Callable[[], object]) -> object:
        if key not in self._known:
            self._known[key] = work()
        return self._known[key]

    def _try(self, make: str, read: str) -> str | None:
        session = self._session
        session.execute("BEGIN")
        try:
            session.execute(make)
            rows = session.ask(read.format(table=self.table))
            return None if not rows or rows[0][0] is None else str(rows[0][0])
        except InstarError as error:
            if isinstance(error, LockNotGranted) or error.code == _FORBIDDEN or _cut_off(error):
                raise
            raise NotTaken(_reason(error)) from error
        finally:
            session.rollback()


def _cut_off(error: InstarError) -> bool:
    """A connection that was lost, or a statement that was stopped, says nothing about the expression."""
    return isinstance(error, (OutcomeUnknown, Interrupted)) or error.code == _NO_ROOM


def _reason(error: InstarError) -> str:
    return error.message.split("\n")[0].split(": ", 1)[-1]


def types_of(
    speller: Speller | None, expressions: Sequence[str], columns: Sequence[Column]
) -> Mapping[str, Type]:
    """The types of expressions, by their text in parentheses, as far as they can be told."""
    found: dict[str, Type] = {}
    for sql in expressions if speller is not None else ():
        assert speller is not None
        try:
            type_ = speller.type_of(sql, columns)
        except NotTaken:
            continue
        if type_ is not None:
            found[f"({sql})"] = type_
    return found
