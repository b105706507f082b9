"""Carries out a recreation; run again after a crash anywhere it goes on where the server says it is.

The server keeps the state: a small table holds the phase and the position, written in the transaction that
does the work.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass

from instar.backends.base import RunContext
from instar.backends.postgres.culprit import Culprit
from instar.backends.postgres.cutover import rehearse, swap
from instar.backends.postgres.definition import altered, refused
from instar.backends.postgres.errors import LockNotGranted, RowsInTheWay
from instar.backends.postgres.following import Following
from instar.backends.postgres.keyset import Keyset, Place
from instar.backends.postgres.names import POS, beside
from instar.backends.postgres.privileges import private
from instar.backends.postgres.recipe import Recipe
from instar.backends.postgres.session import Session
from instar.backends.postgres.settings import UNCLEANED, column_settings, stored
from instar.backends.postgres.verify import BeginAnew, Ends, Verifier, at_least
from instar.backends.sql import literal, qualified, quote_double
from instar.errors import EngineError, InstarError, Interrupted, OutcomeUnknown

COPY, BUILD, VERIFY, SWAP, DONE = "copy", "build", "verify", "swap", "swapped"
_FEW, _ROUNDS, _LARGEST = 500, 20, 500_000


@dataclass(frozen=True, slots=True)
class State:
    fingerprint: str
    phase: str
    place: Place | None
    rows: int
    kept: str
    validate: tuple[str, ...]
    file: str
    """Where the engine keeps the table: what is written anew moves, and no trigger tells it."""


class Recreation:
    def __init__(self, session: Session, recipe: Recipe, context: RunContext) -> None:
        self.session = session
        self.recipe = recipe
        self.context = context
        self.table = qualified(recipe.table)
        self.pos = qualified(beside(recipe.table, POS))
        self.following = Following(session, recipe)
        self._ends = Ends()

    def run(self) -> None:
        state = self.state()
        if state is not None and state.fingerprint != self.recipe.fingerprint:
            if state.phase == DONE:
                raise _unfinished(self.recipe)
            self.abandon()
            state = None
        try:
            self._phases(state)
        except (OutcomeUnknown, Interrupted):
            raise
        except InstarError as error:
            # The table is as it was: nothing may be left behind that writers would have to pay for.
            self._give_up(error)
            raise

    def _phases(self, state: State | None) -> None:
        while True:
            try:
                if state is None:
                    self.session.patiently(self._prepare)
                    state = self.state()
                    assert state is not None
                elif state.phase != DONE:
                    self.session.patiently(self._looked)
                self._explained(state)
                return
            except BeginAnew:
                self.abandon()
                state = None

    def _explained(self, state: State) -> None:
        """What others did to the table comes first: most that fails then fails because of it."""
        try:
            self._go_on(state)
        except (OutcomeUnknown, Interrupted):
            raise
        except InstarError as error:
            self.session.rollback()
            now = self.state()
            if now is not None and now.phase != DONE:
                with contextlib.suppress(LockNotGranted):
                    self._looked()
                if isinstance(error, RowsInTheWay):
                    raise self._named(error, now) from error
            raise

    def _named(self, error: RowsInTheWay, state: State) -> RowsInTheWay:
        """With the key of the row, where it is a value that cannot be converted."""
        with contextlib.suppress(EngineError):
            if key := Culprit(self.session, self.recipe).named(state.place):
                return RowsInTheWay(error.code, f"{error.message}\n  row: {key}", hint=error.hint)
        return error

    def _looked(self) -> None:
        with self.session.patient_transaction():
            self.check()

    def check(self) -> None:
        """Inside a transaction: the table is the one that was planned, and all its rows are followed."""
        if words := altered(self.session.ask, self.recipe.table, self.recipe.source):
            raise refused(self.recipe.table, words)
        state = self.state()
        if (
            self.recipe.key
            and state is not None
            and (state.file, True) != self.following.captured()
        ):
            raise BeginAnew

    def _give_up(self, error: InstarError) -> None:
        """What cannot be taken away now is not forgotten: the step stays open and is asked for again."""
        if isinstance(error, LockNotGranted) and self._ready():
            raise _kept(self.recipe, error) from error
        try:
            self.abandon()
            state = self.state()
        except InstarError as failed:
            raise _left(self.recipe, error, failed) from error
        if state is not None:
            raise _not_ended(self.recipe, error) from error

    def _ready(self) -> bool:
        """The copy is compared and followed: all that it waits for is the lock of the cut-over."""
        with contextlib.suppress(InstarError):
            state = self.state()
            return state is not None and state.phase == SWAP
        return False

    def _go_on(self, state: State) -> None:
        phase = state.phase
        if phase == COPY:
            self._copy()
            self._catch_up()
            phase = self._enter(BUILD)
        if phase == BUILD:
            self._build()
            phase = self._enter(VERIFY)
        if phase == VERIFY:
            self._point("verify")
            # What waits in the log is left out of the comparison: it is as little as can be.
            self._catch_up()
            self._verify()
            phase = self._enter(SWAP)
        if phase == SWAP:
            self._cut_over()
        self._finish()

    def _verify(self) -> None:
        now = self.state()
        total = now.rows if now is not None else None
        rows = Verifier(self.session, self.recipe, ends=self._ends.places).by_chunks(
            self.context, total
        )
        self.context.memo.update({"verified": str(rows), "followed": "0"})

    def _point(self, name: str) -> None:
        self.context.failpoint(f"recreate {name}")

    def state(self) -> State | None:
        if self.session.ask("SELECT to_regclass(%s) IS NULL", [self.pos])[0][0]:
            return None
        rows = self.session.ask(
            f"SELECT fingerprint, phase, place, rows, kept, validate, file FROM {self.pos}"
        )
        if not rows:
            return None
        mark, phase, place, count, kept, validate, file = rows[0]
        found = None if place is None else [str(v) for v in json.loads(place)]
        waiting = tuple(json.loads(validate or "[]"))
        return State(mark, phase, found, count, kept or "", waiting, file or "")

    def _enter(self, phase: str) -> str:
        self._point(f"enter {phase}")
        self.session.execute(f"UPDATE {self.pos} SET phase = {literal(phase)}")
        self._point(f"entered {phase}")
        return phase

    def _position_sql(self, phase: str) -> list[str]:
        return [
            f"CREATE TABLE {self.pos} (fingerprint text, phase text, place text, rows bigint, "
            "kept text, validate text, file text)",
            private(self.pos),
            f"INSERT INTO {self.pos} VALUES ({literal(self.recipe.fingerprint)}, {literal(phase)}, "
            "NULL, 0, NULL, NULL, NULL)",
        ]

    def _make(self) -> None:
        recipe = self.recipe
        for sql in self._create_new():
            self.session.execute(sql)
        for sql in column_settings(
            self.session, self.table, recipe.new, dict(recipe.renames), recipe.dropped
        ):
            self.session.execute(sql)

    def _create_new(self) -> list[str]:
        unlogged = "UNLOGGED " if self.recipe.unlogged else ""
        owner = quote_double(self.recipe.owner)
        method, space = stored(self.session, self.table)
        return [
            f"CREATE {unlogged}TABLE {self.recipe.new} ({self.recipe.body}) {method} {UNCLEANED} {space}",
            *self.recipe.comments,
            f"ALTER TABLE {self.recipe.new} OWNER TO {owner}",
            private(self.recipe.new),
        ]

    def _prepare(self) -> None:
        """All helpers in one transaction; creating the trigger waits for writers that are at it."""
        self._point("prepare")
        with self.session.transaction():
            self.session.execute(self.session.patience.lock_sql)
            self.check()
            self._make()
            for sql in self._position_sql(COPY):
                self.session.execute(sql)
            rehearse(self, DONE)
            for sql in self.following.create():
                self.session.execute(sql)
            file, _ = self.following.captured()
            self.session.execute(f"UPDATE {self.pos} SET file = {literal(file)}")
            self.check()
            self._point("prepare, not committed")
        self._point("prepared")

    def _copy(self) -> None:
        total = self._estimate()
        size = self.session.patience.batch
        while True:
            self._point("batch")
            since = time.monotonic()
            rows = self._batch(size)
            self._point("batch done")
            if rows is None:
                return
            self.context.progress(f"copy {self.recipe.table}", rows, at_least(total, rows))
            aim = self.session.patience.reading_seconds
            size = Keyset.adapted(size, time.monotonic() - since, aim, _LARGEST)

    def _estimate(self) -> int:
        """What the engine believes, or a count where it never looked: cheap beside the copy."""
        sql = "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass"
        found = int(self.session.ask(sql, [self.table])[0][0])
        return (
            found
            if found > 0
            else int(self.session.ask(f"SELECT count(*) FROM {self.table}")[0][0])
        )

    def _batch(self, size: int) -> int | None:
        """One batch and its position in one transaction; None when the end is reached."""
        keyset = Keyset(self.table, self.recipe.key)
        with self.session.transaction():
            # A crash of the server then takes the last batches and their positions away together.
            self.session.execute("SET LOCAL synchronous_commit = off")
            place, done = self.session.ask(f"SELECT place, rows FROM {self.pos} FOR UPDATE")[0]
            low = None if place is None else json.loads(place)
            high = keyset.end_of_batch(self.session, low, size)
            if high is None:
                return None
            copied = self.session.execute(
                self.recipe.insert(self.recipe.projected(keyset.between(low, high)))
            )
            self._ends.add(low, high, copied)
            position = literal(json.dumps(list(high)))
            self.session.execute(
                f"UPDATE {self.pos} SET place = {position}, rows = rows + {copied}"
            )
            self._point("batch, not committed")
            return int(done) + copied

    def _catch_up(self, *, compare: bool = False) -> None:
        """Until few changes wait: what is left is done under the lock."""
        for _ in range(_ROUNDS):
            self._point("catch up")
            with self.session.transaction(snapshot=True):
                self.session.ask(f"SELECT 1 FROM {self.pos} FOR UPDATE")
                taken = self.following.drain(compare=compare)
            self._point("caught up")
            if compare:
                self._compared(taken)
            if taken <= _FEW:
                return

    def _compared(self, keys: int) -> None:
        """Those that were left out of the comparison, or have changed behind it."""
        if keys:
            memo = self.context.memo
            memo["followed"] = str(int(memo.get("followed", "0")) + keys)

    def _build(self) -> None:
        """Keys and indexes of the copy, under names of their own until the swap."""
        total = len(self.recipe.builds)
        for number, (short, _, sql) in enumerate(self.recipe.builds, start=1):
            self._point(f"build {number}")
            place = f"{quote_double(self.recipe.schema)}.{quote_double(short)}"
            if self.session.ask("SELECT to_regclass(%s) IS NULL", [place])[0][0]:
                self.session.execute(sql)
            self.context.progress(f"index {self.recipe.table}", number, total)
        if self.recipe.searched:
            self._search_index()
        self.session.execute(f"ANALYZE {self.recipe.new}")

    def _search_index(self) -> None:
        columns = ", ".join(quote_double(c) for c in self.recipe.searched)
        name = quote_double(self.recipe.search_index.name)
        self.session.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {self.recipe.new} ({columns})")

    def _cut_over(self) -> None:
        """Each try catches up first; the lock is waited for only so long, so that nobody queues for long."""

        def once() -> None:
            self._catch_up(compare=True)
            self._point("cut-over")
            with self.session.transaction():
                held, taken = swap(self, DONE)
                self._point("cut-over, not committed")
            self._compared(taken)
            self.context.memo["lock_ms"] = f"{(time.monotonic() - held) * 1000:.0f}"

        self.session.patiently(once)
        self._point("swapped")

    def _finish(self) -> None:
        """Behind the swap: foreign keys are validated, the old table's name is remembered."""
        state = self.state()
        assert state is not None
        self.context.memo["kept"] = state.kept
        self._point("kept")
        for sql in state.validate:
            self.session.locked_transaction([sql])
            self._point("validated")
        self.session.execute(f"DROP TABLE {self.pos}")
        self._point("finished")

    def abandon(self) -> None:
        """Take everything away that the recreation has put beside the table, and its triggers."""
        self.session.rollback()
        self._point("abandon")
        state = self.state()
        if state is None or state.phase == DONE:
            return
        self.session.locked_transaction(
            [
                # Its triggers go along, also from a table that has another name by now.
                f"DROP FUNCTION IF EXISTS {self.following.fn}() CASCADE",
                f"DROP TABLE IF EXISTS {self.recipe.new}, {self.following.log}, {self.pos}",
            ]
        )

    def run_locked(self) -> None:
        """Without a key: one transaction, writers wait from its beginning, readers only at its end."""
        if self.state() is None:
            self.session.patiently(self._locked_once)
            self._point("swapped")
        try:
            self._finish()
        except (OutcomeUnknown, Interrupted):
            raise
        except InstarError as error:
            raise _not_ended(self.recipe, error) from error

    def _locked_once(self) -> None:
        self._point("locked")
        with self.session.transaction():
            self.session.execute(self.session.patience.lock_sql)
            self.session.execute(f"LOCK TABLE {self.table} IN SHARE ROW EXCLUSIVE MODE")
            self.check()
            self._make()
            for sql in self._position_sql(COPY):
                self.session.execute(sql)
            rehearse(self, DONE)
            self._point("locked copy")
            copied = self.session.execute(self.recipe.insert(self.recipe.projected("TRUE")))
            self.context.progress(f"copy {self.recipe.table}", copied, copied)
            for _, _, sql in self.recipe.builds:
                self.session.execute(sql)
            self._point("locked verify")
            rows = Verifier(self.session, self.recipe).all_rows()
            self.context.memo["verified"] = str(rows)
            swap(self, DONE, patient=True)
            self._point("locked, not committed")


