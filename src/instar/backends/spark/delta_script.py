"""The steps that bring a Delta table to its target natively: one commit each, with what is then there.

What has to happen comes from the changes; how far it is done comes from comparing a running picture of
the table with the target, so that every phase leaves exactly the rest to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from instar.backends.spark import delta_sql as sql
from instar.backends.spark.delta_capability import DEFAULTS_NOTE, MAPPING_NOTE, WIDENING_NOTE, Judge
from instar.backends.spark.delta_inspect import (
    CHECKS,
    MAPPING,
    NATIVE,
    REQUIRED,
    TRACKING,
    WIDENING,
    check_sql,
)
from instar.backends.spark.delta_moves import level_moves, rename_order
from instar.backends.spark.delta_paths import Paths
from instar.backends.spark.delta_tables import (
    level_of,
    levels_of,
    moved_table,
    relaxed,
    renamed_table,
    with_nullable,
)
from instar.backends.spark.expressions import overlaps, references, renamed
from instar.backends.spark.keys import key_data
from instar.backends.spark.statements import (
    alter_columns,
    comment_table,
    drop_columns,
    path_sql,
    rename_column,
    set_properties,
    unset_properties,
)
from instar.backends.spark.types import spark_type
from instar.backends.spark.values import SparkValues
from instar.backends.sql import literal_spark, qualified, quote_backtick
from instar.core.changes import (
    FIRST,
    AddColumn,
    ChangeProperty,
    CommentChange,
    DefaultChange,
    DropColumn,
    Modification,
    ModifyColumn,
    Nullability,
    TypeChange,
    modification,
)
from instar.core.evolve import evolve
from instar.core.plan import Job, Rung, Step, drop_question
from instar.core.schema import Check, Constraint, Table, Unique
from instar.core.types import Column, Path, Type, path_text
from instar.spark.conf import DELTA_CATALOG

At = Callable[[Path], Path]
"""From the new path of a column to where it is now."""


def place_of(table: Table) -> str:
    return qualified(table.name, backtick=True, catalog=DELTA_CATALOG)


def same(path: Path) -> Path:
    return path


def native_steps(job: Job) -> tuple[Step, ...]:
    """Everything by ALTER and UPDATE."""
    script = Script(job)
    script.upgrade()
    script.unblock(script.paths.touched())
    early = [a for a in script.paths.added if not script.name_is_taken(a)]
    late = [a for a in script.paths.added if script.name_is_taken(a)]
    script.add(early, script.paths.old)
    script.fill(early, script.paths.old, script.required_again())
    script.drop()
    script.rename()
    script.add(late, same)
    script.fill(late, same, [])
    script.alter()
    script.reorder()
    script.constrain()
    script.settle()
    return tuple(script.steps)


class Script:
    """Collects steps; `now` is the table as it is after the last of them."""

    def __init__(self, job: Job) -> None:
        assert job.live is not None
        self.job = job
        self.live = job.live
        self.now = job.live
        self.target = job.target
        self.paths = Paths(job.changes)
        self.place = place_of(job.live)
        self.steps: list[Step] = []

    def step(
        self, kind: str, title: str, statements: str | tuple[str, ...], after: Table, **more: Any
    ) -> None:
        lines = (statements,) if isinstance(statements, str) else statements
        made = Step(f"{len(self.steps) + 1}-{kind}", kind, Rung.METADATA, title, lines, after)
        self.steps.append(replace(made, **more))
        self.now = after

    # --- the protocol ---

    def upgrade(self) -> None:
        """Table features that the changes need and the table has not."""
        wanted = self._upgrades()
        if not wanted:
            return
        notes = self._lasting()
        words = ", ".join(key.removeprefix("delta.") for key in wanted)
        self.step(
            "upgrade",
            f"switch on {words}",
            set_properties(self.place, wanted),
            self.now,
            repeatable=True,
            reversible=False,
            irreversible=tuple(dict.fromkeys(n for n in notes if "switched on" in n)),
        )

    def _upgrades(self) -> dict[str, str]:
        notes = self._lasting()
        known = self.live.extras.get("features", "").split(",")
        found: dict[str, str] = {}
        if MAPPING_NOTE in notes:
            found[MAPPING] = "name"
        if WIDENING_NOTE in notes:
            found[WIDENING] = "true"
        if DEFAULTS_NOTE in notes:
            found[sql.DEFAULTS] = "supported"
        for feature in sql.type_features(c.type for c in self.target.columns):
            if feature not in known:
                found[f"delta.feature.{feature}"] = "supported"
        return found

    def _lasting(self) -> list[str]:
        judge = Judge(self.live, self.job.wanted)
        return [n for c in self.job.changes for n in judge.capability(c).lasting(self.job.rung)]

    # --- constraints that are in the way ---

    def unblock(self, checked: Sequence[Path], required: Sequence[Path] | None = None) -> None:
        """Drop what goes, and what would refuse a change of the columns it uses.

        `checked`, `required`: live paths that no CHECK, and no NOT NULL kept as a CHECK, may use.
        """
        gone = [p for p, _ in self.paths.dropped]
        if any(overlaps(tuple(gone), sql.parse_path(c)) for c in self.now.cluster_by):
            after = replace(self.now, cluster_by=())
            self.step(
                "cluster", "cluster by nothing", f"ALTER TABLE {self.place} CLUSTER BY NONE", after
            )
        stays = {c.expression for c in self.target.constraints if isinstance(c, Check)}
        for check in self.live.constraints:
            if not isinstance(check, Check):
                continue
            used = any(overlaps(tuple(checked), p) for p in references(check.expression))
            if used or check.expression not in stays:
                self._drop_check(check)
        for path, name in self.required_checks().items():
            used = overlaps(tuple(checked if required is None else required), path)
            column = self.target.column(self.paths.new(path))
            if used or column is None or column.nullable:
                self._drop_required(path, name)

    def _drop_check(self, check: Check) -> None:
        left = tuple(c for c in self.now.constraints if c != check)
        self.step(
            "drop_constraint",
            f"drop CHECK {check.name}",
            sql.drop_check_sql(self.place, check.name),
            replace(self.now, constraints=left),
        )

    def _drop_required(self, path: Path, name: str) -> None:
        native = NATIVE + path_text(path) in self.live.extras
        after = self.now if native else with_nullable(self.now, path, nullable=True)
        title = f"drop CHECK {path_text(path)} IS NOT NULL"
        self.step(
            "drop_constraint", title, sql.drop_check_sql(self.place, name), after, repeatable=native
        )

    def required_checks(self) -> dict[Path, str]:
        """The live paths that are NOT NULL by a CHECK, with its name."""
        found: dict[Path, str] = {}
        for key, name in self.live.extras.items():
            if key.startswith(REQUIRED):
                found[sql.parse_path(key.removeprefix(REQUIRED))] = name
        return found

    # --- columns that come ---

    def name_is_taken(self, add: AddColumn) -> bool:
        """Its name is still that of a live column which is renamed or dropped."""
        level = level_of(self.live, self.paths.old(add.path[:-1]))
        return add.path[-1].casefold() in {c.name.casefold() for c in level}

    def add(self, adds: Sequence[AddColumn], at: At) -> None:
        if not adds:
            return
        parts: list[tuple[Path, Column, str]] = []
        table = self.now
        for change in adds:
            parent: Path = at(change.path[:-1])
            path = (*parent, change.path[-1])
            column = relaxed(change.column)
            after = self._predecessor(table, parent, change, at)
            parts.append((path, column, _position(after)))
            table = evolve(table, (AddColumn(path, column, after),))
        words = ", ".join(path_text(c.path) for c in adds)
        self.step("add", f"add {words}", sql.add_columns_sql(self.place, parts), table)
        defaults = [
            (at(c.path[:-1]) + c.path[-1:], DefaultChange(None, c.column.default))
            for c in adds
            if c.column.default is not None
        ]
        self._alter([(path, mod) for path, mod in defaults])

    def _predecessor(self, table: Table, parent: Path, add: AddColumn, at: At) -> str | None:
        if add.after is None or add.after == FIRST:
            return add.after
        wish = at((*add.path[:-1], add.after))[-1]
        there = {c.name for c in level_of(table, parent)}
        return wish if wish in there else None

    def required_again(self) -> list[tuple[Path, str, Type]]:
        """Live columns that become NOT NULL, with what fills their NULLs."""
        found = []
        for change in self.paths.modified:
            required = modification(change, Nullability)
            value = self.job.wanted.hint(change.path, str.casefold).default
            if required is not None and not required.new and value is not None:
                found.append((change.old_path, value, change.old.type))
        return found

    def fill(
        self, adds: Sequence[AddColumn], at: At, more: Sequence[tuple[Path, str, Type]]
    ) -> None:
        """Give rows that are there their values: once more does no harm."""
        fills = list(more)
        for change in adds:
            hint = self.job.wanted.hint(change.path, str.casefold)
            value = hint.using or hint.default or change.column.default
            if value is None:
                continue
            if at is same:
                value = renamed(value, self.paths.new)
            fills.append((at(change.path[:-1]) + change.path[-1:], value, change.column.type))
        top = [f for f in fills if len(f[0]) == 1]
        for group in ([top] if top else []) + [[f] for f in fills if len(f[0]) > 1]:
            words = ", ".join(path_text(path) for path, _, _ in group)
            self.step(
                "fill",
                f"fill {words} where NULL",
                fill_sql(self.place, group),
                self.now,
                rung=Rung.STEPS,
                repeatable=True,
            )

    # --- columns that go and columns that move ---

    def drop(self) -> None:
        if not self.paths.dropped:
            return
        paths = [p for p, _ in self.paths.dropped]
        words = ", ".join(map(path_text, paths))
        after = evolve(self.now, tuple(DropColumn(p, c.column) for p, c in self.paths.dropped))
        self.step(
            "drop",
            f"drop {words}",
            drop_columns(self.place, paths),
            after,
            destructive=True,
            confirm=drop_question(map(path_text, paths)),
        )

    def rename(self) -> None:
        """Parents first; keys that are written down follow at the end."""
        levels: dict[Path, dict[str, str]] = {}
        for change in sorted(self.paths.renamed, key=lambda c: len(c.path)):
            levels.setdefault(change.path[:-1], {})[change.old_path[-1]] = change.path[-1]
        for parent, renames in levels.items():
            there = [c.name for c in level_of(self.now, parent)]
            for old, new in rename_order(renames, there):
                path = (*parent, old)
                title = f"rename {path_text(path)} to {path_text((new,))}"
                after = renamed_table(self.now, path, new)
                self.step("rename", title, rename_column(self.place, path, new), after)

    def reorder(self) -> None:
        for parent in levels_of(self.target):
            wish = [c.name for c in level_of(self.target, parent)]
            now = [c.name for c in level_of(self.now, parent)]
            if set(now) != set(wish):
                continue
            for name, after in level_moves(now, wish):
                path = (*parent, name)
                table = moved_table(self.now, parent, name, after)
                position = _position(after).strip()
                statement = alter_columns(self.place, [(path, position)])
                self.step("move", f"move {path_text(path)} {position.lower()}", statement, table)

    # --- what is said of columns ---

    def alter(self) -> None:
        """As few statements as can be: each takes a column once, and never one within another."""
        rounds: list[list[tuple[Path, Modification]]] = []
        for change in self.paths.modified:
            for mod in self._actions(change):
                busy = (tuple(path for path, _ in r) for r in rounds)
                free = (n for n, paths in enumerate(busy) if not overlaps(paths, change.path))
                number = next(free, len(rounds))
                rounds[number:] = rounds[number:] or [[]]
                rounds[number].append((change.path, mod))
        for actions in rounds:
            self._alter(actions)

    def _actions(self, change: ModifyColumn) -> list[Modification]:
        found: list[Modification] = []
        for mod in change.modifications:
            match mod:
                case TypeChange() | CommentChange() | DefaultChange():
                    found.append(mod)
                case Nullability(_, True) if self._is_native(change.old_path):
                    found.append(mod)
                case _:
                    pass
        return found

    def _is_native(self, path: Path) -> bool:
        return REQUIRED + path_text(path) not in self.live.extras or (
            NATIVE + path_text(path) in self.live.extras
        )

    def _alter(self, actions: Sequence[tuple[Path, Modification]]) -> None:
        if not actions:
            return
        table = self.now
        for path, mod in actions:
            column = table.column(path)
            assert column is not None, f"{path} is not in {table.name}"
            table = evolve(table, (ModifyColumn(path, path, column, column, (mod,)),))
        statement = alter_columns(self.place, [(p, _action(m)) for p, m in actions])
        words = ", ".join(f"{path_text(p)} {_words(m)}" for p, m in actions)
        self.step("alter", f"alter {words}", statement, table)

    # --- what the table promises ---

    def constrain(self) -> None:
        for path in sql.required_paths(self.target.columns):
            column = self.now.column(path)
            if column is not None and column.nullable:
                after = with_nullable(self.now, path, nullable=False)
                statement = sql.add_check_sql(
                    self.place, sql.not_null_name(path), sql.not_null_sql(path)
                )
                self._check(f"require {path_text(path)}", statement, after)
        known = {c.expression for c in self.now.constraints if isinstance(c, Check)}
        for check in self._checks():
            if check.expression not in known:
                after = replace(self.now, constraints=(*self.now.constraints, check))
                statement = sql.add_check_sql(self.place, check.name, self._raw(check))
                self._check(f"add CHECK {check.name}", statement, after)

    def _checks(self) -> list[Check]:
        """The CHECKs of the target; those that stay follow the renames of nested fields too."""
        found: dict[str, Check] = {}
        for check in self.target.constraints:
            if not isinstance(check, Check):
                continue
            if check in self.live.constraints:
                check = replace(check, expression=renamed(check.expression, self.paths.new))
            found.setdefault(check.expression, check)
        return list(found.values())

    def _check(self, title: str, statement: str, after: Table) -> None:
        self.step("constrain", title, statement, after, rung=Rung.STEPS)

    def _raw(self, check: Check) -> str:
        """The text of a CHECK that was there before, as it was; of a new one, in our form."""
        raw = self.live.extras.get(CHECKS + check.name)
        was = next((c for c in self.live.constraints if c.name == check.name), None)
        if raw is None or not isinstance(was, Check):
            return check_sql(check.expression)
        same_check = renamed(was.expression, self.paths.new) == check.expression
        return renamed(raw, self.paths.new) if same_check else check_sql(check.expression)

    def settle(self) -> None:
        """Clustering, properties, keys and the comment."""
        wish = self.target.cluster_by
        if self.now.cluster_by != wish:
            by = f"({sql.cluster_sql(wish)})" if wish else "NONE"
            after = replace(self.now, cluster_by=wish)
            words = ", ".join(wish) or "nothing"
            statement = f"ALTER TABLE {self.place} CLUSTER BY {by}"
            self.step("cluster", f"cluster by {words}", statement, after)
        self._properties()
        if (self.now.comment or "") != (self.target.comment or ""):
            statement = comment_table(self.place, self.target.comment)
            after = replace(self.now, comment=self.target.comment)
            self.step("comment", "comment on the table", statement, after)

    def _properties(self) -> None:
        now = sql.key_properties(self.now) | dict(self.now.properties)
        wish = sql.key_properties(self.target) | dict(self.target.properties)
        setting = {k: v for k, v in wish.items() if now.get(k) != v}
        for change in self.job.changes:
            if isinstance(change, ChangeProperty) and change.key == "change_tracking":
                setting[TRACKING] = change.new or "false"
        after = replace(
            self.now,
            primary_key=self.target.primary_key,
            constraints=self._with_keys(),
            properties=self.target.properties,
            change_tracking=self.target.change_tracking,
        )
        unsetting = [k for k in now if k not in wish]
        statements = []
        if setting:
            statements.append(set_properties(self.place, setting))
        if unsetting:
            statements.append(unset_properties(self.place, unsetting))
        if statements:
            words = ", ".join([*setting, *unsetting])
            done = self.job.rung is Rung.REWRITE  # which proved its keys itself
            data = {} if done else key_data(self.job)
            title = f"set {words}"
            self.step("property", title, tuple(statements), after, repeatable=True, data=data)

    def _with_keys(self) -> tuple[Constraint, ...]:
        checks = [c for c in self.now.constraints if isinstance(c, Check)]
        return (*checks, *(c for c in self.target.constraints if isinstance(c, Unique)))


# --- words and clauses ---


def fill_sql(place: str, group: Sequence[tuple[Path, str, Type]]) -> str:
    """One UPDATE; a struct that is NULL stays NULL."""
    values = SparkValues()
    if len(group) == 1:
        path, value, type_ = group[0]
        there = "".join(f"{path_sql(path[:n])} IS NOT NULL AND " for n in range(1, len(path)))
        cast = values.cast(f"({value})", None, type_)
        name = path_sql(path)
        return f"UPDATE {place} SET {name} = {cast} WHERE {there}{name} IS NULL"
    sets = ", ".join(
        f"{path_sql(p)} = COALESCE({path_sql(p)}, {values.cast(f'({v})', None, t)})"
        for p, v, t in group
    )
    where = " OR ".join(f"{path_sql(p)} IS NULL" for p, _, _ in group)
    return f"UPDATE {place} SET {sets} WHERE {where}"


def _position(after: str | None) -> str:
    if after is None:
        return ""
    return " FIRST" if after == FIRST else f" AFTER {quote_backtick(after)}"


def _action(mod: Modification) -> str:
    match mod:
        case TypeChange(_, new):
            return f"TYPE {spark_type(new)}"
        case CommentChange(_, comment):
            return f"COMMENT {literal_spark(comment or '')}"
        case DefaultChange(_, None):
            return "DROP DEFAULT"
        case DefaultChange(_, default):
            return f"SET DEFAULT {default}"
        case Nullability():
            return "DROP NOT NULL"
        case _:
            raise AssertionError(f"{mod} is no ALTER COLUMN")


def _words(mod: Modification) -> str:
    return "comment" if isinstance(mod, CommentChange) else _action(mod).lower()
