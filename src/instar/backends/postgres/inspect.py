"""What is live in PostgreSQL, read from the catalog in a handful of queries for any number of tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from instar.backends.base import NotATable
from instar.backends.postgres import catalog
from instar.backends.postgres.facts import EXTRA, Facts, ForeignKey, Index, Key, Sequence_, View
from instar.backends.postgres.settled import settled
from instar.backends.postgres.spelling import plain_default, spelled, unwrapped
from instar.backends.postgres.types import parse_type, type_sql
from instar.core.schema import Check, Constraint, Table, TableName, Unique
from instar.core.types import Column
from instar.expressions import BadExpression

Ask = Callable[..., list[tuple[Any, ...]]]
Row = tuple[Any, ...]

_KINDS = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
    "p": "a partitioned table",
}
HELPER = "__instar_"
"""In the names of constraints and tables that a step leaves only while it is at work."""


@dataclass(slots=True)
class _Raw:
    """One table as the catalog has it, before it becomes a value."""

    head: Row = ()
    columns: list[Row] = field(default_factory=list)
    constraints: list[Row] = field(default_factory=list)
    indexes: list[Row] = field(default_factory=list)
    views: list[Row] = field(default_factory=list)
    sequences: list[Row] = field(default_factory=list)
    others: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True)
class Reader:
    """The queries that read the catalog, and what stands in the way of a recreation."""

    format: str = "postgres"
    tables: str = catalog.TABLES
    views: str = catalog.VIEWS
    sequences: str = catalog.SEQUENCES
    others: str = catalog.OTHERS
    bars: Callable[[Facts], Iterator[str]] = lambda _: iter(())


PLAIN = Reader()


def read_tables(
    ask: Ask, names: Sequence[TableName], reader: Reader = PLAIN
) -> Mapping[TableName, Table | NotATable]:
    """The tables, views and other relations among the names."""
    found: dict[TableName, Table | NotATable] = {}
    schemas, tables = [n.schema for n in names], [n.name for n in names]
    oids: dict[int, TableName] = {}
    for oid, schema, name, kind, is_partition in ask(catalog.NAMED, [schemas, tables]):
        place = TableName(schema, name)
        if kind == "r" and not is_partition:
            oids[oid] = place
        else:
            found[place] = NotATable(place, _KINDS.get(kind, "a partition of another table"))
    for oid, raw in _read(ask, list(oids), reader).items():
        found[oids[oid]] = _table(oids[oid], oid, raw, reader)
    return {name: found[name] for name in names if name in found}


def _read(ask: Ask, oids: list[int], reader: Reader) -> dict[int, _Raw]:
    raw: dict[int, _Raw] = {oid: _Raw() for oid in oids}
    if not oids:
        return raw
    for row in ask(reader.tables, [oids]):
        raw[row[0]].head = row
    for part, sql in (
        ("columns", catalog.COLUMNS),
        ("indexes", catalog.INDEXES),
        ("views", reader.views),
        ("sequences", reader.sequences),
    ):
        for row in ask(sql, [oids]):
            getattr(raw[row[0]], part).append(row)
    for row in ask(catalog.CONSTRAINTS, [oids, oids]):
        for oid in {row[0], row[7]} & raw.keys():
            raw[oid].constraints.append(row)
    for oid, kind, name in ask(reader.others, [oids] * reader.others.count("%s")):
        raw[oid].others[kind].append(name)
    return raw


def _table(name: TableName, oid: int, raw: _Raw, reader: Reader) -> Table:
    names = {row[1]: str(row[2]) for row in raw.columns}
    own = [row for row in raw.constraints if row[0] == oid]
    facts = _facts(oid, raw, names, own)
    bars = tuple(reader.bars(facts))
    facts = replace(facts, blockers=(*facts.blockers, *bars), tied=(*facts.tied, *bars))
    primary = facts.primary
    order = tuple(names.values())
    return Table(
        name,
        tuple(_column(row, facts, order) for row in raw.columns),
        format=reader.format,
        primary_key=primary.columns if primary else (),
        constraints=tuple(_constraints(own, names, order)),
        change_tracking=None,
        comment=raw.head[2],
        extras=MappingProxyType({EXTRA: facts.dump()}),
    )


def _column(row: Row, facts: Facts, names: tuple[str, ...]) -> Column:
    _, number, name, type_text, nullable, default, generated, comment, *_ = row
    return Column(
        name,
        parse_type(type_text),
        nullable=nullable,
        default=None if generated else _default(default, name, facts),
        comment=comment,
        identity=number,
        generated=_expression(default, names) if generated else None,
    )


def _default(text: str | None, name: str, facts: Facts) -> str | None:
    """The lasting default. A column's own sequence is no default that anybody declares."""
    if text is None or facts.numbered_by(name):
        return None
    return plain_default(text)


def _expression(text: str | None, names: tuple[str, ...]) -> str:
    found = settled(text or "NULL")
    try:
        return spelled(found, names).text
    except BadExpression:
        return unwrapped(found)


def _constraints(
    rows: Sequence[Row], names: Mapping[int, str], order: tuple[str, ...]
) -> Iterator[Constraint]:
    """CHECK and UNIQUE that hold for every row: one that is not validated yet does not count."""
    for row in rows:
        _, name, kind, key, expression, valid, _, _, _, _, _, enforced, *_ = row
        if not valid or not enforced or HELPER in name:
            continue
        if kind == "c":
            yield Check(name, _expression(expression, order))
        elif kind == "u":
            yield Unique(name, tuple(names[n] for n in key))


