"""Inference on Spark: a DataFrame's schema over empty temporary views; no job runs for a query."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from functools import partial

from instar.backends.spark.schemas import schema_json
from instar.backends.spark.types import columns_from_json, spark_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import TableName
from instar.core.types import Column, Type
from instar.errors import EngineError
from instar.run.inferring import FAILS, CannotInfer
from instar.run.probing import Words, made_up
from instar.run.python_model import call_model
from instar.sources.models import Model, Target
from instar.spark import SparkHandle

_MISSING = re.compile(r"with name `((?:[^`]|``)+)`(?:\.`((?:[^`]|``)+)`)?(?:\.`((?:[^`]|``)+)`)?")
_FIELD = re.compile(r"No such struct field `([^`]+)`")
_LINE = re.compile(r"line (\d+),? pos")

_WORDS = Words(
    kind=spark_type,
    name=quote_backtick,
    array=lambda values: f"array({', '.join(values)})",
    struct=lambda pairs: f"named_struct({', '.join(f'{literal_spark(k)}, {v}' for k, v in pairs)})",
    map=lambda pairs: f"map({', '.join(f'{k}, {v}' for k, v in pairs)})",
)


class SparkInferrer:
    """Temporary views of one session, under names that nobody else has."""

    dialect = "spark"
    renames = True

    def __init__(self, handle: SparkHandle) -> None:
        self._handle = handle
        self._prefix = f"instar_{uuid.uuid4().hex[:8]}"
        self._views: dict[TableName, str] = {}

    def place(self, name: TableName, called: str = "") -> str:
        view = quote_backtick(self._views.get(name, f"{name.schema}.{name.name}"))
        return f"{view} AS {quote_backtick(called)}" if called else view

    def declare(self, name: TableName, columns: tuple[Column, ...]) -> None:
        from pyspark.sql.types import StructType

        view = self._views.setdefault(name, f"{self._prefix}_{len(self._views)}")
        with self._handle.errors():
            schema = StructType.fromJson(schema_json(columns))
            self._handle.session.createDataFrame([], schema).createOrReplaceTempView(view)

    def infer(self, sql: str) -> tuple[Column, ...]:
        try:
            with self._handle.errors():
                return columns_from_json(self._handle.session.sql(sql).schema.json())
        except EngineError as error:
            raise self._refused(error) from None

    def infer_python(self, model: Model, upstream: tuple[Target, ...]) -> tuple[Column, ...]:
        """The function is called with empty DataFrames, so that no row is read."""
        session = self._handle.session

        try:
            with self._handle.errors():
                frames = {t.name: partial(session.table, self.place(t.table)) for t in upstream}
                frame = call_model(model, session, frames)
                return columns_from_json(frame.schema.json())
        except EngineError as error:
            raise self._refused(error) from None

    def value_problem(self, sql: str, type_: Type, row: tuple[Column, ...]) -> str | None:
        value = f"CAST(({sql}) AS {spark_type(type_)})"
        source = ", ".join(
            f"CAST(NULL AS {spark_type(c.type)}) AS {quote_backtick(c.name)}" for c in row
        )
        text = f"SELECT {value} AS v" + (f" FROM (SELECT {source})" if source else "")
        try:
            with self._handle.errors():
                frame = self._handle.session.sql(text)
                _ = frame.schema if row else frame.collect()
        except EngineError as error:
            return error.message.splitlines()[0]
        return None

    def null(self, type_: Type) -> str:
        return f"CAST(NULL AS {spark_type(type_)})"

    def values(
        self, texts: Sequence[str], type_: Type, row: tuple[Column, ...]
    ) -> tuple[tuple[str, ...], ...]:
        """All rows by one query; one by one only where something fails."""
        kind = spark_type(type_)
        asked = [f"coalesce(CAST(CAST(({t}) AS {kind}) AS STRING), 'NULL')" for t in texts]
        sources = [f" FROM ({made})" for made in made_up(row, _WORDS)] if row else [""]
        whole = " UNION ALL ".join(f"SELECT array({', '.join(asked)}) AS v{s}" for s in sources)
        together = self._told(whole)
        if together:
            return tuple(tuple(told) for told in together)
        found = (tuple(self._one(text, source) for text in asked) for source in sources)
        return tuple(told for told in found if set(told) != {FAILS})

    def _one(self, text: str, source: str) -> str:
        told = self._told(f"SELECT array({text}) AS v{source}")
        return told[0][0] if told else FAILS

    def _told(self, sql: str) -> list[list[str]]:
        try:
            return [list(row["v"]) for row in self._handle.run(sql)]
        except EngineError:
            return []

    def close(self) -> None:
        with self._handle.errors():
            for view in self._views.values():
                self._handle.session.catalog.dropTempView(view)

    def _refused(self, error: EngineError) -> CannotInfer:
        detail = str(getattr(error, "detail", error.message)).strip()
        for name, view in self._views.items():
            detail = detail.replace(f"`{view}`", f"`{name.name}`")
        found = _FIELD.search(detail) or _MISSING.search(detail)
        names = [g for g in found.groups() if g] if found else []
        line = _LINE.search(detail)
        message = detail.splitlines()[0].split(" SQLSTATE")[0]
        return CannotInfer(message, int(line[1]) if line else None, names[-1] if names else None)
