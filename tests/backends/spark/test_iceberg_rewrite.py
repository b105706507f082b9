"""An Iceberg rewrite on the real engine: values, other writers at every moment, and crashes everywhere."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal

import pytest

from backends.spark.lake import Lake, codes, col, rungs
from backends.world import at
from instar.backends.base import Outcome, same_schema
from instar.backends.spark.iceberg import IcebergBackend
from instar.core.schema import Hint, Table
from instar.errors import EngineError, InstarError, VerificationFailed
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark

NUMBERS = (col("id", "bigint", nullable=False), col("x", "int"))
TEXTS = (col("id", "bigint", nullable=False), col("x", "string"))


@pytest.fixture(scope="module")
def ice(spark: SparkHandle) -> Lake:
    lake = Lake(IcebergBackend(spark), "ice_rewrite")
    spark.run("CREATE NAMESPACE IF NOT EXISTS ice.ice_rewrite")
    for row in spark.run("SHOW TABLES IN ice.ice_rewrite"):
        spark.run(f"DROP TABLE ice.ice_rewrite.`{row['tableName']}`")
    return lake


def numbers(ice: Lake, name: str) -> Table:
    ice.migrate(ice.table(name, *NUMBERS))
    ice.sql(f"INSERT INTO {ice.full(name)} VALUES (1, 10), (2, NULL)")
    return ice.table(name, *TEXTS)


def test_values_are_rebuilt_by_name_at_every_depth(ice: Lake) -> None:
    ice.migrate(
        ice.table(
            "values",
            col("id", "int"),
            col("i", "int", comment="number"),
            col("d", "decimal(38, 0)"),
            col("f", "double"),
            col("day", "date"),
            col("s", "struct<a: int, b: string, t: struct<x: int, y: int>>"),
            col("l", "array<struct<p: int, q: string>>"),
            col("m", "map<int, int>"),
            col("n", "string"),
            partition_by=("bucket(2, id)",),
            cluster_by=("id",),
            properties={"k": "v"},
            comment="kept",
        )
    )
    ice.sql(
        f"INSERT INTO {ice.full('values')} VALUES"
        " (1, 2147483647, 99999999999999999999999999999999999999, double('nan'), date'0001-01-01',"
        "  named_struct('a', 1, 'b', 'B', 't', named_struct('x', 1, 'y', 2)),"
        "  array(named_struct('p', 1, 'q', 'q'), NULL), map(1, 2), 'n'),"
        " (2, NULL, NULL, double('-0.0'), NULL, NULL, array(), map(), ''),"
        " (3, -1, -1, double('infinity'), date'9999-12-31',"
        "  named_struct('a', NULL, 'b', NULL, 't', NULL), NULL, NULL, 'n')"
    )
    wanted = ice.table(
        "values",
        col("id", "int", nullable=False),
        col("i", "string"),
        col("d", "string"),
        col("f", "double"),
        col("day", "timestamp_ntz"),
        col("s", "struct<t: struct<y: string, x: int>, a: double, bb: string>"),
        col("l", "array<struct<q: string, p: decimal(12, 2), r: int>>"),
        col("m", "map<bigint, string>"),
        col("n", "string", nullable=False),
        primary_key=("id",),
        partition_by=("bucket(2, id)",),
        cluster_by=("id",),
    )
    plan = ice.migrate(wanted, {("s", "bb"): Hint(renamed_from="b")})
    assert rungs(plan) == ["rewrite", "rewrite"]
    assert "F502" in codes(plan)
    assert plan.steps[1].confirm
    shown = (
        "id, i, d, CAST(f AS STRING), day, s.t.y, s.t.x, s.a, s.bb, l.q, l.p, l.r, m, n, s IS NULL"
    )
    none = (None,) * 4
    assert ice.rows("values", shown) == [
        (
            *(1, "2147483647", "9" * 38, "NaN", dt.datetime(1, 1, 1), "2", 1, 1.0, "B"),
            *(["q", None], [Decimal("1.00"), None], [None, None], {1: "2"}, "n", False),
        ),
        (2, None, None, "-0.0", None, *none, [], [], [], {}, "", True),
        (
            *(3, "-1", "-1", "Infinity", dt.datetime(9999, 12, 31), *none),
            *(None, None, None, None, "n", False),
        ),
    ]
    live = ice.live("values")
    assert (live.comment, live.properties["k"]) == ("kept", "v")
    assert live.column(("i",)).comment == "number"  # type: ignore[union-attr]
    old = ice.rows("values__instar_old_1", "id, i")
    assert old == [(1, 2147483647), (2, None), (3, -1)]
    assert ice.name("values__instar_old_1") not in ice.backend.list_tables("ice_rewrite")


def test_a_second_rewrite_has_its_own_names_and_files(ice: Lake) -> None:
    wanted = numbers(ice, "twice")
    ice.migrate(wanted)
    ice.migrate(
        ice.table(
            "twice",
            col("id", "bigint", nullable=False),
            col("x", "string", nullable=True),
            col("y", "int", nullable=False),
        ),
        {("y",): Hint(default="7")},
    )
    assert ice.rows("twice") == [(1, "10", 7), (2, None, 7)]
    assert ice.rows("twice__instar_old_1") == [(1, 10), (2, None)]
    assert ice.rows("twice__instar_old_2") == [(1, "10"), (2, None)]


def test_an_empty_table_is_rewritten(ice: Lake) -> None:
    ice.migrate(ice.table("empty", *NUMBERS))
    ice.migrate(ice.table("empty", *TEXTS))
    assert ice.rows("empty") == []


MOMENTS = [
    "copy:insert",
    "copy:insert-done",
    "copy:mark-done",
    "swap:rename-old",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_another_writer_appends_meanwhile_is_carried_over(
    ice: Lake, other: SparkHandle, moment: str
) -> None:
    name = "append_" + moment.replace(":", "_").replace("-", "_")
    wanted = numbers(ice, name)
    write = f"INSERT INTO {ice.full(name)} VALUES (3, 30), (4, NULL)"
    ice.migrate(wanted, failpoint=at(moment, lambda: other.run(write)))
    assert ice.rows(name) == [(1, "10"), (2, None), (3, "30"), (4, None)]


@pytest.mark.parametrize("moment", ["copy:mark-done", "swap:rename-old"])
def test_what_another_writer_deletes_and_updates_meanwhile_is_carried_over(
    ice: Lake, other: SparkHandle, moment: str
) -> None:
    name = "delete_" + moment.replace(":", "_").replace("-", "_")
    wanted = numbers(ice, name)

    def write() -> None:
        other.run(f"DELETE FROM {ice.full(name)} WHERE id = 1")
        other.run(f"UPDATE {ice.full(name)} SET x = 20 WHERE id = 2")
        other.run(f"INSERT INTO {ice.full(name)} VALUES (3, 30)")

    ice.migrate(wanted, failpoint=at(moment, write))
    assert ice.rows(name) == [(2, "20"), (3, "30")]


def test_rows_for_a_table_that_was_empty_are_carried_over(ice: Lake, other: SparkHandle) -> None:
    ice.migrate(ice.table("filled_late", *NUMBERS))
    write = f"INSERT INTO {ice.full('filled_late')} VALUES (1, 10)"
    ice.migrate(
        ice.table("filled_late", *TEXTS), failpoint=at("swap:rename-old", lambda: other.run(write))
    )
    assert ice.rows("filled_late") == [(1, "10")]


def test_between_the_two_names_a_writer_is_refused(ice: Lake, other: SparkHandle) -> None:
    wanted = numbers(ice, "between")
    refused: list[InstarError] = []

    def write() -> None:
        try:
            other.run(f"INSERT INTO {ice.full('between')} VALUES (3, 30)")
        except InstarError as error:
            refused.append(error)

    ice.migrate(wanted, failpoint=at("swap:rename-new", write))
    assert len(refused) == 1
    assert ice.rows("between") == [(1, "10"), (2, None)]


def test_a_writer_at_work_during_the_swap_either_fails_or_is_in_the_table(
    ice: Lake, other: SparkHandle
) -> None:
    wanted = numbers(ice, "at_work")
    told: list[str] = []

    def slowly() -> None:
        nap = "CAST(length(reflect('java.lang.Thread', 'sleep', 5000L)) AS BIGINT)"
        try:
            other.run(f"INSERT INTO {ice.full('at_work')} SELECT 3 + 0 * {nap}, 30 FROM range(1)")
            told.append("written")
        except InstarError:
            told.append("failed")

    writer = threading.Thread(target=slowly)
    ice.migrate(wanted, failpoint=at("swap:rename-old", writer.start))
    writer.join()
    late = [(3, "30")] if told == ["written"] else []
    assert ice.rows("at_work") == [(1, "10"), (2, None), *late]
    assert told in (["written"], ["failed"])


def test_a_value_that_arrives_meanwhile_and_does_not_fit_puts_the_table_back(
    ice: Lake, other: SparkHandle
) -> None:
    ice.migrate(ice.table("unfit", *TEXTS))
    ice.sql(f"INSERT INTO {ice.full('unfit')} VALUES (1, '10')")
    plan = ice.plan(ice.table("unfit", *NUMBERS))
    ice.run(plan.steps[0])
    write = f"INSERT INTO {ice.full('unfit')} VALUES (2, 'ten')"
    with pytest.raises(EngineError, match="does not survive"):
        ice.run(plan.steps[1], at("swap:rename-old", lambda: other.run(write)))
    assert ice.rows("unfit") == [(1, "10"), (2, "ten")]
    assert ice.backend.outcome(plan.steps[1], plan.live, {}) is Outcome.NOT_DONE


def test_columns_changed_meanwhile_put_the_table_back(ice: Lake, other: SparkHandle) -> None:
    wanted = numbers(ice, "altered")
    plan = ice.plan(wanted)
    ice.run(plan.steps[0])
    alter = f"ALTER TABLE {ice.full('altered')} ADD COLUMN y int"
    with pytest.raises(VerificationFailed, match="changed its columns"):
        ice.run(plan.steps[1], at("swap:rename-old", lambda: other.run(alter)))
    assert ice.rows("altered") == [(1, 10, None), (2, None, None)]


def test_a_copy_that_differs_is_not_swapped_in(ice: Lake, other: SparkHandle) -> None:
    wanted = numbers(ice, "differs")
    plan = ice.plan(wanted)
    forge = f"INSERT INTO {ice.full('differs__instar_new')} VALUES (1, '11')"
    with pytest.raises(VerificationFailed, match=r'3 rows.*only after: {"id":1,"x":"11"}'):
        ice.run(plan.steps[0], at("copy:insert-done", lambda: other.run(forge)))
    assert ice.backend.outcome(plan.steps[0], plan.live, {}) is Outcome.NOT_DONE
    assert ice.rows("differs") == [(1, 10), (2, None)]
    for step in plan.steps:
        ice.run(step)
    assert ice.rows("differs") == [(1, "10"), (2, None)]


def test_a_stranger_under_the_copys_name_is_left_alone(ice: Lake) -> None:
    wanted = numbers(ice, "taken")
    ice.sql(f"CREATE TABLE {ice.full('taken__instar_new')} (mine int) USING iceberg")
    with pytest.raises(EngineError, match="in the way"):
        ice.run(ice.plan(wanted).steps[0])
    assert ice.rows("taken") == [(1, 10), (2, None)]


def test_it_goes_on_after_a_crash_at_every_point(ice: Lake) -> None:
    wanted = numbers(ice, "crashes")
    plan = ice.plan(wanted)
    died = ice.survive(plan)
    assert {"copy:insert-done", "swap:rename-old-done", "swap:rename-new-done"} <= set(died)
    assert len(died) >= 9
    assert ice.rows("crashes") == [(1, "10"), (2, None)]
    assert plan.target is not None
    assert same_schema(ice.live("crashes"), plan.target)
    assert ice.backend.outcome(plan.steps[1], plan.live, {}) is Outcome.DONE
    properties = ice.sql(f"SHOW TBLPROPERTIES {ice.full('crashes')}")
    assert not [r for r in properties if r["key"].startswith("instar.")]


def test_it_goes_on_after_a_crash_between_the_names_with_rows_written_before(
    ice: Lake, other: SparkHandle
) -> None:
    """The rows came after the last catch-up, and the process died right after the first rename."""
    wanted = numbers(ice, "crash_late")
    plan = ice.plan(wanted)
    ice.run(plan.steps[0])
    write = f"INSERT INTO {ice.full('crash_late')} VALUES (3, 30)"

    def die() -> None:
        raise KeyboardInterrupt

    def reached(name: str) -> None:
        if name == "swap:rename-old":
            other.run(write)
        if name in ("swap:rename-old-done", "swap:insert-done"):
            die()

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            ice.run(plan.steps[1], reached)
        assert ice.backend.outcome(plan.steps[1], plan.live, {}) is Outcome.NOT_DONE
    ice.run(plan.steps[1])
    assert ice.rows("crash_late") == [(1, "10"), (2, None), (3, "30")]


def test_a_name_with_a_dot_is_looked_up_afresh_after_the_swap(ice: Lake) -> None:
    """The catalog's cache does not forget the metadata tables of such a name by itself."""
    ice.migrate(numbers(ice, "dot.ted"))
    assert ice.rows("dot.ted") == [(1, "10"), (2, None)]
