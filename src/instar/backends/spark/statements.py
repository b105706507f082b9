"""Statements that are the same for every format on Spark; all names quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from instar.backends.sql import literal_spark, qualified, quote_backtick
from instar.core.schema import TableName
from instar.core.types import Path


def full_name(catalog: str, name: TableName) -> str:
    return qualified(name, backtick=True, catalog=catalog)


def path_sql(path: Path) -> str:
    return ".".join(map(quote_backtick, path))


def escaped(path: str) -> str:
    """A path is read as a pattern: these characters must stand for themselves."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def properties_sql(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{literal_spark(k)} = {literal_spark(v)}" for k, v in properties.items())


def set_properties(full: str, properties: Mapping[str, str]) -> str:
    return f"ALTER TABLE {full} SET TBLPROPERTIES ({properties_sql(properties)})"


def unset_properties(full: str, keys: Iterable[str]) -> str:
    names = ", ".join(map(literal_spark, keys))
    return f"ALTER TABLE {full} UNSET TBLPROPERTIES IF EXISTS ({names})"


def comment_table(full: str, comment: str | None) -> str:
    return f"COMMENT ON TABLE {full} IS {literal_spark(comment or '')}"


def rename_table(catalog: str, old: TableName, new: TableName) -> str:
    """The new name goes without its catalog: Spark refuses it with one."""
    return f"ALTER TABLE {full_name(catalog, old)} RENAME TO {qualified(new, backtick=True)}"


def rename_column(full: str, path: Path, new: str) -> str:
    return f"ALTER TABLE {full} RENAME COLUMN {path_sql(path)} TO {quote_backtick(new)}"


def drop_columns(full: str, paths: Iterable[Path]) -> str:
    return f"ALTER TABLE {full} DROP COLUMNS ({', '.join(map(path_sql, paths))})"


def alter_columns(full: str, actions: Iterable[tuple[Path, str]]) -> str:
    """One atomic statement; Spark takes one action a column in it."""
    specs = ", ".join(f"{path_sql(path)} {action}" for path, action in actions)
    return f"ALTER TABLE {full} ALTER COLUMN {specs}"
