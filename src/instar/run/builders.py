"""Which builder an environment has, and which environments have none."""

from __future__ import annotations

from instar.backends.registry import Engine
from instar.errors import ProjectError
from instar.run.building import Builder
from instar.sources.project import Environment


def runs_models(env: Environment) -> bool:
    """On the others only declared tables are kept."""
    return env.type in _BUILDERS


def no_models(env: Environment) -> ProjectError:
    """What is said to whoever asks for models all the same."""
    return ProjectError(
        "E161",
        f"models are not available on {env.type} yet",
        hint="Use a Spark or a DuckDB environment.",
    )


def open_builder(engine: Engine, env: Environment) -> Builder:
    """The builder of an opened environment."""
    if not runs_models(env):
        raise no_models(env)
    return _BUILDERS[env.type](engine, env)


def _duckdb(engine: Engine, env: Environment) -> Builder:
    from instar.backends.duckdb.backend import DuckDBBackend
    from instar.run.duckdb_build import DuckDBBuilder

    backend = engine.backend("")
    assert isinstance(backend, DuckDBBackend)
    return DuckDBBuilder(backend, env.schema)


def _spark(engine: Engine, env: Environment) -> Builder:
    from instar.run.spark_build import SparkBuilder

    return SparkBuilder(engine, env.schema)


_BUILDERS = {"duckdb": _duckdb, "spark": _spark}
