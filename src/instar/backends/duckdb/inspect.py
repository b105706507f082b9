"""What is live in DuckDB, read from the catalog in a handful of queries for any number of tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from instar.backends.base import NotATable
from instar.backends.duckdb.facts import Facts, read_index
from instar.backends.duckdb.folding import fold, fold_sql
from instar.backends.duckdb.spelling import spelled
from instar.backends.duckdb.types import parse_type
from instar.core.schema import Check, Constraint, Table, TableName, Unique
from instar.core.types import Column, shared
from instar.expressions import BadExpression

Ask = Callable[..., list[tuple[Any, ...]]]
Key = tuple[str, str]
"""(schema, table), folded."""


class _TableRow(NamedTuple):
    schema: str
    table: str
    comment: str | None
    sql: str | None
    oid: int


class _ConstraintRow(NamedTuple):
    schema: str
    table: str
    kind: str
    name: str
    expression: str | None
    columns: Sequence[str]
    referenced: str | None


class _IndexRow(NamedTuple):
    schema: str
    table: str
    name: str
    unique: bool
    sql: str | None
    comment: str | None


# The schemas are found once: folding the name of each column's schema takes longer than all the rest.
_MINE = f"""database_name = current_database() AND schema_oid IN (SELECT oid FROM duckdb_schemas()
WHERE database_name = current_database() AND list_contains(?::VARCHAR[], {fold_sql("schema_name")}))"""

_COLUMNS = f"""SELECT table_oid, column_name, data_type, is_nullable, column_default, comment
FROM duckdb_columns() WHERE NOT internal AND {_MINE} ORDER BY table_oid, column_index"""

_CONSTRAINTS = f"""SELECT schema_name, table_name, constraint_type, constraint_name, expression,
constraint_column_names, referenced_table
FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL' AND {_MINE}
ORDER BY schema_name, table_name, constraint_index"""

_TABLES = f"""SELECT schema_name, table_name, comment,
CASE WHEN contains(sql, ' GENERATED ALWAYS AS') OR contains(sql, ' COLLATE ') THEN sql END, table_oid
FROM duckdb_tables() WHERE NOT internal AND NOT temporary AND {_MINE}"""

_INDEXES = f"""SELECT schema_name, table_name, index_name, is_unique, sql, comment
FROM duckdb_indexes() WHERE {_MINE} ORDER BY index_name"""

_VIEWS = f"SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND {_MINE}"


FEW = 50
"""Up to this many names, the catalog's rows of all other tables are not fetched."""
_NAMED = "lower(table_name) IN (SELECT lower(unnest(?::VARCHAR[])))"


def key_of(name: TableName) -> Key:
    return fold(name.schema), fold(name.name)


@dataclass(slots=True)
class _Raw:
    """One table as the catalog has it, before it becomes a value."""

    comment: str | None
    sql: str | None
    columns: list[tuple[Any, ...]] = field(default_factory=list)
    constraints: list[_ConstraintRow] = field(default_factory=list)
    indexes: list[_IndexRow] = field(default_factory=list)


