"""Which engines there are, and how each is opened: one row a kind of environment."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instar.backends.base import Backend
from instar.core.capabilities import Rules
from instar.errors import EnvironmentProblem, ProjectError
from instar.spark.settings import SparkSettings


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an engine needs to be opened, from whatever door it comes.

    `reading`: nothing will be written, so that nothing that is missing may be made. `alone`: nobody else in
    this process uses the engine.
    """

    type: str
    format: str
    root: Path
    database: str | None = None
    spark: SparkSettings | None = None
    session: Any = None
    options: Mapping[str, str] = field(default_factory=dict)
    reading: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Engine:
    """An opened environment: a backend per table format, sharing one connection."""

    backends: Mapping[str, Backend]
    default: str
    close: Callable[[], None]

    def backend(self, format_: str) -> Backend:
        """The backend for a table's format; the environment's own where a table names none."""
        found = self.backends.get(format_ or self.default)
        if found is None:
            raise ProjectError(
                "E114",
                f"format '{format_}' is not one of this environment's: {', '.join(self.backends)}",
                hint="Remove 'format', or choose an environment that has it.",
            )
        return found


Note = Callable[[str], None]
Opener = Callable[[EngineSettings, Note], Engine]


@dataclass(frozen=True, slots=True)
class _Entry:
    module: str
    extra: str | None = None


OPENERS: Mapping[str, _Entry] = {
    "spark": _Entry("instar.backends.spark.engine"),
    "duckdb": _Entry("instar.backends.duckdb.engine"),
    "postgres": _Entry("instar.backends.postgres.engine", extra="postgres"),
    "dsql": _Entry("instar.backends.dsql.engine", extra="dsql"),
    "snowflake": _Entry("instar.backends.snowflake.engine", extra="snowflake"),
}
"""Each module has `open_engine(settings, note) -> Engine`."""


RULES: Mapping[tuple[str, str], str] = {
    ("spark", "delta"): "instar.backends.spark.delta_rules:DeltaRules",
    ("spark", "iceberg"): "instar.backends.spark.iceberg_rules:IcebergRules",
    ("spark", "parquet"): "instar.backends.spark.parquet_rules:ParquetRules",
    ("duckdb", ""): "instar.backends.duckdb.rules:DuckDBRules",
    ("postgres", ""): "instar.backends.postgres.rules:PostgresRules",
    ("dsql", ""): "instar.backends.dsql.rules:DsqlRules",
    ("snowflake", ""): "instar.backends.snowflake.rules:SnowflakeRules",
}
"""The pure half of each backend, for what needs no engine."""


def rules_for(type_: str, format_: str) -> Rules:
    """The rules of an environment's table format."""
    where = RULES.get((type_, format_)) or RULES.get((type_, ""))
    if where is None:
        formats = ", ".join(f for t, f in RULES if t == type_)
        raise ProjectError(
            "E114", f"format '{format_}' is not one of this environment's: {formats}"
        )
    module, _, name = where.partition(":")
    rules: Rules = getattr(importlib.import_module(module), name)()
    return rules


def open_engine(settings: EngineSettings, note: Note) -> Engine:
    """Open the engine of an environment; drivers are imported only now."""
    entry = OPENERS.get(settings.type)
    if entry is None:
        raise ProjectError(
            "E115", f"no engine of type '{settings.type}'; there are {', '.join(OPENERS)}"
        )
    try:
        module = importlib.import_module(entry.module)
    except ModuleNotFoundError as error:
        if entry.extra is None or (error.name or "").startswith("instar"):
            raise
        raise EnvironmentProblem(
            "E230",
            f"the driver for '{settings.type}' is not installed",
            hint=f"pip install 'instar[{entry.extra}]'",
        ) from None
    opener: Opener = module.open_engine
    return opener(settings, note)
