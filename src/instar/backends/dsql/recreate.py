"""Copies a table beside itself, proves that the copy is the same, and swaps; each phase may be begun again.

The service has no triggers, so that nothing tells what writers do meanwhile: they must stop. The copy is
compared with the table, the table is renamed aside (from here on nobody can write it by its name), and only
if it still is what was compared the copy takes its place. If not, the old name comes back. Between that look
and the second rename the old table can still be reached by its new name: behind the swap it is looked at once more.
"""

from __future__ import annotations

from instar.backends.base import RunContext
from instar.backends.dsql.batches import Batches
from instar.backends.dsql.catalog import READER
from instar.backends.dsql.naming import indexes_of, set_aside, take_names
from instar.backends.dsql.position import (
    ABANDON,
    BUILD,
    COPY,
    CREATE,
    LOOK,
    NAMES,
    SWAP,
    SWAPPED,
    TIDY,
    VERIFY,
    Position,
    State,
)
from instar.backends.dsql.recipe import DsqlRecipe
from instar.backends.dsql.session import DsqlSession
from instar.backends.dsql.verify import DsqlVerifier, digest_of, rows_in
from instar.backends.postgres.definition import altered, refused
from instar.backends.postgres.errors import RowsInTheWay
from instar.backends.postgres.keyset import Keyset
from instar.backends.postgres.names import NEW, OLD, beside, fitted
from instar.backends.postgres.privileges import grants
from instar.backends.postgres.verify import at_least
from instar.backends.sql import qualified, quote_double
from instar.core.schema import TableName
from instar.errors import (
    EngineError,
    InstarError,
    Interrupted,
    OutcomeUnknown,
    VerificationFailed,
)

_PHASES = (CREATE, COPY, BUILD, VERIFY, TIDY, SWAP, LOOK, NAMES)
_COLUMNS = """SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"""


