"""Every code that the program can say is documented, and every documented code is said."""

from __future__ import annotations

import re
from pathlib import Path

from instar.cli import reference
from instar.codes import CODES

SOURCE = Path(reference.__file__).parents[1]
CODE = re.compile(r"[\"']([EF]\d{3})[\"']")


def used() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent.name != "codes":
            for code in CODE.findall(path.read_text(encoding="utf-8")):
                found.setdefault(code, str(path.relative_to(SOURCE)))
    return found


def test_every_code_in_the_source_is_documented() -> None:
    missing = {code: where for code, where in used().items() if code not in CODES}
    assert not missing


def test_every_documented_code_is_used() -> None:
    assert not sorted(set(CODES) - set(used()))


def test_every_row_says_something() -> None:
    for code, doc in CODES.items():
        assert doc.title, code
        assert not doc.title.endswith("."), code
        assert doc.why.endswith((".", "?")), code
        assert doc.fix.endswith("."), code


def test_reference_pages_are_fresh() -> None:
    """`python -m instar.cli.reference` writes them again."""
    folder = SOURCE.parents[1] / "docs" / "reference"
    stale = [
        name
        for name, text in reference.pages().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]
    assert not stale
