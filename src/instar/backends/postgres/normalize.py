"""What is wanted, as PostgreSQL would report it had the table been created so; findings for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.indexes import index_body
from instar.backends.postgres.names import LIMIT, too_long
from instar.backends.postgres.scratch import NotTaken, Speller
from instar.backends.postgres.settled import settled
from instar.backends.postgres.spelling import (
    STABLE,
    VOLATILE,
    Expression,
    is_literal,
    plain_default,
    spelled,
)
from instar.backends.postgres.types import MAX_DIGITS, kept
from instar.backends.relational.normalize import Normalizer
from instar.core.findings import Finding, Severity
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import Array, Column, Decimal, Opaque, Path, Type, bare, children, path_text
from instar.expressions import BadExpression


def normalize(
    wanted: Wanted, live: Table | None, speller: Speller | None
) -> tuple[Wanted, tuple[Finding, ...]]:
    """The wanted table in PostgreSQL's words."""
    return normalized(PostgresNormalizer(wanted, live, speller))


def normalized(work: PostgresNormalizer) -> tuple[Wanted, tuple[Finding, ...]]:
    """The wanted table and its helpers."""
    wanted, table = work.wanted, work.table()
    hints: dict[Path, Hint] = {
        path: work.hint(path, hint) for path, hint in wanted.hints.items() if len(path) == 1
    }
    result = replace(wanted, table=table, hints=MappingProxyType(hints))
    return result, tuple(work.findings)


