"""Which rows break a model's key on Spark: counted, with examples, once a build was refused for them."""

from __future__ import annotations

from functools import partial
from typing import Any

from instar.backends.sql import quote_backtick
from instar.run.keys import SHOWN, beside, in_keys, in_rows, twice
from instar.run.spark_refresh import broken_rows
from instar.sources.models import Model

_ROWS = "__instar_rows"


def key_problem(model: Model, rows: Any) -> str:
    """What is wrong with the keys of a DataFrame; empty where nothing is."""
    from pyspark.sql import functions as f

    if model.incremental is None:
        return ""

    def texts(names: tuple[str, ...]) -> list[Any]:
        return [f.col(quote_backtick(n)).cast("string") for n in names]

    for condition, message in broken_rows(model):
        broken = rows.where(condition)
        if count := int(broken.count()):
            shown = broken.select(*texts(model.incremental.columns)).distinct().limit(SHOWN)
            keys = [tuple(row) for row in shown.collect()]
            names = beside(model, rows.columns)
            more = broken.select(*texts(tuple(names))).distinct().limit(SHOWN)
            found = partial(_told, names, more)
            return in_rows(message, count, keys, found)
    if not (message := twice(model)):
        return ""
    unique = model.incremental.unique_key
    each = rows.groupBy(*(f.col(quote_backtick(k)) for k in unique))
    doubled = each.agg(f.count(f.lit(1)).alias(_ROWS)).where(f"{_ROWS} > 1")
    many, total = doubled.agg(f.count(f.lit(1)), f.sum(_ROWS)).collect()[0]
    if not many:
        return ""
    shown = doubled.select(*texts(unique)).limit(SHOWN).collect()
    return in_keys(message, int(many), int(total), [tuple(row) for row in shown])


def _told(names: list[str], rows: Any) -> tuple[list[str], list[tuple[object, ...]]]:
    return names, [tuple(row) for row in rows.collect()] if names else []
