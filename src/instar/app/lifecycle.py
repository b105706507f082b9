"""The life of old copies: listed, put back, dropped; and what a crash left, mended by the tables themselves."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from instar.app.events import Listener
from instar.app.naming import check_names, named
from instar.apply import Counted, Question, QuestionKind, Result, TableReport
from instar.apply.failpoints import Failpoints
from instar.apply.questions import cleanup_text, revert_text
from instar.apply.runner import Runner, Voice, inspected
from instar.backends.base import Backend
from instar.backends.keeping import Copy, Keeper, Leftover, Since
from instar.backends.registry import Engine
from instar.core.matching import DoneRenames
from instar.core.plan import UNFINISHED, Cost, Plan, Rung, Step
from instar.core.schema import Table, TableName
from instar.errors import ConfirmationNeeded, InstarError, StateError, UsageError
from instar.state import Kept, Store
from instar.state.journal import unfinished_run

if TYPE_CHECKING:
    from instar.sources.project import Environment

Confirm = Callable[[Sequence[Question]], bool]
STRANDED = "F504"
REVERT = "instar revert"


@dataclass(frozen=True, slots=True)
class World:
    """What the use cases here work on. `declared` are the tables that the project knows."""

    env: Environment
    engine: Engine
    store: Store
    listener: Listener
    declared: Sequence[TableName]

    @property
    def backends(self) -> Sequence[Backend]:
        return tuple({id(b): b for b in self.engine.backends.values()}.values())

    @property
    def schemas(self) -> Sequence[str]:
        kept = (k.kept_name.schema for k in self.store.kept(self.env.name))
        named = (t.schema for t in self.declared)
        return sorted({self.env.schema, *named, *kept} - {""})


@dataclass(frozen=True, slots=True)
class OldCopy:
    """An old copy with what can be said of it; `when` and `run` are None where nobody knows."""

    copy: Copy
    backend: Backend
    keeper: Keeper
    cost: Cost
    when: float | None
    run: str | None
    live: Table | None
    live_rows: int | None
    original: bool
    """A rewrite put it aside; after a revert, or where nobody knows, it may be the newer of the two."""

    @property
    def table(self) -> TableName:
        return self.copy.table

    @property
    def name(self) -> TableName:
        return self.copy.name


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`dropped` and `left` are of the copies that were found; a failed one is in the reports only."""

    dropped: tuple[OldCopy, ...]
    left: tuple[OldCopy, ...]
    reports: tuple[TableReport, ...]


@dataclass(frozen=True, slots=True)
class Reverted:
    """The copy that was put back, and what separated it from the table."""

    copy: OldCopy
    since: Since
    report: TableReport


# --- what is there ---


def copies(world: World, tables: Sequence[str] = ()) -> tuple[OldCopy, ...]:
    """The old copies of some tables (names or patterns) or of all, oldest first."""
    known = {k.kept_name: k for k in world.store.kept(world.env.name)}
    found = [
        _described(copy, backend, keeper, known.get(copy.name))
        for backend, keeper, copy in _listed(world, tables, known)
    ]
    check_names(tables, (*world.declared, *(c.table for c in found)), "table")
    return tuple(sorted(found, key=lambda c: (c.when or 0.0, c.name)))


def _listed(
    world: World, tables: Sequence[str], known: Mapping[TableName, Kept]
) -> Iterator[tuple[Backend, Keeper, Copy]]:
    kept = {k.table for k in known.values()}
    # Where a table's own history must be read, only tables that are known to have one are asked.
    asked = {t for t in world.declared if tables and named(t, tables)} | kept
    for backend in world.backends:
        keeper = backend.keeper()
        for schema in world.schemas if keeper is not None else ():
            assert keeper is not None
            for copy in keeper.copies(schema, sorted(asked)):
                if not tables or named(copy.table, tables):
                    yield backend, keeper, copy


def _described(copy: Copy, backend: Backend, keeper: Keeper, kept: Kept | None) -> OldCopy:
    live = inspected(backend, copy.table)
    table = live if isinstance(live, Table) else None
    return OldCopy(
        copy,
        backend,
        keeper,
        keeper.counted(copy),
        kept.when if kept is not None else copy.when,
        kept.run if kept is not None else None,
        table,
        keeper.rows(copy.table) if table is not None else None,
        kept is not None and kept.command not in ("", REVERT),
    )


# --- dropping them ---


def cleanup(world: World, tables: Sequence[str] = (), confirm: Confirm | None = None) -> Cleaned:
    """Drop old copies, each after its own question: it is the last that has the old rows."""
    _forget_gone(world)
    dropped: list[OldCopy] = []
    left: list[OldCopy] = []
    reports: list[TableReport] = []
    for old in copies(world, tables):
        if old.copy.stays:
            left.append(old)
            continue
        if old.live is None:
            reports.append(TableReport(old.table, Result.FAILED, error=_only_copy(old)))
            continue
        step = old.keeper.drop_step(old.copy, old.live)
        if not _agreed(confirm, [_drop_question(old, step)]):
            left.append(old)
            continue
        reports.append(carried_out(world, old.backend, step, old.live, "instar cleanup"))
        if reports[-1].ok:
            dropped.append(old)
    return Cleaned(tuple(dropped), tuple(left), tuple(reports))


