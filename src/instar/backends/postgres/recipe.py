"""A recreation as data: what the new table is, how its rows come out of the old one, how both are compared."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from instar.backends.postgres.checksum import Compared, compared
from instar.backends.postgres.create import column_sql
from instar.backends.postgres.definition import Parts, definition
from instar.backends.postgres.facts import Facts, Index, Key, Sequence_, facts_of
from instar.backends.postgres.indexes import index_body
from instar.backends.postgres.inspect import HELPER
from instar.backends.postgres.key import KeyColumns, chosen_key
from instar.backends.postgres.names import LOG, NEW, OLD, SEARCH, beside, fitted
from instar.backends.postgres.sequences import LARGEST, numbered_sql
from instar.backends.postgres.spelling import spelled
from instar.backends.postgres.types import type_sql
from instar.backends.postgres.values import PostgresValues, PostgresWriter
from instar.backends.postgres.words import locked
from instar.backends.relational.create import comments, constraint_sql, names
from instar.backends.relational.steps import swap_step
from instar.backends.relational.words import copied
from instar.backends.sql import literal, qualified, quote_double
from instar.core.changes import DropColumn, ModifyColumn, Rename, modification
from instar.core.plan import Job, Step
from instar.core.projection import (
    Converted,
    FieldCarry,
    FromExpression,
    FromOld,
    Projection,
    Same,
)
from instar.core.schema import Check, Table, TableName, Unique
from instar.core.types import Column, Integer, Type

RECIPE = "recipe"
_HIDDEN = "__instar_key_"


@dataclass(frozen=True, slots=True)
class Recipe:
    """`key` walks the old table; `found_by` are the columns of the new one that hold the same values.

    `hidden` are those that only the recreation needs. `builds` are (temporary name, lasting name,
    statement) of keys and indexes; `renames` are columns by old name. `searched` is `found_by` where no index
    of the new table begins with it: an index of its own serves until the swap.
    """

    schema: str
    name: str
    body: str
    columns: tuple[str, ...]
    select: tuple[str, ...]
    compared: Compared
    key: KeyColumns
    found_by: tuple[str, ...]
    hidden: tuple[str, ...]
    searched: tuple[str, ...]
    builds: tuple[tuple[str, str, str], ...]
    comments: tuple[str, ...]
    renames: tuple[tuple[str, str], ...]
    dropped: tuple[str, ...]
    identities: tuple[tuple[str, str, str], ...]
    """(new column, old column, its old sequence)"""
    serials: tuple[tuple[str, str, str], ...]
    """(new column, sequence, the wider type that it takes with its column)"""
    owner: str
    unlogged: bool
    source: Parts
    """The definition for which this was planned."""

    @property
    def table(self) -> TableName:
        return TableName(self.schema, self.name)

    @property
    def new(self) -> str:
        return qualified(beside(self.table, NEW))

    @property
    def search_index(self) -> TableName:
        return beside(self.table, SEARCH)

    @property
    def new_key(self) -> KeyColumns:
        """The key as the new table has it; comparisons go by the old type."""
        return tuple((c, t) for c, (_, t) in zip(self.found_by, self.key, strict=True))

    def projected(self, where: str) -> str:
        return f"SELECT {', '.join(self.select)} FROM {qualified(self.table)} AS live WHERE {where}"

    def insert(self, rows: str) -> str:
        names = ", ".join(quote_double(c) for c in self.columns)
        numbered = "OVERRIDING SYSTEM VALUE " if self.identities else ""
        return f"INSERT INTO {self.new} ({names}) {numbered}{rows}"

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.dump().encode()).hexdigest()

    @classmethod
    def load(cls, text: str) -> Self:
        raw: dict[str, Any] = json.loads(text)
        made: dict[str, Any] = {
            f.name: _tuples(raw[f.name]) if isinstance(raw[f.name], list) else raw[f.name]
            for f in fields(cls)
        }
        return cls(**made)


def _tuples(items: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(item) if isinstance(item, list) else item for item in items)


def recreate_step(job: Job, known: Mapping[str, Type], timeout: float) -> Step:
    """One resumable step: copy beside the table, catch up with writers, verify, swap."""
    made = Maker(job, known)
    recipe = made.recipe()
    aside = fitted(job.target.name.name, f"{OLD}<n>")
    words = copied(job.target.name, aside)
    how = "writers go on; cut-over: ACCESS EXCLUSIVE for a moment"
    if not recipe.key:
        words += (
            "; it has no key by which it could be walked, so that writers wait for the whole copy"
        )
        how = "SHARE ROW EXCLUSIVE for the whole copy, for want of a key"
    words += left_out(job)
    lock = locked("", how, timeout)
    sql, data = _shown(recipe, aside), {RECIPE: recipe.dump()}
    return swap_step(job, "recreate", lock, sql, words, data, made.facts)


def left_out(job: Job) -> str:
    """What the question says of things that the new table will not have."""
    left = facts_of(job.live).uncarried if job.live else ()
    return f"; not carried over: {', '.join(left)}" if left else ""


def _shown(recipe: Recipe, aside: str) -> Iterator[str]:
    table = qualified(recipe.table)
    yield f"CREATE TABLE {recipe.new} ({recipe.body})"
    if recipe.key:
        log = qualified(beside(recipe.table, LOG))
        yield f"CREATE TRIGGER … AFTER INSERT OR UPDATE OR DELETE ON {table} … INSERT INTO {log}"
    yield recipe.insert(recipe.projected("…" if recipe.key else "TRUE"))
    yield from (sql for _, _, sql in recipe.builds)
    yield f"ALTER TABLE {table} RENAME TO {quote_double(aside)}"
    yield f"ALTER TABLE {recipe.new} RENAME TO {quote_double(recipe.name)}"


class Maker:
    """Makes the recipe of a job."""

    def __init__(self, job: Job, known: Mapping[str, Type]) -> None:
        assert job.live is not None
        self.job = job
        self.live: Table = job.live
        self.target: Table = job.target
        self.facts: Facts = facts_of(job.live)
        self.renames = {
            c.old_path[0]: c.path[0]
            for c in job.changes
            if isinstance(c, ModifyColumn) and modification(c, Rename)
        }
        self.dropped = {c.path[0] for c in job.changes if isinstance(c, DropColumn)}
        self.fields: Projection = tuple(f for f in job.projection if f.column.generated is None)
        self.writer = PostgresWriter(PostgresValues(known))

    def recipe(self) -> Recipe:
        target, name = self.target, self.target.name
        key = chosen_key(self.live)
        found_by, hidden = self._found_by(key)
        shown = [(h, quote_double(k)) for h, (k, _) in zip(hidden, key, strict=False)]
        place = beside(name, NEW)
        return Recipe(
            schema=name.schema,
            name=name.name,
            body=", ".join(self._body(key, hidden)),
            columns=(*(f.column.name for f in self.fields), *hidden),
            select=(
                *self.writer.select_list(self.fields),
                *(f"{k} AS {quote_double(h)}" for h, k in shown),
            ),
            compared=compared(f.column for f in self.fields if not self._varies(f)),
            key=key,
            found_by=found_by,
            hidden=hidden,
            searched=self._searched(found_by),
            builds=tuple(self._builds(place)),
            comments=tuple(comments(target, qualified(place))),
            renames=tuple(self.renames.items()),
            dropped=tuple(sorted(self.dropped)),
            identities=tuple(
                (self.renames.get(s.column, s.column), s.column, s.name)
                for s in self.facts.sequences
                if s.identity and s.column not in self.dropped
            ),
            serials=tuple(
                (self.renames.get(s.column, s.column), s.name, self._widened(s))
                for s in self.facts.sequences
                if not s.identity and s.column not in self.dropped
            ),
            owner=self.facts.owner,
            unlogged=self.facts.unlogged,
            source=definition(self.live),
        )

    def _widened(self, sequence: Sequence_) -> str:
        column = self.target.column((self.renames.get(sequence.column, sequence.column),))
        wish = type_sql(column.type) if column is not None else ""
        now = LARGEST.get(sequence.type) if sequence.numbers else None
        return wish if now is not None and LARGEST.get(wish, 0) > now else ""

    def _varies(self, field: FieldCarry) -> bool:
        names = tuple(c.name for c in self.live.columns)
        match field.source:
            case FromExpression(sql):
                return spelled(sql, names).varies
            case FromOld(_, _, fill) if fill is not None:
                return spelled(fill, names).varies
            case _:
                return False

    def _found_by(self, key: KeyColumns) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The key's columns in the new table, where every value of it stays; else hidden ones."""
        kept: dict[str, str] = {}
        for field in self.fields:
            match field.source:
                case FromOld(name, Same(), None):
                    kept[name] = field.column.name
                case FromOld(name, Converted(Integer(bits), Integer(wish)), None) if wish >= bits:
                    kept[name] = field.column.name
                case _:
                    pass
        if all(column in kept for column, _ in key):
            return tuple(kept[column] for column, _ in key), ()
        hidden = tuple(self._free_names(len(key)))
        return hidden, hidden

    def _free_names(self, count: int) -> Iterator[str]:
        """Names for hidden columns that no column of the table has."""
        taken = {c.name for c in (*self.live.columns, *self.target.columns)}
        free = (name for n in itertools.count(1) if (name := f"{_HIDDEN}{n}") not in taken)
        return itertools.islice(free, count)

    def _searched(self, found_by: tuple[str, ...]) -> tuple[str, ...]:
        """A new key may begin with other columns: each search would then read the whole copy, some under the lock."""
        keys = [self.target.primary_key]
        keys += [c.columns for c in self.target.constraints if isinstance(c, Unique)]
        kept = (i for i in self.facts.indexes if i.valid and not self.dropped & set(i.columns))
        keys += [tuple(self.renames.get(c, c) for c in i.keys) for i in kept]
        there = any(columns[: len(found_by)] == found_by for columns in keys)
        return () if there else found_by

    def _body(self, key: KeyColumns, hidden: tuple[str, ...]) -> Iterator[str]:
        numbered = {
            self.renames.get(s.column, s.column): s for s in self.facts.sequences if s.numbers
        }
        for column in self.target.columns:
            text = column_sql(self._generated(column), self.facts, self._origin(column))
            sequence = numbered.get(column.name)
            if sequence is not None and sequence.column not in self.dropped:
                text += (
                    f" GENERATED {sequence.identity} AS IDENTITY ({numbered_sql(sequence)})"
                    if sequence.identity
                    else f" DEFAULT nextval({literal(sequence.name)}::regclass)"
                )
            yield text
        collations = self.facts.collations
        for name, (column_name, type_) in zip(hidden, key, strict=False):
            collation = collations.get(column_name)
            yield f"{quote_double(name)} {type_}" + (f" COLLATE {collation}" if collation else "")
        yield from (constraint_sql(c) for c in self.target.constraints if isinstance(c, Check))

    def _generated(self, column: Column) -> Column:
        """A generated column follows the renames of what it is computed from."""
        if column.generated is None or not self.renames:
            return column
        names = tuple(c.name for c in self.live.columns)
        text = spelled(column.generated, names, self.renames).text
        return Column(column.name, column.type, column.nullable, generated=text)

    def _origin(self, column: Column) -> str | None:
        """The live column whose engine type and collation a column keeps: if its type stays."""
        for field in self.job.projection:
            if field.column.name == column.name and isinstance(field.source, FromOld):
                return field.source.name if field.source.carry == Same() else None
        return column.name if column.generated else None

    def _builds(self, place: TableName) -> Iterator[tuple[str, str, str]]:
        alter = f"ALTER TABLE {qualified(place)} ADD CONSTRAINT"
        taken: set[str] = set()

        def temporary(name: str) -> str:
            number = len(taken) + 1
            taken.add(name)
            return fitted(self.target.name.name, f"{HELPER}b{number}")

        if self.target.primary_key:
            old = self.facts.primary
            name = old.name if old else fitted(self.target.name.name, "_pkey")
            short = temporary(name)
            words = f"PRIMARY KEY ({names(self.target.primary_key)}){self._extras(old)}"
            yield short, name, f"{alter} {quote_double(short)} {words}"
        for constraint in self.target.constraints:
            if isinstance(constraint, Unique):
                key = self.key_named(constraint.name)
                short = temporary(constraint.name)
                alike = "NULLS NOT DISTINCT " if key and key.nulls_alike else ""
                words = f"UNIQUE {alike}({names(constraint.columns)}){self._extras(key)}"
                yield short, constraint.name, f"{alter} {quote_double(short)} {words}"
        for index in self.facts.indexes:
            if index.valid and not self.dropped & set(index.columns):
                short = temporary(index.name)
                yield short, index.name, self._index(index, short, place)

    def key_named(self, name: str) -> Key | None:
        return next((k for k in self.facts.keys if k.name == name), None)

    def _extras(self, key: Key | None) -> str:
        """Columns that the key's index carries along, and how it is stored."""
        if key is None:
            return ""
        stored = f" WITH ({key.storage})" if key.storage else ""
        return self.included(key) + stored

    def included(self, key: Key) -> str:
        kept = tuple(self.renames.get(c, c) for c in key.include if c not in self.dropped)
        return f" INCLUDE ({names(kept)})" if kept else ""

    def _index(self, index: Index, short: str, place: TableName) -> str:
        unique = "UNIQUE " if index.unique else ""
        names = tuple(c.name for c in self.live.columns)
        rest = index_body(index.definition, names, self.renames)
        return f"CREATE {unique}INDEX {quote_double(short)} ON {qualified(place)} {rest}"
