"""Every key of a model's frontmatter and of its entry under `models:` in instar.yml."""

from __future__ import annotations

from instar.sources.keys import FORMATS, Key, Keys, Kind

MATERIALIZATIONS = ("view", "table", "incremental")
STRATEGIES = ("alter_and_backfill", "full_refresh")
GRANULARITIES = ("hour", "day", "week", "month", "year")

EVOLUTION_KEYS: Keys = {
    "strategy": Key(
        Kind.TEXT,
        "alter_and_backfill: ALTER where it is safe; full_refresh: recompute at every change.",
        choices=STRATEGIES,
    ),
}

COLUMN_KEYS: Keys = {
    "default": Key(Kind.EXPRESSION, "Fills the rows that exist when the column is added."),
    "backfill": Key(Kind.EXPRESSION, "Its value from the old row, when the column is added."),
    "renamed_from": Key(Kind.NAME, "The name it had: its values follow."),
    "nullable": Key(Kind.FLAG, "false: the table's column is NOT NULL."),
}

INCREMENTAL_KEYS: Keys = {
    "unique_key": Key(Kind.NAMES, "Rows with the same key are replaced, others are added."),
    "partition_column": Key(Kind.NAME, "The partitions that the query returns are replaced."),
    "event_time_column": Key(Kind.NAME, "Intervals of this column are replaced as a whole."),
    "granularity": Key(
        Kind.TEXT, "The length of an interval; `day` unless said.", choices=GRANULARITIES
    ),
}

MODEL_KEYS: Keys = {
    "materialization": Key(
        Kind.TEXT,
        "What the model becomes; `table` unless said.",
        choices=MATERIALIZATIONS,
    ),
    "format": Key(Kind.TEXT, "The format on Spark, where it differs.", choices=FORMATS),
    "schema_evolution": Key(Kind.OBJECT, "How the table follows the query.", keys=EVOLUTION_KEYS),
    "columns": Key(Kind.NAMED, "What is known about output columns.", keys=COLUMN_KEYS),
    "incremental": Key(Kind.OBJECT, "How new rows come in.", keys=INCREMENTAL_KEYS),
    "deterministic": Key(
        Kind.FLAG,
        "true: its rows depend on its text and on the tables that it reads alone, so an unchanged model"
        " is skipped though Instar cannot tell (a Python model, a file, the clock).",
    ),
    "tags": Key(Kind.NAMES, "Words to select models by."),
}
