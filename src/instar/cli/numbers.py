"""Numbers for people: rows, bytes, seconds."""

from __future__ import annotations

from instar.core.numbers import plural
from instar.core.plan import Cost


def rows_text(rows: int) -> str:
    """Exact below ten thousand, then with three digits: 12.3 k, 1.2 M."""
    if rows < 10_000:
        return plural(rows, "row")
    return f"{_scaled(rows, 1000, ('', ' k', ' M', ' G', ' T'))} rows"


def bytes_text(size: int) -> str:
    return _scaled(size, 1000, (" B", " kB", " MB", " GB", " TB", " PB"))


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    step = 0
    while value >= base and step < len(units) - 1:
        value, step = value / base, step + 1
    shown = f"{value:.0f}" if step == 0 or value >= 100 else f"{value:.1f}".removesuffix(".0")
    return shown + units[step]


def cost_text(cost: Cost) -> str:
    """`1.2 M rows, 340 MB, 12 files`, as far as the engine says it; empty when it says nothing."""
    parts = [
        None if cost.rows is None else rows_text(cost.rows),
        None if cost.bytes is None else bytes_text(cost.bytes),
        None if cost.files is None else plural(cost.files, "file"),
    ]
    return ", ".join(p for p in parts if p)


def seconds_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f}s" if seconds < 10 else f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"
