"""A plan is a value: ordered steps per table, each with its statements, its cost and its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from instar.core.changes import Change
from instar.core.classify import Classified
from instar.core.findings import Finding, Severity
from instar.core.matching import DoneRenames
from instar.core.policy import Policy
from instar.core.projection import Projection
from instar.core.schema import Table, TableName, Wanted


class Rung(Enum):
    """The ladder, cheapest first."""

    METADATA = "metadata"
    OVERLAY = "overlay"
    STEPS = "steps"
    REWRITE = "rewrite"
    REFRESH = "refresh"
    NEVER = "never"

    @property
    def height(self) -> int:
        return list(Rung).index(self)


@dataclass(frozen=True, slots=True)
class Capability:
    """What a backend does for one change: the rung, why no cheaper one, what cannot be undone.

    `in_place`: what cannot be undone unless the table is rewritten anyway, for the sake of another change.
    """

    rung: Rung
    why: str = ""
    irreversible: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    way: str | None = None
    """What would make it possible, where that is in the user's hand."""

    def lasting(self, rung: Rung) -> tuple[str, ...]:
        """What cannot be undone when the table takes this rung."""
        rewritten = rung.height >= Rung.REWRITE.height
        return self.irreversible if rewritten else self.irreversible + self.in_place


@dataclass(frozen=True, slots=True)
class Cost:
    """What is there to be touched; None where the engine does not say."""

    rows: int | None = None
    bytes: int | None = None
    files: int | None = None


class Status(Enum):
    """What a plan means for one table."""

    CREATE = "create"
    CHANGE = "change"
    NO_CHANGE = "no_change"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Step:
    """One journalled action. `after` is the schema once it is done: how a later run knows.

    `repeatable`: running it again does no harm (a fill of NULLs), so a lost outcome is simply repeated.
    `data`: what the backend's own runner needs beside the statements.
    """

    id: str
    kind: str
    rung: Rung
    title: str
    sql: tuple[str, ...]
    after: Table
    cost: Cost = Cost()
    destructive: bool = False
    reversible: bool = True
    confirm: str | None = None
    why_not_cheaper: str | None = None
    irreversible: tuple[str, ...] = ()
    repeatable: bool = False
    data: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def drop_question(columns: Iterable[str]) -> str | None:
    """The question before columns go; None where none does."""
    names = ", ".join(columns)
    return f"drops {names}: the values are lost" if names else None


@dataclass(frozen=True, slots=True)
class Job:
    """What a backend renders into steps: one table, from live to target."""

    live: Table | None
    target: Table
    changes: tuple[Change, ...]
    projection: Projection
    wanted: Wanted
    rung: Rung
    why: str = ""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What would happen to one table, what stands in the way, and how it is done."""

    table: TableName
    backend: str
    status: Status
    changes: tuple[Classified, ...]
    findings: tuple[Finding, ...]
    steps: tuple[Step, ...]
    live: Table | None
    target: Table | None
    normalized_columns: tuple[str, ...] = ()
    origin: str = ""
    renames: DoneRenames = frozenset()
    """The declared renames that hold once this is applied: what the state store remembers."""

    @property
    def blocked(self) -> bool:
        return any(f.severity is Severity.ERROR for f in self.findings)

    @property
    def unfinished(self) -> bool:
        """An earlier apply of it did not end; it is planned once that is finished."""
        return any(f.code == UNFINISHED for f in self.findings)


UNFINISHED = "F503"


@dataclass(frozen=True, slots=True)
class Plan:
    """What would happen to every table of an environment under a policy."""

    env: str
    policy: Policy
    tables: tuple[TablePlan, ...]

    @property
    def pending(self) -> tuple[TablePlan, ...]:
        return tuple(t for t in self.tables if t.steps)

    @property
    def unfinished(self) -> tuple[TablePlan, ...]:
        return tuple(t for t in self.tables if t.unfinished)

    @property
    def blocked(self) -> tuple[TablePlan, ...]:
        return tuple(t for t in self.tables if t.status is Status.BLOCKED)
