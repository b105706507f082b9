"""A recreation on Aurora DSQL as data: the primary key comes with the table, all other keys by jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from instar.backends.postgres.checksum import Compared, compared
from instar.backends.postgres.facts import Index
from instar.backends.postgres.inspect import HELPER
from instar.backends.postgres.key import KeyColumns
from instar.backends.postgres.names import OLD, fitted
from instar.backends.postgres.recipe import RECIPE, Maker, Recipe, left_out
from instar.backends.relational.create import names
from instar.backends.relational.steps import swap_step
from instar.backends.sql import qualified, quote_double
from instar.core.plan import Job, Step
from instar.core.schema import TableName, Unique
from instar.core.types import Type

_METHOD = re.compile(r"USING \w+ ")


@dataclass(frozen=True, slots=True)
class DsqlRecipe(Recipe):
    """`keys` are (temporary name, lasting name) of the primary key and the unique ones; `columns_then` are
    those of the old table, by whose values it is told whether it moved.
    """

    keys: tuple[tuple[str, str], ...]
    columns_then: Compared

    @property
    def create(self) -> str:
        return f"CREATE TABLE {self.new} ({self.body})"


class DsqlMaker(Maker):
    def recipe(self) -> DsqlRecipe:
        plain = super().recipe()
        return DsqlRecipe(
            **{f.name: getattr(plain, f.name) for f in fields(Recipe)},
            keys=tuple((short, name) for short, name, _ in self._keys()),
            columns_then=compared(self.live.columns),
        )

    def _keys(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """(temporary name, lasting name, columns), the primary key first."""
        table = self.target.name.name
        wanted = [(c.name, c.columns) for c in self.target.constraints if isinstance(c, Unique)]
        if self.target.primary_key:
            old = self.facts.primary
            # A swap that was cut off may have left it the name of a helper.
            plain = old is not None and HELPER not in old.name
            name = old.name if old and plain else fitted(table, "_pkey")
            wanted.insert(0, (name, self.target.primary_key))
        for number, (name, columns) in enumerate(wanted, start=1):
            yield fitted(table, f"{HELPER}b{number}"), name, columns

    def _body(self, key: KeyColumns, hidden: tuple[str, ...]) -> Iterator[str]:
        yield from super()._body(key, hidden)
        if self.target.primary_key:
            short, _, columns = next(self._keys())
            rest = self.included(self.facts.primary) if self.facts.primary else ""
            yield f"CONSTRAINT {quote_double(short)} PRIMARY KEY ({names(columns)}){rest}"

    def _builds(self, place: TableName) -> Iterator[tuple[str, str, str]]:
        made = list(self._keys())
        for short, name, columns in made[1 if self.target.primary_key else 0 :]:
            key = self.key_named(name)
            rest = self.included(key) if key else ""
            rest += " NULLS NOT DISTINCT" if key and key.nulls_alike else ""
            on = f"{qualified(place)} ({names(columns)}){rest}"
            yield short, name, f"CREATE UNIQUE INDEX ASYNC {quote_double(short)} ON {on}"
        stay = [i for i in self.facts.indexes if i.valid and not self.dropped & set(i.columns)]
        for number, index in enumerate(stay, start=len(made) + 1):
            short = fitted(self.target.name.name, f"{HELPER}b{number}")
            yield short, index.name, self._index(index, short, place)

    def _index(self, index: Index, short: str, place: TableName) -> str:
        """The service has one method of access and takes no word for it."""
        text = _METHOD.sub("", super()._index(index, short, place), count=1)
        return text.replace("INDEX ", "INDEX ASYNC ", 1)


def recreate_step(job: Job, known: Mapping[str, Type]) -> Step:
    """One resumable step: copy beside the table, verify, swap by two renames."""
    made = DsqlMaker(job, known)
    recipe = made.recipe()
    name = job.target.name
    aside = fitted(name.name, f"{OLD}<n>")
    words = (
        f"copies every row of {name} into a new table and swaps it in by two renames; the old one is"
        f" kept as {aside}. WRITERS MUST STOP: what they write meanwhile is not taken over, and the"
        " swap refuses if the table moved; readers do not find it while it is compared a last time"
        + left_out(job)
    )
    how, sql = " [writers must stop]", _shown(recipe, aside)
    return swap_step(job, "recreate", how, sql, words, {RECIPE: recipe.dump()}, made.facts)


def _shown(recipe: DsqlRecipe, aside: str) -> Iterator[str]:
    table = qualified(recipe.table)
    yield recipe.create
    yield recipe.insert(recipe.projected("…"))
    yield from (sql for _, _, sql in recipe.builds)
    yield f"ALTER TABLE {table} RENAME TO {quote_double(aside)}"
    yield f"ALTER TABLE {recipe.new} RENAME TO {quote_double(recipe.name)}"
