"""Bad input as text: the files of a project, what is live, the command, and what it must say.

A file begins with a sentence. Then come parts, each after a line `--- name`; `name on ENGINE` is for one
engine only and wins over the plain one:

    tables/orders.yml   any name with a dot: a file of the project (instar.yml is made unless it is there)
    live                SQL that makes what is there        variables    NAME=value, one a line
    run                 commands; the last one is judged    engines      where it runs; both when not said
    held                SQL of somebody whose transaction stays open meanwhile
    when asked          SQL that runs while the question waits for its yes
    with                `a read-only database`, `a role without rights` or `a full disk`
    says                `exit N`, then lines that must come in this order on stdout and stderr; `…` ends one early
    afterwards          `changed` where something was done before the failure

Nothing may be touched: the rows and the catalog of the database and the project's files are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
ENGINES = ("duckdb", "postgres")


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    title: str
    parts: dict[str, str]

    @property
    def engines(self) -> list[str]:
        return self.parts.get("engines", " ".join(ENGINES)).split()

    def part(self, name: str, engine: str) -> str:
        return self.parts.get(f"{name} on {engine}", self.parts.get(name, "")).strip("\n")

    def lines(self, name: str, engine: str) -> list[str]:
        return [line for line in self.part(name, engine).splitlines() if line.strip()]

    @property
    def files(self) -> dict[str, str]:
        return {name: text for name, text in self.parts.items() if "." in name}


def read(path: Path) -> Case:
    title, *rest = path.read_text(encoding="utf-8").split("\n--- ")
    parts = dict(part.split("\n", 1) if "\n" in part else (part, "") for part in rest)
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    return Case(name, title.strip(), {k.strip(): v for k, v in parts.items()})


def cases(engine: str) -> list[Case]:
    return [c for c in map(read, sorted(FOLDER.rglob("*.txt"))) if engine in c.engines]
