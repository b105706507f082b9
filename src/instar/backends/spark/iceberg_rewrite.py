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
from instar.backends.spark import iceberg_ddl as ddl
from instar.backends.spark.iceberg_metadata import (
    commits_since,
    current_snapshot,
    own_properties,
)
from instar.backends.spark.iceberg_reader import Metadata
from instar.backends.spark.iceberg_recreate import BRANCH, COPY_OF, VERIFIED
from instar.core.plan import Step
from instar.core.schema import TableName
from instar.errors import EngineError, InstarError, OutcomeUnknown, VerificationFailed

if TYPE_CHECKING:
    from instar.backends.spark.iceberg import IcebergBackend

_MARK = "instar-copied"
"""In the summary of the copy's commits: the source snapshot that it then holds."""
_MARK_CONF = f"spark.sql.iceberg.snapshot-property.{_MARK}"
_EMPTY = "none"
_ROUNDS = 5


class Rewrite:
    """One run of a `copy` or `swap` step; running it again goes on where the last one stopped."""

    def __init__(self, backend: IcebergBackend, step: Step, context: RunContext) -> None:
        self.handle, self.reader = backend.handle, backend.reader
        self.catalog = backend.catalog
        self.step, self.context = step, context
        name = step.after.name
        self.name = name
        self.aside = TableName(name.schema, step.data["aside"])
        self.kept = TableName(name.schema, step.data["kept_as"])

    def run(self) -> None:
        if self.step.kind == "copy":
            self.copy()
        else:
            self.swap()

    @staticmethod
    def outcome(backend: IcebergBackend, step: Step) -> Outcome:
        """What the tables say; a step that is not done is run again and goes on."""
        schema = step.after.name.schema
        aside = TableName(schema, step.data["aside"])
        kept = TableName(schema, step.data["kept_as"])
        tables = set(backend.reader.tables(schema))
        there = [n.name in tables for n in (step.after.name, aside, kept)]
        if step.kind == "copy":
            if not there[1]:
                return Outcome.NOT_DONE
            own = own_properties(backend.reader.read([aside])[aside])
            return Outcome.DONE if VERIFIED in own else Outcome.NOT_DONE
        match there:
            case [True, False, True]:
                live = backend.inspect([step.after.name]).get(step.after.name)
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
        self._do("create", self.step.data["create"])
        for sql in json.loads(self.step.data["shape"]):
            self._do("shape", sql)
        pinned = self._pin(self.name)
        self._insert(self._pinned(self.name, pinned), pinned)
        self._verify(self.name, pinned)
        mark = ddl.set_properties(self._full(self.aside), {VERIFIED: pinned})
        self._do("mark", mark)

    def _clear_aside(self, source: Metadata) -> None:
        if self.aside.name not in self.reader.tables(self.aside.schema):
            return
        if own_properties(self._metadata(self.aside)).get(COPY_OF) != source["table-uuid"]:
            raise EngineError(
                "E250",
                f"{self.aside} is in the way: it is not a copy that Instar made of {self.name}",
                hint="Rename or drop that table, then try again.",
            )
        self._do("clear", f"DROP TABLE {self._full(self.aside)} PURGE")

    def _pin(self, name: TableName) -> str:
        """Holds the present snapshot of a table fast, and names it."""
        snapshot = current_snapshot(self._metadata(name))
        if snapshot is None:
            return _EMPTY
        id_ = str(snapshot["snapshot-id"])
        place = f"ALTER TABLE {self._full(name)} CREATE OR REPLACE BRANCH {BRANCH}"
        self._do("pin", f"{place} AS OF VERSION {id_}")
        return id_

    def _pinned(self, name: TableName, pinned: str) -> str:
        full = self._full(name)
        if pinned == _EMPTY:
            return f"(SELECT * FROM {full} WHERE FALSE)"
        return f"{full} VERSION AS OF '{BRANCH}'"

    def _insert(self, source: str, holds: str) -> None:
        """The commit itself says which snapshot of the source the copy then holds."""
        select = f"SELECT {self.step.data['select']} FROM {source}"
        with self._marked(holds):
            self._do("insert", f"INSERT INTO {self._full(self.aside)} BY NAME {select}")

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
        """Counts and checksums of the pinned rows as they should be, and of the copy as it is."""
        self._refresh(self.aside)
        check = self.step.data["checksum"]
        wish = f"SELECT {self.step.data['select']} FROM {self._pinned(name, pinned)}"
        expected = self.handle.run(f"SELECT {check} FROM ({wish})")[0]
        found = self.handle.run(f"SELECT {check} FROM {self._full(self.aside)}")[0]
        self.context.progress("compare", found["rows"], expected["rows"])
        if tuple(expected) != tuple(found):
            raise VerificationFailed(
                "E420",
                f"[{self.name}] the copy differs from snapshot {pinned}: {found['rows']:,} rows"
                f" with checksum {found['total']} instead of {expected['rows']:,} with"
                f" {expected['total']}",
                hint=f"The table is as it was. The copy is {self.aside}; it can be dropped.",
            )

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
                    raise self._lost(there)

    def _set_aside(self) -> None:
        """Catches up while the table is in use, then takes its name away: no one can commit to it now."""
        for _ in range(_ROUNDS):
            if not self._catch_up(self.name):
                break
        self._do("rename-old", ddl.rename_table(self.catalog, self.name, self.kept))

    def _put_in(self) -> None:
        try:
            self._catch_up(self.kept)
        except OutcomeUnknown:
            raise
        except InstarError:
            self._do("put-back", ddl.rename_table(self.catalog, self.kept, self.name))
            raise
        self._do("rename-new", ddl.rename_table(self.catalog, self.aside, self.name))

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
            self._insert(f"(SELECT * FROM {self._full(name)} WITH ({span}))", wish)
            pinned = self._pin(name)
        else:
            self._do("empty", f"DELETE FROM {self._full(self.aside)}")
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
        self._do("unpin", f"ALTER TABLE {self._full(self.kept)} DROP BRANCH IF EXISTS {BRANCH}")
        if keys:
            self._do("unmark", ddl.unset_properties(self._full(self.name), keys))

    def _lost(self, there: list[bool]) -> VerificationFailed:
        names = (self.name, self.aside, self.kept)
        found = [str(n) for n, is_there in zip(names, there, strict=True) if is_there]
        return VerificationFailed(
            "E420",
            f"[{self.name}] cannot be swapped: of the table, its copy and its old self there are"
            f" {', '.join(found) or 'none'}",
            hint="Somebody renamed or dropped one of them; look at them before anything else.",
        )

    # --- small things ---

    def _full(self, name: TableName) -> str:
        return ddl.full_name(self.catalog, name)

    def _metadata(self, name: TableName) -> Metadata:
        return self.reader.read([name])[name]

    def _refresh(self, name: TableName) -> None:
        self.handle.run(f"REFRESH TABLE {self._full(name)}")

    def _do(self, what: str, sql: str) -> None:
        self.context.failpoint(f"{self.step.kind}:{what}")
        self.handle.run(sql)
        self.context.failpoint(f"{self.step.kind}:{what}-done")
