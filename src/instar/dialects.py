"""The dialects in which SQL text is read: sqlglot's own, and Spark's as its newer versions read it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import DialectType

DIALECTS = {
    "spark": "spark",
    "duckdb": "duckdb",
    "postgres": "postgres",
    "dsql": "postgres",
    "snowflake": "snowflake",
}
"""By the type of environment."""


@lru_cache(maxsize=16)
def reading(dialect: str) -> DialectType:
    """What `read=` and `dialect=` of sqlglot take for an engine's dialect, by its name."""
    if dialect != "spark":
        return dialect
    from sqlglot.dialects.spark import Spark

    class SparkText(Spark):
        """Since Spark 4 a doubled quote is the quote itself ('it''s'), and no longer two texts in a row."""

        class Tokenizer(Spark.Tokenizer):
            STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']

    return SparkText
