"""Delta's own log, read for many tables in one job: the newest metadata, protocol and clustering.

A commit's JSON outlives it until a checkpoint covers it, and old ones go first: the newest JSON that
holds an action is right whenever there is one, and the newest checkpoint is right when there is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from instar.backends.spark.statements import escaped
from instar.errors import EngineError
from instar.spark import SparkHandle, SparkSqlError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COMMIT = re.compile(r"/_delta_log/(\d{20})\.(?:checkpoint\.[0-9a-fA-F-]+\.)?json$")
_CHECKPOINT = re.compile(r"/_delta_log/(\d{20})\.checkpoint\.[^/]*parquet$")
_ACTION = r"^\s*\{\s*\"(metaData|protocol|domainMetadata)\""
_KINDS = ("metaData", "protocol", "domainMetadata")
CLUSTERING = "delta.clustering"


@dataclass(slots=True)
class LogState:
    """The newest action of each kind, with the version it came in."""

    actions: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    up_to: int | None = None
    """What came after this version does not count."""

    def offer(self, version: int, action: Mapping[str, Any]) -> None:
        if self.up_to is not None and version > self.up_to:
            return
        for kind in _KINDS:
            value = action.get(kind)
            if value is None:
                continue
            if kind == "domainMetadata" and value.get("domain") != CLUSTERING:
                continue
            known = self.actions.get(kind)
            if known is None or known[0] <= version:
                self.actions[kind] = (version, value)

    def get(self, kind: str) -> Mapping[str, Any]:
        return self.actions[kind][1] if kind in self.actions else {}

    @property
    def features(self) -> frozenset[str]:
        protocol = self.get("protocol")
        return frozenset(protocol.get("writerFeatures") or ()) | frozenset(
            protocol.get("readerFeatures") or ()
        )

    @property
    def whole(self) -> bool:
        known = "metaData" in self.actions and "protocol" in self.actions
        return known and ("clustering" not in self.features or "domainMetadata" in self.actions)


def read_logs(
    handle: SparkHandle, locations: Sequence[str], up_to: int | None = None
) -> Mapping[str, LogState]:
    """The state of the table at each location, now or as of a version."""
    states = {_plain(place): LogState(up_to=up_to) for place in locations}
    _read(handle, locations, states, "*.json", _COMMIT)
    short = [place for place in locations if not states[_plain(place)].whole]
    if short:
        _read(handle, short, states, "*.checkpoint*.parquet", _CHECKPOINT)
    return {place: states[_plain(place)] for place in locations}


def _read(
    handle: SparkHandle,
    locations: Sequence[str],
    states: Mapping[str, LogState],
    files: str,
    pattern: re.Pattern[str],
) -> None:
    for path, text in _rows(handle, locations, files):
        found = pattern.search(path)
        state = states.get(_plain(path.split("/_delta_log/")[0]))
        if found and state is not None:
            state.offer(int(found.group(1)), json.loads(text))


def _rows(handle: SparkHandle, locations: Sequence[str], files: str) -> Iterable[tuple[str, str]]:
    """(file, action as JSON) of all the logs; one missing folder does not hide the others."""
    paths = [f"{escaped(place.rstrip('/'))}/_delta_log/{files}" for place in locations]
    try:
        with handle.errors():
            frame = _frame(handle, paths, parquet=files.endswith("parquet"))
            return [(unquote(row["path"]), row["value"]) for row in frame.collect()]
    except SparkSqlError as error:
        if error.condition != "PATH_NOT_FOUND":
            raise
        if len(locations) > 1:
            return [row for place in locations for row in _rows(handle, [place], files)]
        if files.endswith("parquet"):
            return []
        raise EngineError(
            "E212",
            f"the catalog has a Delta table at {locations[0]}, but there is no Delta log",
            hint="The files are gone or the table was never finished: drop it from the catalog.",
        ) from error


def _frame(handle: SparkHandle, paths: list[str], *, parquet: bool) -> DataFrame:
    session = handle.session
    if not parquet:
        rows = session.read.text(paths).selectExpr("_metadata.file_path AS path", "value")
        return rows.where(f"value RLIKE r'{_ACTION}'")
    rows = session.read.parquet(*paths)
    kinds = [kind for kind in _KINDS if kind in rows.columns]
    there = " OR ".join(f"{kind} IS NOT NULL" for kind in kinds)
    value = f"to_json(struct({', '.join(kinds)})) AS value"
    return rows.where(there).selectExpr("_metadata.file_path AS path", value)


def _plain(place: str) -> str:
    return re.sub(r"^([\w+.-]+):/+", r"\1:/", place.rstrip("/"))
