"""What hangs on a PostgreSQL table and is not part of its schema: indexes, foreign keys, views, triggers…"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from instar.core.plan import Rung
from instar.core.schema import Table

EXTRA = "postgres"


@dataclass(frozen=True, slots=True)
class Index:
    """An index that no constraint owns. `columns` are all columns it names, in any place."""

    name: str
    definition: str
    columns: tuple[str, ...]
    unique: bool = False
    valid: bool = True
    keys: tuple[str, ...] = ()
    """The plain columns of a unique index without predicate or expressions, in pg_catalog's order; else empty."""


@dataclass(frozen=True, slots=True)
class Key:
    """A PRIMARY KEY or UNIQUE constraint under its own name."""

    name: str
    columns: tuple[str, ...]
    primary: bool = False
    deferrable: bool = False
    nulls_alike: bool = False
    """NULLS NOT DISTINCT: a second NULL is refused."""
    include: tuple[str, ...] = ()
    storage: str = ""
    elsewhere: bool = False
    """Ordered by operators outside pg_catalog, as that of an extension's type: `=` and `>` would be others."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`table` has the key, `columns` are those of the table that was inspected."""

    name: str
    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class View:
    name: str
    kind: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sequence_:
    """A sequence that belongs to a column: `identity` is '', 'ALWAYS' or 'BY DEFAULT'."""

    column: str
    name: str
    identity: str = ""
    options: str = ""
    type: str = ""
    numbers: bool = True
    """It alone gives the column its values; else it only belongs to it, and a default may use it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """`types`: the engine's text where the core's type alone would not give it back."""

    owner: str = ""
    indexes: tuple[Index, ...] = ()
    keys: tuple[Key, ...] = ()
    outgoing: tuple[ForeignKey, ...] = ()
    incoming: tuple[ForeignKey, ...] = ()
    views: tuple[View, ...] = ()
    sequences: tuple[Sequence_, ...] = ()
    unvalidated: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    """What a recreation cannot carry over, each in words."""
    tied: tuple[str, ...] = ()
    """Those of them that tie it to something else: left behind by any other table of its name."""
    uncarried: tuple[str, ...] = ()
    """What a recreation leaves behind without harm to the rows: the plan names it."""
    privileges: str = ""
    """Where the copy has them from its beginning, and not from the swap."""
    types: Mapping[str, str] = field(default_factory=dict)
    collations: Mapping[str, str] = field(default_factory=dict)
    holders: Mapping[str, str] = field(default_factory=dict)
    """By column: triggers and the like that name it, and that PostgreSQL holds it for."""
    grouping: tuple[str, ...] = ()
    """Views and functions that group by the primary key and read other columns: they hold it."""
    virtual: tuple[str, ...] = ()
    storage: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    """By column: how it is stored and measured, where that is not the usual."""
    unlogged: bool = False

    def dump(self) -> str:
        return json.dumps({k: v for k, v in asdict(self).items() if v})

    @property
    def primary(self) -> Key | None:
        return next((k for k in self.keys if k.primary), None)

    def numbered_by(self, column: str) -> Sequence_ | None:
        """The identity or serial of a column."""
        return next((s for s in self.sequences if s.column == column and s.numbers), None)

    def go_with(self, column: str) -> Iterator[str]:
        yield from (f"the index {i.name}" for i in self.indexes if column in i.columns)
        yield from (f"the foreign key {k.name}" for k in self.outgoing if column in k.columns)

    def words(self, column: str) -> Mapping[str, str]:
        """Who refers to the table, and the views that read the column."""
        return {
            "refers": ", ".join(dict.fromkeys(key.table for key in self.incoming)),
            "views": ", ".join(view.name for view in self.views if column in view.columns),
            "holder": self.holders.get(column, ""),
            "grouping": ", ".join(self.grouping),
        }

    def barred(self, rung: Rung) -> str:
        if rung is not Rung.REWRITE or not self.blockers:
            return ""
        return f"; a recreation is not possible: {'; '.join(self.blockers)}"

    def indexed(self, column: str) -> bool:
        return any(column in i.columns for i in self.indexes) or any(
            column in k.columns for k in self.keys
        )


_PARTS: dict[str, type[Any]] = {
    "indexes": Index,
    "keys": Key,
    "outgoing": ForeignKey,
    "incoming": ForeignKey,
    "views": View,
    "sequences": Sequence_,
}


def facts_of(table: Table) -> Facts:
    """The facts that `inspect` put beside the schema."""
    text = table.extras.get(EXTRA)
    if not text:
        return Facts()
    raw = json.loads(text)
    made: dict[str, Any] = {}
    for part in fields(Facts):
        if part.name not in raw:
            continue
        value = raw[part.name]
        if part.name in _PARTS:
            value = tuple(_PARTS[part.name](**_tupled(item)) for item in value)
        made[part.name] = tuple(value) if isinstance(value, list) else value
    return Facts(**made)


def _tupled(item: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in item.items()}
