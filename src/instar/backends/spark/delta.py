"""Delta tables on Spark: inspected from their logs, changed one commit at a time."""

from __future__ import annotations

import itertools
import json
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from instar.backends.base import NotATable, Outcome, RunContext
from instar.backends.spark.base import SparkBackend, entries
from instar.backends.spark.delta_inspect import table_from_log
from instar.backends.spark.delta_keeper import DeltaKeeper
from instar.backends.spark.delta_log import read_logs
from instar.backends.spark.delta_rewrite import VERSION, shape
from instar.backends.spark.delta_rules import DeltaRules
from instar.backends.spark.keys import UNTOUCHED, came_late, prove_keys, shared_key
from instar.backends.spark.mismatch import differing_rows
from instar.backends.spark.types import columns_from_json
from instar.backends.sql import quote_backtick
from instar.core.plan import Cost, Step
from instar.core.schema import Table, TableName
from instar.errors import EngineError, VerificationFailed
from instar.spark import SparkHandle, SparkSqlError
from instar.spark.conf import USER_METADATA

_CONFLICTS = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
_ATTEMPTS = 5
_PATIENCE = 300.0
"""Seconds in which more attempts may begin: a small table meets its writers often, and is soon rewritten."""
_LOOK_BACK = 100
Sum = tuple[int, str]
"""Rows, and the checksum over them."""
_LOCATION = re.compile(r"location \('?([^')]+)")


class DeltaBackend(SparkBackend):
    """Every commit of a step carries a mark, so that the table's own history tells what was done."""

    provider = "delta"

    def __init__(self, handle: SparkHandle) -> None:
        super().__init__(handle)
        self.rules = DeltaRules()

    # --- what is there ---

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        found: dict[TableName, Table | NotATable] = {}
        there = entries(self.handle, self.catalog, names)
        delta = {name: e for name, e in there.items() if e.provider == self.provider}
        for name, entry in there.items():
            if name not in delta:
                kind = "view" if entry.is_view else f"{entry.provider or 'foreign'} table"
                found[name] = NotATable(name, kind)
        if delta:
            logs = read_logs(self.handle, [e.location for e in delta.values()])
            for name, entry in delta.items():
                found[name] = table_from_log(name, entry, logs[entry.location])
        return found

    def keeper(self) -> DeltaKeeper:
        return DeltaKeeper(self)

    def measured(self, name: TableName) -> Cost:
        detail = self.handle.run(f"DESCRIBE DETAIL {self.place(name)}")[0]
        rows = super().measured(name).rows
        return Cost(rows, int(detail["sizeInBytes"]), int(detail["numFiles"]))

    # --- what changes ---

    def run(self, step: Step, context: RunContext) -> None:
        context.memo["mark"] = uuid.uuid4().hex
        if step.kind == "rewrite":
            self._rewrite(step, context)
            return
        prove_keys(self.handle, step, self.place(step.after.name), UNTOUCHED)
        for number, statement in enumerate(step.sql, start=1):
            context.failpoint(f"{step.kind}:{number}:before")
            try:
                self._marked(statement, _mark(context.memo, step, number))
            except SparkSqlError as error:
                if known := _left_behind(step, error):
                    raise known from error
                raise
            context.failpoint(f"{step.kind}:{number}:after")

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """The commit's mark is the table's own word; the schema answers where there is none."""
        if step.kind == "create" or before is None:
            return super().outcome(step, before, memo)
        if "mark" not in memo:
            return Outcome.NOT_DONE
        made = self._made(step, memo)
        if made is None:
            found = super().outcome(step, before, memo)
            return Outcome.NOT_DONE if found is Outcome.UNCLEAR else found
        if step.kind == "rewrite":
            self._verify(step, made)
            self._prove_keys(step, made)
        return Outcome.DONE

    def _marked(self, statement: str, mark: str) -> None:
        conf = self.handle.session.conf
        with self.handle.errors():
            conf.set(USER_METADATA, mark)
        try:
            self.handle.sql(statement)
        finally:
            with self.handle.errors():
                conf.unset(USER_METADATA)

    def _history(self, name: TableName, limit: int) -> list[tuple[int, str | None]]:
        """(version, mark) of the newest commits, newest first."""
        rows = self.handle.run(f"DESCRIBE HISTORY {self.place(name)} LIMIT {limit}")
        return [(int(r["version"]), r["userMetadata"]) for r in rows]

    def _made(self, step: Step, memo: Mapping[str, str]) -> int | None:
        """The version in which a step's last statement was committed."""
        wish = _mark(memo, step, len(step.sql))
        history = self._history(step.after.name, _LOOK_BACK)
        return next((version for version, mark in history if mark == wish), None)

    # --- the rewrite ---

    def _rewrite(self, step: Step, context: RunContext) -> None:
        begun = time.monotonic()
        before: dict[int, Sum] = {}
        for attempt in itertools.count(1):
            self._look(step)
            version = self._history(step.after.name, 1)[0][0]
            if attempt == 1:
                # The newest version is at hand; once there is a newer one it must be made again from the log.
                before = {version: self._checksum(step, "old", version)}
            context.memo["version"] = str(version)
            context.memo["kept"] = f"{step.after.name.name}@v{version}"
            context.failpoint("rewrite:pinned")
            context.progress("rewrite", attempt - 1, None)
            try:
                self._overwrite(step, _mark(context.memo, step, 1))
                break
            except SparkSqlError as error:
                if not (error.condition or "").startswith(_CONFLICTS):
                    raise
                if attempt >= _ATTEMPTS and time.monotonic() - begun > _PATIENCE:
                    raise _never_quiet(step, attempt) from error
        context.failpoint("rewrite:committed")
        made = self._made(step, context.memo)
        if made is None:
            raise EngineError("E213", f"[{step.after.name}] the rewrite left no commit behind")
        old, new = self._verify(step, made, version, before.get(made - 1))
        self._prove_keys(step, made)
        context.memo.update({"old_rows": str(old), "new_rows": str(new), "verified": str(new)})
        context.failpoint("rewrite:verified")

    def _look(self, step: Step) -> None:
        """Each attempt starts from a table as it was planned for: a second rewrite changes values."""
        with self.handle.errors():
            now = self.handle.session.table(self.place(step.after.name)).schema.json()
        if shape(columns_from_json(now)) != step.data["source"]:
            raise VerificationFailed(
                "E402",
                f"[{step.after.name}] the columns changed while the table was to be rewritten",
                hint="Somebody else changed the table meanwhile. Look with `instar plan`.",
            )

    def _overwrite(self, step: Step, mark: str) -> None:
        from pyspark.sql.types import StructType

        schema = StructType.fromJson(json.loads(step.data["schema"]))
        with self.handle.errors():
            rows = self.handle.session.sql(step.sql[0])
            rows = rows.select(*(_described(f) for f in schema.fields)).to(schema)
            writer = rows.write.format("delta").mode("overwrite")
            writer = writer.option("overwriteSchema", "true").option("userMetadata", mark)
            if columns := json.loads(step.data["partition_by"]):
                writer = writer.partitionBy(*columns)
            writer.saveAsTable(self.place(step.after.name))

    def _verify(
        self, step: Step, made: int, pinned: int | None = None, known: Sum | None = None
    ) -> tuple[int, int]:
        """Old rows brought forward against new rows, both counted; what differs is undone at once."""
        old = known or self._checksum(step, "old", made - 1)
        new = self._checksum(step, "new", made)
        same_columns = pinned is None or pinned == made - 1 or self._same_columns(step, made - 1)
        if old == new and same_columns:
            return old[0], new[0]
        name, place = step.after.name, self.place(step.after.name)
        was = step.data["rows"].replace(VERSION, str(made - 1))
        which = differing_rows(
            self.handle, step.data, was, f"SELECT * FROM {place} VERSION AS OF {made}"
        )
        raise VerificationFailed(
            "E214",
            f"[{name}] the rewrite gave {new[0]} rows (checksum {new[1]}), not {old[0]} ({old[1]})."
            f" {which}",
            hint=self._put_back(step, made),
        )

    def _prove_keys(self, step: Step, made: int) -> None:
        """A key that the plan proved: rows may have come since that share one."""
        source = f"{self.place(step.after.name)} VERSION AS OF {made}"
        if said := shared_key(self.handle, step, source):
            raise came_late(said, self._put_back(step, made))

    def _put_back(self, step: Step, made: int) -> str:
        """The version before again, unless others wrote since; in words."""
        name = step.after.name
        if self._history(name, 1)[0][0] != made:
            return f"Others wrote since: look at versions {made - 1} and {made} and decide."
        self.handle.run(f"RESTORE TABLE {self.place(name)} TO VERSION AS OF {made - 1}")
        return f"The table was put back to version {made - 1}."

    def _checksum(self, step: Step, side: str, version: int) -> Sum:
        row = self.handle.run(step.data[side].replace(VERSION, str(version)))[0]
        return int(row["rows"]), str(row["total"])

    def _same_columns(self, step: Step, version: int) -> bool:
        place = self.place(step.after.name)
        with self.handle.errors():
            frame = self.handle.session.sql(f"SELECT * FROM {place} VERSION AS OF {version}")
            return shape(columns_from_json(frame.schema.json())) == step.data["source"]


