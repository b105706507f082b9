"""Intervals of event time: where they begin, which ones are asked for, which ones are still to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice

from instar.errors import UsageError
from instar.run.building import REACH, Interval
from instar.state.models import Done, Whole

_DELTAS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_NAMED = 3
MOST = 10_000
"""So many may be built one by one in a run; a build of all rows has no such bound."""


def parse_time(text: str, what: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "E433", f"{what} is '{text}', which is no date or time", hint="Example: 2024-01-31"
        ) from None
    if found.utcoffset():
        raise UsageError(
            "E433",
            f"{what} is '{text}', in a time zone of its own",
            hint="Write it as the event time reads in the session's zone (UTC), without an offset.",
        )
    return found.replace(tzinfo=None)


def in_reach(text: str) -> bool:
    """Whether an event time, as an engine writes it, has an interval around it."""
    first, stop = map(datetime.fromisoformat, REACH)
    try:
        return first <= datetime.fromisoformat(text).replace(tzinfo=None) < stop
    except ValueError:
        return False


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
    start = floor(first, granularity)
    while start < end:
        stop = following(start, granularity)
        yield Interval(start.isoformat(sep=" "), stop.isoformat(sep=" "))
        start = stop


def _some(intervals: Iterable[Interval], granularity: str) -> tuple[Interval, ...]:
    found = tuple(islice(intervals, MOST + 1))
    if len(found) > MOST:
        raise UsageError(
            "E433",
            f"more than {MOST:,} intervals of one {granularity} are to be built",
            hint="Build all of it with --full-refresh, or name a shorter range with --start and --end.",
        )
    return found


def check_range(
    start: str | None, end: str | None, granularities: Mapping[str, Sequence[str]]
) -> None:
    """--start and --end must be a range, and lie on the borders of intervals: of each, which models have them."""
    first = parse_time(start, "--start") if start else None
    stop = parse_time(end, "--end") if end else None
    if stop is not None and first is None:
        raise UsageError("E433", "--end needs --start", hint="Example: --start 2024-01-01")
    if first is not None and stop is not None and stop <= first:
        raise UsageError("E433", "--end must come after --start")
    for moment, what in ((first, "--start"), (stop, "--end")):
        if moment is not None:
            _check_border(moment, what, granularities)


def _check_border(moment: datetime, what: str, granularities: Mapping[str, Sequence[str]]) -> None:
    if not in_reach(moment.isoformat()):
        raise UsageError("E433", f"{what} is outside the years 1 to 9998")
    for granularity, models in granularities.items():
        if floor(moment, granularity) != moment:
            some = ", ".join(f"'{name}'" for name in models[:_NAMED])
            more = f" and {len(models) - _NAMED:,} more" if len(models) > _NAMED else ""
            by = f", the interval of {some}{more}" if models else ""
            hint = "An interval is replaced as a whole, so it must be named as a whole"
            apart = "; models of other intervals need runs of their own (--select, --exclude)"
            raise UsageError(
                "E433",
                f"{what} is not the beginning of a {granularity}{by}",
                hint=f"{hint}{apart if len(granularities) > 1 else ''}.",
            )


def asked(start: str | None, end: str | None, granularity: str, last: str) -> tuple[Interval, ...]:
    """The intervals that --start and --end name."""
    check_range(start, end, {granularity: ()})
    first = parse_time(str(start), "--start")
    until = parse_time(end, "--end") if end else _after(last, granularity)
    return _some(covering(first, until, granularity), granularity)


def _after(last: str, granularity: str) -> datetime:
    return following(floor(parse_time(last, "the event time"), granularity), granularity)


def pending(
    span: tuple[str, str], granularity: str, done: Mapping[str, Done], whole: Whole | None
) -> tuple[Interval, ...]:
    """What is not built yet, and the last one again if it was not over when it was built."""
    first, end = parse_time(span[0], "the event time"), _after(span[1], granularity)
    gaps = [(first, end)]
    if whole is not None and whole.granularity == granularity:
        start, stop = map(datetime.fromisoformat, (whole.start, whole.stop))
        gaps = [(first, min(start, end)), (max(stop, first), end)]
    missing = (
        i
        for gap in gaps
        for i in covering(*gap, granularity)
        if i.start not in done or not done[i.start].closed or done[i.start].stop != i.stop
    )
    return _some(missing, granularity)


def covered(span: tuple[str, str], granularity: str) -> tuple[Whole, Done]:
    """What a build of all rows has done: everything before the newest interval, and that one for now."""
    first, newest = (floor(parse_time(t, "the event time"), granularity) for t in span)
    start, middle, stop = (
        t.isoformat(sep=" ") for t in (first, newest, following(newest, granularity))
    )
    return Whole(granularity, start, middle), Done(middle, stop, closed=False)


def as_done(intervals: Iterable[Interval], last: str) -> list[Done]:
    """`last` is the newest event time that was seen: what ends before it is closed."""
    newest = parse_time(last, "the event time")
    return [Done(i.start, i.stop, datetime.fromisoformat(i.stop) <= newest) for i in intervals]


def counted(first: str, last: str, granularity: str) -> int:
    """How many intervals there are from the one that holds `first` to the one that holds `last`."""
    start, end = (floor(parse_time(t, "the event time"), granularity) for t in (first, last))
    match granularity:
        case "month":
            return (end.year - start.year) * 12 + end.month - start.month + 1
        case "year":
            return end.year - start.year + 1
        case _:
            return (end - start) // _DELTAS[granularity] + 1


def beginning(moment: str, granularity: str) -> str:
    """The start of the interval that holds a moment, as text."""
    return floor(parse_time(moment, "the event time"), granularity).isoformat(sep=" ")
