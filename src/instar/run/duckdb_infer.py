"""Inference on DuckDB: DESCRIBE in a database in memory that holds empty tables."""

from __future__ import annotations

import re

import duckdb

from instar.backends.duckdb.types import parse_type, type_sql
from instar.backends.sql import qualified, quote_double
from instar.core.schema import TableName
from instar.core.types import Column, Type
from instar.run.inferring import CannotInfer
from instar.sources.models import Model, Target

_LINE = re.compile(r"^LINE (\d+):", re.MULTILINE)
_MISSING = re.compile(
    r"Referenced column \"([^\"]+)\" not found|does not have a column named \"([^\"]+)\""
    r"|[Cc]ould not find key \"([^\"]+)\" in struct|column \"([^\"]+)\" (?:does not exist|not found)"
)


class DuckDBInferrer:
    """One scratch database for one plan."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        self._schemas = {"main"}

    def place(self, name: TableName) -> str:
        return qualified(name)

    def declare(self, name: TableName, columns: tuple[Column, ...]) -> None:
        if name.schema not in self._schemas:
            self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_double(name.schema)}")
            self._schemas.add(name.schema)
        body = ", ".join(f"{quote_double(c.name)} {type_sql(c.type)}" for c in columns)
        self._connection.execute(f"CREATE OR REPLACE TABLE {qualified(name)} ({body})")

    def infer(self, sql: str) -> tuple[Column, ...]:
        try:
            rows = self._connection.execute(f"DESCRIBE\n{sql}").fetchall()
        except duckdb.Error as error:
            raise _refused(error) from None
        return tuple(Column(str(row[0]), parse_type(str(row[1]))) for row in rows)

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
            self._connection.execute(text).fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]
        return None

    def constant(self, sql: str) -> str | None:
        try:
            row = self._connection.execute(f"SELECT CAST(({sql}) AS VARCHAR)").fetchone()
        except duckdb.Error:
            return None
        return None if row is None or row[0] is None else str(row[0])

    def close(self) -> None:
        self._connection.close()


def _refused(error: duckdb.Error) -> CannotInfer:
    text = str(error).strip()
    place = _LINE.search(text)
    missing = _MISSING.search(text)
    name = next((g for g in missing.groups() if g), None) if missing else None
    # The statement begins one line before the query.
    return CannotInfer(text.splitlines()[0], int(place[1]) - 1 if place else None, name)
