"""What must hold for the incremental key of new rows; every engine says it in its own SQL."""

from __future__ import annotations

from collections.abc import Iterator

from instar.run.building import FAR
from instar.sources.models import Model


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
