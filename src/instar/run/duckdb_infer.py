"""Inference on DuckDB: DESCRIBE over empty tables in memory, beside the macros and types of the database."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import Any

import duckdb

from instar.backends.duckdb.types import parse_type, type_sql, unnamed
from instar.backends.sql import literal, qualified, quote_double
from instar.core.schema import TableName
from instar.core.types import Column, Type
from instar.run.inferring import FAILS, CannotInfer
from instar.run.probing import Words, made_up
from instar.sources.models import Model, Target

_TAKES = re.compile(r"\bnextval\b", re.IGNORECASE)
"""Asking for such a value changes the database."""
_ROW = re.compile(r"\brow\s*\(", re.IGNORECASE)
_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_MISSING = re.compile(
    r"Referenced column \"([^\"]+)\" not found|does not have a column named \"([^\"]+)\""
    r"|[Cc]ould not find key \"([^\"]+)\" in struct|column \"([^\"]+)\" (?:does not exist|not found)"
)

_WORDS = Words(
    kind=type_sql,
    name=quote_double,
    array=lambda values: f"[{', '.join(values)}]",
    struct=lambda pairs: f"{{{', '.join(f'{literal(k)}: {v}' for k, v in pairs)}}}",
    map=lambda pairs: f"MAP {{{', '.join(f'{k}: {v}' for k, v in pairs)}}}",
)


class DuckDBInferrer:
    """One scratch database for one plan, attached to the live one, whose tables no query names.

    Values are computed in a bare database first: what needs no macro or type touches nothing else.
    """

    dialect = "duckdb"
    renames = False

    def __init__(self, live: duckdb.DuckDBPyConnection) -> None:
        self._bare = duckdb.connect(":memory:", config={"threads": 1})
        self._bare.execute("SET TimeZone = 'UTC'")
        self._live = live
        self._scratch = quote_double(f"__instar_{uuid.uuid4().hex[:12]}")
        self._live.execute(f"ATTACH ':memory:' AS {self._scratch} (READ_WRITE)")
        self._schemas = {"main"}

    def place(self, name: TableName, called: str = "") -> str:
        del called  # A table goes by its last name whatever database it is in.
        return f"{self._scratch}.{qualified(name)}"

    def declare(self, name: TableName, columns: tuple[Column, ...]) -> None:
        if name.schema not in self._schemas:
            schema = f"{self._scratch}.{quote_double(name.schema)}"
            self._live.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            self._schemas.add(name.schema)
        body = ", ".join(f"{quote_double(c.name)} {type_sql(c.type)}" for c in columns)
        self._live.execute(f"CREATE OR REPLACE TABLE {self.place(name)} ({body})")

    def infer(self, sql: str) -> tuple[Column, ...]:
        try:
            rows = self._live.execute(f"DESCRIBE\n{sql}").fetchall()
        except duckdb.Error as error:
            raise _refused(error) from None
        found = tuple(Column(str(row[0]), parse_type(str(row[1]))) for row in rows)
        for column in found:
            if unnamed(column.type):
                raise _nameless(column.name, sql)
        return found

    def infer_python(self, model: Model, upstream: tuple[Target, ...]) -> tuple[Column, ...]:
        del upstream
        raise CannotInfer(f"the Python model '{model.name}' runs on Spark only")

    def value_problem(self, sql: str, type_: Type, row: tuple[Column, ...]) -> str | None:
        value = f"CAST(({sql}) AS {type_sql(type_)})"
        source = ", ".join(
            f"CAST(NULL AS {type_sql(c.type)}) AS {quote_double(c.name)}" for c in row
        )
        text = f"SELECT {value}" + (f" FROM (SELECT {source}) AS live" if source else "")
        try:
            self._value(text)
        except duckdb.Error as error:
            return str(error).splitlines()[0]
        return None

    def _value(self, text: str) -> Any:
        try:
            return self._bare.execute(text).fetchone()
        except duckdb.CatalogException:
            if _TAKES.search(text):
                raise
            return self._live.execute(text).fetchone()

    def null(self, type_: Type) -> str:
        return f"CAST(NULL AS {type_sql(type_)})"

    def values(
        self, texts: Sequence[str], type_: Type, row: tuple[Column, ...]
    ) -> tuple[tuple[str, ...], ...]:
        sources = [f" FROM ({made}) AS live" for made in made_up(row, _WORDS)] if row else [""]
        kind = type_sql(type_)
        found = (tuple(self._told(text, kind, source) for text in texts) for source in sources)
        return tuple(told for told in found if set(told) != {FAILS})

    def _told(self, text: str, kind: str, source: str) -> str:
        try:
            value = self._value(f"SELECT CAST(CAST(({text}) AS {kind}) AS VARCHAR){source}")[0]
        except duckdb.Error:
            return FAILS
        return "NULL" if value is None else str(value)

    def close(self) -> None:
        self._live.execute(f"DETACH {self._scratch}")
        self._live.close()
        self._bare.close()


def _nameless(name: str, sql: str) -> CannotInfer:
    row = _ROW.search(sql)
    line = sql.count("\n", 0, row.start() if row else 0) + 1
    words = (
        f"the fields of '{name}' have no names; say {{'a': …}} or struct_pack(a := …) for row(…)"
    )
    return CannotInfer(words, line)


def _refused(error: duckdb.Error) -> CannotInfer:
    text = str(error).strip()
    place = _LINE.search(text)
    missing = _MISSING.search(text)
    name = next((g for g in missing.groups() if g), None) if missing else None
    # The statement begins one line before the query.
    return CannotInfer(text.splitlines()[0], int(place[1]) - 1 if place else None, name)
