"""What Spark's catalog says of many tables at once: one statement per schema."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import TableName
from instar.errors import EngineError
from instar.spark import SparkHandle, SparkSqlError

_PLAIN = re.compile(r"\w+")
_MANY = 100
_ABSENT = ("SCHEMA_NOT_FOUND", "NO_SUCH_NAMESPACE", "NO_SUCH_DATABASE")


@dataclass(frozen=True, slots=True)
class Entry:
    """A table or view as the catalog knows it; `provider` is in lower case, '' for a view."""

    name: TableName
    kind: str
    provider: str
    location: str
    comment: str | None
    unreadable: str | None = None
    """Spark's words where it has such a table and cannot read what it wrote down of it."""

    @property
    def is_view(self) -> bool:
        return "VIEW" in self.kind


def entries(
    handle: SparkHandle, catalog: str, names: Sequence[TableName]
) -> Mapping[TableName, Entry]:
    """What there is under these names, whatever the case in which they are written.

    Raises EngineError (E217) where Spark cannot read one of them.
    """
    schemas: defaultdict[str, list[TableName]] = defaultdict(list)
    for name in names:
        schemas[name.schema].append(name)
    found: dict[TableName, Entry] = {}
    for schema, wanted in schemas.items():
        plain = len(wanted) <= _MANY and all(_PLAIN.fullmatch(n.name) for n in wanted)
        pattern = "|".join(n.name for n in wanted) if plain else "*"
        there = {e.name.name.casefold(): e for e in in_schema(handle, catalog, schema, pattern)}
        for name in wanted:
            if (entry := there.get(name.name.casefold())) is not None:
                found[name] = _readable(entry)
    return found


def _readable(entry: Entry) -> Entry:
    if entry.unreadable is None:
        return entry
    raise EngineError(
        "E217",
        f"[{entry.name}] Spark has this table, but cannot read its definition: {entry.unreadable}",
        hint="Nothing was touched, and the other tables of the schema go on without it.",
    )


def in_schema(
    handle: SparkHandle, catalog: str, schema: str, pattern: str = "*"
) -> Iterator[Entry]:
    """Everything in a schema; nothing where the schema does not exist.

    One table that Spark cannot read fails the statement for all: then each is asked for by itself.
    """
    place = f"{quote_backtick(catalog)}.{quote_backtick(schema)}"
    try:
        yield from _shown(handle, place, schema, pattern)
    except SparkSqlError as error:
        if error.condition in _ABSENT:
            return
        for row in handle.run(f"SHOW TABLES IN {place} LIKE {literal_spark(pattern)}"):
            if not row["isTemporary"]:
                yield from _alone(handle, place, TableName(schema, row["tableName"]))


def _shown(handle: SparkHandle, place: str, schema: str, pattern: str) -> Iterator[Entry]:
    rows = handle.run(f"SHOW TABLE EXTENDED IN {place} LIKE {literal_spark(pattern)}")
    for row in rows:
        if not row["isTemporary"]:
            yield _entry(TableName(schema, row["tableName"]), row["information"])


def _alone(handle: SparkHandle, place: str, name: TableName) -> Iterator[Entry]:
    try:
        yield from (e for e in _shown(handle, place, name.schema, name.name) if e.name == name)
    except SparkSqlError as error:
        yield Entry(name, "", "unreadable", "", None, unreadable=error.message)


def _entry(name: TableName, text: str) -> Entry:
    # Free text may follow; each fact is looked for in the lines before the schema only.
    said: dict[str, str] = {}
    for line in text.split("\nSchema: ")[0].splitlines():
        key, mark, value = line.partition(": ")
        if mark and key not in said:
            said[key] = value
    return Entry(
        name,
        said.get("Type", "").upper(),
        said.get("Provider", "").lower(),
        said.get("Location", ""),
        said.get("Comment"),
    )
