"""The same project of many models for Instar, for SQLMesh, and as bare statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 10
TABLE = "raw"
SOURCE = ", ".join(f"i + {n} AS c{n}" for n in range(COLUMNS))


@dataclass(frozen=True, slots=True)
class BenchModel:
    """A layer of a third of the models each; `parent` is None in the first."""

    name: str
    parent: str | None
    query: str
    """With {parent} where the table stands that it reads."""


def models(count: int) -> Iterator[BenchModel]:
    """Three layers: each model of a layer reads one of the layer before, or the source."""
    third = max(1, count // 3)
    for n in range(count):
        layer = min(n // third, 2)
        parent = f"m{n - third:04}" if layer else None
        columns = ", ".join(f"c{c} + {layer} AS c{c}" for c in range(COLUMNS))
        yield BenchModel(
            f"m{n:04}", parent, f"SELECT {columns} FROM {{parent}} WHERE c0 >= {n % 7}"
        )


def write_instar(root: Path, count: int, front: str = "") -> None:
    folder = root / "models"
    folder.mkdir(exist_ok=True)
    for model in models(count):
        text = model.query.format(parent=f"ref('{model.parent}')" if model.parent else TABLE)
        (folder / f"{model.name}.sql").write_text(front + text + "\n")


def change_instar(root: Path, names: list[str]) -> None:
    """One more column in each of them."""
    for name in names:
        path = root / "models" / f"{name}.sql"
        path.write_text(path.read_text().replace(" FROM ", ", c0 * 2 AS twice FROM ", 1))


def write_sqlmesh(root: Path, count: int) -> None:
    (root / "models").mkdir(parents=True, exist_ok=True)
    (root / "config.yaml").write_text(
        "gateways:\n  local:\n    connection: {type: duckdb, database: dev.duckdb}\n"
        "default_gateway: local\nmodel_defaults: {dialect: duckdb, start: 2024-01-01}\n"
    )
    for model in models(count):
        text = model.query.format(parent=f"main.{model.parent or TABLE}")
        head = f"MODEL (name main.{model.name}, kind FULL);\n"
        (root / "models" / f"{model.name}.sql").write_text(head + text + "\n")
