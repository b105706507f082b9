"""A nested column whose value is computed anew by `_using` changes as a whole."""

from __future__ import annotations

from instar.core.changes import ModifyColumn, TypeChange
from instar.core.diff import diff
from instar.core.evolve import evolve
from instar.core.projection import FromExpression, project
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Integer, array

NAME = TableName("main", "t")
LIVE = Table(NAME, (Column("l", array(Integer(32))),))
WIDE = Table(NAME, (Column("l", array(Integer(64))),))
COMPUTED = Wanted(WIDE, {("l",): Hint(using="[99]")})


def test_the_expression_is_what_fills_it() -> None:
    changes = diff(LIVE, COMPUTED)
    (change,) = changes
    assert isinstance(change, ModifyColumn)
    assert change.modifications == (TypeChange(array(Integer(32)), array(Integer(64))),)
    target = evolve(LIVE, changes)
    assert target.columns == WIDE.columns
    (carried,) = project(LIVE, target, changes, COMPUTED, str.casefold)
    assert carried.source == FromExpression("[99]")


def test_it_says_nothing_once_the_type_is_there() -> None:
    assert diff(WIDE, COMPUTED) == ()
