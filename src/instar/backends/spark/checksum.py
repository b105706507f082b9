"""A checksum of rows that does not depend on their order: equal for two tables with equal rows.

NULL, '' and an empty container differ; so do 0.0 and -0.0; every NaN is one NaN; a map is its entries in
a fixed order; the padding of CHAR(n) does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from instar.backends.sql import quote_backtick
from instar.core.projection import Projection, from_old
from instar.core.types import Array, Float, Map, String, Struct, Type, Variant

Valued = tuple[str, Type]
"""An SQL expression and its type."""


def checksum_select(values: Sequence[Valued]) -> str:
    """The select list of a checksum: `rows`, and `total` over the rows' hashes as text.

    Two plain numbers cost a third of one decimal sum; 24 bits a row overflow after 500 billion rows.
    """
    row = row_hash(values)
    total = f"concat_ws('/', COALESCE(bit_xor({row}), 0), COALESCE(sum({row} & 16777215), 0))"
    return f"count(*) AS `rows`, {total} AS total"


def row_hash(values: Sequence[Valued]) -> str:
    """One BIGINT for a row; the place of a value counts, its column's name does not."""
    parts = [part for sql, type_ in values for part in (f"isnull({sql})", _content(sql, type_, 0))]
    return f"xxhash64({', '.join(parts)})" if parts else "0L"


def value_hash(value: str, type_: Type, depth: int) -> str:
    """A BIGINT for one value. Hashing skips NULLs, so each value says first whether it is one."""
    return f"xxhash64(isnull({value}), {_content(value, type_, depth)})"


def _content(value: str, type_: Type, depth: int) -> str:
    var = f"h{depth}"
    match type_:
        case Struct(fields):
            inner = [
                value_hash(f"({value}).{quote_backtick(f.name)}", f.type, depth) for f in fields
            ]
            return f"xxhash64({', '.join(inner)})" if inner else "0L"
        case Array(element):
            return f"transform({value}, {var} -> {value_hash(var, element.type, depth + 1)})"
        case Map(key, val):
            entry = ", ".join(
                value_hash(f"{var}.{part}", column.type, depth + 1)
                for part, column in (("key", key), ("value", val))
            )
            return f"sort_array(transform(map_entries({value}), {var} -> xxhash64({entry})))"
        case Float():
            return f"CAST({value} AS STRING)"
        case Variant():
            return f"to_json({value})"
        case String(_, fixed=True):
            return f"rtrim({value})"
        case _:
            return value


def carried_checksum(projection: Projection) -> str:
    """Over the columns whose values come from the old ones alone: computing them twice gives the same."""
    stay = [f.column for f in projection if from_old(f)]
    return checksum_select([(quote_backtick(c.name), c.type) for c in stay])
