"""Intervals of event time: where they begin, which ones are asked for, which ones are still to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from instar.errors import UsageError
from instar.run.building import Interval
from instar.state.models import Done

_DELTAS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
MOST = 10_000
"""More intervals than this in one run are a slip of the pen."""


def parse_time(text: str, what: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "E433", f"{what} is '{text}', which is no date or time", hint="Example: 2024-01-31"
        ) from None
    return found.replace(tzinfo=None)


def floor(moment: datetime, granularity: str) -> datetime:
    """The beginning of the interval that a moment is in; weeks begin on Monday."""
    match granularity:
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "month":
            return datetime(moment.year, moment.month, 1)
        case "year":
            return datetime(moment.year, 1, 1)
        case _:
            day = datetime(moment.year, moment.month, moment.day)
            return day - timedelta(days=day.weekday()) if granularity == "week" else day


def following(start: datetime, granularity: str) -> datetime:
    match granularity:
        case "month":
            return datetime(start.year + start.month // 12, start.month % 12 + 1, 1)
        case "year":
            return datetime(start.year + 1, 1, 1)
        case _:
            return start + _DELTAS[granularity]


def covering(first: datetime, end: datetime, granularity: str) -> Iterator[Interval]:
    """Whole intervals from the one that holds `first` up to the one that reaches `end`."""
    start, count = floor(first, granularity), 0
    while start < end:
        stop = following(start, granularity)
        yield Interval(start.isoformat(sep=" "), stop.isoformat(sep=" "))
        start, count = stop, count + 1
        if count > MOST:
            raise UsageError(
                "E433",
                f"more than {MOST:,} intervals of one {granularity}",
                hint="Choose a shorter range with --start and --end, or a longer granularity.",
            )


def asked(start: str | None, end: str | None, granularity: str, last: str) -> list[Interval]:
    """The intervals that --start and --end name; they must lie on the borders of intervals."""
    first = parse_time(start, "--start") if start else None
    stop = parse_time(end, "--end") if end else None
    until = stop or following(floor(parse_time(last, "the last row"), granularity), granularity)
    if first is None:
        raise UsageError("E433", "--end needs --start", hint="Example: --start 2024-01-01")
    if stop is not None and stop <= first:
        raise UsageError("E433", "--end must come after --start")
    for moment, what in ((first, "--start"), (until, "--end")):
        if floor(moment, granularity) != moment:
            raise UsageError(
                "E433",
                f"{what} is not the beginning of a {granularity}",
                hint="An interval is replaced as a whole, so it must be named as a whole.",
            )
    return list(covering(first, until, granularity))


def pending(span: tuple[str, str], granularity: str, done: Mapping[str, Done]) -> list[Interval]:
    """What is not built yet, and the last one again if it was not over when it was built."""
    first, last = (parse_time(t, "the event time") for t in span)
    end = following(floor(last, granularity), granularity)
    return [
        i
        for i in covering(first, end, granularity)
        if i.start not in done or not done[i.start].closed or done[i.start].stop != i.stop
    ]


def as_done(intervals: list[Interval], last: str) -> list[Done]:
    """`last` is the newest event time that was seen: what ends before it is closed."""
    newest = parse_time(last, "the event time")
    return [Done(i.start, i.stop, datetime.fromisoformat(i.stop) <= newest) for i in intervals]
