"""The twelve changes are judged by every old value, not by the changed column alone."""

from __future__ import annotations

import pytest
from bench import twelve_changes
from bench.twelve_changes import TWELVE, Side

CHOSEN = tuple(case for case in TWELVE if case.blocked or case.title == "4 rename")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twelve_changes, "ROWS", 200)
    monkeypatch.setattr(twelve_changes, "BAD", 100)
    monkeypatch.setattr(twelve_changes, "TWELVE", CHOSEN)


def test_what_keeps_every_value_passes() -> None:
    twelve_changes.main(["duckdb"])


def test_a_value_lost_in_another_column_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Side.count

    def damaged(self: Side, right: str) -> int:
        self.value("UPDATE main.t SET big = big + 1 WHERE id = 7")
        return count(self, right)

    monkeypatch.setattr(Side, "count", damaged)
    with pytest.raises(SystemExit, match="duckdb 4 rename"):
        twelve_changes.main(["duckdb"])
