"""The catalog that a table of the project stands in: the same name in another one is another table."""

from __future__ import annotations

from pathlib import PurePath

from instar.core.schema import TableName
from instar.sources.models_sql import Read
from instar.sources.project import Environment

_ICEBERG, _MAIN = "ice", "spark_catalog"


def in_catalog(read: Read, env: Environment, format_: str | None = None) -> bool:
    """Whether a read means the catalog of tables of a format (or any of the environment's), if it names one."""
    if len(read.parts) < 3:
        return True
    said = read.parts[-3].casefold()
    if env.type == "duckdb":
        # DuckDB names a database by its file, up to the first dot.
        file = PurePath(env.database or ".instar/dev.duckdb").name
        return said == file.casefold().partition(".")[0]
    return said in on_spark(format_)


def on_spark(format_: str | None) -> tuple[str, ...]:
    if format_ is None:
        return (_MAIN, _ICEBERG)
    return (_ICEBERG,) if format_ == "iceberg" else (_MAIN,)


def elsewhere(read: Read) -> TableName:
    """A table of another catalog, which is a part of its name from now on."""
    return TableName(".".join(read.parts[:-1]), read.name)
