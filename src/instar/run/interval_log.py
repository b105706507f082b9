"""Which intervals of a model are done, which ones a run has to build, and what a build has covered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from instar.core.guards import MEND_KEY
from instar.core.schema import Table
from instar.errors import EngineError
from instar.run.building import FAR, Builder, Interval
from instar.run.intervals import as_done, asked, covered, in_reach, pending
from instar.sources.models import Model
from instar.state import Store

Span = tuple[str, str]
_FEW = 8
"""To build so many costs less than to ask which of them have rows."""


@dataclass(frozen=True, slots=True)
class IntervalLog:
    """The intervals of one run's models."""

    builder: Builder
    store: Store
    env: str
    run: str

    def span(self, model: Model, sql: str) -> Span | None:
        """The first and the last event time; a row without one belongs to no interval."""
        assert model.incremental is not None
        column = str(model.incremental.event_time_column)
        found = self.builder.event_range(sql, column)
        if found.nulls:
            words = f"the incremental key '{column}' of {model.table} is NULL in some rows"
            raise EngineError("E430", f"{words}: {found.nulls:,} of them", hint=MEND_KEY)
        if found.first is None or found.last is None:
            return None
        for moment in (found.first, found.last):
            if not in_reach(moment):
                words = f"the event time '{column}' of {model.table} {FAR}: {moment}"
                raise EngineError("E430", words, hint=MEND_KEY)
        return found.first, found.last

    def wish(
        self, model: Model, span: Span, start: str | None, end: str | None, *, anew: bool
    ) -> tuple[Interval, ...]:
        """What is named, or what is not done yet; `anew`: the intervals that are done were others."""
        assert model.incremental is not None
        granularity = model.incremental.granularity
        if start or end:
            return asked(start, end, granularity, span[1])
        if anew:
            return pending(span, granularity, {}, None)
        log = self.store.models
        done, whole = log.intervals(self.env, model.table), log.whole(self.env, model.table)
        return pending(span, granularity, done, whole)

    def filled(
        self, model: Model, sql: str, live: Table, wish: Sequence[Interval]
    ) -> Sequence[Interval]:
        """Those in which there are rows, or were: nothing comes into the others, and nothing goes."""
        if len(wish) <= _FEW:
            return wish
        assert model.incremental is not None
        column, granularity = model.incremental.event_time_column, model.incremental.granularity
        starts = self.builder.event_starts(sql, live, str(column), granularity)
        return [interval for interval in wish if interval.start in starts]

    def nothing(self, model: Model) -> bool:
        """No interval of the model is known to be done."""
        log = self.store.models
        return not log.intervals(self.env, model.table) and log.whole(self.env, model.table) is None

    def done(self, model: Model, intervals: Sequence[Interval], span: Span) -> None:
        done = as_done(intervals, span[1])
        self.store.models.intervals_done(self.env, model.table, done, self.run)

    def whole(self, model: Model, sql: str) -> None:
        """All of a model was computed: every interval that it has is done."""
        if model.incremental is None or model.incremental.event_time_column is None:
            self.forget(model)
            return
        span = self.span(model, sql)
        if span is None:
            self.forget(model)
            return
        range_, last = covered(span, model.incremental.granularity)
        self.store.models.intervals_done(
            self.env, model.table, [last], self.run, anew=True, whole=range_
        )

    def forget(self, model: Model) -> None:
        self.store.models.intervals_done(self.env, model.table, [], self.run, anew=True)