def _mark(memo: Mapping[str, str], step: Step, number: int) -> str:
    return f"instar {step.id} {memo['mark']} {number}"


def _described(field: Any) -> Any:
    """A column with its metadata: where `to` alone brings a text's limit, Spark's optimizer breaks the plan.

    Under a plain alias the old column's comment or default would come along; a call leaves them behind.
    """
    from pyspark.sql.functions import coalesce, col

    column = coalesce(col(quote_backtick(field.name)))
    return column.alias(field.name, metadata=field.metadata or None)


def _left_behind(step: Step, error: SparkSqlError) -> EngineError | None:
    """A CREATE that Delta refused leaves `_delta_log/_staged_commits`, and then refuses the right one too."""
    if error.condition != "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION":
        return None
    place = _LOCATION.search(error.detail)
    where = f" {place.group(1)}" if place else ""
    return EngineError(
        "E216",
        f"[{step.after.name}] cannot be created: its folder{where} is not empty and holds no Delta table",
        hint="A CREATE that failed leaves one behind, and so does a table that was dropped from the"
        " catalog alone. Look into the folder and remove it, then apply again.",
    )


def _never_quiet(step: Step, attempts: int) -> EngineError:
    return EngineError(
        "E215",
        f"[{step.after.name}] others wrote to the table during each of {attempts} rewrites of it",
        hint="Nothing was changed. Hold its writers while `instar apply` runs, or choose a quieter hour.",
    )
