"""Delta's rewrite: what it keeps, how it meets another writer, and what a crash leaves behind."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal as D
from pathlib import Path

import pytest

from backends.spark.helpers import Bench, column, columns, hinted
from instar.backends.base import Outcome
from instar.backends.spark.delta import DeltaBackend
from instar.core.plan import Rung, Status
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Table
from instar.errors import VerificationFailed
from instar.spark import SparkHandle, SparkSettings, SparkSqlError, open_session

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def bench(spark: SparkHandle) -> Iterator[Bench]:
    schema = "delta_rewrite"
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.run(f"CREATE SCHEMA {schema}")
    yield Bench(DeltaBackend(spark), spark, schema)
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_everything_at_once_and_everything_kept(bench: Bench) -> None:
    first = Table(
        bench.name("all"),
        (
            column("id", "!bigint", comment="the key"),
            column("f", "float"),
            column("code", "string"),
            column("full_name", "string"),
            column("s", "struct<x: string, v: varchar(4), old: int>"),
            column("m", "map<string, int>"),
            column("day", "string"),
            column("gone", "int"),
            column("note", "string", comment="goes"),
            column("n", "int", default="5"),
        ),
        primary_key=("id",),
        constraints=(Check("short", "length(code) < 5"), Check("other", "id > 0")),
        cluster_by=("id",),
        properties={"team": "me"},
        comment="kept",
    )
    bench.apply(first)
    bench.sql(
        "INSERT INTO {s}.all VALUES (1, 1.1F, '7', 'Ada Lovelace', named_struct('x', '5', 'v', 'abcd',"
        " 'old', 1), map('1', 1), '2020-01-01', 0, 'n', 9), (2, NULL, NULL, 'Cher', NULL, NULL, NULL, 0, NULL, 9)"
    )
    identity = bench.live("all").extras["id"]
    then = Table(
        bench.name("all"),
        (
            column("day", "date"),
            column("id", "!bigint", comment="the key"),
            column("f", "double", comment="wide"),
            column("code", "int", default="0"),
            column("first_name", "!varchar(10)"),
            column("s", "struct<new: bigint, x: int COMMENT 'inner', v: varchar(6)>"),
            column("m", "map<int, decimal(10,1)>"),
            column("note", "string"),
            column("n", "int"),
        ),
        primary_key=("id",),
        constraints=(Check("short", "code < 5000"), Check("other", "id > 0")),
        cluster_by=("day",),
        properties={"team": "me"},
        comment="kept",
    )
    wanted = hinted(
        then,
        first_name=Hint(using="split_part(full_name, ' ', 1)"),
        s__new=Hint(renamed_from="old"),
    )
    assert bench.plan(wanted, Policy()).status is Status.BLOCKED
    plan = bench.apply(wanted)
    rewrite = next(s for s in plan.steps if s.kind == "rewrite")
    assert (rewrite.rung, rewrite.destructive) == (Rung.REWRITE, True)
    assert "skip rows" in (rewrite.why_not_cheaper or "")
    rows = bench.rows("all", "CAST(day AS STRING), id, f, code, first_name, s, m, note, n", "id")
    assert rows == [
        ("2020-01-01", 1, 1.100000023841858, 7, "Ada", (1, 5, "abcd"), {1: D("1.0")}, "n", 9),
        (None, 2, None, None, "Cher", None, None, None, 9),
    ]
    live = bench.live("all")
    assert live.extras["id"] == identity
    assert live.cluster_by == ("day",)
    # The trap of a float that was only widened: these rows must be found.
    assert bench.rows("all", "count_if(f > 1.1D)") == [(1,)]
    found = bench.spark.run(f"SELECT id FROM {bench.schema}.all WHERE f = 1.100000023841858D")
    assert [r["id"] for r in found] == [1]
    for bad in ("id, code) VALUES (NULL, 1", "id, code) VALUES (3, 9000", "id) VALUES (3"):
        with pytest.raises(Exception, match=r"constraint|violat"):
            bench.sql(f"INSERT INTO {{s}}.all ({bad})")


def test_a_limit_of_text_that_changes_beside_a_rewrite_is_kept(bench: Bench) -> None:
    """Given by the frame's schema alone it breaks Spark's plan."""
    old = columns(id="int", n="string", wider="varchar(5)", made="int")
    bench.apply(Table(bench.name("limits"), old))
    bench.sql("INSERT INTO {s}.limits VALUES (1, '7', 'ab', 12)")
    new = columns(id="int", n="int", wider="varchar(8)", made="varchar(4)")
    bench.apply(Table(bench.name("limits"), new))
    assert bench.rows("limits") == [(1, 7, "ab", "12")]


def test_a_limit_alone_is_put_on_text_that_is_there(bench: Bench) -> None:
    """No ALTER does; the overwrite takes it from the frame's schema, and Delta holds writers to it."""
    old = columns(id="int", a="string", b="varchar(9)", c="string")
    bench.apply(Table(bench.name("limited"), old))
    bench.sql("INSERT INTO {s}.limited VALUES (1, 'abcd', 'xy', 'c'), (2, NULL, NULL, NULL)")
    new = columns(id="int", a="varchar(3)", b="varchar(2)", c="char(2)")
    wish = Table(bench.name("limited"), new)
    (finding,) = [f for f in bench.plan(wish).findings if f.code == "F201"]
    assert (finding.path, finding.count) == (("a",), 1)
    bench.sql("UPDATE {s}.limited SET a = 'abc' WHERE id = 1")
    bench.apply(wish)
    assert bench.rows("limited", "id, a, b, rtrim(c)") == [(1, "abc", "xy", "c"), (2, *[None] * 3)]
    for bad in ("'abcd', NULL, NULL", "NULL, 'xyz', NULL", "NULL, NULL, 'ccc'"):
        with pytest.raises(SparkSqlError, match="EXCEED_CHAR_VARCHAR_LIMIT"):
            bench.sql(f"INSERT INTO {{s}}.limited VALUES (3, {bad})")


