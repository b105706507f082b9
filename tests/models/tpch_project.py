"""The TPC-H project as files: its twelve models, the ten changes as text, the generated rows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlglot

HERE = Path(__file__).parent / "tpch"
TABLES = ("customer", "lineitem", "nation", "orders", "part")
LAYERS = {"staging": "parquet", "marts": "delta", "reports": "iceberg"}
"""The format of each layer where one project has all three."""

BY_TIME_AND_KEY = {
    "order_facts": "incremental: {event_time_column: ordered, granularity: year}",
    "line_facts": "incremental: {unique_key: [order_id, line]}",
}
BY_PARTITION = {
    "order_facts": "incremental: {partition_column: ordered_year}",
    "line_facts": "incremental: {partition_column: ship_year}",
}


@dataclass(frozen=True)
class Change:
    """One change of the files. `refresh`: the formats that can only recompute."""

    title: str
    flags: tuple[str, ...]
    refresh: frozenset[str]
    hunks: dict[str, tuple[tuple[str, str], ...]]


def changes() -> list[Change]:
    return [_change(path) for path in sorted((HERE / "changes").glob("*.txt"))]


def _change(path: Path) -> Change:
    head, *parts = path.read_text().split("\n== ")
    said = dict(re.findall(r"^(flags|refresh): *(.*)$", head, re.MULTILINE))
    models = {name: tuple(_hunks(lines)) for name, _, lines in (p.partition("\n") for p in parts)}
    flags, refresh = (said.get(key, "").split() for key in ("flags", "refresh"))
    return Change(path.stem, tuple(flags), frozenset(refresh), models)


def _hunks(text: str) -> Iterator[tuple[str, str]]:
    """Lines that go and the lines that come in their place; at the top where none go."""
    for old, new in re.findall(r"((?:^-.*\n?)*)((?:^\+.*\n?)*)", text, re.MULTILINE):
        if old or new:
            yield _bare(old), _bare(new)


def _bare(lines: str) -> str:
    return "".join(line[2:] + "\n" for line in lines.splitlines())


class Files:
    """A copy of the models in a project's folder, in the words of one dialect."""

    def __init__(self, root: Path, dialect: str) -> None:
        self.root, self.dialect = root, dialect
        self.texts = {p.stem: p.read_text() for p in sorted(HERE.glob("*/*.sql"))}
        self.folders = {p.stem: p.parent.name for p in HERE.glob("*/*.sql")}
        self.write()

    def apply(self, change: Change) -> None:
        for name, hunks in change.hunks.items():
            for old, new in hunks:
                text = self.texts[name]
                assert not old or text.count(old) == 1, f"{change.title}: {name}: {old}"
                self.texts[name] = text.replace(old, new) if old else new + text
        self.write()

    def write(self) -> None:
        for name, text in self.texts.items():
            folder = self.root / "models" / self.folders[name]
            folder.mkdir(parents=True, exist_ok=True)
            front, body = _split(text)
            (folder / f"{name}.sql").write_text(front + self.said(body))

    def said(self, body: str) -> str:
        """The models are written for DuckDB; a Spark team would write the same in its own words."""
        if self.dialect == "duckdb":
            return body
        return sqlglot.transpile(body, read="duckdb", write=self.dialect, pretty=True)[0] + "\n"

    def rebuild(self) -> dict[str, str]:
        """Each model's query over the others by bare name, parents first."""
        left = {n: self.said(_split(text)[1]) for n, text in self.texts.items()}
        found: dict[str, str] = {}
        while left:
            for name, body in list(left.items()):
                if not set(re.findall(r"ref\('(\w+)'\)", body, re.IGNORECASE)) & set(left):
                    found[name] = re.sub(r"(?i)ref\('(\w+)'\)", r"\1", left.pop(name))
        return found


def _split(text: str) -> tuple[str, str]:
    if not text.startswith("---\n"):
        return "", text
    end = text.index("\n---\n") + len("\n---\n")
    return text[:end], text[end:]


def settings(formats: dict[str, str]) -> str:
    """The entries of instar.yml: the format of each model, and how the incremental ones go on."""
    lines = ["models:"]
    for name, format_ in sorted(formats.items()):
        keys = BY_PARTITION if format_ == "parquet" else BY_TIME_AND_KEY
        said = [f"format: {format_}"] if format_ != "duckdb" else []
        said += [keys[name]] if name in keys else []
        if said:
            lines.append(f"  {name}: {{{', '.join(said)}}}")
    return "\n".join(lines) + "\n"


def generate(folder: Path, scale: str) -> Path:
    """The rows of TPC-H as Parquet files."""
    tool = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(tool if tool.exists() else shutil.which("tpchgen-cli") or tool)]
    command += ["parquet", "-s", scale, "-o", str(folder), f"--tables={','.join(TABLES)}"]
    subprocess.run(command, check=True, capture_output=True)
    return folder
