"""Reads tests/models/seed/changes.txt: one case for each change that the seed names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlglot

FILE = Path(__file__).parent / "seed" / "changes.txt"
ENGINES = ("duckdb", "delta", "iceberg", "parquet")
SOURCE = "(VALUES (1, 'ann', 10), (2, 'bob', 20), (3, NULL, NULL)) AS src(id, name, n)"
MERGED = ("duckdb", "delta", "iceberg")


@dataclass(frozen=True)
class Case:
    """`said` are the lines of the case by their word."""

    title: str
    said: dict[str, str]

    @property
    def seed(self) -> list[str]:
        return self.said["seed"].split(", ")

    def outcome(self, engine: str) -> tuple[bool, str]:
        """Whether a removal must be allowed, and the rung."""
        text = self.said[engine]
        return text.startswith("removal "), text.removeprefix("removal ")

    def query(self, which: str, engine: str) -> str:
        """The whole SELECT, in the engine's words."""
        wish = self.said.get(which) or self.said["after"]
        text = f"SELECT {wish} FROM {SOURCE}"
        if engine == "duckdb":
            return text
        return sqlglot.transpile(text, read="duckdb", write="spark")[0]

    def front(self, which: str, engine: str) -> str:
        """The frontmatter. Parquet has no merge: its table is written as a whole."""
        columns = self.said.get("columns before" if which == "before" else "columns")
        lines = ["incremental: {unique_key: id}"] if engine in MERGED else []
        lines += [f"format: {engine}"] if engine != "duckdb" else []
        lines += [f"columns: {columns}"] if columns else []
        return "\n".join(lines)


def cases() -> dict[str, Case]:
    _, *blocks = FILE.read_text().split("\n== ")
    found = [_case(block) for block in blocks]
    return {case.title: case for case in found}


def _case(block: str) -> Case:
    title, _, lines = block.partition("\n")
    pairs = (line.partition(": ") for line in lines.splitlines() if line.strip())
    return Case(title, {key: value for key, _, value in pairs})