class PostgresNormalizer(Normalizer):
    """Asks the server, where there is one, how it spells expressions."""

    engine = "PostgreSQL"
    format = "postgres"
    partitioning = Severity.WARNING

    def kept(self, type_: Type) -> tuple[Type, tuple[str, ...]]:
        """What would be reported, and what is not kept, in words."""
        return kept(type_)

    def __init__(self, wanted: Wanted, live: Table | None, speller: Speller | None) -> None:
        super().__init__(wanted, live, str.casefold)
        self.speller = speller

    def table(self) -> Table:
        self._names(self.wanted.table)
        found = super().table()
        if self.live is not None and self.speller is not None:
            self.indexes(found, self.live, self.speller)
        return found

    def indexes(self, found: Table, live: Table, speller: Speller) -> None:
        """An index over a column whose type changes is tried on no rows: it may be of the old type only."""
        wishes = {c.name: t for c, t in self._origins(found, live)}
        changed = {c.name: t for c, t in self._origins(found, live) if bare(t) != bare(c.type)}
        for index in facts_of(live).indexes if changed else ():
            touched = [name for name in index.columns if name in changed]
            if not index.valid or not touched or not wishes.keys() >= set(index.columns):
                continue
            types = {name: changed[name] for name in touched}
            try:
                speller.index(index_body(index.definition, (), {}), live, types)
            except NotTaken as error:
                columns = ", ".join(f"'{name}'" for name in touched)
                words = f"the index {index.name} does not fit the new type of {columns}: {error}"
                hint = "Drop the index first; make it anew for the new type afterwards."
                self.say("F601", Severity.ERROR, words, (touched[0],), hint)

    def _origins(self, found: Table, live: Table) -> Iterator[tuple[Column, Type]]:
        """Live columns that stay, and the types that they shall have."""
        known = {c.name.casefold(): c for c in live.columns}
        for column in found.columns:
            old = self.wanted.hint((column.name,)).renamed_from or column.name
            origin = known.get(old.casefold()) or known.get(column.name.casefold())
            if origin is not None:
                yield origin, column.type

    def _names(self, declared: Table) -> None:
        table, columns = declared.name, declared.columns
        self._name(table.schema)
        self._name(table.name)
        for column in columns:
            self._name(column.name, (column.name,))
        for constraint in declared.constraints:
            self._name(constraint.name, key=f"constraints.{constraint.name}")

    def _name(self, name: str, path: Path = (), key: str = "") -> None:
        if too_long(name):
            words = (
                f"the name '{name}' has {len(name.encode())} bytes; {self.engine} cuts at {LIMIT}"
            )
            self.say("F601", Severity.ERROR, words, path, "Choose a shorter name.", key)
        if "\x00" in name:
            self.say("F601", Severity.ERROR, "a name holds a zero byte", path, None, key)

    def type(self, type_: Type, path: Path) -> Type:
        bad = [t for t in (type_, *(c.type for c in children(type_))) if _too_wide(t)]
        if bad:
            words = f"'{path_text(path)}': {self.engine} has no decimal of more than {MAX_DIGITS} digits"
            self.say("F601", Severity.ERROR, words, path)
            return Decimal(MAX_DIGITS, 0)
        known, lost = self.kept(type_)
        for words in lost:
            self.unkept("F602", f"{words} of '{path_text(path)}'", path)
        if isinstance(type_, Array) and isinstance(known, Array) and not type_.element.nullable:
            words = f"NOT NULL of '{path_text((*path, 'element'))}'"
            self.unkept("F603", words, path, Severity.WARNING)
        return known

    def default(self, sql: str, type_: Type, path: Path) -> str | None:
        what = f"the default of '{path_text(path)}'"
        try:
            expression = spelled(sql)
        except BadExpression as error:
            self.bad(what, sql, str(error), path)
            return None
        text = plain_default(expression.text)
        if text is None or self._live_default(path[0]) == text or self.speller is None:
            return text
        try:
            found = plain_default(self.speller.default(expression.text, type_))
        except NotTaken as error:
            self.bad(what, sql, str(error), path)
            return text
        return text if is_literal(text) and found == text else found

    def _live_default(self, name: str) -> str | None:
        live = self.live.columns if self.live is not None else ()
        return next((c.default for c in live if c.name.casefold() == name.casefold()), None)

    def check(
        self, name: str, sql: str, columns: tuple[Column, ...], names: tuple[str, ...]
    ) -> str:
        """As the catalog spells it; the server is asked unless the table has it already."""
        try:
            expression = spelled(sql, names)
        except BadExpression as error:
            self.bad(f"CHECK '{name}'", sql, str(error))
            return sql
        text = expression.text
        if expression.moving and not self.has_check(text):
            self.moving(f"CHECK '{name}'", _as_written(expression.moving, sql))
            return text
        if self.speller is None or self._has_check(text, columns, names):
            return text
        as_named = tuple(self._as_stored(columns, names))
        found = text
        try:
            found = settled(spelled(self.speller.check(text, as_named), names).text)
        except NotTaken as error:
            self.bad(f"CHECK '{name}'", sql, str(error))
            return text
        except BadExpression:
            pass
        moving = self._declared_volatile(expression, as_named)
        if moving and not self.has_check(found):
            self.moving(f"CHECK '{name}'", moving)
        return found

    def _as_stored(self, columns: tuple[Column, ...], names: tuple[str, ...]) -> Iterator[Column]:
        """Columns that stay have the engine's own type: a text over varchar is cast, one over text is not."""
        live = self.live.columns if self.live is not None else ()
        types = facts_of(self.live).types if self.live is not None else {}
        known = {c.name.casefold(): c for c in live}
        for column, name in zip(columns, names, strict=True):
            old = self.wanted.hint((column.name,)).renamed_from or column.name
            origin = known.get(old.casefold()) or known.get(name.casefold())
            stays = origin is not None and bare(origin.type) == bare(column.type)
            stored = types.get(origin.name) if origin is not None and stays else None
            yield replace(column, name=name, type=Opaque(stored) if stored else column.type)

    def _has_check(self, text: str, columns: tuple[Column, ...], names: tuple[str, ...]) -> bool:
        """The table has it in this spelling, and no type changes that would alter it."""
        if self.live is None:
            return False
        types = {name: bare(c.type) for c, name in zip(columns, names, strict=True)}
        stay = all(types.get(c.name, bare(c.type)) == bare(c.type) for c in self.live.columns)
        return stay and self.has_check(text)

    def hint(self, path: Path, hint: Hint) -> Hint:
        """Migration helpers over the old row."""
        return replace(
            hint,
            using=self._helper("_using", hint.using, path),
            default=self._helper("_default", hint.default, path),
        )

    def _helper(self, key: str, sql: str | None, path: Path) -> str | None:
        if sql is None:
            return None
        if self._has_done_its_work(key, path):
            return sql
        what = f"the {key} of '{path_text(path)}'"
        rows = self.live.columns if self.live is not None else ()
        try:
            expression = spelled(sql, tuple(c.name for c in rows))
        except BadExpression as error:
            self.bad(what, sql, str(error), path)
            return "NULL"
        if expression.has_subquery or expression.has_window:
            # Rows are taken over batch by batch, and those that change meanwhile alone.
            held = (
                "a query"
                if expression.has_subquery
                else "a window function, which looks at other rows"
            )
            self.bad(what, sql, f"it holds {held}", path)
            return "NULL"
        if self._moves(what, key, expression, rows, path):
            return "NULL"
        if rows and self.speller is not None:
            try:
                self.speller.type_of(expression.text, rows)
                if expression.functions:
                    self.speller.of_a_row(expression.text, rows)
            except NotTaken as error:
                self.bad(what, sql, str(error), path, rows)
                return "NULL"
        return expression.text

    def _has_done_its_work(self, key: str, path: Path) -> bool:
        """What it was for is live: the columns that it reads may be gone."""
        if self.live is None:
            return False
        wish = next((c for c in self.wanted.table.columns if (c.name,) == path), None)
        names = {path[0].casefold(), (self.wanted.hint(path).renamed_from or path[0]).casefold()}
        found = next((c for c in self.live.columns if c.name.casefold() in names), None)
        if wish is None or found is None:
            return False
        required = found.nullable and not wish.nullable
        if key == "_default":
            return not required
        return bare(found.type) == bare(self.kept(wish.type)[0])

    def _moves(
        self, what: str, key: str, expression: Expression, rows: tuple[Column, ...], path: Path
    ) -> bool:
        moving = expression.volatile or self._declared_volatile(expression, rows)
        if key == "_using":
            moving = moving or expression.moving
        if moving:
            self.moving(what, _as_written(moving, expression.text), path)
        return bool(moving)

    def _declared_volatile(
        self, expression: Expression, rows: tuple[Column, ...]
    ) -> frozenset[str]:
        """Functions of the server, and of its people, that promise nothing about their answer."""
        if self.speller is None or not expression.functions:
            return frozenset()
        return self.speller.volatile(expression.functions, expression.text, rows)


def _as_written(functions: frozenset[str], sql: str) -> frozenset[str]:
    """The functions by the names that the text has, not by those of the parser."""
    text = sql.casefold()
    called = frozenset(re.findall(r"\w+(?=\s*\()", text)) & (VOLATILE | STABLE)
    return called or frozenset(f for f in functions if f in text) or functions


def _too_wide(type_: Type) -> bool:
    return isinstance(type_, Decimal) and type_.precision > MAX_DIGITS
