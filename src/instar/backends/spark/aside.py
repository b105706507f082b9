"""A copy aside and the swap of names: what rewrites of Iceberg and Parquet tables have in common.

Everything needed to go on after a crash is in the tables themselves: which of the three names exist, and
what the copy says of its source.
"""

from __future__ import annotations

import re

from instar.backends.base import RunContext
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.keys import prove_keys
from instar.backends.spark.mismatch import differing_rows
from instar.backends.spark.statements import full_name, rename_table
from instar.core.plan import Step
from instar.core.schema import Table, TableName
from instar.errors import EngineError, VerificationFailed

COPY_OF = "instar.copy.of"
"""On the copy: the table it is made from, by the uuid (Iceberg) or the folder (Parquet)."""
NEXT_OLD = "next_old"
"""In a live table's extras: the number of the next old copy."""
_PLACE = re.compile(r"__instar_\w*$")


def aside_name(name: TableName) -> TableName:
    return TableName(name.schema, f"{name.name}__instar_new")


def out_name(name: TableName) -> TableName:
    """Where the old table of a full refresh waits until the new one has its name."""
    return TableName(name.schema, f"{name.name}__instar_out")


def kept_name(live: Table) -> TableName:
    number = live.extras.get(NEXT_OLD, "1")
    return TableName(live.name.schema, f"{live.name.name}__instar_old_{number}")


def is_own(name: str) -> bool:
    """A copy or an old table of ours, which no one declared."""
    return re.search(r"__instar_(new|old_\d+)$", name) is not None


def folder_aside(location: str, mark: str) -> str:
    """A folder of its own: the names of copies come again, their files must not meet."""
    return f"{_PLACE.sub('', location.rstrip('/'))}__instar_{mark}"


def three_names(step: Step) -> tuple[TableName, TableName, TableName]:
    """The table, its new self aside, its old self."""
    schema = step.after.name.schema
    aside, kept = (TableName(schema, step.data[key]) for key in ("aside", "kept_as"))
    return step.after.name, aside, kept


class Swapper:
    """One run of a step of a rewrite."""

    def __init__(self, backend: SparkBackend, step: Step, context: RunContext) -> None:
        self.handle, self.catalog = backend.handle, backend.catalog
        self.step, self.context = step, context
        self.name, self.aside, self.kept = three_names(step)

    def full(self, name: TableName) -> str:
        return full_name(self.catalog, name)

    def refresh(self, name: TableName) -> None:
        self.handle.run(f"REFRESH TABLE {self.full(name)}")

    def do(self, what: str, sql: str) -> None:
        self.context.failpoint(f"{self.step.kind}:{what}")
        self.handle.run(sql)
        self.context.failpoint(f"{self.step.kind}:{what}-done")

    def rename(self, what: str, old: TableName, new: TableName) -> None:
        self.do(what, rename_table(self.catalog, old, new))

    def compare(self, rows: str, of: str = "") -> None:
        """Counts and checksums of the rows as they should be, and of the copy as it is."""
        check = self.step.data["checksum"]
        expected = self.handle.run(f"SELECT {check} FROM ({rows})")[0]
        found = self.handle.run(f"SELECT {check} FROM {self.full(self.aside)}")[0]
        self.context.progress("compare", found["rows"], expected["rows"])
        if tuple(expected) != tuple(found):
            copy = f"SELECT * FROM {self.full(self.aside)}"
            raise VerificationFailed(
                "E420",
                f"[{self.name}] the copy differs{of}: {found['rows']:,} rows with checksum"
                f" {found['total']} instead of {expected['rows']:,} with {expected['total']}."
                f" {differing_rows(self.handle, self.step.data, rows, copy)}",
                hint=f"The table is as it was. The copy is {self.aside}; it can be dropped.",
            )
        left = f"The table is as it was. The copy is {self.aside}; it can be dropped."
        prove_keys(self.handle, self.step, self.full(self.aside), left)
        self.context.memo["verified"] = str(found["rows"])

    def in_the_way(self) -> EngineError:
        return EngineError(
            "E250",
            f"{self.aside} is in the way: it is not a copy that Instar made of {self.name}",
            hint="Rename or drop that table, then try again.",
        )

    def lost(self, there: list[bool]) -> VerificationFailed:
        names = (self.name, self.aside, self.kept)
        found = [str(n) for n, is_there in zip(names, there, strict=True) if is_there]
        return VerificationFailed(
            "E420",
            f"[{self.name}] cannot be swapped: of the table, its copy and its old self there are"
            f" {', '.join(found) or 'none'}",
            hint="Somebody renamed or dropped one of them; look at them before anything else.",
        )
