"""What must hold for the rows, and what they say, told once: a value that cannot be converted is not also a NULL."""

from __future__ import annotations

import pytest

from instar.core.changes import AddColumn, ModifyColumn, Nullability, TypeChange
from instar.core.checks import (
    CastProof,
    EmptyProof,
    ExpressionProof,
    NotNullProof,
    Proof,
    ProofResult,
    UniqueProof,
    VanishProof,
    proofs_for,
    told_apart,
    unkept_proofs,
)
from instar.core.schema import Hint, Table, TableName, Unique, Wanted
from instar.core.types import Column, Integer, String

CAST = CastProof(("n",), ("n",), String(), Integer(32))
T, N = TableName("s", "t"), Column("n", Integer(32))
REQUIRED = Column("n", Integer(32), nullable=False)


def test_nulls_that_come_from_a_failed_cast_are_not_counted_again() -> None:
    results = (ProofResult(CAST, 1), ProofResult(NotNullProof(("n",)), 2))
    assert told_apart(results) == results[:1]


def test_real_nulls_are_told_once_every_value_converts() -> None:
    results = (ProofResult(CAST, 0), ProofResult(NotNullProof(("n",)), 2))
    assert told_apart(results) == results
    other = (ProofResult(CAST, 1), ProofResult(NotNullProof(("m",)), 2))
    assert told_apart(other) == other


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (Hint(), (NotNullProof(("n",)),)),
        (Hint(default="0"), (NotNullProof(("n",)), UniqueProof("one", ("n",)))),
    ],
    ids=["as they are", "filled"],
)
def test_a_key_is_proven_again_only_where_values_move(
    hint: Hint, expected: tuple[Proof, ...]
) -> None:
    change = ModifyColumn(("n",), ("n",), N, REQUIRED, (Nullability(True, False),))
    wanted = Wanted(Table(T, (REQUIRED,), constraints=(Unique("one", ("n",)),)), {("n",): hint})
    found = proofs_for((change,), wanted, str.casefold)
    assert [p for p in found if isinstance(p, NotNullProof | UniqueProof)] == list(expected)


@pytest.mark.parametrize(
    ("declared", "hint", "default", "expected"),
    [
        (REQUIRED, Hint(), None, [EmptyProof(("n",))]),
        (REQUIRED, Hint(default="0"), None, []),
        (REQUIRED, Hint(using="1"), None, []),
        (REQUIRED, Hint(), "0", []),
        (N, Hint(), None, []),
    ],
    ids=["NOT NULL", "filled", "computed", "with a default", "NULL"],
)
def test_a_not_null_that_the_engine_does_not_keep_still_needs_a_value_for_old_rows(
    declared: Column, hint: Hint, default: str | None, expected: list[Proof]
) -> None:
    kept = Column("n", Integer(32), default=default)
    wanted = Wanted(Table(T, (kept,)), {("n",): hint})
    added = AddColumn(("n",), kept, None)
    found = unkept_proofs((added,), Table(T, (declared,)), wanted, str.casefold)
    assert list(found) == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [(N, VanishProof(("n",), ("n",), "try_cast(n AS INT)")), (REQUIRED, NotNullProof(("n",)))],
    ids=["may be NULL", "NOT NULL"],
)
def test_what_an_expression_turns_into_null_is_told_once(column: Column, expected: Proof) -> None:
    old = Column("n", String(), nullable=column.nullable)
    change = ModifyColumn(("n",), ("n",), old, column, (TypeChange(String(), Integer(32)),))
    hint = Hint(using="try_cast(n AS INT)")
    found = proofs_for((change,), Wanted(Table(T, (column,)), {("n",): hint}), str.casefold)
    assert found == (ExpressionProof(("n",), "try_cast(n AS INT)", Integer(32)), expected)
