"""The test bed itself: it answers as the service was recorded to, and a violation of a limit fails."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from backends.dsql.bed import DsqlBed

Client = psycopg.Connection[tuple[object, ...]]

RECORDED = [
    line.split(" ", 1)
    for line in Path(__file__).with_name("recorded.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]
TABLES = """CREATE TABLE parent (id uuid PRIMARY KEY, name text)
INSERT INTO parent VALUES ('00000000-0000-0000-0000-0000000000aa', 'seed')
CREATE TABLE child (id int PRIMARY KEY, parent_id uuid REFERENCES parent (id))
CREATE TABLE free (a text, b text)
CREATE TABLE free2 (parent_id uuid)
CREATE TABLE keyed (id int PRIMARY KEY, v int)
CREATE TABLE bulk (id int)
CREATE TABLE waiting (parent_id uuid)
ALTER TABLE waiting ADD CONSTRAINT waits FOREIGN KEY (parent_id) REFERENCES parent (id) NOT VALID"""


def answer(client: Client, statements: list[str]) -> str:
    """The SQLSTATE of the last statement."""
    said = "none"
    for statement in statements:
        try:
            client.execute(statement.replace("&&", ";"))
            said = "ok"
        except psycopg.Error as error:
            said = error.sqlstate or "?"
    return said


@pytest.fixture(scope="module")
def schema(bed: DsqlBed) -> str:
    bed.limit()
    bed.conflict()
    with psycopg.connect(bed.url(), autocommit=True) as sql:
        sql.execute("CREATE SCHEMA recorded")
    return "recorded"


def test_it_agrees_with_every_recorded_answer(bed: DsqlBed, schema: str) -> None:
    wrong = []
    for expected, line in RECORDED:
        with psycopg.connect(bed.inside(), autocommit=True) as service:
            service.execute(f"DROP SCHEMA {schema} CASCADE")
            service.execute("DROP SCHEMA IF EXISTS recorded_schema")
        with psycopg.connect(bed.url(), autocommit=True) as client:
            client.execute(f"CREATE SCHEMA {schema}")
            client.execute(f"SET search_path = {schema}")
            for statement in TABLES.splitlines():
                client.execute(statement)
            said = answer(client, [s.strip() for s in line.split(" ; ")])
        if said != expected:
            wrong.append(f"{line}: {said}, not {expected}")
    assert wrong == [], f"{len(RECORDED) - len(wrong)} of {len(RECORDED)} agree"


def fails(client: Client, code: str, *statements: str) -> None:
    assert answer(client, list(statements)) == code
    client.execute("ROLLBACK")


def test_rows_of_a_transaction_are_counted_over_its_statements(client: Client) -> None:
    client.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    client.execute("INSERT INTO t SELECT i FROM generate_series(1, 2000) AS i")
    fails(
        client,
        "54000",
        "BEGIN",
        "UPDATE t SET v = 'x' WHERE id <= 1500",
        "DELETE FROM t WHERE id > 1500",
        "INSERT INTO t SELECT i FROM generate_series(3000, 4000) AS i",
    )
    assert client.execute("SELECT count(*), count(v) FROM t").fetchall() == [(2000, 0)]


def test_bytes_of_a_transaction_are_counted(client: Client) -> None:
    client.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    wide = "INSERT INTO t SELECT i, repeat('x', 1000000) FROM generate_series({}, {}) AS i"
    fails(client, "54000", "BEGIN", wide.format(1, 5), wide.format(6, 11))
    assert answer(client, [wide.format(1, 9)]) == "ok"
    fails(client, "54000", "INSERT INTO t VALUES (99, repeat('x', 3000000))")


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN v TYPE varchar(9)",
        "ALTER TABLE t ADD COLUMN w int DEFAULT 1",
        "ALTER TABLE t DROP CONSTRAINT c",
        "CREATE INDEX i ON t (v)",
        "COMMENT ON COLUMN t.v IS 'said'",
        "LOCK TABLE t",
        "SELECT pg_advisory_lock(1)",
        "SELECT tgname FROM pg_trigger",
    ],
)
def test_what_the_service_has_not_is_refused(client: Client, statement: str) -> None:
    client.execute("CREATE TABLE t (id int PRIMARY KEY, v text, CONSTRAINT c CHECK (id > 0))")
    fails(client, "0A000", statement)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ALTER COLUMN v DROP NOT NULL",
        "ALTER TABLE t ALTER COLUMN v SET DEFAULT 'x'",
        "ALTER TABLE t RENAME COLUMN v TO w",
        "ALTER TABLE t RENAME CONSTRAINT c TO d",
        "ALTER TABLE t RENAME TO u",
        "ALTER INDEX t_pkey RENAME TO p",
        "COMMENT ON TABLE t IS 'said'",
        "GRANT SELECT ON t TO PUBLIC",
    ],
)
def test_what_it_has_is_done(client: Client, statement: str) -> None:
    client.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text NOT NULL, CONSTRAINT c CHECK (id > 0))"
    )
    assert answer(client, [statement]) == "ok"


def test_an_index_is_valid_when_its_job_has_ended(client: Client) -> None:
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass"
    client.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    job = client.execute("CREATE INDEX ASYNC i ON t (v)").fetchall()
    status = "SELECT status FROM sys.jobs WHERE job_id = %s"
    assert client.execute(status, job[0]).fetchall() == [("processing",)]
    assert client.execute(valid).fetchall() == [(False,)]
    assert client.execute(status, job[0]).fetchall() == [("completed",)]
    assert client.execute(valid).fetchall() == [(True,)]


def test_jobs_fail_by_their_rows(client: Client) -> None:
    client.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    client.execute("INSERT INTO t VALUES (1, 7), (2, 7)")
    client.execute("ALTER TABLE t ADD CONSTRAINT c CHECK (v > 9) NOT VALID")
    jobs = [
        client.execute("CREATE UNIQUE INDEX ASYNC i ON t (v)").fetchall()[0][0],
        client.execute("ALTER TABLE ASYNC t VALIDATE CONSTRAINT c").fetchall()[0][0],
    ]
    client.execute("SELECT * FROM sys.jobs")
    seen = client.execute("SELECT status, details FROM sys.jobs WHERE job_id = ANY(%s)", [jobs])
    assert [(status, bool(details)) for status, details in seen] == [("failed", True)] * 2
    assert client.execute(
        "SELECT convalidated FROM pg_constraint WHERE conname = 'c' AND conrelid = 't'::regclass"
    ).fetchall() == [(False,)]


def test_conflicts_come_at_the_commit_and_leave_nothing(bed: DsqlBed, client: Client) -> None:
    client.execute("CREATE TABLE t (id int PRIMARY KEY)")
    bed.conflict(commits=1, ddl=1)
    client.execute("BEGIN")
    client.execute("INSERT INTO t VALUES (1)")
    assert answer(client, ["COMMIT"]) == "40001"
    assert answer(client, ["ALTER TABLE t ADD COLUMN v int"]) == "40001"
    assert bed.conflicts_left() == (0, 0)
    assert client.execute("SELECT * FROM t").fetchall() == []
    assert answer(client, ["INSERT INTO t VALUES (1)", "ALTER TABLE t ADD COLUMN v int"]) == "ok"