def _unfinished(recipe: Recipe) -> EngineError:
    pos = beside(recipe.table, POS)
    return EngineError(
        "E258",
        f"an earlier recreation of {recipe.table} has swapped but not ended: {pos} is still there",
        hint="Run `instar recover`: it validates the foreign keys that it names, and drops it.",
    )


def _kept(recipe: Recipe, error: InstarError) -> OutcomeUnknown:
    """A copy of hours is not thrown away for a lock of a moment."""
    hint = (
        f"{error.hint or ''} The table is as it was. Its copy is ready and is kept, and a trigger goes on following"
        " the writers: `instar apply` goes on with the cut-over."
    )
    return OutcomeUnknown(error.code, error.message, hint=hint.strip())


def _left(recipe: Recipe, error: InstarError, failed: InstarError) -> OutcomeUnknown:
    """The rows are as they were, but writers pay for triggers that are still there."""
    hint = (
        f"The table is as it was, but the triggers and the copy beside {recipe.table} could not be"
        f" removed yet: {failed.message.splitlines()[0]}. Mend the cause, then run `instar apply` or"
        " `instar recover`."
    )
    return OutcomeUnknown(error.code, error.message, hint=hint)


def _not_ended(recipe: Recipe, error: InstarError) -> OutcomeUnknown:
    hint = (
        f"The new {recipe.table} has been swapped in; what is left is to validate its foreign keys."
        " Run `instar apply` or `instar recover` to go on."
    )
    return OutcomeUnknown(error.code, error.message, hint=hint)


def left_behind(session: Session, recipe: Recipe) -> bool:
    """Whether a recreation of the table has begun and not ended."""
    pos = qualified(beside(recipe.table, POS))
    return bool(session.ask("SELECT to_regclass(%s) IS NOT NULL", [pos])[0][0])
