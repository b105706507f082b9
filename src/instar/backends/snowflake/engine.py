"""Opens Snowflake from an environment's options."""

from __future__ import annotations

from collections.abc import Callable

import snowflake.connector

from instar.backends.registry import Engine, EngineSettings
from instar.backends.snowflake.backend import SnowflakeBackend
from instar.errors import EnvironmentProblem


def open_engine(settings: EngineSettings, note: Callable[[str], None]) -> Engine:
    """`options` are the connector's own arguments (account, user, password, role, warehouse, …)."""
    del note
    try:
        connection = snowflake.connector.connect(database=settings.database, **settings.options)
    except Exception as error:
        raise EnvironmentProblem(
            "E241",
            f"Snowflake cannot be reached: {str(error).splitlines()[0]}",
            hint="Look at account, user and the other options of the environment.",
        ) from None
    backend = SnowflakeBackend(connection)
    return Engine({"": backend, "snowflake": backend}, "", backend.close)
