"""Work in batches that fit a transaction: at most 3,000 rows and 10 MiB, whatever the rows weigh."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from instar.backends.postgres.errors import TooLarge

_T = TypeVar("_T")

LIMIT_ROWS = 3000
MOST_ROWS = LIMIT_ROWS - 1
"""One row is the position that is written with the batch."""


class Batches:
    """How many rows the next batch takes: half as many after a refusal, then slowly more again."""

    def __init__(self, rows: int) -> None:
        self._most = max(1, min(rows, MOST_ROWS))
        self.rows = self._most

    def run(self, work: Callable[[int], _T]) -> _T:
        """The work with as many rows as the engine takes; one row that is too large is an error."""
        while True:
            try:
                done = work(self.rows)
            except TooLarge:
                if self.rows == 1:
                    raise
                self.rows //= 2
                continue
            self.rows = min(self._most, self.rows + max(1, self.rows // 4))
            return done
