"""A session that was handed in, beside another one that changes the tables which it has read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from instar import Project
from instar.core.changes import AddColumn
from instar.spark import SparkHandle, SparkSettings, open_session
from models.lake import Lake

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path: Path, spark: SparkHandle) -> Iterator[Lake]:
    lake = Lake(tmp_path, spark)
    yield lake
    lake.close()


@pytest.fixture
def other(spark: SparkHandle, spark_root: Path) -> Iterator[SparkHandle]:
    """Another session on the same server."""
    with open_session(SparkSettings(spark_root), note=lambda _: None) as handle:
        assert handle.session.session_id != spark.session.session_id
        yield handle


def test_a_declared_parquet_table_that_another_session_altered(
    lake: Lake, other: SparkHandle
) -> None:
    (lake.root / "tables").mkdir()
    manifest = lake.root / "tables" / "events.yml"
    columns = "columns: [{name: id, type: INT}, {name: n, type: INT}]"
    manifest.write_text(f"table: events\nformat: parquet\n{columns}\n")
    lake.apply()
    place = f"spark_catalog.{lake.schema}.events"
    lake.spark.run(f"INSERT INTO {place} VALUES (1, 10)")
    assert lake.rows("events") == [{"id": 1, "n": 10}]
    other.run(f"ALTER TABLE {place} ADD COLUMNS (m INT)")
    other.run(f"INSERT INTO {place} VALUES (2, 20, 200)")
    manifest.write_text(manifest.read_text().replace("]", ", {name: m, type: INT}]"))
    assert not lake.plan().pending
    assert lake.rows("events") == [
        {"id": 1, "n": 10, "m": None},
        {"id": 2, "n": 20, "m": 200},
    ]


def test_a_model_over_a_parquet_table_that_another_session_altered(
    lake: Lake, other: SparkHandle
) -> None:
    place = f"spark_catalog.{lake.schema}.files"
    lake.spark.run(f"CREATE TABLE {place} (id INT) USING parquet")
    lake.spark.run(f"INSERT INTO {place} VALUES (1)")
    lake.model("m", "SELECT * FROM files", "format: parquet")
    lake.run()
    other.run(f"ALTER TABLE {place} ADD COLUMNS (n INT)")
    other.run(f"INSERT INTO {place} VALUES (2, 20)")
    (planned,) = lake.plan().tables
    new = [c.change.path for c in planned.changes if isinstance(c.change, AddColumn)]
    assert new == [("n",)]
    lake.run()
    assert lake.rows("m") == [{"id": 1, "n": None}, {"id": 2, "n": 20}]


def test_files_that_are_named_by_their_path(lake: Lake) -> None:
    """They are no table of a catalog: there is nothing to look at again."""
    folder = lake.root / "given"
    lake.spark.session.range(3).write.parquet(str(folder))
    lake.model("m", f"SELECT id FROM parquet.`{folder}`")
    lake.run()
    assert [row["id"] for row in lake.rows("m")] == [0, 1, 2]
    assert Project.load(lake.root).plan(spark=lake.spark.session).tables
