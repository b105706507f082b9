"""What must hold for the incremental key of new rows; every engine says it in its own SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from instar.core.numbers import plural
from instar.run.building import FAR
from instar.sources.models import Model

SHOWN = 5
"""So many keys are named as examples."""
_LONG = 40
_BESIDE = 3
Others = Callable[[], tuple[Sequence[str], Sequence[Sequence[object]]]]
"""Names and values of other columns in some such rows, asked only where they are needed."""


def null_keys(model: Model) -> Iterator[tuple[str, str]]:
    """Each column of the key, and what is wrong when it is NULL."""
    for key in model.incremental.columns if model.incremental else ():
        yield key, f"the incremental key '{key}' of {model.table} is NULL in some rows"


def far_times(model: Model) -> Iterator[tuple[str, str]]:
    """The event time, and what is wrong when no interval can hold it."""
    column = model.incremental.event_time_column if model.incremental else None
    if column:
        yield column, f"the event time '{column}' of {model.table} {FAR}"


def twice(model: Model) -> str:
    """What is wrong when two rows have one key; empty where that is no matter."""
    if model.incremental is None or not model.incremental.unique_key:
        return ""
    told = ", ".join(model.incremental.unique_key)
    return f"the unique key ({told}) of {model.table} stands twice in the new rows"


def in_rows(message: str, rows: int, keys: Sequence[Sequence[object]], others: Others) -> str:
    """What is wrong, in how many rows, and which. A key that is nothing but NULL is told by other columns."""
    known = [k for k in keys if any(v is not None for v in k)]
    shown = _examples(known) if known else _rows(*others())
    return f"{message}: {rows:,} of them{shown}"


def beside(model: Model, columns: Sequence[str]) -> list[str]:
    """The first few columns that are not of the key."""
    keys = {k.casefold() for k in model.incremental.columns} if model.incremental else set()
    return [c for c in columns if c.casefold() not in keys][:_BESIDE]


def _rows(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    told = [
        ", ".join(f"{n} = {_value(v)}" for n, v in zip(names, row, strict=True)) for row in rows
    ]
    return f", such as {', '.join(f'({text})' for text in told)}" if names and told else ""


def in_keys(message: str, doubled: int, rows: int, keys: Sequence[Sequence[object]]) -> str:
    """Which keys stand twice, how many there are, and in how many rows."""
    return f"{message}: {plural(doubled, 'key')} in {rows:,} rows{_examples(keys)}"


def _examples(keys: Sequence[Sequence[object]]) -> str:
    told = [", ".join(map(_value, key)) for key in keys[:SHOWN]]
    shown = [f"({text})" if len(key) > 1 else text for text, key in zip(told, keys, strict=False)]
    return f", such as {', '.join(shown)}" if shown else ""


def _value(value: object) -> str:
    text = "NULL" if value is None else " ".join(str(value).split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