def test_a_plain_table_is_rewritten_as_a_plain_table(bench: Bench) -> None:
    """One made by others, without column mapping: its protocol stays as it is."""
    bench.sql("CREATE TABLE {s}.plain (id INT, a INT, b INT, gone INT) USING delta")
    bench.sql("INSERT INTO {s}.plain VALUES (1, 2, 3, 4)")
    before = bench.live("plain").extras.get("features")
    wish = Table(bench.name("plain"), columns(id="bigint", c="int", b="string"))
    bench.apply(hinted(wish, c=Hint(renamed_from="a")))
    assert bench.rows("plain") == [(1, 2, "3")]
    assert bench.live("plain").extras.get("features") == before


def test_values_that_would_be_lost_block_the_plan_with_their_rows(bench: Bench) -> None:
    bench.apply(
        Table(
            bench.name("lossy"),
            columns(id="!int", a="string", m="map<string, int>", xs="array<double>"),
        )
    )
    bench.sql(
        "INSERT INTO {s}.lossy VALUES (1, '12', map('1', 1), array(1.0)), (2, 'x', map('1', 1, '01', 2), NULL),"
        " (3, NULL, NULL, array(1.5, double('NaN'))), (4, '13', NULL, array())"
    )
    then = Table(
        bench.name("lossy"), columns(id="!int", a="int", m="map<int, int>", xs="array<int>")
    )
    plan = bench.plan(then)
    found = {
        f.path: (f.count, [w["id"] for w in f.witnesses]) for f in plan.findings if f.code == "F201"
    }
    assert found == {("a",): (1, ["2"]), ("m", "key"): (1, ["2"]), ("xs", "element"): (1, ["3"])}
    assert next(f for f in plan.findings if f.path == ("a",)).witnesses == ({"id": "2", "a": "x"},)
    bench.sql("DELETE FROM {s}.lossy WHERE id IN (2, 3)")
    bench.apply(then)
    assert bench.rows("lossy") == [(1, 12, {1: 1}, [1]), (4, 13, None, [])]


def test_partitions_change_by_a_rewrite_and_may_become_clustering(bench: Bench) -> None:
    first = Table(
        bench.name("parts"), columns(id="!int", a="string", b="string"), partition_by=("a",)
    )
    bench.apply(first)
    bench.sql("INSERT INTO {s}.parts VALUES (1, 'x', 'y'), (2, NULL, 'z')")
    bench.apply(replace(first, partition_by=("b",)))
    assert bench.live("parts").partition_by == ("b",)
    bench.apply(replace(first, partition_by=(), cluster_by=("a",)))
    live = bench.live("parts")
    assert (live.partition_by, live.cluster_by) == ((), ("a",))
    assert bench.rows("parts") == [(1, "x", "y"), (2, None, "z")]


def signal(name: str) -> str:
    """SQL that raises a flag in the engine's own process, which both sessions share."""
    return f"java_method('java.lang.System', 'setProperty', '{name}', 'yes')"


def seen(name: str) -> str:
    return f"java_method('java.lang.System', 'getProperty', '{name}') = 'yes'"


