"""What hangs on a table and is not part of its schema: indexes, foreign keys, collations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from instar.backends.duckdb.spelling import spelled
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung
from instar.core.schema import Table, TableName
from instar.expressions import BadExpression

_INDEX = re.compile(
    r'CREATE (UNIQUE )?INDEX (?:"(?:[^"]|"")*"|\w+) ON (?:(?:"(?:[^"]|"")*"|\w+)\.)*'
    r'(?:"(?:[^"]|"")*"|\w+)\((.*)\);?$',
    re.DOTALL,
)
_KEYS = "zqkeys"


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index; `expressions` is None when it cannot be written again."""

    name: str
    unique: bool
    expressions: str | None
    columns: tuple[str, ...]
    comment: str | None = None

    def create(self, table_sql: str, names: tuple[str, ...], renames: Mapping[str, str]) -> str:
        assert self.expressions is not None
        keys = _index_keys(self.expressions, names, renames)
        unique = "UNIQUE " if self.unique else ""
        return f"CREATE {unique}INDEX {quote_double(self.name)} ON {table_sql} ({keys})"

    def again(
        self, table: TableName, names: tuple[str, ...], renames: Mapping[str, str]
    ) -> Iterator[str]:
        """It and its comment, on a table that takes the place of its own."""
        yield self.create(qualified(table), names, renames)
        if self.comment is not None:
            place = qualified(TableName(table.schema, self.name))
            yield f"COMMENT ON INDEX {place} IS {literal(self.comment)}"


def _index_keys(expressions: str, names: tuple[str, ...], renames: Mapping[str, str]) -> str:
    """The key list with new names: read as the arguments of a function, which is then taken off."""
    return spelled(f"{_KEYS}({expressions})", names, renames).text[len(_KEYS) + 1 : -1]


def read_index(
    name: str, unique: bool, sql: str, names: tuple[str, ...], comment: str | None
) -> Index:
    """An index from the text that the catalog has of it."""
    found = _INDEX.match(sql.strip())
    if found is None:
        return Index(name, unique, None, ())
    try:
        expression = spelled(f"{_KEYS}({found[2]})", names)
    except BadExpression:
        return Index(name, unique, None, ())
    return Index(name, unique, found[2], tuple(sorted(expression.columns)), comment)


@dataclass(frozen=True, slots=True)
class Facts:
    indexes: tuple[Index, ...] = ()
    foreign_keys: tuple[tuple[str, ...], ...] = ()
    referenced_by: tuple[str, ...] = ()
    collations: tuple[tuple[str, str], ...] = ()

    def drop_indexes(self, name: TableName) -> tuple[str, ...]:
        """DuckDB aborts at COMMIT when an index goes that it has only read from disk: a DELETE binds them."""
        if not self.indexes:
            return ()
        schema = quote_double(name.schema)
        drops = (f"DROP INDEX {schema}.{quote_double(i.name)}" for i in self.indexes)
        return (f"DELETE FROM {qualified(name)} WHERE FALSE", *drops)

    @property
    def bound(self) -> str | None:
        """Why the table cannot be copied and renamed, if so."""
        if self.referenced_by:
            names = ", ".join(self.referenced_by)
            return f"{names} refers to it by a foreign key, which DuckDB cannot move to a new table"
        if self.foreign_keys:
            return "it has a foreign key, and DuckDB loses it when a table is renamed"
        return self.odd_index

    @property
    def odd_index(self) -> str | None:
        odd = [index.name for index in self.indexes if index.expressions is None]
        return (
            f"the index {', '.join(odd)} cannot be written again from the catalog" if odd else None
        )

    def go_with(self, column: str) -> Iterator[str]:
        yield from (f"the index {i.name}" for i in self.indexes if column in i.columns)

    def words(self, column: str) -> Mapping[str, str]:
        del column
        return {"referenced": ", ".join(self.referenced_by)}

    def barred(self, rung: Rung) -> str:
        if rung is Rung.REWRITE and self.bound:
            return f"; a rewrite is not possible: {self.bound}"
        return f", but {self.odd_index}" if rung is Rung.STEPS and self.odd_index else ""

    def dump(self) -> str:
        return json.dumps(asdict(self))


def facts_of(table: Table) -> Facts:
    """The facts that `inspect` put beside the schema."""
    text = table.extras.get("duckdb")
    if not text:
        return Facts()
    raw = json.loads(text)
    return Facts(
        tuple(
            Index(i["name"], i["unique"], i["expressions"], tuple(i["columns"]), i.get("comment"))
            for i in raw["indexes"]
        ),
        tuple(tuple(columns) for columns in raw["foreign_keys"]),
        tuple(raw["referenced_by"]),
        tuple((column, collation) for column, collation in raw["collations"]),
    )
