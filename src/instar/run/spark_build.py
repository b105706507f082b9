"""Models on Spark: DataFrames and MERGE, each build one commit of the table's format."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Any

from instar.backends.base import Backend
from instar.backends.registry import Engine
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.expressions import CHANGING, CLOCK
from instar.backends.spark.schemas import schema_json
from instar.backends.spark.types import columns_from_json, spark_type
from instar.backends.spark.views import shown_query, views_in
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.guards import MEND_KEY
from instar.core.plan import Rung, Step, TablePlan
from instar.core.schema import Table, TableName
from instar.core.types import Binary, Column
from instar.errors import EngineError
from instar.run.building import Events, Failpoint, Order
from instar.run.functions import Functions
from instar.run.keys import twice
from instar.run.python_model import call_model
from instar.run.spark_infer import SparkInferrer
from instar.run.spark_keys import key_problem
from instar.run.spark_refresh import broken_rows, refresh_steps, to_table_steps
from instar.sources.models import Model, Target
from instar.sources.models_sql import Read
from instar.sources.models_views import ViewText
from instar.spark import SparkHandle

_LOOK_BACK = 100
_FILES = """SELECT count(*) AS n, bit_xor(v) AS v FROM (SELECT DISTINCT xxhash64(_metadata.file_path,
_metadata.file_size, _metadata.file_modification_time) AS v FROM {})"""
"""No column is read for it. A view, and what lies in no file, has none."""
_FEWEST, _MOST = 2, 16
_MOVING = {
    **dict.fromkeys((*CLOCK, *CHANGING, "reflect", "java_method", "try_reflect"), frozenset[int]()),
    "unix_timestamp": frozenset((0,)),
}


class SparkBuilder:
    """Several models at once: each is a Spark job of its own."""

    one_writer = False

    def __init__(self, engine: Engine, schema: str) -> None:
        self._engine, self._schema = engine, schema
        first = engine.backend("delta")
        assert isinstance(first, SparkBackend)
        self._handle: SparkHandle = first.handle
        self.formats: dict[TableName, str] = {}
        self._elsewhere: dict[TableName, str] = {}

    def threads(self, asked: int | None) -> int:
        """A job with few rows leaves most cores idle: as many models as the session has places for tasks."""
        if asked is not None:
            return asked
        rows = self._handle.run(
            "SELECT max(p) + 1 AS n FROM (SELECT spark_partition_id() AS p FROM range(4096))"
        )
        return min(max(int(rows[0]["n"]), _FEWEST), _MOST)

    def inferrer(self) -> SparkInferrer:
        return SparkInferrer(self._handle)

    def backend(self, format_: str) -> Backend:
        return self._engine.backend(format_)

    def place(self, name: TableName, format_: str) -> str:
        backend = self._engine.backend(format_)
        assert isinstance(backend, SparkBackend)
        self.formats[name] = format_ or self._engine.default
        return backend.place(name)

    def outside_place(self, read: Read, target: Target) -> str:
        if len(read.parts) > 1:
            return ".".join(map(quote_backtick, read.parts))
        return self.place(target.table, "delta")

    def outside(self, wanted: Sequence[tuple[Read, Target]]) -> Mapping[TableName, Table]:
        found: dict[TableName, Table] = {}
        for read, target in wanted:
            own = self.formats.get(target.table)
            if len(read.parts) > 2:
                self._elsewhere[target.table] = self.outside_place(read, target)
            place = self.place(target.table, own) if own else self.outside_place(read, target)
            try:
                schema = self._handle.schema(place)
            except EngineError:
                continue
            found[target.table] = Table(target.table, columns_from_json(schema))
        return found

    def view_step(self, model: Model, sql: str, columns: tuple[Column, ...], *, new: bool) -> Step:
        place = self.place(model.table, "delta")
        schema = place.rsplit(".", 1)[0]
        return Step(
            id="1-view",
            kind="view",
            rung=Rung.METADATA,
            title=f"{'create' if new else 'replace'} view {model.table}",
            sql=(
                f"CREATE SCHEMA IF NOT EXISTS {schema}",
                f"CREATE OR REPLACE VIEW {place} AS\n{sql}",
            ),
            after=Table(model.table, columns, "view"),
            repeatable=True,
        )

    def to_table_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        if model.python or model.format == "iceberg":
            return ()
        return to_table_steps(model, target, self.place(target.name, model.format), sql)

    def to_view_steps(
        self, model: Model, sql: str, live: Table, columns: tuple[Column, ...], aside: TableName
    ) -> tuple[Step, ...]:
        """Spark cannot rename a table and create a view in one step."""
        del model, sql, live, columns, aside
        return ()

    def aside_sql(self, live: Table, aside: TableName) -> tuple[str, ...]:
        """No statement of Spark shares a transaction; Delta and Iceberg keep the old version themselves."""
        del live, aside
        return ()

    def refresh_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        place = self.place(target.name, model.format)
        text = f"SELECT * FROM {self._staged_place(model)}" if model.python else sql
        location = self._location(target.name, model.format)
        exact = self._handle.keeps_not_null
        return refresh_steps(model, target, place, text, location, exact=exact)

    def _staged_place(self, model: Model) -> str:
        name = TableName(model.table.schema, f"{model.table.name}__instar_rows")
        return self.place(name, model.format)

    def stage(self, model: Model, plan: TablePlan) -> None:
        if not _from_rows(model, plan):
            return
        place = self._staged_place(model)
        with self._handle.errors():
            rows = self._source(model, "")
            if model.format == "iceberg":
                rows.writeTo(place).using("iceberg").createOrReplace()
            else:
                writer = rows.write.format(model.format).mode("overwrite")
                writer.option("overwriteSchema", "true").saveAsTable(place)

    def unstage(self, model: Model, plan: TablePlan) -> None:
        if _from_rows(model, plan):
            self._handle.run(f"DROP TABLE IF EXISTS {self._staged_place(model)}")

    def _location(self, name: TableName, format_: str) -> str:
        live = self.backend(format_).inspect([name]).get(name) if format_ != "delta" else None
        return live.extras.get("location", "") if isinstance(live, Table) else ""

    # --- data ---

    def build(self, order: Order, failpoint: Failpoint) -> int:
        """Each way replaces what it writes, so that doing it twice is as good as once."""
        what = "build" if order.interval is None else "interval"
        failpoint(f"{what}:begin")
        place = self.place(order.live.name, order.model.format)
        if order.resumed and order.interval is not None and self._committed(order, place):
            return self._count(place, _between(order))
        rows = self._frame(order)
        seen = self._guard(order, rows)
        incremental = order.model.incremental
        if incremental is None or order.whole:
            self._replaced(order, rows, place, None)
            failpoint(f"{what}:committed")
            return self._written(order, place)
        if incremental.unique_key:
            self._merged(order, rows, place)
            failpoint(f"{what}:committed")
            return seen or 0
        where = self._condition(order, rows)
        self._replaced(order, rows, place, where)
        failpoint(f"{what}:committed")
        return self._count(place, where)

    def _count(self, place: str, where: str) -> int:
        return int(self._handle.run(f"SELECT count(*) AS n FROM {place} WHERE {where}")[0]["n"])

    def _written(self, order: Order, place: str) -> int:
        """Rows of a whole build: by Delta's word for its own commit, which is cheaper than to count them."""
        if order.model.format == "delta":
            newest = self._handle.run(f"DESCRIBE HISTORY {place} LIMIT 1")[0]
            said = (newest["operationMetrics"] or {}).get("numOutputRows")
            if newest["userMetadata"] == _mark(order) and said is not None:
                return int(said)
        return self._count(place, "TRUE")

    def _committed(self, order: Order, place: str) -> bool:
        """Delta's own history knows what the run that was cut off has committed."""
        if order.model.format != "delta":
            return False
        rows = self._handle.run(f"DESCRIBE HISTORY {place} LIMIT {_LOOK_BACK}")
        return any(row["userMetadata"] == _mark(order) for row in rows)

    def _frame(self, order: Order) -> Any:
        """The rows to write, with the table's own columns and types, by name at every depth."""
        from pyspark.sql.types import StructType

        with self._handle.errors():
            frame = self._source(order.model, order.sql)
            if order.interval is not None:
                frame = frame.where(_between(order))
            return frame.to(StructType.fromJson(schema_json(order.live.columns)))

    def _source(self, model: Model, sql: str) -> Any:
        """What the model itself gives."""
        session = self._handle.session
        if not model.python:
            return session.sql(sql)
        places = {r.name: partial(session.table, p) for r, p in self._reads(model)}
        return call_model(model, session, places)

    def key_problem(self, model: Model, sql: str) -> str:
        with self._handle.errors():
            return key_problem(model, self._source(model, sql))

    def _reads(self, model: Model) -> list[tuple[Read, str]]:
        found = []
        for read in model.query.reads:
            name = TableName(self._schema, read.name)
            found.append((read, self.place(name, self.formats.get(name, ""))))
        return found

    def _guard(self, order: Order, rows: Any) -> int | None:
        """Refuses rows that break the model's key, by one look at them; how many rows that were."""
        if order.model.incremental is None:
            return None
        from pyspark.sql import functions as f

        model = order.model
        broken = list(broken_rows(model))
        marks = [f"b{n}" for n in range(len(broken))]
        there = [f.max(f.expr(c)).alias(m) for m, (c, _) in zip(marks, broken, strict=True)]
        keys = [f.col(quote_backtick(k)) for k in order.model.incremental.unique_key]
        with self._handle.errors():
            each = rows.groupBy(*keys).agg(f.count(f.lit(1)).alias("n"), *there)
            ends = [f.sum("n").alias("rows"), f.max("n").alias("most")]
            found = each.agg(*ends, *(f.max(m).alias(m) for m in marks)).collect()[0]
        for mark, (_, message) in zip(marks, broken, strict=True):
            if found[mark]:
                raise EngineError("E430", message, hint=MEND_KEY)
        if keys and (found["most"] or 0) > 1:
            raise EngineError("E430", twice(model), hint=MEND_KEY)
        return int(found["rows"] or 0)

    def _replaced(self, order: Order, rows: Any, place: str, where: str | None) -> None:
        match order.model.format:
            case "delta":
                self._delta(order, rows, place, where)
            case "iceberg":
                self._by_merge(rows, place, where)
            case _:
                self._parquet(order, rows, place, where)

    def _delta(self, order: Order, rows: Any, place: str, where: str | None) -> None:
        from pyspark.sql import functions as f

        with self._handle.errors():
            if where is None:
                # The catalog has nothing to learn; `saveAsTable` would tell it anew.
                whole = rows.writeTo(place).option("userMetadata", _mark(order))
                whole.overwrite(f.lit(True))
                return
            writer = rows.write.format("delta").mode("overwrite")
            writer = writer.option("userMetadata", _mark(order)).option("replaceWhere", where)
            writer.saveAsTable(place)

    def _by_merge(self, rows: Any, place: str, where: str | None) -> None:
        """Iceberg deletes by file: one MERGE that matches nothing takes rows out and puts rows in."""
        from pyspark.sql import functions as f

        with self._handle.errors():
            if where is None:
                rows.writeTo(place).overwrite(f.lit(True))
                return
            merge = rows.mergeInto(place, f.lit(False)).whenNotMatched().insertAll()
            merge.whenNotMatchedBySource(f.expr(where)).delete().merge()

    def _parquet(self, order: Order, rows: Any, place: str, where: str | None) -> None:
        with self._handle.errors():
            names = [c.name for c in order.live.columns if c.name not in order.live.partition_by]
            wish = [quote_backtick(n) for n in (*names, *order.live.partition_by)]
            mode = "static" if where is None else "dynamic"
            writer = rows.select(*wish).write.mode("overwrite")
            writer.option("partitionOverwriteMode", mode).insertInto(place)

    def _merged(self, order: Order, rows: Any, place: str) -> None:
        assert order.model.incremental is not None
        from pyspark.sql import functions as f

        keys = [quote_backtick(k) for k in order.model.incremental.unique_key]
        fold = {k.casefold() for k in keys}
        columns = [quote_backtick(c.name) for c in order.live.columns]
        update = {c: f.expr(f"s.{c}") for c in columns if c.casefold() not in fold}
        with self._handle.errors():
            # Not MERGE over a temporary view: Spark 4.1 cannot plan one that reads an Iceberg table.
            on = f.expr(" AND ".join(f"{place}.{k} = s.{k}" for k in keys))
            merge = rows.alias("s").mergeInto(place, on)
            if update:
                merge = merge.whenMatched().update(update)
            merge.whenNotMatched().insertAll().merge()

    def _condition(self, order: Order, rows: Any) -> str:
        if order.interval is not None:
            return _between(order)
        assert order.model.incremental is not None
        name = str(order.model.incremental.partition_column)
        column = _of(order.live, name)
        quoted = quote_backtick(column.name)
        # Bytes are no text: a cast would lose those that are not UTF-8.
        bare = isinstance(column.type, Binary)
        told = f"hex({quoted})" if bare else f"CAST({quoted} AS STRING)"
        with self._handle.errors():
            found = rows.selectExpr(f"{told} AS v").distinct().collect()
        texts = [literal_spark(row["v"]) for row in found]
        type_ = spark_type(column.type)
        values = [f"unhex({text})" if bare else f"CAST({text} AS {type_})" for text in texts]
        return f"{quoted} IN ({', '.join(values)})" if values else "FALSE"

    def event_range(self, sql: str, column: str) -> Events:
        at = f"CAST({quote_backtick(column)} AS TIMESTAMP_NTZ)"
        ends = f"CAST(min({at}) AS STRING) a, CAST(max({at}) AS STRING) b"
        text = f"SELECT {ends}, count(*) - count({at}) n FROM (\n{sql}\n)"
        row = self._handle.run(text)[0]
        return Events(row["a"], row["b"], int(row["n"]))

    def event_starts(self, sql: str, live: Table, column: str, granularity: str) -> set[str]:
        at = f"CAST({quote_backtick(column)} AS TIMESTAMP_NTZ)"
        start = f"CAST(date_trunc({literal_spark(granularity)}, {at}) AS STRING) AS a"
        sides = (f"(\n{sql}\n)", self.place(live.name, self.formats.get(live.name, "")))
        asked = " UNION ".join(f"SELECT {start} FROM {side}" for side in sides)
        return {str(row["a"]) for row in self._handle.run(asked)}

    def functions(self) -> Functions:
        return Functions("spark", _MOVING)

    def version(self, name: TableName, format_: str) -> str | None:
        """The newest commit; of a table without commits, the files that hold its rows."""
        own = self.formats.get(name, "delta")
        foreign = self._elsewhere.get(name) if name not in self.formats else None
        place = foreign or self.place(name, own)
        asked = {
            "iceberg": f"SELECT snapshot_id AS v FROM {place}.snapshots"
            " ORDER BY committed_at DESC LIMIT 1",
            "delta": f"DESCRIBE HISTORY {place} LIMIT 1",
        }
        for format_ in asked if foreign else (own,) if own in asked else ():
            with contextlib.suppress(EngineError):
                rows = self._handle.run(asked[format_])
                return _commit(rows[0]) if rows else "empty"
        with contextlib.suppress(EngineError):
            # A session keeps the list of a table's files until it writes to it, or is told.
            self._handle.run(f"REFRESH TABLE {place}")
            row = self._handle.run(_FILES.format(place))[0]
            return f"{row['n']}:{row['v']}"
        return None

    def rows(self, name: TableName, format_: str) -> int:
        found = self._handle.run(f"SELECT count(*) AS n FROM {self.place(name, format_)}")
        return int(found[0]["n"])

    def count(self, sql: str) -> int | None:
        try:
            return int(self._handle.run(f"SELECT count(*) AS n FROM (\n{sql}\n)")[0]["n"])
        except EngineError:
            return None

    def forget(self, run: str) -> None:
        """A Delta commit keeps its own mark; nothing else is left behind."""
        del run

    def views(self, schema: str, without: Container[TableName]) -> Mapping[TableName, ViewText]:
        found = views_in(self._handle, self._handle.delta_catalog, schema, without)
        reads = [(Read((), False, 0, 0), Target(v.name, "outside", v.name.name)) for v in found]
        live = self.outside(reads)
        types = {n: {c.name: c.type for c in table.columns} for n, table in live.items()}
        return {
            v.name: ViewText(shown_query(v, types.get(v.name, {})), v.namespace or v.name.schema)
            for v in found
        }

    def interrupt(self) -> None:
        self._handle.interrupt()


def _commit(newest: Any) -> str:
    """Iceberg's commits have names. Delta counts its own, anew for a table that is dropped and made again."""
    if "v" in newest:
        return str(newest["v"])
    return f"{newest['version']}:{newest['timestamp'].timestamp()}"


def _from_rows(model: Model, plan: TablePlan) -> bool:
    """No statement calls a function of Python: its rows are written down for the refresh to read."""
    return model.python and any(step.rung is Rung.REFRESH for step in plan.steps)


def _mark(order: Order) -> str:
    return f"instar {order.mark}"


def _of(table: Table, name: str) -> Column:
    return next(c for c in table.columns if c.name.casefold() == name.casefold())


def _between(order: Order) -> str:
    assert order.interval is not None
    assert order.model.incremental is not None
    column = _of(order.live, str(order.model.incremental.event_time_column))
    quoted, type_ = quote_backtick(column.name), spark_type(column.type)
    start = f"CAST({literal_spark(order.interval.start)} AS {type_})"
    stop = f"CAST({literal_spark(order.interval.stop)} AS {type_})"
    return f"{quoted} >= {start} AND {quoted} < {stop}"
