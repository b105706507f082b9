"""A new project whose first plan and apply work as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from instar.errors import ProjectError, UsageError
from instar.sources.entries import scalar
from instar.sources.project import PROJECT_FILE

ProjectKind = Literal["spark", "duckdb"]

_PROJECT = """\
# The project: `instar plan` shows what would happen, `instar apply` does it.
name: {name}
version: 1
default_env: {default}
environments:
  dev:                       # an embedded Spark with Delta tables; nothing to install but Java
    type: spark
    schema: main
    format: delta            # delta | iceberg | parquet
    # connect_url: sc://host:15002       # or a Spark Connect server
    # master: spark://host:7077          # or a cluster
  quick:                     # the same tables on DuckDB, in a file
    type: duckdb
    database: .instar/dev.duckdb
    schema: main
"""

_ORDERS = """\
table: orders
comment: One row for each order
# primary_key: [id]          # proven when it is declared; Delta itself does not enforce it
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: customer_id, type: BIGINT, nullable: false}
  - {name: amount, type: "DECIMAL(12, 2)"}
  - {name: ordered_at, type: TIMESTAMP}
  # A new NOT NULL column needs `_default` to fill the rows that exist:
  # - {name: status, type: STRING, nullable: false, _default: "'open'"}
"""

_CUSTOMERS = """\
table: customers
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: email, type: STRING}
  - name: profile
    type: STRUCT<given STRING, family STRING, address STRUCT<city STRING, zip STRING>>
    comment: name and address
  - {name: tags, type: ARRAY<STRING>}
"""

_IGNORED = ".instar/\n"


def init_project(root: Path, kind: ProjectKind = "spark") -> tuple[Path, ...]:
    """A project whose first plan and apply work as they are; nothing is written when a file is there."""
    files = project_files(root, kind)
    taken = [path for path in files if path.name != ".gitignore" and path.exists()]
    if taken:
        name = taken[0].relative_to(root).as_posix()
        raise ProjectError(
            "E141", f"{name} is there already; nothing was written", hint="Choose another folder."
        )
    for path, text in files.items():
        if path.name == ".gitignore" and path.exists():
            with written(path):
                kept = path.read_text(encoding="utf-8")
                path.write_text(_with_ignored(kept), encoding="utf-8")
        else:
            write_new(path, text)
    return tuple(files)


def write_new(path: Path, text: str) -> None:
    """A file that appeared in between is someone's work."""
    with written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """What the system says against writing a file, as an error that names it."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            "E142",
            f"{path} cannot be written: {error.strerror or error}",
            hint="Check the folder and its permissions, or choose another one.",
        ) from error


def project_files(root: Path, kind: ProjectKind) -> dict[Path, str]:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", root.absolute().name).strip("_") or "project"
    default = {"spark": "dev", "duckdb": "quick"}[kind]
    return {
        root / PROJECT_FILE: _PROJECT.format(name=scalar(name), default=default),
        root / "tables" / "orders.yml": _ORDERS,
        root / "tables" / "customers.yml": _CUSTOMERS,
        root / ".gitignore": _IGNORED,
    }


def _with_ignored(text: str) -> str:
    """A .gitignore that is there gets one line more, if it lacks it."""
    if any(line.strip() in (".instar/", ".instar", "/.instar/") for line in text.splitlines()):
        return text
    return text + ("" if not text or text.endswith("\n") else "\n") + _IGNORED
