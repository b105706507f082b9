"""Cases as text: a table with its rows, what is wanted of it, and what it is and holds afterwards.

A file begins with a sentence. Then come parts, each after a line `--- name`:

    before       the manifest of the table as it is          rows         its rows, one a line
    wanted       the manifest that is applied                allow        drop, rewrite (one line)
    steps        an engine, and the rung of each step        rows after   the rows in the end
    blocked      the findings that stand in the way, with the rows they show (instead of the two before)
    blocked there    the same, on one engine alone
    not kept     an engine that does not keep it, and the code of the finding that says so: nothing happens
    engines      where it runs; all when not said
    note         what the page says beneath it

A row is written as SQL literals with bars between them. On DSQL a table of a case has the key `id` where the
case gives it none: a table without a key is never copied there.
"""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "cases"
EVERYWHERE = ("duckdb", "postgres", "dsql", "delta", "iceberg", "parquet")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    title: str
    parts: dict[str, str]

    @property
    def rows(self) -> list[str]:
        return self.lines("rows")

    @property
    def engines(self) -> list[str]:
        return self.lines("engines") or list(EVERYWHERE)

    def steps(self, engine: str) -> list[str]:
        said = self.there("steps", engine)
        return [] if said == "nothing" else said.split()

    def blocked(self, engine: str) -> list[str]:
        there = self.there("blocked there", engine)
        return [there] if there else self.lines("blocked")

    def there(self, part: str, engine: str) -> str:
        """What a part says of one engine; nothing where it does not name it."""
        said = (line.split(": ", 1) for line in self.lines(part))
        return next((words for name, words in said if name == engine), "")

    def lines(self, part: str) -> list[str]:
        return [line.strip() for line in self.parts.get(part, "").splitlines() if line.strip()]

    def manifest(self, part: str, table: str, format_: str, engine: str = "") -> str:
        head = f"table: {table}\n" + (f"format: {format_}\n" if format_ else "")
        if engine == "dsql" and "primary_key:" not in self.parts[part]:
            head += "primary_key: [id]\n"
        return head + self.parts[part]


def read(path: Path) -> Case:
    title, *rest = path.read_text(encoding="utf-8").split("\n--- ")
    parts = dict(part.split("\n", 1) if "\n" in part else (part, "") for part in rest)
    return Case(path.stem, title.strip(), {k.strip(): v for k, v in parts.items()})


def cases(engine: str) -> list[Case]:
    return [c for c in map(read, sorted(FOLDER.glob("*.txt"))) if engine in c.engines]


def row_text(row: Any) -> str:
    return " | ".join(literal(value) for value in row)


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.datetime():
            return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'"
        case datetime.date():
            return f"DATE '{value}'"
        case int() | float() | decimal.Decimal():
            return str(value)
    raise AssertionError(f"no literal for {value!r}")
