"""The sequences that number columns: a bound that was the type's own follows the column's new type."""

from __future__ import annotations

import re

from instar.backends.postgres.facts import Sequence_

LARGEST = {"smallint": 2**15 - 1, "integer": 2**31 - 1, "bigint": 2**63 - 1}
"""By type, the narrow ones first."""
_BOUND = re.compile(r" (MINVALUE|MAXVALUE) (-?\d+)")


def numbered_sql(sequence: Sequence_) -> str:
    """The options of an identity, without the bounds that its type alone has set."""
    largest = LARGEST.get(sequence.type)
    if largest is None:
        return sequence.options
    own = {("MAXVALUE", largest), ("MINVALUE", -largest - 1)}
    return _BOUND.sub(lambda m: "" if (m[1], int(m[2])) in own else m[0], sequence.options)
