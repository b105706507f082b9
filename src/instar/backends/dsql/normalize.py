"""What is wanted, as Aurora DSQL would report it; findings for what it has not."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.postgres.normalize import PostgresNormalizer
from instar.backends.postgres.types import kept
from instar.core.findings import Severity
from instar.core.schema import Table
from instar.core.types import Array, Column, Json, Opaque, Path, Type, path_text

MOST_COLUMNS, MOST_KEYS = 255, 8
_ABSENT = frozenset(
    [
        "money",
        "xml",
        "inet",
        "cidr",
        "macaddr",
        "macaddr8",
        "point",
        "line",
        "lseg",
        "box",
        "path",
        "polygon",
        "circle",
        "tsvector",
        "tsquery",
        "int4range",
        "int8range",
        "numrange",
        "tsrange",
        "tstzrange",
        "daterange",
        "bit",
        "varbit",
        "pg_lsn",
        "hstore",
    ]
)
"""Types of PostgreSQL that no column of the service can have."""


class DsqlNormalizer(PostgresNormalizer):
    engine = "Aurora DSQL"
    format = "dsql"

    def kept(self, type_: Type) -> tuple[Type, tuple[str, ...]]:
        if isinstance(type_, Array):
            return Json(), ("ARRAY (it is kept as jsonb, its parts unchecked)",)
        return kept(type_)

    def type(self, type_: Type, path: Path) -> Type:
        if isinstance(type_, Opaque) and type_.text.split("(")[0].strip().casefold() in _ABSENT:
            words = f"'{path_text(path)}': {self.engine} has no columns of type {type_.text}"
            self.say("F601", Severity.ERROR, words, path)
        return super().type(type_, path)

    def table(self) -> Table:
        found = super().table()
        if len(found.columns) > MOST_COLUMNS:
            words = f"a table of {self.engine} has at most {MOST_COLUMNS} columns"
            self.say("F601", Severity.ERROR, words)
        if len(found.primary_key) > MOST_KEYS:
            words = f"a key of {self.engine} has at most {MOST_KEYS} columns"
            self.say("F601", Severity.ERROR, words)
        return replace(found, columns=tuple(map(self._without_comment, found.columns)))

    def _without_comment(self, column: Column) -> Column:
        if column.comment is None:
            return column
        self.unkept("F604", f"the comment of '{column.name}'", (column.name,))
        return replace(column, comment=None)
