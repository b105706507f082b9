"""The cases of recreation as a page: `python -m tests.lifecycle.page` writes it, a test says when it is stale."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from difflib import ndiff
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from lifecycle.case_text import FOLDER, Case, read  # noqa: E402

PAGE = ROOT / "docs" / "how-to" / "recreate-operations.md"

HEAD = """\
<!-- written by `python -m tests.lifecycle.page` from tests/lifecycle/cases; edit those instead -->

# Each operation, with its rows

Every example here is a test that runs on the real engines: the manifest before and after, the rows before and
after, the command, and by which rung each engine does it. `rewrite` is the recreation of
[Change what ALTER cannot change](recreate.md): a copy, compared, swapped in, the old rows kept; after it
`instar revert` puts them back, which the tests do too. The other rungs change the table in place.
"""

GROUPS = {
    "Drop a column": ("drop_column", "drop_column_in_a_key"),
    "Change a type": (
        "varchar_to_integer",
        "varchar_to_integer_blocked",
        "varchar_to_integer_mended",
        "varchar_to_integer_by_pattern",
        "varchar_to_boolean",
        "varchar_to_boolean_blocked",
        "varchar_to_boolean_other_words",
        "integer_to_varchar",
        "text_to_varchar_n",
        "text_to_varchar_n_blocked",
        "timestamp_to_date",
        "integer_to_decimal",
    ),
    "Set or drop NOT NULL": ("set_not_null", "set_not_null_blocked", "drop_not_null"),
    "Set or drop a default": ("set_default", "drop_default"),
    "Add or drop a constraint": (
        "add_check",
        "add_check_blocked",
        "add_unique",
        "add_unique_blocked",
        "drop_constraint",
    ),
    "Change the primary key": ("modify_primary_key", "modify_primary_key_blocked"),
    "Split or merge columns": ("split_column", "merge_columns"),
    "Several at once": ("several_at_once", "beside_keys_and_checks", "type_beside_a_list_check"),
}

_FLAGS = {"drop": "--allow-column-removal", "rewrite": "--allow-rewrite"}


def page_text() -> str:
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += ["\n".join(_section(read(FOLDER / f"{name}.txt"))) for name in names]
    return "\n".join(parts)


def _section(case: Case) -> Iterator[str]:
    yield f"**{case.title}**\n"
    yield from ("```diff", *_changed(case), "```\n")
    flags = [flag for word, flag in _FLAGS.items() if word in case.parts.get("allow", "")]
    yield f"`instar apply t {' '.join(flags)}`".replace(" `", "`") + "\n"
    if blocked := case.lines("blocked"):
        yield "Blocked, nothing is touched: " + "; ".join(f"`{line}`" for line in blocked) + "\n"
    else:
        yield from _rows(case)
    yield from _engines(case)
    if "note" in case.parts:
        yield case.parts["note"].strip() + "\n"


def _changed(case: Case) -> Iterator[str]:
    lines = (case.parts[part].splitlines() for part in ("before", "wanted"))
    return (line for line in ndiff(*lines) if not line.startswith("?"))


def _rows(case: Case) -> Iterator[str]:
    yield "| rows before | rows after |\n|---|---|"
    for before, after in zip(case.rows, case.lines("rows after"), strict=True):
        yield f"| {_code(before)} | {_code(after)} |"
    yield ""


def _code(row: str) -> str:
    return "`" + row.replace(" | ", ", ") + "`"


def _engines(case: Case) -> Iterator[str]:
    said = [f"{engine}: {words}" for engine in case.engines if (words := _there(case, engine))]
    if said:
        yield "By engine: " + "; ".join(said) + ".\n"


def _there(case: Case, engine: str) -> str:
    if code := case.there("not kept", engine):
        return f"does not keep it, and says so ({code})"
    if there := case.there("blocked there", engine):
        return f"blocked ({there})"
    if case.there("steps", engine) == "nothing":
        return "nothing, it was never kept"
    return " + ".join(dict.fromkeys(case.steps(engine)))


if __name__ == "__main__":
    PAGE.write_text(page_text(), encoding="utf-8")