def _drop_question(old: OldCopy, step: Step) -> Question:
    words = cleanup_text(old.table, old.name, old.cost.rows, old.live_rows, original=old.original)
    return Question(old.table, step.id, QuestionKind.LAST_COPY, words)


def _forget_gone(world: World) -> None:
    """A copy that somebody dropped by hand needs no memory; one in a table's history stays."""
    env, store = world.env.name, world.store
    there = {copy.name for _, _, copy in _listed(world, (), _known(world))}
    for kept in store.kept(env):
        if kept.kept_name not in there and not store.unfinished(env, kept.table):
            store.forget(env, kept.kept_name)
            world.listener.note(f"{kept.kept_name} is no longer there; it is forgotten")


def _known(world: World) -> Mapping[TableName, Kept]:
    return {k.kept_name: k for k in world.store.kept(world.env.name)}


def _only_copy(old: OldCopy) -> StateError:
    return StateError(
        "E441",
        f"{old.name} is the only copy of {old.table}: it is never dropped",
        hint="`instar recover` puts it back.",
    )


# --- putting one back ---


def revert(
    world: World, table: str, to: str | None = None, confirm: Confirm | None = None
) -> Reverted:
    """The newest old copy becomes the table again; what is the table now is kept in its turn."""
    old = _chosen(world, table, to)
    if old.live is None:
        raise StateError(
            "E440",
            f"{old.table} is not there; {old.name} is",
            hint="`instar recover` puts it back.",
        )
    since = old.keeper.since(old.copy, old.live)
    step = old.keeper.revert_step(old.copy, old.live)
    words = revert_text(old.table, old.name, since, step.data.get("kept", ""))
    question = Question(old.table, step.id, QuestionKind.REVERT, words)
    if not _agreed(confirm, [question]):
        raise ConfirmationNeeded("E403", f"{old.table} was left as it is", hint="Nothing was done.")
    renames = (
        world.store.renames_before(world.env.name, old.table, old.run)
        if old.run is not None
        else frozenset()
    )
    report = carried_out(world, old.backend, step, old.live, REVERT, renames)
    return Reverted(old, since, report)


def _chosen(world: World, table: str, to: str | None) -> OldCopy:
    found = copies(world, [table])
    if to is not None:
        found = tuple(c for c in found if to in (c.name.name, str(c.name)))
    meant = {_folded(n): n for n in (*world.declared, *(c.table for c in found))}
    meant = {k: n for k, n in meant.items() if named(n, [table])}
    if len(meant) > 1 and (to is None or len(found) > 1):
        names = ", ".join(str(n) for n in sorted(meant.values()))
        raise UsageError(
            "E442",
            f"'{table}' is the name of several tables: {names}",
            hint="Say which one with its schema: `instar revert SCHEMA.TABLE`.",
        )
    if not found:
        raise _nothing_kept(table, to)
    if len(found) > 1 and any(c.when is None for c in found):
        names = ", ".join(str(c.name) for c in found)
        raise UsageError(
            "E442",
            f"there are several old copies, and nobody knows which is the newest: {names}",
            hint="Say which one: `instar revert TABLE --to NAME`.",
        )
    return found[-1]


def _nothing_kept(table: str, to: str | None) -> InstarError:
    """A name that was typed wrong is a matter of the command line; a copy that is gone is not."""
    hint = "A rewrite keeps one until `instar cleanup` drops it; `instar history` lists them."
    if to is not None:
        return UsageError("E440", f"'{to}' is no old copy of {table}", hint=hint)
    return StateError("E440", f"there is no old copy of {table}", hint=hint)


# --- what a crash left ---


def stranded(backend: Backend, names: Sequence[TableName]) -> Mapping[TableName, Leftover]:
    """Tables that are gone while a copy of them is there."""
    keeper = backend.keeper()
    found: dict[TableName, Leftover] = {}
    for schema in sorted({n.schema for n in names}) if keeper is not None else ():
        assert keeper is not None
        wish = {n.name.casefold(): n for n in names if n.schema == schema}
        for left in keeper.leftovers(schema):
            if left.stranded and (name := wish.get(left.table.name.casefold())):
                found[name] = replace(left, table=name)
    return found


def needs_mending(plan: Plan) -> bool:
    """A table is gone or half done; or a rewrite is to begin, where one may have ended early."""
    return any(
        any(f.code in (STRANDED, UNFINISHED) for f in t.findings)
        or any(s.rung is Rung.REWRITE for s in t.steps)
        for t in plan.tables
    )


