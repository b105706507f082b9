"""The swap: in one transaction, under a lock that was granted quickly or not at all.

The last changes are taken over, what hangs on the old table is moved, names change places. Before the
commit everybody sees the old table, afterwards the new one.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from instar.backends.postgres.carry import (
    Carried,
    gather,
    hung,
    index_comments,
    linked_tables,
    names_aside,
)
from instar.backends.postgres.errors import LockNotGranted, TooBusy
from instar.backends.postgres.names import OLD, fitted
from instar.backends.postgres.privileges import carried_grants
from instar.backends.postgres.recipe import Recipe
from instar.backends.postgres.renaming import ordered_renames
from instar.backends.postgres.session import Session
from instar.backends.postgres.settings import CLEANED, named_after
from instar.backends.sql import literal, qualified, quote_double
from instar.core.schema import TableName
from instar.errors import EngineError, Interrupted

if TYPE_CHECKING:
    from instar.backends.postgres.recreate import Recreation

_NAMES = """SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s"""
_COLUMNS = """SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""
_COMMENT = "SELECT obj_description(%s::regclass, 'pg_class')"
_DEADLOCK = "SELECT setting::numeric / 1000 FROM pg_settings WHERE name = 'deadlock_timeout'"
_QUIET = "It was tried again some times. Wait until fewer rows are written."
_UNFIT = "It hangs on the table and does not fit what that becomes: change or drop it, then run `instar apply` again."
_SEQUENCE = "SELECT pg_get_serial_sequence(%s, %s)"


def swap(work: Recreation, done: str, *, patient: bool = False) -> tuple[float, int]:
    """Inside a transaction that the caller opened and will commit.

    When the lock was granted, and how many keys were taken over and compared under it.
    """
    session, recipe = work.session, work.recipe
    others = linked_tables(session, recipe.table)
    _lock(work, others, patient=patient)
    held = time.monotonic()
    work.check()
    if not recipe.key:
        _exchange(work, done, followed=False)
        return held, 0
    with _bounded(work):
        taken = work.following.drain(compare=True)
        _exchange(work, done, followed=True)
    return held, taken


@contextlib.contextmanager
def _bounded(work: Recreation) -> Iterator[None]:
    """Writers wait from here on: no statement may be at it for longer than they should."""
    session, since = work.session, time.monotonic()
    seconds = session.patience.under_lock
    session.execute(f"SET LOCAL statement_timeout = '{max(1, round(seconds * 1000))}ms'")
    try:
        yield
    except Interrupted as error:
        if time.monotonic() - since < seconds:
            raise
        raise _too_long(work.recipe) from error


def _too_long(recipe: Recipe) -> TooBusy:
    words = "the last changes could not be taken over in time: the cut-over has let go of its lock"
    return TooBusy("E263", f"[{recipe.table}] {words}", hint=_QUIET)


def _few(work: Recreation) -> None:
    most = work.session.patience.most_under_lock
    if work.recipe.key and work.following.more_than(most):
        words = f"writers change more than is taken over: {most:,} changes and more wait, too many for a cut-over"
        raise TooBusy("E263", f"[{work.recipe.table}] {words}", hint=_QUIET)


