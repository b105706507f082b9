"""Which rows differ where two checksums do: a few of each side, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from instar.backends.spark.checksum import row_hash
from instar.backends.sql import quote_backtick
from instar.core.projection import Projection, from_old
from instar.core.schema import Table, Unique
from instar.errors import EngineError
from instar.spark import SparkHandle

_ROW, _NAMED = "row", "named"
_MOST = 5


def naming_data(projection: Projection, target: Table) -> dict[str, str]:
    """For a step's data: the hash that tells rows apart, and the key by which they are named."""
    stay = [f.column for f in projection if from_old(f)]
    row = row_hash([(quote_backtick(c.name), c.type) for c in stay])
    uniques = (c.columns for c in target.constraints if isinstance(c, Unique))
    return {_ROW: row, _NAMED: json.dumps(target.primary_key or next(uniques, ()))}


def differing_rows(handle: SparkHandle, data: Mapping[str, str], expected: str, found: str) -> str:
    """Rows that only one of two queries gives, by their key where the table has one.

    Compared by hash, so that a map or a variant is no hindrance. Empty where Spark cannot say: the
    mismatch stands anyhow.
    """
    key = ", ".join(map(quote_backtick, json.loads(data[_NAMED])))
    # Not every type can be JSON; every one can be text.
    wishes = [f"to_json(struct({key or '*'}))", "CAST(struct(*) AS STRING)"]
    for shown in wishes:
        try:
            return "; ".join(_sides(handle, data[_ROW], shown, expected, found))
        except EngineError:
            continue
    return ""


def _sides(handle: SparkHandle, row: str, shown: str, expected: str, found: str) -> list[str]:
    both = " UNION ALL ".join(
        f"SELECT {row} AS h, {shown} AS r, {n} AS n FROM ({query})"
        for n, query in ((1, expected), (-1, found))
    )
    said = []
    for words, sign in (("only before", ">"), ("only after", "<")):
        query = f"SELECT min(r) AS r FROM ({both}) GROUP BY h HAVING sum(n) {sign} 0"
        if rows := handle.run(f"{query} ORDER BY r LIMIT {_MOST}"):
            said.append(f"{words}: {', '.join(row['r'] for row in rows)}")
    return said
