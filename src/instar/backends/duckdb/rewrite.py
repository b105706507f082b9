"""The rewrite rung: a copy beside the table and a swap of names, in one transaction.

A rename alone lets another connection's rows go into the old table unseen. So the first statement alters
the old table (a guard column comes and goes): from then on DuckDB refuses every other writer, and what was
committed just before is compared with what this transaction sees.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from instar.backends.base import RunContext
from instar.backends.duckdb.content import content_sql, row_hash
from instar.backends.duckdb.create import table_body
from instar.backends.duckdb.facts import facts_of
from instar.backends.duckdb.folding import fold, fold_sql
from instar.backends.duckdb.native import known_types
from instar.backends.duckdb.spelling import spelled, volatile_functions
from instar.backends.duckdb.values import DuckDBValues
from instar.backends.relational.create import comments, names
from instar.backends.relational.steps import swap_step
from instar.backends.relational.words import copied
from instar.backends.sql import literal, qualified, quote_double
from instar.backends.values import ValueWriter, expressions_in
from instar.core.changes import DropColumn, ModifyColumn, Rename, modification
from instar.core.plan import Job, Step
from instar.core.projection import FromExpression
from instar.core.schema import Table, TableName
from instar.core.types import String
from instar.errors import EngineError, VerificationFailed

Execute = Callable[[str], None]
Ask = Callable[[str], list[tuple[Any, ...]]]

GUARD = "__instar_guard"
NEW = "__instar_new"
OLD = "__instar_old_"
_GUARDED, _COPIED = 0, 2
"""Places in the script after which the runner looks."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the runner needs; the names of the two other tables are chosen when it runs."""

    body: str
    columns: tuple[str, ...]
    select: tuple[str, ...]
    compared: tuple[str, ...]
    live_columns: tuple[str, ...]
    drop_indexes: tuple[str, ...]
    after: tuple[str, ...]
    key: tuple[str, ...]

    def dump(self) -> str:
        return json.dumps({f: getattr(self, f) for f in self.__slots__})

    @staticmethod
    def load(text: str) -> Recipe:
        raw = json.loads(text)
        body = raw.pop("body")
        return Recipe(body=body, **{key: tuple(value) for key, value in raw.items()})


def rewrite_step(job: Job) -> Step:
    """One step: everything or nothing."""
    assert job.live is not None
    recipe = _recipe(job)
    name = job.target.name
    aside = f"{name.name}{OLD}<n>"
    sql = _script(recipe, name, f"{name.name}{NEW}", aside, GUARD)
    data = {"recipe": recipe.dump()}
    return swap_step(job, "rewrite", "", sql, copied(name, aside), data, facts_of(job.live))


def _recipe(job: Job) -> Recipe:
    assert job.live is not None
    facts = facts_of(job.live)
    live_names = tuple(c.name for c in job.live.columns)
    renames = {
        c.old_path[0]: c.path[0]
        for c in job.changes
        if isinstance(c, ModifyColumn) and len(c.path) == 1 and modification(c, Rename)
    }
    target = _with_generated(job.target, live_names, renames)
    generated = {c.name for c in target.columns if c.generated is not None}
    fields = tuple(f for f in job.projection if f.column.name not in generated)
    writer = ValueWriter(DuckDBValues(known_types(expressions_in(fields), job.live)))
    dropped = {c.path[0] for c in job.changes if isinstance(c, DropColumn) and len(c.path) == 1}
    name = qualified(target.name)
    texts = {c.name for c in target.columns if isinstance(c.type, String)}
    named = {renames.get(c, c): text for c, text in facts.collations}
    collations = {c: text for c, text in named.items() if c in texts}
    return Recipe(
        body=table_body(target, collations),
        columns=tuple(f.column.name for f in fields),
        select=tuple(writer.select_list(fields)),
        compared=tuple(f.column.name for f in fields if not _varies(f.source)),
        live_columns=live_names,
        drop_indexes=facts.drop_indexes(target.name),
        key=target.primary_key,
        after=(
            *comments(target, name),
            *(
                sql
                for i in facts.indexes
                if not dropped & set(i.columns)
                for sql in i.again(target.name, live_names, renames)
            ),
        ),
    )


def _varies(source: object) -> bool:
    return isinstance(source, FromExpression) and bool(volatile_functions(spelled(source.sql)))


def _with_generated(table: Table, live: tuple[str, ...], renames: dict[str, str]) -> Table:
    """A generated column follows the renames of what it is computed from."""
    return replace(
        table,
        columns=tuple(
            replace(c, generated=spelled(c.generated, live, renames).text) if c.generated else c
            for c in table.columns
        ),
    )


def _beside(name: TableName, other: str) -> str:
    return qualified(TableName(name.schema, other))


