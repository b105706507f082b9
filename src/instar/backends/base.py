"""The contract of a backend: pure `rules` beside a live connection. `instar.testing` checks it.

What a backend promises:
- `inspect` answers for many tables in few round trips, and says what the engine says, nothing assumed.
- `run` carries out one step. It either did all of it or (after an error or a crash) `outcome` can tell.
- `prove` never writes. It counts exactly: neither a false alarm nor a missed row.
- Nothing is retried blindly: a lost connection is an unknown outcome, and the table is asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from instar.core.capabilities import Rules
from instar.core.changes import Change
from instar.core.checks import Proof, ProofResult
from instar.core.diff import diff
from instar.core.findings import Finding
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import without_identity

if TYPE_CHECKING:
    from instar.backends.keeping import Keeper


@dataclass(frozen=True, slots=True)
class NotATable:
    """Something else lives under that name (a view, a materialized view, …)."""

    name: TableName
    kind: str

    @property
    def what(self) -> str:
        """The kind with its article."""
        return self.kind if self.kind.startswith(("a ", "an ")) else f"a {self.kind}"


VIEW = "view"
"""The kind of a step that creates or replaces a view; `after` has the columns it returns."""
SWITCH = "switch"
"""The kind of a step that puts a table in the place of a view."""


class Outcome(Enum):
    """What became of a step whose end nobody saw."""

    DONE = "done"
    NOT_DONE = "not done"
    UNCLEAR = "unclear"


Memo = MutableMapping[str, str]
"""What a running step wants to remember across a crash; each write is durable at once."""

Progress = Callable[[str, int, int | None], None]
"""(what, done, total): called on long work."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What `run` may use: a durable memo, progress, and failpoints for the kill suite."""

    memo: Memo
    progress: Progress
    failpoint: Callable[[str], None]


class Views:
    """The live views as a plan asks about them: looked at once, however many tables change."""

    def broken(self, target: Table) -> Mapping[TableName, str]:
        """Those (with their SQL) that work now, and would not were the table so."""
        del target
        return {}


class Backend(ABC):
    """One engine, connected."""

    rules: Rules

    @abstractmethod
    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        """The tables among `names` that exist; absent ones are not in the answer."""

    @abstractmethod
    def list_tables(self, schema: str) -> Sequence[TableName]:
        """The tables of a schema (no views), sorted."""

    def foreign(self, schema: str) -> Sequence[NotATable]:
        """What else stands beside the tables of a schema and is of a kind that is not evolved (no views)."""
        del schema
        return ()

    def shown(self, table: Table) -> Table:
        """The table as the engine shows it to people, where planning sees it otherwise."""
        return table

    @abstractmethod
    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        """Rows, bytes and files, as far as the engine knows them cheaply."""

    @abstractmethod
    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        """All proofs of one table in one pass; witnesses only for those that fail."""

    @abstractmethod
    def run(self, step: Step, context: RunContext) -> None:
        """Carry out one step."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the engine; quick, and safe to call twice."""

    def interrupt(self) -> None:  # noqa: B027 - most engines stop with their client
        """Cancel what runs now."""

    def views(self) -> Views:
        """The live views; none that could break where the engine itself holds on to what its views read."""
        return Views()

    def denied(self, jobs: Sequence[Job]) -> Mapping[TableName, Sequence[Finding]]:
        """What the session's role would need for the jobs and may not do, by one look for all of them.

        Empty where the engine tells it at the first statement only.
        """
        del jobs
        return {}

    def unfinished(self, names: Sequence[TableName]) -> frozenset[TableName]:
        """The tables beside which a rewrite that did not end has left its work, by one cheap look."""
        del names
        return frozenset()

    def keeper(self) -> Keeper | None:
        """The old copies that this engine's rewrites keep; None where there are none."""
        return None

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """Ask the table what became of a step. Backends add what their own steps leave behind."""
        del memo
        name = step.after.name
        live = self.inspect([name]).get(name)
        if step.kind == VIEW:
            return Outcome.DONE if isinstance(live, NotATable) else Outcome.NOT_DONE
        if live is None:
            return Outcome.NOT_DONE if before is None else Outcome.UNCLEAR
        if isinstance(live, NotATable):
            return Outcome.NOT_DONE if step.kind == SWITCH else Outcome.UNCLEAR
        if before is not None and same_schema(before, step.after):
            # A fill, or a swap of two like columns: the schema cannot tell.
            return Outcome.UNCLEAR
        if same_schema(live, step.after):
            return Outcome.DONE
        if before is not None and same_schema(live, before):
            return Outcome.NOT_DONE
        return Outcome.UNCLEAR


def differences(live: Table, target: Table) -> tuple[Change, ...]:
    """What still separates a live table from a target: empty when apply kept its promise."""
    columns = tuple(without_identity(c) for c in target.columns)
    return diff(live, Wanted(replace(target, columns=columns)), fold=str)


def same_schema(live: Table, other: Table) -> bool:
    return not differences(live, other)