def rehearse(work: Recreation, done: str) -> None:
    """Keys, indexes and all that hangs on the table, on the empty copy and back: what does not fit fails here.

    Inside a transaction; behind a copy of hours it would be found out too late. Where somebody holds the table, what
    hangs on it is left to the cut-over.
    """
    session, table = work.session, work.recipe.table
    session.execute("SAVEPOINT rehearsal")
    for _, _, sql in work.recipe.builds:
        session.execute(sql)
    if hung(session, table):
        with contextlib.suppress(LockNotGranted):
            locked = ", ".join([qualified(table), *linked_tables(session, table)])
            session.execute(session.patience.cut_over_sql)
            session.execute(f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE")
            with _bounded(work), _told_why():
                _exchange(work, done, followed=False)
    session.execute("ROLLBACK TO SAVEPOINT rehearsal")


@contextlib.contextmanager
def _told_why() -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        error.hint = error.hint or _UNFIT
        raise


def _exchange(work: Recreation, done: str, *, followed: bool) -> None:
    """What hangs on the old table is moved, names change places."""
    session, recipe = work.session, work.recipe
    old = _free_name(session, recipe.table)
    mark = "__instar_o" + old.rsplit("_", 1)[-1]
    carried = _carried(session, recipe)
    said = index_comments(session, recipe.table)
    for sql in (
        *carried.before,
        *(work.following.remove() if followed else ()),
        *names_aside(session, recipe.table, mark),
        *_serials(recipe),
    ):
        session.execute(sql)
    _identities(session, recipe, mark)
    table, aside = qualified(recipe.table), quote_double(old)
    session.execute(f"ALTER TABLE {table} RENAME TO {aside}")
    session.execute(f"ALTER TABLE {recipe.new} RENAME TO {quote_double(recipe.name)}")
    session.execute(f"ALTER TABLE {table} {CLEANED}")
    for sql in (*_lasting_names(recipe), *_unhidden(recipe), *carried.after, *said):
        session.execute(sql)
    for sql in named_after(session, recipe.table, carried.required):
        session.execute(sql)
    validate = literal(json.dumps(carried.validate))
    session.execute(
        f"UPDATE {work.pos} SET phase = {literal(done)}, kept = {literal(old)}, validate = {validate}"
    )


def _lock(work: Recreation, others: list[str], *, patient: bool) -> None:
    """A long copy in the same transaction is not thrown away for a lock: it asks again."""
    session, table = work.session, qualified(work.recipe.table)
    beside = [work.recipe.new, *([work.following.log] if work.recipe.key else [])]

    def once() -> None:
        _calm(session, [table, *others, *beside])
        _few(work)
        session.execute(session.patience.cut_over_sql)
        session.execute(f"LOCK TABLE {', '.join([table, *others])} IN ACCESS EXCLUSIVE MODE")

    if not patient:
        once()
        return
    for left in range(session.patience.attempts - 1, -1, -1):
        session.execute("SAVEPOINT before_lock")
        try:
            once()
            return
        except LockNotGranted:
            if not left:
                raise
            session.execute("ROLLBACK TO SAVEPOINT before_lock")
            time.sleep(0.2)


def _calm(session: Session, tables: list[str]) -> None:
    """An autovacuum goes when it has blocked somebody for so long, and none begins; writers go on meanwhile."""
    patience = float(session.ask(_DEADLOCK)[0][0]) + 1
    session.execute(session.patience.at_least_sql(patience))
    session.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE UPDATE EXCLUSIVE MODE")


def _free_name(session: Session, table: TableName) -> str:
    taken = {str(row[0]) for row in session.ask(_NAMES, [table.schema])}
    number = 1
    while (name := fitted(table.name, f"{OLD}{number}")) in taken:
        number += 1
    return name


def _carried(session: Session, recipe: Recipe) -> Carried:
    """Definitions name columns: the old table lends the new names while they are read."""
    names = {str(row[0]) for row in session.ask(_COLUMNS, [qualified(recipe.table)])}
    wanted = {new for _, new in recipe.renames}
    lent = dict(recipe.renames)
    # A column that is not carried over makes room where its name is wanted.
    spare = (name for n in itertools.count(1) if (name := f"__instar_gone_{n}") not in names)
    lent |= {c: next(spare) for c in recipe.dropped if c in wanted}
    _renamed(session, recipe, lent, names)
    dropped = [lent.get(c, c) for c in recipe.dropped]
    found = gather(session, recipe.table, dropped, dropped)
    back = {new: old for old, new in lent.items()}
    _renamed(session, recipe, back, {lent.get(n, n) for n in names})
    return found


def _renamed(session: Session, recipe: Recipe, renames: dict[str, str], taken: set[str]) -> None:
    table = qualified(recipe.table)
    for old, new in ordered_renames(renames, taken):
        session.execute(
            f"ALTER TABLE {table} RENAME COLUMN {quote_double(old)} TO {quote_double(new)}"
        )


def _serials(recipe: Recipe) -> list[str]:
    return [
        f"ALTER SEQUENCE {sequence} {f'AS {wider} ' if wider else ''}"
        f"OWNED BY {recipe.new}.{quote_double(column)}"
        for column, sequence, wider in recipe.serials
    ]


def _identities(session: Session, recipe: Recipe, mark: str) -> None:
    """The new column's sequence goes on where the old one is, and takes its name."""
    for column, _, sequence in recipe.identities:
        made = str(session.ask(_SEQUENCE, [recipe.new, column])[0][0])
        session.ask(f"SELECT setval(%s, last_value, is_called) FROM {sequence}", [made])
        name = str(
            session.ask("SELECT relname FROM pg_class WHERE oid = %s::regclass", [sequence])[0][0]
        )
        for sql in carried_grants(session, sequence, made, kind="SEQUENCE"):
            session.execute(sql)
        if comment := session.ask(_COMMENT, [sequence])[0][0]:
            session.execute(f"COMMENT ON SEQUENCE {made} IS {literal(comment)}")
        aside = quote_double(fitted(name, mark))
        session.execute(f"ALTER SEQUENCE {sequence} RENAME TO {aside}")
        session.execute(f"ALTER SEQUENCE {made} RENAME TO {quote_double(name)}")


def _lasting_names(recipe: Recipe) -> list[str]:
    schema = quote_double(recipe.schema)
    return [
        f"ALTER INDEX {schema}.{quote_double(short)} RENAME TO {quote_double(name)}"
        for short, name, _ in recipe.builds
    ]


def _unhidden(recipe: Recipe) -> list[str]:
    table, index = qualified(recipe.table), qualified(recipe.search_index)
    search = [f"DROP INDEX IF EXISTS {index}"] if recipe.searched else []
    return search + [f"ALTER TABLE {table} DROP COLUMN {quote_double(c)}" for c in recipe.hidden]