class Recreation:
    def __init__(self, session: DsqlSession, recipe: DsqlRecipe, context: RunContext) -> None:
        self.session = session
        self.recipe = recipe
        self.context = context
        self.position = Position(session, recipe.table)
        self.new = beside(recipe.table, NEW)

    def run(self) -> None:
        state = self.position.read()
        if state is not None and state.phase == ABANDON:
            self._finish_abandoning()
            state = None
        if state is not None and state.recipe.fingerprint != self.recipe.fingerprint:
            self._end_earlier(state)
            state = None
        try:
            self._explained(state or self._begin())
        except (RowsInTheWay, VerificationFailed) as error:
            # The table is as it was; the copy is of no use any more.
            try:
                self.abandon()
            except InstarError as failed:
                error.hint = f"{error.hint} The copy could not be dropped yet: {failed.message}"
            raise

    def _explained(self, state: State) -> None:
        """What others did to the table comes first: most that fails then fails because of it."""
        self._look(state)
        try:
            self._go_on(state.phase)
        except (OutcomeUnknown, Interrupted, VerificationFailed):
            raise
        except InstarError:
            self.session.rollback()
            now = self.position.read()
            if now is not None:
                self._look(now)
            raise

    def _look(self, state: State) -> None:
        """Before the swap; the swap itself looks between its renames, and behind it nothing counts."""
        if state.phase not in (SWAP, *SWAPPED):
            self._check(self.recipe.table)

    def _check(self, name: TableName) -> None:
        """The table, under whatever name, is the one that was planned."""
        words = altered(self.session.ask, name, self.recipe.source, READER)
        if words:
            raise refused(self.recipe.table, words)

    def _begin(self) -> State:
        if self._there(self.new) and not self.position.there():
            raise _taken(self.new)
        self._point("begin")
        self.position.make(self.recipe)
        self._point("begun")
        state = self.position.read()
        assert state is not None
        return state

    def _end_earlier(self, state: State) -> None:
        """Another recreation of the table: one that has swapped is finished, one that has not is undone."""
        own = RunContext({}, self.context.progress, self.context.failpoint)
        earlier = Recreation(self.session, state.recipe, own)
        if state.phase in (SWAP, *SWAPPED) and not self._there(self.new):
            earlier._go_on(state.phase)
        else:
            earlier._undo_rename(state.kept)
            earlier.abandon()

    def _go_on(self, phase: str) -> None:
        works = dict(
            zip(
                _PHASES,
                (
                    self._create,
                    self._copy,
                    self._build,
                    self._verify,
                    self._tidy,
                    self._swap,
                    self._look_back,
                    self._names,
                ),
                strict=True,
            )
        )
        for name in _PHASES[_PHASES.index(phase) :]:
            self._point(name)
            works[name]()
            following = _PHASES[_PHASES.index(name) + 1 :]
            if following:
                self.position.set(phase=following[0])
        self._point("finished")

    def _point(self, name: str) -> None:
        self.context.failpoint(f"recreate {name}")

    def _there(self, name: TableName) -> bool:
        return not self.session.ask("SELECT to_regclass(%s) IS NULL", [qualified(name)])[0][0]

    def _create(self) -> None:
        """The empty table with what may be done with it; each statement may be repeated."""
        recipe, table = self.recipe, qualified(self.recipe.table)
        if not self._there(self.new):
            self.session.ddl(recipe.create)
        self._point("created")
        for sql in recipe.comments:
            self.session.ddl(sql)
        for sql in grants(self.session, table, recipe.new, recipe.dropped, dict(recipe.renames)):
            self.session.ddl(sql)
            self._point("granted")
        me = str(self.session.ask("SELECT current_user")[0][0])
        if recipe.owner != me:
            self.session.ddl(f"ALTER TABLE {recipe.new} OWNER TO {quote_double(recipe.owner)}")

    def _copy(self) -> None:
        batches = Batches(self.session.patience.batch)
        total = self._estimate()
        while True:
            self._point("batch")
            rows = batches.run(lambda size: self.session.patiently(lambda: self._batch(size)))
            self._point("batch done")
            if rows is None:
                return
            self.context.progress(f"copy {self.recipe.table}", rows, at_least(total, rows))

    def _estimate(self) -> int | None:
        sql = "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass"
        found = int(self.session.ask(sql, [qualified(self.recipe.table)])[0][0])
        return found if found > 0 else None

    def _batch(self, size: int) -> int | None:
        """One batch and its position in one transaction; None when the end is reached."""
        keyset = Keyset(qualified(self.recipe.table), self.recipe.key)
        with self.session.transaction():
            state = self.position.read()
            assert state is not None
            high = keyset.end_of_batch(self.session, state.place, size)
            if high is None:
                return None
            rows = self.recipe.projected(keyset.between(state.place, high))
            copied = self.session.execute(self.recipe.insert(rows))
            self.session.execute(self.position.moved(high, copied))
            self._point("batch, not committed")
            return state.rows + copied

    def _build(self) -> None:
        """Keys and indexes by jobs, under names of their own until the swap; an invalid one is begun anew."""
        recipe, builds = self.recipe, list(self.recipe.builds)
        if recipe.searched:
            name = recipe.search_index.name
            columns = ", ".join(quote_double(c) for c in recipe.searched)
            sql = f"CREATE INDEX ASYNC {quote_double(name)} ON {recipe.new} ({columns})"
            builds.append((name, name, sql))
        for number, (short, _, sql) in enumerate(builds, start=1):
            self._point("index")
            found = indexes_of(self.session, self.new).get(short)
            if found is not None and not found.valid:
                place = f"{quote_double(recipe.schema)}.{quote_double(short)}"
                self.session.ddl(f"DROP INDEX IF EXISTS {place}")
                found = None
            if found is None:
                self.session.outside(sql)
            self.context.progress(f"index {recipe.table}", number, len(builds))
        for short, _ in recipe.keys:
            found = indexes_of(self.session, self.new).get(short)
            if found is not None and not found.key:
                self._point("attach")
                quoted = quote_double(short)
                self.session.ddl(
                    f"ALTER TABLE {recipe.new} ADD CONSTRAINT {quoted} UNIQUE USING INDEX {quoted}"
                )

    def _verify(self) -> None:
        state = self.position.read()
        total = state.rows if state is not None else None

        def compared() -> str:
            verifier = DsqlVerifier(self.session, self.recipe)
            rows = verifier.by_chunks(self.context, total)
            self.context.memo["verified"] = str(rows)
            return str(verifier.digest)

        self.position.set(seen=self.session.patiently(compared), kept=self._free_name())

    def _free_name(self) -> str:
        number = 1
        while self._there(beside(self.recipe.table, f"{OLD}{number}")):
            number += 1
        return fitted(self.recipe.name, f"{OLD}{number}")

    def _tidy(self) -> None:
        """What only the comparison needed goes: its index, then the hidden columns."""
        if self.recipe.searched:
            self.session.ddl(f"DROP INDEX IF EXISTS {qualified(self.recipe.search_index)}")
        there = {str(row[0]) for row in self.session.ask(_COLUMNS, [self.recipe.new])}
        for column in self.recipe.hidden:
            if column in there:
                self.session.ddl(
                    f"ALTER TABLE {self.recipe.new} DROP COLUMN {quote_double(column)}"
                )

    def _swap(self) -> None:
        """Two renames, and between them a last look: the names that are there tell how far it came."""
        state = self.position.read()
        assert state is not None
        table, old = self.recipe.table, TableName(self.recipe.schema, state.kept)
        match self._there(table), self._there(old), self._there(self.new):
            case True, False, True:
                self._check(table)
                self._rename(table, old)
                self._point("renamed aside")
            case False, True, True:
                pass
            case True, True, False:
                return
            case there:
                raise _lost(self.recipe, there)
        try:
            self._check(old)
            if digest_of(self.session, self.recipe, old) != state.seen:
                raise _moved(self.recipe)
            self._point("compared again")
            self._check(old)
            self._point("looked again")
        except VerificationFailed:
            self._rename(old, table)
            raise
        self._rename(self.new, table)
        self._point("renamed in")

    def _look_back(self) -> None:
        """Behind the swap: what came into the old table meanwhile is said, once, and is there."""
        state = self.position.read()
        assert state is not None
        old = TableName(self.recipe.schema, state.kept)
        words = altered(self.session.ask, old, self.recipe.source, READER)
        found = digest_of(self.session, self.recipe, old) if not words else state.seen
        if not words and found == state.seen:
            return
        if not words:
            words = (
                f"it had {rows_in(state.seen):,} rows when it was compared, {rows_in(found):,} now"
            )
        self.position.set(phase=NAMES)
        raise _late(self.recipe, old, words)

    def _rename(self, old: TableName, new: TableName) -> None:
        self.session.ddl(f"ALTER TABLE {qualified(old)} RENAME TO {quote_double(new.name)}")

    def _names(self) -> None:
        """Behind the swap: indexes and keys change names too; the old table's name is remembered."""
        state = self.position.read()
        assert state is not None
        old = TableName(self.recipe.schema, state.kept)
        set_aside(self.session, old, self.context.failpoint)
        lasting = {short: name for short, name, _ in self.recipe.builds} | dict(self.recipe.keys)
        take_names(self.session, self.recipe.table, lasting, self.context.failpoint)
        self.context.memo["kept"] = state.kept
        self._point("kept")
        self.position.drop()

    def _undo_rename(self, kept: str) -> None:
        """The table that was renamed aside by a swap that never ended comes back."""
        old = TableName(self.recipe.schema, kept)
        if kept and not self._there(self.recipe.table) and self._there(old):
            self._rename(old, self.recipe.table)

    def abandon(self) -> None:
        """Take everything away that the recreation has put beside the table; the table is there."""
        self.session.rollback()
        state = self.position.read()
        if state is None or state.phase in SWAPPED:
            return
        self._undo_rename(state.kept)
        self._point("abandon")
        self.position.set(phase=ABANDON)
        self._finish_abandoning()

    def _finish_abandoning(self) -> None:
        self._point("drop the copy")
        self.session.ddl(f"DROP TABLE IF EXISTS {self.recipe.new}")
        self._point("drop the position")
        self.position.drop()


