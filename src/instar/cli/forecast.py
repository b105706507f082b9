"""A dry run's answer: each model in the order of the run, what would become of it and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from instar.cli.lines import Line, pad, width
from instar.core.numbers import plural

if TYPE_CHECKING:
    from instar.run.forecasting import Expected, Stretch

_MARKS = {"built": ("+", "green"), "created": ("+", "green"), "skipped": ("=", "dim")}
_WORDS = {
    "built": "to build",
    "created": "to create",
    "failed": "would fail",
    "behind": "not begun",
}


def forecast_lines(expected: Sequence[Expected]) -> list[Line]:
    names = max((width(str(e.table)) for e in expected), default=0)
    digits = len(str(len(expected)))
    lines: list[Line] = []
    if expected:
        lines.append([("bold", "A run would take the models in this order:")])
    for number, e in enumerate(expected, start=1):
        mark, style = _MARKS.get(e.status, ("✗", "bold red"))
        lines.append(
            [
                ("dim", f"  {number:>{digits}} "),
                (style, f"{mark} "),
                ("bold", pad(str(e.table), names)),
                ("", f"  {_said(e)}"),
                ("dim", f"  ({e.reason})" if e.how and e.status == "built" else f"  {e.reason}"),
            ]
        )
    return [*lines, [("bold", f"Dry run: {_sum(expected)}nothing was touched.")]]


def _said(e: Expected) -> str:
    """The reason of a model that is behind says so itself."""
    if e.status not in ("built", "created", "skipped"):
        return "would fail" if e.status == "failed" else "not begun"
    parts = [e.how] if e.how else []
    parts += [stretch_text(e.intervals)] if e.intervals else []
    if e.after and (e.intervals is None or e.intervals.estimate):
        parts.append(f"after {', '.join(e.after)}")
    return f"{e.status:<7}  {', '.join(parts)}".rstrip()


def stretch_text(found: Stretch) -> str:
    """`3 days: 2024-01-01 .. 2024-01-03`; midnight goes without saying."""
    ends = [t.removesuffix(":00").removesuffix(" 00:00") for t in (found.first, found.last)]
    where = ends[0] if found.count == 1 else " .. ".join(ends)
    now = " as its inputs are now" if found.estimate else ""
    return f"{plural(found.count, found.granularity)}{now}: {where}"


def _sum(expected: Sequence[Expected]) -> str:
    counts: dict[str, int] = {}
    for e in expected:
        counts[e.status] = counts.get(e.status, 0) + 1
    told = ", ".join(f"{n:,} {_WORDS.get(status, status)}" for status, n in counts.items())
    return f"{told}; " if told else ""


def expected_document(e: Expected) -> dict[str, Any]:
    """Like a model of a run that was carried out, with what is only known before it."""
    stretch = e.intervals
    return {
        "table": str(e.table),
        "status": e.status,
        "rows": None,
        "seconds": 0.0,
        "reason": (e.reason or None) if e.status != "failed" else None,
        "error": e.reason if e.status == "failed" else None,
        "how": e.how or None,
        "after": list(e.after),
        "intervals": stretch
        and {
            "count": stretch.count,
            "granularity": stretch.granularity,
            "first": stretch.first,
            "last": stretch.last,
            "estimate": stretch.estimate,
        },
    }
