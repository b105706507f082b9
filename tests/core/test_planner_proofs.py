"""What the rows say, told once: a value that cannot be converted is not also a NULL."""

from __future__ import annotations

from instar.core.checks import CastProof, NotNullProof, ProofResult, told_apart
from instar.core.types import Integer, String

CAST = CastProof(("n",), ("n",), String(), Integer(32))


def test_nulls_that_come_from_a_failed_cast_are_not_counted_again() -> None:
    results = (ProofResult(CAST, 1), ProofResult(NotNullProof(("n",)), 2))
    assert told_apart(results) == results[:1]


def test_real_nulls_are_told_once_every_value_converts() -> None:
    results = (ProofResult(CAST, 0), ProofResult(NotNullProof(("n",)), 2))
    assert told_apart(results) == results
    other = (ProofResult(CAST, 1), ProofResult(NotNullProof(("m",)), 2))
    assert told_apart(other) == other
