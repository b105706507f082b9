"""Every operation of the capability matrix as a small scenario, in the order of its rows."""

from __future__ import annotations

from instar.testing.operations.columns import columns
from instar.testing.operations.nested import insides
from instar.testing.operations.tables import tables
from instar.testing.scenario import Scenario


def operations() -> tuple[Scenario, ...]:
    """Every row of the matrix, in the order it is printed."""
    return (*columns(), *insides(), *tables())
