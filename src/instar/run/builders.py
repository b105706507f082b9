"""Which builder an environment has."""

from __future__ import annotations

from instar.backends.registry import Engine
from instar.errors import ProjectError
from instar.run.building import Builder
from instar.sources.project import Environment


def open_builder(engine: Engine, env: Environment) -> Builder:
    """The builder of an opened environment."""
    match env.type:
        case "duckdb":
            from instar.backends.duckdb.backend import DuckDBBackend
            from instar.run.duckdb_build import DuckDBBuilder

            backend = engine.backend("")
            assert isinstance(backend, DuckDBBackend)
            return DuckDBBuilder(backend, env.schema)
        case "spark":
            from instar.run.spark_build import SparkBuilder

            return SparkBuilder(engine, env.schema)
        case _:
            raise ProjectError(
                "E161",
                f"models are not available on {env.type} yet",
                hint="Use a Spark or a DuckDB environment.",
            )