def _taken(name: TableName) -> EngineError:
    return EngineError(
        "E443",
        f"{name} has the name of an unfinished copy, but does not say that Instar made it",
        hint="Look at it; rename it or drop it by hand.",
    )


def _moved(recipe: DsqlRecipe) -> VerificationFailed:
    return VerificationFailed(
        "E259",
        f"{recipe.table} was written while it was copied; it has its name back and the copy is dropped",
        hint="Stop the writers, then run `instar apply` again.",
    )


def _late(recipe: DsqlRecipe, old: TableName, words: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        "E262",
        f"{old} was written or altered while {recipe.table} was swapped, and the new {recipe.table} has"
        f" nothing of it: {words}",
        hint=f"Nothing is lost: {old} has it. Run `instar recover`, which ends the swap; then carry it over by"
        f" hand, or `instar revert {recipe.name}` puts the old table back as it is.",
    )


def _lost(recipe: DsqlRecipe, there: tuple[bool, bool, bool]) -> EngineError:
    words = ("the table", "its old self", "the copy")
    found = ", ".join(w for w, is_there in zip(words, there, strict=True) if is_there)
    return EngineError(
        "E444",
        f"[{recipe.table}] cannot be swapped: there are {found or 'none of its tables'}",
        hint="Somebody renamed or dropped one of them; look at them before anything else.",
    )