def read_tables(ask: Ask, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
    """The tables and views among the names."""
    schemas = sorted({fold(name.schema) for name in names})
    asked = _asking(ask, names, schemas)
    tables = {_key(row): row for row in map(_TableRow._make, asked(_TABLES))}
    raw = {key: _Raw(row.comment, row.sql) for key, row in tables.items()}
    views = {_key(row) for row in ask(_VIEWS, schemas)}
    referenced: dict[Key, list[str]] = defaultdict(list)
    wanted = {key_of(name) for name in names} & raw.keys()
    own = {tables[key].oid: raw[key].columns for key in wanted}
    for oid, *column in asked(_COLUMNS) if wanted else ():
        if (columns := own.get(oid)) is not None:
            columns.append(tuple(column))
    keys = f"(referenced_table IS NOT NULL OR {_NAMED})"
    for constraint in map(_ConstraintRow._make, asked(_CONSTRAINTS, keys) if wanted else ()):
        if (key := _key(constraint)) in wanted:
            raw[key].constraints.append(constraint)
        if constraint.referenced is not None:
            there = key[0], fold(constraint.referenced)
            referenced[there].append(f"{constraint.schema}.{constraint.table}")
    for index in map(_IndexRow._make, asked(_INDEXES) if wanted else ()):
        if (key := _key(index)) in wanted:
            raw[key].indexes.append(index)
    found: dict[TableName, Table | NotATable] = {}
    for name in names:
        key = key_of(name)
        if key in raw:
            found[name] = _table(name, raw[key], tuple(referenced.get(key, ())))
        elif key in views:
            found[name] = NotATable(name, "view")
    return found


def _asking(ask: Ask, names: Sequence[TableName], schemas: list[str]) -> Ask:
    """Asks for all tables of the schemas, or only for the few that are named."""
    few = [name.name for name in names]
    if len(few) > FEW:
        return lambda sql, named="": ask(sql, schemas)
    return lambda sql, named=_NAMED: ask(
        sql.replace(" WHERE ", f" WHERE {named} AND ", 1), few, schemas
    )


def _key(row: Sequence[Any]) -> Key:
    return fold(str(row[0])), fold(str(row[1]))


def _table(name: TableName, raw: _Raw, referenced_by: tuple[str, ...]) -> Table:
    names = tuple([str(row[0]) for row in raw.columns])
    special = _special(raw.sql) if raw.sql else _Special()
    primary = next((c.columns for c in raw.constraints if c.kind == "PRIMARY KEY"), ())
    facts = Facts(
        indexes=tuple(
            read_index(i.name, i.unique, i.sql or "", names, i.comment) for i in raw.indexes
        ),
        foreign_keys=tuple(
            tuple(c.columns) for c in raw.constraints if c.kind == "FOREIGN KEY" and c.columns
        ),
        referenced_by=tuple(dict.fromkeys(referenced_by)),
        collations=tuple(special.collations.items()),
    )
    return Table(
        name,
        _columns(raw.columns, names, special),
        format="duckdb",
        primary_key=tuple(primary),
        constraints=_constraints(raw.constraints, names),
        comment=raw.comment,
        extras=MappingProxyType({} if facts == Facts() else {"duckdb": facts.dump()}),
    )


def _columns(
    rows: Iterable[tuple[Any, ...]], names: tuple[str, ...], special: _Special
) -> tuple[Column, ...]:
    if not special.generated:
        return tuple([_column(*row) for row in rows])
    return tuple(
        replace(_column(*row[:3], None, row[4]), generated=_ungeneric(row[3], names))
        if row[0] in special.generated
        else _column(*row)
        for row in rows
    )


@lru_cache(maxsize=65536)
def _column(
    name: str, type_text: str, nullable: bool, default: str | None, comment: str | None
) -> Column:
    """The same few columns come back in many tables."""
    return shared(Column(name, parse_type(type_text), nullable, default_text(default), comment))


_PLAIN_DEFAULT = re.compile(r"-?\d{1,18}|'[^']*'")


def default_text(default: str | None) -> str | None:
    """A default in one spelling; DEFAULT NULL is none."""
    if default is None or default == "NULL":
        return None
    if _PLAIN_DEFAULT.fullmatch(default):
        return default
    try:
        text = spelled(default).text
    except BadExpression:
        return default
    return None if text == "NULL" else text


def _ungeneric(expression: str | None, names: tuple[str, ...]) -> str:
    try:
        return spelled(expression or "NULL", names).text
    except BadExpression:
        return expression or "NULL"


def _constraints(rows: Iterable[_ConstraintRow], names: tuple[str, ...]) -> tuple[Constraint, ...]:
    """CHECK and UNIQUE; DuckDB forgets their names and may report one name twice."""
    taken: set[str] = set()
    found: list[Constraint] = []
    for row in rows:
        if row.kind not in ("CHECK", "UNIQUE"):
            continue
        name = _free(row.name, taken)
        taken.add(name)
        if row.kind == "CHECK":
            found.append(Check(name, _ungeneric(row.expression, names)))
        else:
            found.append(Unique(name, tuple(row.columns)))
    return tuple(found)


def _free(name: str, taken: set[str]) -> str:
    count, free = 1, name
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free


@dataclass(frozen=True, slots=True)
class _Special:
    """What only the CREATE text of a table tells."""

    generated: frozenset[str] = frozenset()
    collations: Mapping[str, str] = field(default_factory=dict)


def _special(sql: str) -> _Special:
    import sqlglot
    from sqlglot import expressions as exp

    generated: set[str] = set()
    collations: dict[str, str] = {}
    for column in sqlglot.parse_one(sql, read="duckdb").find_all(exp.ColumnDef):
        for constraint in column.args.get("constraints") or ():
            match constraint.kind:
                case exp.ComputedColumnConstraint() | exp.GeneratedAsIdentityColumnConstraint():
                    generated.add(column.name)
                case exp.CollateColumnConstraint(this=collation):
                    collations[column.name] = collation.sql(dialect="duckdb")
                case _:
                    pass
    return _Special(frozenset(generated), collations)
