"""Where the memory engine keeps its tables: in the process, and in one file when it is given one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal as PyDecimal
from pathlib import Path
from typing import Any
from uuid import UUID

from instar.core.schema import Table, TableName
from instar.core.serial import dumps, loads
from instar.core.types import (
    Array,
    Binary,
    Date,
    Decimal,
    Interval,
    Map,
    Struct,
    Time,
    Timestamp,
    Type,
    Uuid,
)


@dataclass(frozen=True, slots=True)
class Stored:
    """A table and its rows. `version` counts the steps it went through, `writes` the inserts."""

    table: Table
    rows: list[dict[str, Any]]
    version: int = 0
    writes: int = 0


class Store:
    """Every `put` or `drop` is one atomic commit: all of it is in the file, or nothing."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._tables: dict[TableName, Stored] = {}
        self._views: dict[TableName, TableName] = {}
        self._last_id = 0
        if file is not None and file.exists():
            self._load(file)

    def get(self, name: TableName) -> Stored | None:
        return self._tables.get(name.folded)

    def names(self) -> list[TableName]:
        return [stored.table.name for stored in self._tables.values()]

    def is_view(self, name: TableName) -> bool:
        return name.folded in self._views

    def put_view(self, name: TableName) -> None:
        self._views[name.folded] = name
        self._save()

    def put(self, *tables: Stored, without: Iterable[TableName] = ()) -> None:
        for name in without:
            self._tables.pop(name.folded, None)
        for stored in tables:
            self._tables[stored.table.name.folded] = stored
        self._save()

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _save(self) -> None:
        if self._file is None:
            return
        text = json.dumps(
            {
                "last_id": self._last_id,
                "views": [[n.schema, n.name] for n in self._views.values()],
                "tables": [_table_data(s) for s in self._tables.values()],
            }
        )
        new = self._file.with_name(self._file.name + ".new")
        with new.open("w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        new.replace(self._file)

    def _load(self, file: Path) -> None:
        data = json.loads(file.read_text(encoding="utf-8"))
        self._last_id = data["last_id"]
        self._views = {name.folded: name for name in (TableName(*v) for v in data["views"])}
        for item in data["tables"]:
            table: Table = loads(item["table"])
            rows = [_decoded(row, Struct(table.columns)) for row in item["rows"]]
            stored = Stored(table, rows, item["version"], item["writes"])
            self._tables[table.name.folded] = stored


def _table_data(stored: Stored) -> dict[str, Any]:
    whole = Struct(stored.table.columns)
    return {
        "table": dumps(stored.table),
        "rows": [_encoded(row, whole) for row in stored.rows],
        "version": stored.version,
        "writes": stored.writes,
    }


_CODECS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    Decimal: (str, PyDecimal),
    Binary: (bytes.hex, bytes.fromhex),
    Date: (date.isoformat, date.fromisoformat),
    Time: (time.isoformat, time.fromisoformat),
    Timestamp: (datetime.isoformat, datetime.fromisoformat),
    Interval: (lambda v: [v.days, v.seconds, v.microseconds], lambda v: timedelta(*v)),
    Uuid: (str, UUID),
}


def _encoded(value: Any, type_: Type) -> Any:
    return _mapped(value, type_, 0)


def _decoded(value: Any, type_: Type) -> Any:
    return _mapped(value, type_, 1)


def _mapped(value: Any, type_: Type, way: int) -> Any:
    """To JSON (way 0) or back (way 1); the type says what a value is, so nothing is tagged."""
    if value is None:
        return None
    match type_:
        case Struct(fields):
            return {f.name: _mapped(value[f.name], f.type, way) for f in fields}
        case Array(element):
            return [_mapped(v, element.type, way) for v in value]
        case Map(key, inner):
            items = value.items() if way == 0 else value
            pairs = [(_mapped(k, key.type, way), _mapped(v, inner.type, way)) for k, v in items]
            return dict(pairs) if way else pairs
        case _:
            codec = _CODECS.get(type(type_))
            return codec[way](value) if codec else value
