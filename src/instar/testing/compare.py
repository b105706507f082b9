"""Are two rows the same: exactly, NaN equal to itself, and 0.0 not equal to -0.0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any


def same_value(a: Any, b: Any) -> bool:
    match a, b:
        case float(), float():
            if math.isnan(a) or math.isnan(b):
                return math.isnan(a) and math.isnan(b)
            return a == b and math.copysign(1, a) == math.copysign(1, b)
        case Mapping(), Mapping():
            return a.keys() == b.keys() and all(same_value(a[k], b[k]) for k in a)
        case list(), list():
            return len(a) == len(b) and all(map(same_value, a, b))
        case ((bool() | int() | float() | Decimal()), (bool() | int() | float() | Decimal())):
            # 1, 1.0, Decimal(1) and True are equal in Python but not the same value of a column.
            return type(a) is type(b) and a == b
        case _:
            return bool(a == b)


def missing_and_extra(
    expected: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Rows that should be there and are not, and rows that are there and should not be."""
    extra = list(found)
    missing = []
    for row in expected:
        place = next((i for i, other in enumerate(extra) if same_value(row, other)), None)
        if place is None:
            missing.append(row)
        else:
            del extra[place]
    return missing, extra
