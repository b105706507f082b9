"""A session on the run's warm server: what it promises, how it fails, how it ends."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from instar.errors import EnvironmentProblem
from instar.spark import (
    SparkHandle,
    SparkSettings,
    SparkSqlError,
    adopt,
    connect,
    open_session,
    server_status,
)
from instar.spark.conf import USER_METADATA
from instar.spark.files import ServerFiles
from instar.spark.orders import read_ready

pytestmark = pytest.mark.spark

_ENDLESS = "SELECT count(*) FROM range(0, 100000000000) WHERE id * 3 % 7 = 1"


def command(root: Path, body: str) -> subprocess.CompletedProcess[str]:
    """Another command of the same project, with `spark` open in it."""
    text = (
        "from pathlib import Path\nimport sys\n"
        "from instar.spark import SparkSettings, open_session, server_status\n"
        "root = Path(sys.argv[1])\n"
        "spark = open_session(SparkSettings(root), note=print)\n"
    ) + textwrap.dedent(body)
    return subprocess.run(
        [sys.executable, "-c", text, str(root)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_meaning_of_a_statement_is_pinned(spark: SparkHandle) -> None:
    rows = spark.run("SET spark.sql.session.timeZone")
    assert rows[0].value == "UTC"
    with pytest.raises(SparkSqlError) as caught:
        spark.run("SELECT CAST('x' AS INT)")
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert spark.run("SELECT a FROM (SELECT 1 AS A)")[0][0] == 1
    assert (spark.delta_catalog, spark.iceberg_catalog) == ("spark_catalog", "ice")


@pytest.mark.usefixtures("spark")
def test_second_command_uses_the_same_server_and_leaves_quietly(spark_root: Path) -> None:
    before = server_status(spark_root)
    assert before is not None
    # Neither closed nor consumed: the end of the process must clean up without a word.
    body = "spark.sql('SELECT 1'); spark.run('SELECT 2'); print(server_status(root).pid)"
    done = command(spark_root, body)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{before.pid}\n", "")


def test_refused_statement_is_one_sentence_and_nothing_on_stderr(
    spark: SparkHandle, spark_root: Path
) -> None:
    with pytest.raises(SparkSqlError) as caught:
        spark.run("SELECT * FROM no_such_table")
    error = caught.value
    assert error.code == "E210"
    assert error.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert error.sqlstate == "42P01"
    assert error.message == (
        "[TABLE_OR_VIEW_NOT_FOUND] The table or view `no_such_table` cannot be found."
    )
    assert "\tat " not in error.detail
    body = """
        from instar.errors import EngineError
        try:
            spark.run('SELECT 1 / 0')
        except EngineError as error:
            print(error.message)
        spark.close()
        spark.close()
    """
    done = command(spark_root, body)
    assert (done.stdout, done.stderr) == ("[DIVIDE_BY_ZERO] Division by zero.\n", "")


def test_failed_task_tells_its_root_cause(spark: SparkHandle) -> None:
    spark.run("CREATE OR REPLACE TABLE root_cause (i INT) USING delta")
    with pytest.raises(SparkSqlError) as caught:
        spark.run("INSERT INTO root_cause SELECT CAST(1 / (id - 2) AS INT) FROM range(3)")
    assert caught.value.message.endswith("[DIVIDE_BY_ZERO] Division by zero.")
    spark.run("DROP TABLE root_cause")


def test_a_cause_without_a_name_is_told_in_its_words(spark: SparkHandle, tmp_path: Path) -> None:
    (junk := tmp_path / "junk.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(SparkSqlError, match="is not a Parquet file"), spark.errors():
        spark.session.read.schema("a INT").parquet(str(junk)).collect()


def test_interrupt_from_another_thread(spark: SparkHandle) -> None:
    threading.Timer(0.5, spark.interrupt).start()
    with pytest.raises(SparkSqlError) as caught:
        spark.run(_ENDLESS)
    assert caught.value.condition == "OPERATION_CANCELED"
    assert spark.run("SELECT 1")[0][0] == 1


def test_adopted_session_is_given_back_as_it_was(spark: SparkHandle) -> None:
    theirs, note = spark.session, "the job's own words"
    theirs.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    theirs.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    theirs.conf.set(USER_METADATA, note)
    try:
        with adopt(theirs) as ours:
            assert ours.run("SELECT current_timezone()")[0][0] == "UTC"
            assert ours.run("SELECT typeof(CAST(0 AS TIMESTAMP))")[0][0] == "timestamp"
            assert ours.run("SELECT '${env:HOME}'")[0][0] == "${env:HOME}"
            theirs.conf.unset(USER_METADATA)
            threading.Timer(0.5, ours.interrupt).start()
            with pytest.raises(SparkSqlError, match="OPERATION_CANCELED"):
                ours.run(_ENDLESS)
        assert theirs.sql("SELECT current_timezone()").collect()[0][0] == "Asia/Tokyo"
        assert theirs.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
        assert theirs.conf.get(USER_METADATA) == note
        assert not theirs.getTags()
    finally:
        theirs.conf.set("spark.sql.session.timeZone", "UTC")
        theirs.conf.set("spark.sql.timestampType", "TIMESTAMP_LTZ")
        theirs.conf.unset(USER_METADATA)


def test_closed_session_is_never_closed_again_when_collected(
    spark_root: Path, spark: SparkHandle
) -> None:
    handle = open_session(SparkSettings(spark_root), note=print)
    handle.run("SELECT 1")
    client = handle.session.client
    closed: list[int] = []
    real = client._channel.close
    client._channel.close = lambda: (closed.append(1), real())
    handle.close()
    del handle
    gc.collect()
    assert closed == [1]
    assert spark.run("SELECT 1")[0][0] == 1


def test_other_settings_are_refused_while_this_session_is_open(
    spark: SparkHandle, spark_root: Path
) -> None:
    other = SparkSettings(spark_root, conf=(("spark.sql.shuffle.partitions", "3"),))
    with pytest.raises(EnvironmentProblem) as caught:
        open_session(other, note=print)
    assert caught.value.code == "E205"
    assert spark.run("SELECT 1")[0][0] == 1


@pytest.mark.parametrize("token", ["", ";token=wrong"])
def test_token_is_asked_for(spark: SparkHandle, spark_root: Path, token: str) -> None:
    status = server_status(spark_root)
    assert status is not None
    url = f"sc://localhost:{status.port}/{token}"
    with pytest.raises(EnvironmentProblem) as caught:
        open_session(SparkSettings(spark_root, connect_url=url), note=print)
    assert caught.value.code == "E203"
    assert spark.run("SELECT 1")[0][0] == 1


def test_connect_url_with_conf_of_its_own(spark: SparkHandle, spark_root: Path) -> None:
    ready = read_ready(ServerFiles(spark_root))
    assert ready is not None
    settings = SparkSettings(
        spark_root,
        connect_url=f"sc://localhost:{ready.port}/;token={ready.token}",
        conf=(("spark.sql.shuffle.partitions", "7"),),
    )
    with open_session(settings, note=print) as remote:
        assert remote.run("SET spark.sql.shuffle.partitions")[0].value == "7"
        assert remote.run("SET spark.sql.ansi.enabled")[0].value == "true"
    assert spark.run("SET spark.sql.shuffle.partitions")[0].value != "7"


def test_token_over_tls_by_mistake_fails_within_seconds(
    spark: SparkHandle, spark_root: Path
) -> None:
    ready = read_ready(ServerFiles(spark_root))
    assert ready is not None
    url = f"sc://127.0.0.1:{ready.port}/;token={ready.token}"
    with pytest.raises(EnvironmentProblem, match=f"127.0.0.1:{ready.port}") as caught:
        open_session(SparkSettings(spark_root, connect_url=url), note=print)
    assert caught.value.code == "E202"
    assert ready.token not in caught.value.message + (caught.value.hint or "")
    assert spark.run("SELECT 1")[0][0] == 1


def test_unreachable_and_malformed_addresses(tmp_path: Path) -> None:
    """A client that retries for ever is ended by the suite's own limit for a test."""
    for url in ("sc://localhost:1", "sc://no-such-host.invalid:15002", "http://localhost"):
        with pytest.raises(EnvironmentProblem) as caught:
            open_session(SparkSettings(tmp_path, connect_url=url), note=print)
        assert caught.value.code == "E202"


def test_classic_session_beside_an_open_connect_session_is_refused(
    spark: SparkHandle, tmp_path: Path
) -> None:
    assert spark.run("SELECT 1")[0][0] == 1
    with pytest.raises(EnvironmentProblem) as caught:
        open_session(SparkSettings(tmp_path, master="local[1]"), note=print)
    assert caught.value.code == "E207"


def test_functions_of_pyspark_follow_the_open_session(spark: SparkHandle) -> None:
    from pyspark.sql import functions as F

    assert spark.session.range(2).select(F.max("id")).collect()[0][0] == 1
    assert spark.session in connect._open