def mend(world: World) -> tuple[TableReport, ...]:
    """Finish or undo what the tables' names show to be unfinished; the only copy is never dropped."""
    reports: list[TableReport] = []
    for backend in world.backends:
        keeper = backend.keeper()
        for schema in world.schemas if keeper is not None else ():
            assert keeper is not None
            for left in keeper.leftovers(schema):
                reports += _mended(world, backend, keeper, left)
    return tuple(reports)


def _mended(
    world: World, backend: Backend, keeper: Keeper, left: Leftover
) -> Iterator[TableReport]:
    spelled = next((t for t in world.declared if _folded(t) == _folded(left.table)), left.table)
    now: Leftover | None = replace(left, table=spelled)
    while now is not None:
        if world.store.unfinished(world.env.name, spelled):
            return
        report = _mend_once(world, backend, keeper, now)
        if report is None:
            return
        yield report
        if not report.ok:
            return
        again = keeper.leftovers(spelled.schema)
        now = next(
            (replace(a, table=spelled) for a in again if _folded(a.table) == _folded(spelled)), None
        )


def _mend_once(
    world: World, backend: Backend, keeper: Keeper, left: Leftover
) -> TableReport | None:
    """Nothing where somebody else's run has ended meanwhile, and left nothing."""
    try:
        found = keeper.awaited(left)
        if found is None:
            return None
        step = keeper.mend_step(found)
        live = step.after if found.there else None
        report = carried_out(world, backend, step, live, "instar recover")
    except InstarError as error:
        return TableReport(left.table, Result.FAILED, error=error)
    return replace(report, notes=(*report.notes, step.title))


def _folded(name: TableName) -> tuple[str, str]:
    return name.schema.casefold(), name.name.casefold()


# --- after an apply ---


def counts_told(
    world: World,
    backends: Mapping[TableName, str],
    reports: Sequence[TableReport],
    fresh: Callable[[Kept], bool],
) -> tuple[TableReport, ...]:
    """The rows of both tables beside each rewrite that was applied, and what may be done now.

    `backends` names each table's; `fresh` are the copies that this apply, or the run it resumed, has kept.
    """
    known = world.store.kept(world.env.name)
    new = {k.table: k for k in known if fresh(k)}
    tables = {*backends, *(k.table for k in known)}
    told: list[TableReport] = []
    for report in reports:
        kept = new.get(report.table)
        if kept is None:
            told.append(report)
            continue
        counted = report.counted
        if counted is None or counted.kept != kept.kept_name:
            counted = _counted(world.engine.backend(backends[report.table]), kept)
        notes = () if counted is None else (_counts(kept, counted, _short(kept.table, tables)),)
        told.append(replace(report, notes=(*report.notes, *notes)))
    return tuple(told)


def _counted(backend: Backend, kept: Kept) -> Counted | None:
    """By asking: where the rewrite was resumed, or its engine compares chunk by chunk."""
    keeper = backend.keeper()
    found = keeper.copies(kept.table.schema, [kept.table]) if keeper is not None else ()
    copy = next((c for c in found if c.name == kept.kept_name), None)
    if copy is None or keeper is None:
        return None
    return Counted(copy.name, keeper.counted(copy).rows or 0, keeper.rows(copy.table))


def _short(table: TableName, tables: Iterable[TableName]) -> str:
    """The name that tells it from all others, for a shell."""
    alone = all(t == table or t.name.casefold() != table.name.casefold() for t in tables)
    return shlex.quote(table.name if alone else str(table))


def _counts(kept: Kept, counted: Counted, name: str) -> str:
    then = "" if kept.in_history else f", `instar cleanup {name}` drops it for good"
    if kept.command == REVERT:
        return (
            f"The table has {counted.new:,} rows, what it was before {counted.old:,} (kept as"
            f" {counted.kept}). `instar revert {name}` puts that back{then}."
        )
    return (
        f"Original table has {counted.old:,} rows (kept as {counted.kept}),"
        f" new table has {counted.new:,} rows. `instar revert {name}` puts it back{then}."
    )


# --- small things ---


def carried_out(
    world: World,
    backend: Backend,
    step: Step,
    live: Table | None,
    command: str,
    renames: DoneRenames | None = None,
) -> TableReport:
    """One step under the table's lock, journalled: a kill is resumed like any other run."""
    env, store, name = world.env.name, world.store, step.after.name
    voice = Voice(world.listener.progress, world.listener.note, Failpoints.from_environment())
    with store.lock(env, name, command) as lock:
        if store.unfinished(env, name):
            raise unfinished_run(name)
        kept = store.done_renames(env, name) if renames is None else renames
        journal = store.begin(
            env, name, [step], live, command=command, backend=backend.rules.name, renames=kept
        )
        voice.failpoint("journal:begun")
        return Runner(backend, store, journal, lock, voice).go(0, [step], live)


def _agreed(confirm: Confirm | None, asked: Sequence[Question]) -> bool:
    if confirm is None:
        raise ConfirmationNeeded(
            "E403",
            "; ".join(q.text for q in asked),
            hint="Answer the question, or pass --yes where nobody can be asked.",
        )
    return confirm(asked)