def test_a_row_that_another_session_appends_meanwhile_is_kept(
    bench: Bench, spark_root: Path
) -> None:
    """The overwrite waits, in the middle of its transaction, until the other commit is there."""
    bench.apply(Table(bench.name("busy"), columns(id="!int", n="int")))
    bench.sql("INSERT INTO {s}.busy VALUES (1, 10)")
    plan = bench.plan(Table(bench.name("busy"), columns(id="!int", n="string")))
    run = uuid.uuid4().hex
    waited = (
        f"{signal(f'{run}.started')} IS NULL OR CASE WHEN {seen(f'{run}.go')} THEN TRUE"
        " ELSE java_method('java.lang.Thread', 'sleep', 100L) IS NULL END"
    )
    wait = f"SELECT count_if(x) FROM (SELECT {waited} AS x FROM range(0, 300, 1, 1))"

    def append() -> None:
        with open_session(SparkSettings(spark_root), note=lambda _: None) as other:
            for _ in range(300):
                if other.run(f"SELECT {seen(f'{run}.started')} AS s")[0]["s"]:
                    break
                time.sleep(0.2)
            other.run(f"INSERT INTO {bench.schema}.busy VALUES (2, 20)")
            other.run(f"SELECT {signal(f'{run}.go')}")

    writer = threading.Thread(target=append, daemon=True)
    attempts: list[None] = []
    bench.points |= {"rewrite:pinned": writer.start}
    for step in plan.steps:
        if step.kind == "rewrite":
            step = replace(step, sql=(f"{step.sql[0]} WHERE ({wait}) >= 0",))
        bench.run(step, CountingMemo(attempts))
    writer.join()
    assert bench.rows("busy") == [(1, "10"), (2, "20")]
    assert len(attempts) == 2, "the first attempt met the other writer, the second one saw its row"


class CountingMemo(dict[str, str]):
    """Counts the versions that a rewrite pins: one for each attempt."""

    def __init__(self, attempts: list[None]) -> None:
        super().__init__()
        self.attempts = attempts

    def __setitem__(self, key: str, value: str) -> None:
        super().__setitem__(key, value)
        if key == "version":
            self.attempts.append(None)


def test_a_rewrite_that_loses_a_row_is_undone_and_names_it_by_its_key(bench: Bench) -> None:
    """Rows are compared by their hash: a map cannot be compared otherwise."""

    def table(number: str) -> Table:
        made = columns(id="!int", n=number, m="map<string, double>")
        return Table(bench.name("wrong"), made, primary_key=("id",))

    bench.apply(table("int"))
    bench.sql("INSERT INTO {s}.wrong VALUES (1, 10, map('k', 1)), (2, 20, map('k', 2, 'l', NULL))")
    plan = bench.plan(table("string"))
    *before, rewrite = plan.steps
    for step in before:
        bench.run(step)
    with pytest.raises(VerificationFailed, match=r'checksum.*only before: {"id":2}$'):
        bench.run(replace(rewrite, sql=(f"{rewrite.sql[0]} WHERE id = 1",)))
    assert bench.rows("wrong", "id, n") == [(1, 10), (2, 20)]
    bench.run(rewrite)
    assert bench.rows("wrong", "id, n") == [(1, "10"), (2, "20")]


def test_the_table_tells_what_became_of_a_step(bench: Bench) -> None:
    """After a crash only the memo is left: the marks in the table's history answer."""
    bench.apply(Table(bench.name("crash"), columns(id="!int", n="int", a="string", b="string")))
    bench.sql("INSERT INTO {s}.crash VALUES (1, 10, 'a', 'b')")
    swap = hinted(
        Table(bench.name("crash"), columns(id="!int", n="string", a="string", b="string")),
        a=Hint(renamed_from="b"),
        b=Hint(renamed_from="a"),
    )
    outcome = bench.backend.outcome
    for step in bench.plan(swap).steps:
        before = bench.live("crash")
        assert outcome(step, before, {}) is Outcome.NOT_DONE
        assert outcome(step, before, {"mark": "never"}) is Outcome.NOT_DONE
        memo = bench.run(step)
        assert outcome(step, before, memo) is Outcome.DONE
    assert bench.rows("crash") == [(1, "10", "b", "a")]
    with pytest.raises(VerificationFailed, match="columns changed"):
        bench.run(bench.ran[-1])


def test_an_interrupted_step_is_told_by_the_point_where_it_stopped(bench: Bench) -> None:
    bench.apply(Table(bench.name("stop"), columns(id="!int", n="int")))
    bench.sql("INSERT INTO {s}.stop VALUES (1, 10)")
    plan = bench.plan(Table(bench.name("stop"), columns(id="!int", n="string")))
    for step in plan.steps[:-1]:
        bench.run(step)
    before, rewrite = bench.live("stop"), plan.steps[-1]
    for point, told in (("rewrite:pinned", Outcome.NOT_DONE), ("rewrite:committed", Outcome.DONE)):
        memo: dict[str, str] = {}
        bench.points[point] = stop
        with pytest.raises(Stopped):
            bench.run(rewrite, memo)
        assert bench.backend.outcome(rewrite, before, memo) is told
    assert bench.rows("stop") == [(1, "10")]


class Stopped(Exception):
    pass


def stop() -> None:
    raise Stopped