def _script(recipe: Recipe, name: TableName, new: str, old: str, guard: str) -> Iterator[str]:
    table = qualified(name)
    yield f"ALTER TABLE {table} ADD COLUMN {quote_double(guard)} BOOLEAN"
    yield f"CREATE TABLE {_beside(name, new)} {recipe.body}"
    yield _copy(recipe, name, new)
    yield from recipe.drop_indexes
    yield f"ALTER TABLE {table} DROP COLUMN {quote_double(guard)}"
    yield f"ALTER TABLE {table} RENAME TO {quote_double(old)}"
    yield f"ALTER TABLE {_beside(name, new)} RENAME TO {quote_double(name.name)}"
    yield from recipe.after


def _copy(recipe: Recipe, name: TableName, new: str) -> str:
    into = f"{_beside(name, new)} ({names(recipe.columns)})"
    return f"INSERT INTO {into} SELECT {', '.join(recipe.select)} FROM {qualified(name)}"


def run_rewrite(
    step: Step, execute: Execute, ask: Ask, ask_outside: Ask, context: RunContext
) -> None:
    """Inside a transaction that the caller opened and will commit."""
    recipe = Recipe.load(step.data["recipe"])
    name = step.after.name
    taken = {fold(str(row[0])) for row in ask(_names_sql(name.schema))}
    new = _free(f"{name.name}{NEW}", taken)
    old = _numbered(f"{name.name}{OLD}", taken)
    guard = _free(GUARD, {fold(c) for c in recipe.live_columns})
    rows = 0
    for place, statement in enumerate(_script(recipe, name, new, old, guard)):
        execute(statement)
        if place == _GUARDED:
            rows = _nothing_missed(recipe, name, ask, ask_outside)
            context.progress(f"copy {name}", 0, rows)
        elif place == _COPIED:
            _verify(recipe, name, new, ask)
            context.progress(f"copy {name}", rows, rows)
    same = dict.fromkeys(("old_rows", "new_rows", "verified"), str(rows))
    context.memo.update({"kept": old, **same})


def _names_sql(schema: str) -> str:
    mine = f"{fold_sql('schema_name')} = {fold_sql(literal(schema))}"
    return (
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() "
        f"AND {mine} UNION ALL SELECT view_name FROM duckdb_views() "
        f"WHERE database_name = current_database() AND {mine}"
    )


def _free(name: str, taken: set[str]) -> str:
    return name if fold(name) not in taken else _numbered(f"{name}_", taken)


def _numbered(stem: str, taken: set[str]) -> str:
    number = 1
    while fold(f"{stem}{number}") in taken:
        number += 1
    return f"{stem}{number}"


def _nothing_missed(recipe: Recipe, name: TableName, ask: Ask, ask_outside: Ask) -> int:
    """With other writers shut out, the committed rows must be the ones that this transaction sees."""
    sql = content_sql(recipe.live_columns, qualified(name))
    seen, committed = ask(sql)[0], ask_outside(sql)[0]
    if seen != committed:
        raise EngineError(
            "E221",
            f"{name} was written to while its rewrite began; nothing was changed",
            hint="Run the command again.",
        )
    return int(seen[0])


def _verify(recipe: Recipe, name: TableName, new: str, ask: Ask) -> None:
    """The copy has the rows and values that the projection of the old table gives."""
    projected = f"(SELECT {', '.join(recipe.select)} FROM {qualified(name)}) AS projected"
    expected = ask(content_sql(recipe.compared, projected))[0]
    copy = _beside(name, new)
    found = ask(content_sql(recipe.compared, copy))[0]
    if expected != found:
        raise VerificationFailed(
            "E224",
            f"the copy of {name} differs from the table ({found[0]:,} of {expected[0]:,} rows, "
            f"checked by content); nothing was changed. {_differing(recipe, projected, copy, ask)}",
            hint="The table is as it was. Report this with the plan as JSON.",
        )


def _differing(recipe: Recipe, projected: str, copy: str, ask: Ask) -> str:
    """A few rows that only one side has, by their key where the table has one; compared by hash."""
    shown = recipe.key or recipe.compared
    row = row_hash(recipe.compared)
    both = " UNION ALL ".join(
        f"SELECT {', '.join([f'{row} AS __instar_h', f'{n} AS __instar_n', *map(quote_double, shown)])}"
        f" FROM {side}"
        for n, side in ((1, projected), (-1, copy))
    )
    wish = ", ".join(f"any_value({quote_double(c)})" for c in shown) or "1"
    said = []
    for words, sign in (("only before", ">"), ("only after", "<")):
        query = f"SELECT {wish} FROM ({both}) GROUP BY __instar_h HAVING sum(__instar_n) {sign} 0"
        if rows := ask(f"{query} ORDER BY 1 LIMIT 5"):
            said.append(f"{words}: {', '.join(_named(shown, row) for row in rows)}")
    return "; ".join(said)


def _named(columns: tuple[str, ...], row: tuple[Any, ...]) -> str:
    return f"({', '.join(f'{c}={v!r}' for c, v in zip(columns, row, strict=False))})"
