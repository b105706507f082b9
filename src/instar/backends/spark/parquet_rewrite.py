"""Carries out an overlay or a rewrite of a Parquet table; a crash anywhere can be gone on from.

What is needed to go on is in the catalog: which of the three names exist, and what the new definition's
properties say it was made from.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, NoReturn

from instar.backends.base import NotATable, Outcome, RunContext, same_schema
from instar.backends.spark import parquet_ddl as ddl
from instar.backends.spark.aside import COPY_OF, Swapper, folder_aside, three_names
from instar.backends.spark.parquet_files import File, FileReader, digest
from instar.backends.spark.parquet_overlay import misread
from instar.backends.spark.parquet_recreate import FILES, REFUSED
from instar.backends.spark.statements import (
    set_properties,
    unset_properties,
)
from instar.core.plan import Step
from instar.core.schema import Table, TableName
from instar.errors import VerificationFailed

if TYPE_CHECKING:
    from instar.backends.spark.parquet import ParquetBackend


class Rewrite(Swapper):
    """One run of an `overlay`, `copy` or `swap` step."""

    def __init__(self, backend: ParquetBackend, step: Step, context: RunContext) -> None:
        super().__init__(backend, step, context)
        self.backend = backend
        self.files = FileReader(backend.handle)

    def run(self) -> None:
        match self.step.kind:
            case "overlay":
                self.overlay()
            case "copy":
                self.copy()
            case _:
                self.swap()

    @staticmethod
    def outcome(backend: ParquetBackend, step: Step) -> Outcome:
        """What the catalog says; a step that is not done is run again and goes on."""
        names = three_names(step)
        there = backend.exist(names)
        if step.kind != "swap":
            if not there[1]:
                return Outcome.NOT_DONE
            return Outcome.DONE if FILES in backend.own_properties(names[1]) else Outcome.NOT_DONE
        overlay = bool(step.data["overlay"])
        match there:
            case [True, True, False] | [False, True, True]:
                return Outcome.NOT_DONE
            case [True, False, True] if overlay:
                return Outcome.NOT_DONE
            case [True, False, kept] if kept or overlay:
                live = backend.inspect([names[0]]).get(names[0])
                if live is None or isinstance(live, NotATable):
                    return Outcome.UNCLEAR
                if COPY_OF in backend.own_properties(names[0]):
                    return Outcome.NOT_DONE
                return Outcome.DONE if same_schema(live, step.after) else Outcome.UNCLEAR
            case _:
                return Outcome.UNCLEAR

    # --- a new definition ---

    def overlay(self) -> None:
        files = self._begin()
        location = self.step.data["location"]
        self._define(location)
        self._check_footers(location, files)
        if self.step.after.partition_by:
            self.do("repair", f"MSCK REPAIR TABLE {self.full(self.aside)}")
        self._same_count()
        self._done(files)

    def copy(self) -> None:
        """Anew each time, in a folder of its own: what an earlier run wrote is never mixed in."""
        files = self._begin()
        self._define(folder_aside(self.step.data["location"], uuid.uuid4().hex[:12]))
        select = f"SELECT {self.step.data['select']} FROM {self.full(self.name)}"
        self.do("insert", f"INSERT INTO {self.full(self.aside)} BY NAME {select}")
        self.compare(select)
        self._unmoved(self.name, digest(files))
        self._done(files)

    def _begin(self) -> list[File]:
        self._clear_aside()
        self.refresh(self.name)
        return self.files.listed(self.step.data["location"])

    def _define(self, location: str) -> None:
        made = ddl.Definition(self.step.data["head"], self.step.data["tail"])
        self.do("create", made.at(location))
        for sql in json.loads(self.step.data["defaults"]):
            self.do("default", sql)

    def _done(self, files: list[File]) -> None:
        mark = set_properties(self.full(self.aside), {FILES: digest(files)})
        self.do("mark", mark)

    def _clear_aside(self) -> None:
        if not self.backend.exist([self.aside])[0]:
            return
        if self.backend.own_properties(self.aside).get(COPY_OF) != self.step.data["location"]:
            raise self.in_the_way()
        self.do("clear", f"DROP TABLE {self.full(self.aside)}")

    def _check_footers(self, location: str, files: list[File]) -> None:
        """The types that files really have decide, not the ones that the table declares."""
        new = frozenset(tuple(path) for path in json.loads(self.step.data["new"]))
        made = self.backend.inspect([self.aside])[self.aside]
        assert isinstance(made, Table)
        wanted = tuple(c for c in made.columns if c.name not in made.partition_by)
        for schema in self.files.schemas(location, files):
            if wrong := next(misread(schema, wanted, new, str.casefold), None):
                self._refuse(wrong)

    def _same_count(self) -> None:
        counts = [
            self.handle.run(f"SELECT count(*) AS n FROM {self.full(name)}")[0]["n"]
            for name in (self.name, self.aside)
        ]
        if counts[0] != counts[1]:
            words = f"{counts[1]:,} rows instead of {counts[0]:,} lie under its folder"
            self._refuse(words)

    def _refuse(self, why: str) -> NoReturn:
        self.do("clear", f"DROP TABLE {self.full(self.aside)}")
        refuse(self.backend, self.name, why, self.context)

    # --- swap ---

    def swap(self) -> None:
        for _ in range(4):
            match self.backend.exist(three_names(self.step)):
                case [True, True, False]:
                    self._unmoved(self.name, self._made_from())
                    self.rename("rename-old", self.name, self.kept)
                case [False, True, True]:
                    self._put_in()
                case [True, False, kept] if kept or self.step.data["overlay"]:
                    self._tidy()
                    return
                case there:
                    raise self.lost(there)

    def _put_in(self) -> None:
        try:
            self._unmoved(self.kept, self._made_from())
        except VerificationFailed:
            self.rename("put-back", self.kept, self.name)
            raise
        self.rename("rename-new", self.aside, self.name)

    def _made_from(self) -> str:
        return self.backend.own_properties(self.aside).get(FILES, "")

    def _unmoved(self, name: TableName, expected: str) -> None:
        self.refresh(name)
        if digest(self.files.listed(self.backend.entry(name).location)) != expected:
            raise VerificationFailed(
                "E420",
                f"[{self.name}] somebody wrote to the table while it was being rewritten",
                hint="Nothing was changed. Stop its writers, then apply again.",
            )

    def _tidy(self) -> None:
        """The overlay's old definition goes: its files are those of the new one."""
        there = self.backend.exist([self.kept])[0]
        if there and self.step.data["overlay"]:
            old = self.backend.entry(self.kept)
            if not old.is_external or old.location != self.backend.entry(self.name).location:
                raise self.lost([True, False, True])
            self.do("drop-old", f"DROP TABLE {self.full(self.kept)}")
        keys = [k for k in (COPY_OF, FILES) if k in self.backend.own_properties(self.name)]
        if keys:
            self.do("unmark", unset_properties(self.full(self.name), keys))


def refuse(backend: ParquetBackend, name: TableName, why: str, context: RunContext) -> NoReturn:
    """Said on the table too: the next plan takes the rewrite."""
    context.failpoint("refuse:statement")
    backend.handle.run(set_properties(backend.place(name), {REFUSED: why}))
    raise VerificationFailed(
        "E420",
        f"[{name}] its files cannot be read under a new definition: {why}",
        hint="Nothing was changed. Plan again: the table will be rewritten instead.",
    )
