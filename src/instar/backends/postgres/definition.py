"""Everything that a recreation takes from a table's definition when it is planned, part by part.

Others may alter the table while it is copied. What hangs on it and is read at the swap (foreign keys, views,
triggers, privileges, options, statistics) is no part of this: it is carried over as it is then. The rest is
compared with what was planned, so that a new column, an index or a policy is never left behind in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from instar.backends.base import NotATable
from instar.backends.postgres.facts import Facts, Index, Sequence_, facts_of
from instar.backends.postgres.indexes import index_body
from instar.backends.postgres.inspect import PLAIN, Ask, Reader, read_tables
from instar.backends.postgres.types import type_sql
from instar.core.schema import Check, Table, TableName
from instar.core.types import Column
from instar.errors import VerificationFailed

Parts = tuple[tuple[str, str], ...]


class Altered(VerificationFailed):
    """The table is no longer what the plan was made for; it stays as the others left it."""


def definition(table: Table) -> Parts:
    """(part, what it says), in words that an error can repeat."""
    facts = facts_of(table)
    return (
        *((f"column '{c.name}'", _column(c, facts)) for c in table.columns),
        *((f"CHECK '{c.name}'", c.expression) for c in table.constraints if isinstance(c, Check)),
        *((f"key '{k.name}'", _said(asdict(k))) for k in facts.keys),
        *((f"index '{i.name}'", _index(i)) for i in facts.indexes),
        *((_sequence(s), _said(asdict(s))) for s in facts.sequences),
        *_whole(table, facts),
        *((words, "") for words in (*facts.blockers, *facts.uncarried)),
    )


def _sequence(sequence: Sequence_) -> str:
    name = "" if sequence.numbers else f" {sequence.name}"
    return f"sequence{name} of '{sequence.column}'"


def _column(column: Column, facts: Facts) -> str:
    """Its number too: a column that was dropped and added again has other values."""
    name = column.name
    said = {
        "": facts.types.get(name) or type_sql(column.type),
        "COLLATE": facts.collations.get(name),
        "NOT NULL": None if column.nullable else "",
        "DEFAULT": column.default,
        "VIRTUAL" if name in facts.virtual else "GENERATED": column.generated,
        "COMMENT": column.comment,
        "SET": facts.settings.get(name),
        "NUMBER": None if column.identity is None else str(column.identity),
    }
    return _said(said)


def _said(parts: Mapping[str, object]) -> str:
    texts = (
        f"{word} {', '.join(map(str, value)) if isinstance(value, tuple) else value}".strip()
        for word, value in parts.items()
        if value is not None and value is not False and value != ()
    )
    return " ".join(text for text in texts if text)


def _index(index: Index) -> str:
    """Without the table's name, which may be another one when it is asked again."""
    words = ("UNIQUE" if index.unique else "", index_body(index.definition, (), {}))
    return _said({"": " ".join(words).strip(), "(not valid)": None if index.valid else ""})


def _whole(table: Table, facts: Facts) -> Iterator[tuple[str, str]]:
    yield "owner", facts.owner
    if table.comment:
        yield "comment", table.comment
    if facts.unlogged:
        yield "it is UNLOGGED", ""
    if facts.privileges:
        yield "privileges", facts.privileges


def altered(ask: Ask, name: TableName, planned: Parts, reader: Reader = PLAIN) -> str:
    """What is no longer as it was planned, in words; empty when nothing is."""
    found = read_tables(ask, [name], reader).get(name)
    if found is None or isinstance(found, NotATable):
        return f"{name} is {found.what}" if found else f"there is no {name} any more"
    then, now = dict(planned), dict(definition(found))
    parts = dict.fromkeys((*then, *now))
    return "; ".join(
        _difference(part, then.get(part), now.get(part))
        for part in parts
        if then.get(part) != now.get(part)
    )


def _difference(part: str, then: str | None, now: str | None) -> str:
    if then is None:
        return f"{part} is new: {now}" if now else part
    if now is None:
        return f"{part} is gone" if then else f"no longer: {part}"
    return f"{part} was {then}, is {now}"


def refused(table: TableName, words: str) -> Altered:
    return Altered(
        "E229",
        f"{table} was altered since it was planned: {words}",
        hint="It is as the others left it, and the copy is dropped. Run `instar plan` again.",
    )