def _facts(oid: int, raw: _Raw, names: Mapping[int, str], own: Sequence[Row]) -> Facts:
    head = raw.head

    def named(numbers: Sequence[int] | None) -> tuple[str, ...]:
        return tuple(names[n] for n in numbers or () if n in names)

    texts = {str(row[2]): str(row[3]) for row in raw.columns}
    tied = tuple(_ties(raw))
    elsewhere = frozenset(raw.others["ordered elsewhere"])
    return Facts(
        owner=head[1],
        indexes=tuple(_index(row, names, elsewhere) for row in raw.indexes),
        keys=tuple(_key(row, named, elsewhere) for row in own if row[2] in "pu"),
        outgoing=tuple(ForeignKey(r[1], r[10], named(r[3])) for r in own if r[2] == "f"),
        incoming=tuple(
            ForeignKey(r[1], r[9], named(r[8]))
            for r in raw.constraints
            if r[2] == "f" and r[7] == oid and r[0] != oid
        ),
        views=tuple(View(r[1], _KINDS.get(str(r[2]), "a rule"), named(r[3])) for r in raw.views),
        sequences=tuple(_sequence(row, names) for row in raw.sequences),
        unvalidated=tuple(r[1] for r in own if not r[5] and HELPER not in r[1]),
        blockers=(*tied, *_odd_constraints(oid, own), *_whole_rows(raw)),
        tied=tied,
        uncarried=tuple(_uncarried(raw)),
        privileges=head[5] or "",
        types={n: t for n, t in texts.items() if type_sql(parse_type(t)) != t},
        collations={str(r[2]): str(r[8]) for r in raw.columns if r[8]},
        holders=_holders(raw.others["holds"]),
        grouping=tuple(raw.others["groups"]),
        virtual=tuple(str(r[2]) for r in raw.columns if r[6] == "v"),
        storage=head[4] or "",
        settings={str(r[2]): str(r[9]) for r in raw.columns if r[9]},
        unlogged=head[3],
    )


def _uncarried(raw: _Raw) -> Iterator[str]:
    yield from raw.others["uncarried"]
    yield from (f"the index {row[1]}, which is not valid" for row in raw.indexes if not row[4])


def _key(
    row: Row, named: Callable[[Sequence[int] | None], tuple[str, ...]], elsewhere: frozenset[str]
) -> Key:
    return Key(
        row[1],
        named(row[3]),
        row[2] == "p",
        deferrable=row[6],
        nulls_alike=row[12],
        include=named(row[13]),
        storage=row[14] or "",
        elsewhere=row[1] in elsewhere,
    )


def _index(row: Row, names: Mapping[int, str], elsewhere: frozenset[str]) -> Index:
    _, name, definition, unique, valid, keys, plain, used, count, _ = row
    plain = plain and name not in elsewhere
    simple = unique and plain and valid and all(k in names for k in keys[:count])
    return Index(
        name,
        definition,
        tuple(names[n] for n in used if n in names),
        unique,
        valid,
        tuple(names[k] for k in keys[:count]) if simple else (),
    )


def _sequence(row: Row, names: Mapping[int, str]) -> Sequence_:
    _, number, name, identity, options, type_, numbers = row
    word = {"a": "ALWAYS", "d": "BY DEFAULT"}.get(identity, "")
    return Sequence_(names.get(number, ""), name, word, options, type_, numbers)


def _holders(rows: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for column, what in map(json.loads, rows):
        found[column] = f"{found[column]}, {what}" if column in found else what
    return found


def _ties(raw: _Raw) -> Iterator[str]:
    """Why another table in its place would lose something, as far as that is so."""
    head, others = raw.head, raw.others
    for flag, words in (
        (
            head[6] or others["policy"],
            "it has row security, which a recreation would have to bypass",
        ),
        (head[7] or head[10], "it inherits from a table or has tables that inherit from it"),
        (head[8], "it is a table of a composite type"),
        (
            head[9] == "i",
            "an index is its replica identity, and logical decoding follows the table",
        ),
        (head[11], "it has rewrite rules"),
    ):
        if flag:
            yield words
    if publications := sorted(set(others["publication"])):
        yield f"it is published by {', '.join(publications)}: take it out of the publication first"
    if subscriptions := sorted(others["subscription"]):
        yield (
            f"the subscription {', '.join(subscriptions)} writes to it, and would leave out all that"
            " comes for a table in its place"
        )
    for what in others["numbers"]:
        yield f"{what} takes numbers from the sequence of its identity"
    yield from dict.fromkeys(others["bound"])
    for row in raw.views:
        if row[2] == "m":
            yield f"the materialized view {row[1]} reads it and would have to be built anew"
        elif row[2] != "v":
            yield f"a rule of {row[1]} reads it or writes to it"
        elif row[4]:
            yield f"the view {row[1]} has {row[4]}"


def _whole_rows(raw: _Raw) -> Iterator[str]:
    for index in raw.others["whole row"]:
        yield f"the index {index} is over the whole row, whose type goes with the table"


def _odd_constraints(oid: int, own: Sequence[Row]) -> Iterator[str]:
    for row in own:
        if row[2] == "x":
            yield f"the exclusion constraint {row[1]} cannot be carried over"
        elif row[2] in "pu" and row[6]:
            yield f"the deferrable key {row[1]} cannot be carried over"
        elif row[15]:
            yield f"the key {row[1]} is WITHOUT OVERLAPS and cannot be carried over"
        elif not row[5] and HELPER not in row[1]:
            yield f"the constraint {row[1]} is not validated, so that rows may break it"
        elif not row[11]:
            yield f"the constraint {row[1]} is not enforced"
        elif row[2] == "f" and row[7] == oid:
            yield f"the foreign key {row[1]} refers to the table itself"
