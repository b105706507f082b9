"""The page of operations is what the cases say, and leaves none out."""

from __future__ import annotations

from lifecycle.case_text import FOLDER
from lifecycle.page import GROUPS, PAGE, page_text


def test_every_case_is_on_the_page() -> None:
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(path.stem for path in FOLDER.glob("*.txt"))


def test_the_page_is_what_the_cases_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_text(), "stale: run `make docs`"
