"""Carries out an Iceberg rewrite so that a crash anywhere, or a writer at any time, loses no row.

Everything needed to go on is in the tables themselves: which of the three exist, and which snapshot of
the source the copy's last commit says it holds.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from instar.backends.base import NotATable, Outcome, RunContext, same_schema
from instar.backends.spark.aside import COPY_OF, Swapper, three_names
from instar.backends.spark.iceberg_metadata import (
    commits_since,
    current_snapshot,
    own_properties,
)
from instar.backends.spark.iceberg_reader import Metadata
from instar.backends.spark.iceberg_recreate import BRANCH, VERIFIED
from instar.backends.spark.statements import (
    set_properties,
    unset_properties,
)
from instar.core.plan import Step
from instar.core.schema import TableName
from instar.errors import InstarError, OutcomeUnknown, VerificationFailed

if TYPE_CHECKING:
    from instar.backends.spark.iceberg import IcebergBackend

_MARK = "instar-copied"
"""In the summary of the copy's commits: the source snapshot that it then holds."""
_MARK_CONF = f"spark.sql.iceberg.snapshot-property.{_MARK}"
_EMPTY = "none"
_ROUNDS = 5


class Rewrite(Swapper):
    """One run of a `copy` or `swap` step; running it again goes on where the last one stopped."""

    def __init__(self, backend: IcebergBackend, step: Step, context: RunContext) -> None:
        super().__init__(backend, step, context)
        self.reader = backend.reader

    def run(self) -> None:
        if self.step.kind == "copy":
            self.copy()
        else:
            self.swap()

    @staticmethod
    def outcome(backend: IcebergBackend, step: Step) -> Outcome:
        """What the tables say; a step that is not done is run again and goes on."""
        name, aside, _ = names = three_names(step)
        tables = set(backend.reader.tables(name.schema))
        there = [n.name in tables for n in names]
        if step.kind == "copy":
            if not there[1]:
                return Outcome.NOT_DONE
            own = own_properties(backend.reader.read([aside])[aside])
            return Outcome.DONE if VERIFIED in own else Outcome.NOT_DONE
        match there:
            case [True, False, True]:
                live = backend.inspect([name]).get(name)
                if live is None or isinstance(live, NotATable):
                    return Outcome.UNCLEAR
                own = own_properties(backend.reader.read([live.name])[live.name])
                done = same_schema(live, step.after) and COPY_OF not in own
                return Outcome.DONE if done else Outcome.NOT_DONE
            case [True, True, False] | [False, True, True]:
                return Outcome.NOT_DONE
            case _:
                return Outcome.UNCLEAR

    # --- copy ---

    def copy(self) -> None:
        """Anew each time: what an earlier run left unverified is thrown away."""
        source = self._metadata(self.name)
        self._clear_aside(source)
        self.do("create", self.step.data["create"])
        for sql in json.loads(self.step.data["shape"]):
            self.do("shape", sql)
        pinned = self._pin(self.name)
        self._insert(self._pinned(self.name, pinned), pinned)
        self._verify(self.name, pinned)
        mark = set_properties(self.full(self.aside), {VERIFIED: pinned})
        self.do("mark", mark)

    def _clear_aside(self, source: Metadata) -> None:
        if self.aside.name not in self.reader.tables(self.aside.schema):
            return
        if own_properties(self._metadata(self.aside)).get(COPY_OF) != source["table-uuid"]:
            raise self.in_the_way()
        self.do("clear", f"DROP TABLE {self.full(self.aside)} PURGE")

    def _pin(self, name: TableName) -> str:
        """Holds the present snapshot of a table fast, and names it."""
        snapshot = current_snapshot(self._metadata(name))
        if snapshot is None:
            return _EMPTY
        id_ = str(snapshot["snapshot-id"])
        place = f"ALTER TABLE {self.full(name)} CREATE OR REPLACE BRANCH {BRANCH}"
        self.do("pin", f"{place} AS OF VERSION {id_}")
        return id_

    def _pinned(self, name: TableName, pinned: str) -> str:
        full = self.full(name)
        if pinned == _EMPTY:
            return f"(SELECT * FROM {full} WHERE FALSE)"
        return f"{full} VERSION AS OF '{BRANCH}'"

    def _insert(self, source: str, holds: str) -> None:
        """The commit itself says which snapshot of the source the copy then holds."""
        select = f"SELECT {self.step.data['select']} FROM {source}"
        with self._marked(holds):
            self.do("insert", f"INSERT INTO {self.full(self.aside)} BY NAME {select}")

    @contextlib.contextmanager
    def _marked(self, holds: str) -> Iterator[None]:
        conf = self.handle.session.conf
        with self.handle.errors():
            conf.set(_MARK_CONF, holds)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                conf.unset(_MARK_CONF)

    def _verify(self, name: TableName, pinned: str) -> None:
        self.refresh(self.aside)
        rows = f"SELECT {self.step.data['select']} FROM {self._pinned(name, pinned)}"
        self.compare(rows, f" from snapshot {pinned}")

    # --- swap ---

    def swap(self) -> None:
        for _ in range(4):
            tables = set(self.reader.tables(self.name.schema))
            there = [n.name in tables for n in (self.name, self.aside, self.kept)]
            match there:
                case [True, True, False]:
                    self._set_aside()
                case [False, True, True]:
                    self._put_in()
                case [True, False, True]:
                    self._tidy()
                    return
                case _:
                    raise self.lost(there)

    def _set_aside(self) -> None:
        """Catches up while the table is in use, then takes its name away: no one can commit to it now."""
        for _ in range(_ROUNDS):
            if not self._catch_up(self.name):
                break
        self.rename("rename-old", self.name, self.kept)

    def _put_in(self) -> None:
        try:
            self._catch_up(self.kept)
        except OutcomeUnknown:
            raise
        except InstarError:
            self.rename("put-back", self.kept, self.name)
            raise
        self.rename("rename-new", self.aside, self.name)

    def _catch_up(self, name: TableName) -> bool:
        """Brings the copy to the table's present snapshot; False when it is there already."""
        both = self.reader.read([name, self.aside])
        source, copy = both[name], current_snapshot(both[self.aside])
        self._unaltered(source)
        now = current_snapshot(source)
        wish = str(now["snapshot-id"]) if now else _EMPTY
        holds = copy["summary"].get(_MARK) if copy else None
        if holds == wish:
            return False
        known = holds is not None and holds != _EMPTY
        since = commits_since(source, int(holds)) if known and holds else None
        if since is not None and set(since) <= {"append", "replace"}:
            # A 'replace' moves rows to other files and changes none.
            span = f"'start-snapshot-id' = '{holds}', 'end-snapshot-id' = '{wish}'"
            self._insert(f"(SELECT * FROM {self.full(name)} WITH ({span}))", wish)
            pinned = self._pin(name)
        else:
            self.do("empty", f"DELETE FROM {self.full(self.aside)}")
            pinned = self._pin(name)
            self._insert(self._pinned(name, pinned), pinned)
        if pinned == wish:
            self._verify(name, pinned)
        return True

    def _unaltered(self, source: Metadata) -> None:
        if str(source["current-schema-id"]) != self.step.data["schema_id"]:
            raise VerificationFailed(
                "E420",
                f"[{self.name}] somebody changed its columns while it was being copied",
                hint="The table is as they left it. Plan again.",
            )

    def _tidy(self) -> None:
        keys = [k for k in (COPY_OF, VERIFIED) if k in own_properties(self._metadata(self.name))]
        self.do("unpin", f"ALTER TABLE {self.full(self.kept)} DROP BRANCH IF EXISTS {BRANCH}")
        if keys:
            self.do("unmark", unset_properties(self.full(self.name), keys))

    def _metadata(self, name: TableName) -> Metadata:
        return self.reader.read([name])[name]
