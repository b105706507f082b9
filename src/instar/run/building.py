"""The contract of an environment that models are built on: names, views, refreshes and data."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Protocol

from instar.backends.base import Backend
from instar.core.plan import Step, TablePlan
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.run.functions import Functions
from instar.run.inferring import Inferrer
from instar.sources.models import Model, Target
from instar.sources.models_sql import Read
from instar.sources.models_views import ViewText

Failpoint = Callable[[str], None]
ADOPTS = "adopts"
"""In the data of a step that takes over what no model made: it is a model's only once that is done."""
REACH = ("0001-01-01", "9999-01-01")
"""Event times from the first up to the second have intervals around them that every engine can say."""
FAR = "is outside the years 1 to 9998 in some rows"


@dataclass(frozen=True, slots=True)
class Interval:
    """[start, stop) of an event time, as ISO text without a zone."""

    start: str
    stop: str

    def __str__(self) -> str:
        return f"[{self.start}, {self.stop})"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be built: all rows, or one interval. `mark` is the same when a run is `resumed`."""

    model: Model
    sql: str
    live: Table
    mark: str
    whole: bool = True
    interval: Interval | None = None
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Events:
    """The first and the last event time, where there is one; how many rows have none."""

    first: str | None
    last: str | None
    nulls: int


class Builder(Protocol):
    """One environment."""

    one_writer: bool
    """Models can only be built one after the other."""

    def threads(self, asked: int | None) -> int:
        """How many models are built at once; as the engine bears it unless a number is asked for."""
        ...

    def inferrer(self) -> Inferrer: ...

    def backend(self, format_: str) -> Backend: ...

    def place(self, name: TableName, format_: str) -> str:
        """The full name of a table of that format in SQL."""
        ...

    def outside_place(self, read: Read, target: Target) -> str:
        """The name of a table that the project does not make."""
        ...

    def outside(self, wanted: Sequence[tuple[Read, Target]]) -> Mapping[TableName, Table]:
        """The columns of live tables and views; absent ones are not in the answer."""
        ...

    def view_step(self, model: Model, sql: str, columns: tuple[Column, ...], *, new: bool) -> Step:
        """One statement that creates or replaces a view."""
        ...

    def to_table_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        """A computed table in the place of a view; empty where the engine has no safe way."""
        ...

    def to_view_steps(
        self, model: Model, sql: str, live: Table, columns: tuple[Column, ...], aside: TableName
    ) -> tuple[Step, ...]:
        """The table renamed to `aside` and a view in its place, atomically; empty where it is not."""
        ...

    def aside_sql(self, live: Table, aside: TableName) -> tuple[str, ...]:
        """A rename that can stand in one transaction with what takes the table's place; empty where none can."""
        ...

    def refresh_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        """The table computed anew and put in as a whole: by one atomic step, or by renames."""
        ...

    def stage(self, model: Model, plan: TablePlan) -> None:
        """Make what the steps of a plan read beside tables; it outlives a kill, so that they can go on."""
        ...

    def unstage(self, model: Model, plan: TablePlan) -> None:
        """The steps are done."""
        ...

    def build(self, order: Order, failpoint: Failpoint) -> int:
        """Write the rows of a query into its table; the number of rows. Twice is as good as once."""
        ...

    def key_problem(self, model: Model, sql: str) -> str:
        """What breaks the key in a query's rows, with counts and examples; empty where nothing does."""
        ...

    def event_range(self, sql: str, column: str) -> Events:
        """The event times of a query."""
        ...

    def event_starts(
        self, sql: str, live: Table, column: str, granularity: str
    ) -> AbstractSet[str]:
        """The beginnings of the intervals in which a query or its table has rows, as ISO text."""
        ...

    def functions(self) -> Functions:
        """The functions that a query may call."""
        ...

    def version(self, name: TableName, format_: str) -> str | None:
        """What changes when the rows of a table do; None where nothing tells."""
        ...

    def rows(self, name: TableName, format_: str) -> int:
        """How many rows a table has."""
        ...

    def count(self, sql: str) -> int | None:
        """How many rows a query gives now; None where that cannot be asked."""
        ...

    def forget(self, run: str) -> None:
        """A run has ended well: its marks are no longer needed."""
        ...

    def views(self, schema: str, without: Container[TableName]) -> Mapping[TableName, ViewText]:
        """The live views of a schema, each as the query that gives what it gives."""
        ...

    def interrupt(self) -> None: ...
