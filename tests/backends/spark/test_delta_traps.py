"""Delta's traps on the real engine: what it says OK to and means otherwise, and what can never be undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.spark.helpers import Bench, column, columns, hinted
from instar.apply.questions import QuestionKind, questions
from instar.backends.spark.delta import DeltaBackend
from instar.core.plan import Plan, Rung, Status
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Table
from instar.errors import EngineError
from instar.spark import SparkHandle, SparkSqlError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def bench(spark: SparkHandle) -> Iterator[Bench]:
    schema = "delta_traps"
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.run(f"CREATE SCHEMA {schema}")
    yield Bench(DeltaBackend(spark), spark, schema)
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_generated_and_identity_columns_are_seen_and_never_lost(bench: Bench) -> None:
    bench.sql(
        "CREATE TABLE {s}.made (id BIGINT GENERATED ALWAYS AS IDENTITY, n INT, m INT GENERATED ALWAYS AS"
        " (n + 1), o INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    bench.sql("INSERT INTO {s}.made (n, o) VALUES (1, 2)")
    live = bench.live("made")
    assert [c.generated for c in live.columns] == ["IDENTITY", None, "n + 1", None]

    def refused(*wish: str, **hints: Hint) -> str:
        types = dict(entry.split() for entry in wish)
        plan = bench.plan(hinted(Table(bench.name("made"), columns(**types)), **hints))
        assert plan.status is Status.BLOCKED
        return " ".join(f.message for f in plan.findings if f.code == "F601")

    own = "belongs to the generated column 'm'"
    assert own in refused("id bigint", "k int", "m int", "o int", k=Hint(renamed_from="n"))
    assert own in refused("id bigint", "m int", "o int")
    assert own in refused("id bigint", "n bigint", "m int", "o int")
    assert own in refused("id bigint", "n int", "m bigint", "o int")
    assert "generated column 'id'" in refused("id decimal(20,0)", "n int", "m int", "o int")
    assert "lose the generated columns" in refused("id bigint", "n int", "m int", "o string")
    # Beside them the table goes on as any other.
    bench.apply(Table(bench.name("made"), columns(id="bigint", n="int", m="int", p="string")))
    bench.sql("INSERT INTO {s}.made (n, p) VALUES (5, 'x')")
    rows = bench.rows("made", "n, m, p, id > 0", "n")
    assert rows == [(1, 2, None, True), (5, 6, "x", True)]


def test_what_a_failed_create_left_in_the_way_is_named(bench: Bench) -> None:
    with pytest.raises(SparkSqlError):
        bench.sql("CREATE TABLE {s}.staged (id INT DEFAULT 5) USING delta")
    plan = bench.plan(Table(bench.name("staged"), (column("id", "int", default="5"),)))
    with pytest.raises(
        EngineError, match=r"its folder \S*/delta_traps.db/staged is not empty"
    ) as caught:
        bench.run(plan.steps[0])
    assert caught.value.code == "E216"


def test_features_that_stay_for_ever_are_said_and_asked_for(bench: Bench) -> None:
    """VARIANT is switched on by Delta without a word; a struct never loses its last field on the way."""
    bench.sql("CREATE TABLE {s}.forever (id INT, n INT, s STRUCT<a: INT>) USING delta")
    bench.sql("INSERT INTO {s}.forever VALUES (1, NULL, named_struct('a', 1)), (2, 5, NULL)")
    wish = Table(
        bench.name("forever"),
        columns(id="int", n="int", s="struct<b: int NOT NULL>", v="variant", t="timestamp_ntz"),
        constraints=(Check("small", "n < 10"),),
    )
    wanted = hinted(wish, s__b=Hint(default="7"))
    plan = bench.plan(wanted)
    said = " ".join(f.message for f in plan.findings if f.code == "F502")
    for feature in ("variantType", "timestampNtz"):
        assert f"the table feature {feature} is switched on and can never be removed" in said
    asked = [q.kind for q in questions(Plan("dev", Policy(), (plan,)))]
    assert QuestionKind.IRREVERSIBLE in asked
    bench.apply(wanted)
    # By SQL's rule, not by Delta's: NULL is no violation, and a NULL struct lacks no field.
    bench.sql("INSERT INTO {s}.forever (id) VALUES (3)")
    assert bench.rows("forever") == [
        (1, None, (7,), None, None),
        (2, 5, None, None, None),
        (3, None, None, None, None),
    ]
    for bad in ("(4, 11, NULL)", "(4, 1, named_struct('b', CAST(NULL AS INT)))"):
        with pytest.raises(SparkSqlError, match="constraint"):
            bench.sql(f"INSERT INTO {{s}}.forever (id, n, s) VALUES {bad}")


def test_a_float_that_became_a_double_is_found_wherever_it_lies(bench: Bench) -> None:
    """By metadata alone DELETE takes no row, min() gives the short text, and filters skip the file."""
    bench.apply(Table(bench.name("floats"), columns(id="int", f="float", s="struct<f: float>")))
    bench.sql("INSERT INTO {s}.floats VALUES (1, 1.1F, named_struct('f', 1.1F))")
    wide = Table(bench.name("floats"), columns(id="int", f="double", s="struct<f: double>"))
    plan = bench.apply(wide)
    assert max(s.rung.height for s in plan.steps) == Rung.REWRITE.height
    exact = "1.100000023841858D"
    where = f"f = {exact} AND f > 1.1D AND s.f = {exact} AND s.f > 1.1D"
    assert bench.spark.run(f"SELECT count(*) AS n FROM {bench.schema}.floats WHERE {where}")[0].n
    assert bench.rows("floats", "min(f), min(s.f)") == [(1.100000023841858, 1.100000023841858)]
    bench.sql(f"DELETE FROM {{s}}.floats WHERE s.f = {exact}")
    assert bench.rows("floats") == []


def test_a_range_of_the_change_feed_reaches_over_what_the_plan_says(bench: Bench) -> None:
    first = Table(bench.name("fed"), columns(id="int", n="int"), change_tracking=True)
    bench.apply(first)
    bench.sql("INSERT INTO {s}.fed VALUES (1, 1)")

    def feed(since: int) -> int:
        text = f"SELECT count(*) AS n FROM table_changes('{bench.schema}.fed', {since})"
        return int(bench.spark.run(text)[0]["n"])

    def notes(plan: object) -> str:
        return " ".join(f.message for f in plan.findings if f.code == "F502")  # type: ignore[attr-defined]

    added = bench.apply(Table(bench.name("fed"), columns(id="int", n="int", a="int")))
    assert "change feed" not in notes(added)
    assert feed(0) == 1
    widened = bench.apply(Table(bench.name("fed"), columns(id="int", n="bigint", a="int")))
    assert "readers of the change feed must start again after it" in notes(widened)
    with pytest.raises(SparkSqlError, match="DELTA_CHANGE_DATA_FEED_INCOMPATIBLE"):
        feed(0)
    now = bench.spark.run(f"DESCRIBE HISTORY {bench.schema}.fed LIMIT 1")[0]["version"]
    bench.sql("INSERT INTO {s}.fed VALUES (2, 2, 2)")
    assert feed(int(now) + 1) == 1


def test_instants_and_wall_clocks_do_not_depend_on_the_zone_of_a_session(
    bench: Bench, other: SparkHandle
) -> None:
    """In Paris 10:00 is 08:00 UTC; Instar's own session is pinned to UTC, whatever a writer's is."""
    bench.apply(Table(bench.name("zones"), columns(id="int", at="timestamp", ntz="timestamp_ntz")))
    other.session.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    try:
        other.run(
            f"INSERT INTO {bench.schema}.zones VALUES (1, TIMESTAMP'2020-07-01 10:00:00',"
            " TIMESTAMP_NTZ'2020-07-01 10:00:00')"
        )
        turned = columns(id="int", at="timestamp_ntz", ntz="timestamp")
        bench.apply(Table(bench.name("zones"), turned))
        shown = (
            f"SELECT CAST(at AS STRING) AS a, CAST(ntz AS STRING) AS n FROM {bench.schema}.zones"
        )
        assert tuple(other.run(shown)[0]) == ("2020-07-01 08:00:00", "2020-07-01 12:00:00")
    finally:
        other.session.conf.set("spark.sql.session.timeZone", "UTC")
    assert tuple(bench.spark.run(shown)[0]) == ("2020-07-01 08:00:00", "2020-07-01 10:00:00")
