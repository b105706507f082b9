"""A value that the clock or chance decides is refused before anything runs, in every dialect, at any depth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from instar.backends.registry import rules_for
from instar.core.findings import Severity
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column, String

T = TableName("main", "t")
A, B = Column("a", String()), Column("b", String())
ENGINES = {
    "duckdb": ("duckdb", ""),
    "postgres": ("postgres", ""),
    "dsql": ("dsql", ""),
    "delta": ("spark", "delta"),
    "iceberg": ("spark", "iceberg"),
    "parquet": ("spark", "parquet"),
}
POSTGRES = {
    "clock": """now() | current_date | CURRENT_TIMESTAMP(3) | current_time | localtime | localtimestamp
        | statement_timestamp() | pg_catalog.now() | 'today'::date | date 'tomorrow' | CAST(' Now ' AS timestamptz)
        | age(timestamp '2020-01-01') | upper(a || current_date) | extract(epoch FROM now()) | current_user
        | user | current_role | CASE WHEN now() > '2020-01-01' THEN a END""",
    "chance": """random() | random(1, 10) | gen_random_uuid() | uuidv7() | clock_timestamp() | nextval('s')
        | coalesce(a, random()::text) | (ARRAY[random()])[1] | array_shuffle(ARRAY[1, 2]) | "random"()
        | make_interval(days => (random() * 10)::int) | a IN (random()::text) | NOT random() > 0.5""",
    "neither": """a | upper(a) | 'now' | '2020-01-01'::date | age(timestamp '2020-01-01', timestamp '2019-01-01')
        | "user" | a = 'today' | 'random()' | a::timestamptz""",
}
SPARK = {
    "clock": """now() | current_date | current_date() | current_timestamp | curdate() | localtimestamp
        | localtimestamp() | unix_timestamp() | DATE 'today' | TIMESTAMP 'now' | current_user() | user()
        | upper(concat(a, CAST(current_date() AS STRING))) | datediff(now(), a) | session_user""",
    "chance": """rand() | rand(5) | randn() | random() | uuid() | randstr(5) | uniform(1, 5) | `rand`()
        | shuffle(array(1, 2)) | monotonically_increasing_id() | input_file_name() | system.builtin.rand()
        | coalesce(a, CAST(rand() AS STRING)) | transform(array(1), x -> rand()) | named_struct('a', uuid())
        | if(rand() > 0.5, 1, 2) | rand() BETWEEN 0 AND 1 | reflect('java.util.UUID', 'randomUUID')""",
    "neither": "a | upper(a) | 'now' | DATE '2020-01-01' | unix_timestamp(a) | `localtimestamp` | 'rand()'",
}
SAID = {
    "duckdb": {
        "clock": """now() | current_date | CURRENT_TIMESTAMP | current_time | localtime | localtimestamp
            | today() | get_current_timestamp() | transaction_timestamp() | current_localtimestamp()
            | age(TIMESTAMP '2020-01-01') | strftime(now(), '%Y') | date_part('year', current_date)
            | upper(concat(a, CAST(current_date AS VARCHAR))) | (SELECT now())""",
        "chance": """random() | uuid() | gen_random_uuid() | uuidv7() | nextval('s') | main.random() | [uuid()]
            | coalesce(a, CAST(random() AS VARCHAR)) | list_transform([1], lambda x: random()) | {'k': uuid()}
            | MAP {'k': random()} | CASE WHEN random() > 0.5 THEN 1 END | (SELECT random())
            | a LIKE CAST(uuid() AS VARCHAR) | random() BETWEEN 0 AND 1""",
        "neither": """a | upper(a) | 'now' | DATE '2020-01-01' | 'random()'
            | age(TIMESTAMP '2020-01-01', TIMESTAMP '2019-01-01')""",
    },
    "postgres": POSTGRES,
    "dsql": POSTGRES,
    "delta": SPARK,
    "iceberg": SPARK,
    "parquet": SPARK,
}
CASES = [
    (engine, kind, sql.strip())
    for engine, kinds in SAID.items()
    for kind, text in kinds.items()
    for sql in text.split(" | ")
]


def refused(engine: str, wanted: Wanted) -> bool:
    kind, format_ = ENGINES[engine]
    live = Table(T, (A,), format=format_)
    findings = rules_for(kind, format_).normalize(wanted, live)[1]
    codes = {f.code for f in findings if f.severity is Severity.ERROR}
    assert codes <= {"F607"}, [f.message for f in findings]
    return bool(codes)


@pytest.mark.parametrize(("engine", "kind", "sql"), CASES)
def test_using_is_of_the_row_alone(engine: str, kind: str, sql: str) -> None:
    wanted = Wanted(Table(T, (A, B)), {("b",): Hint(using=sql)})
    assert refused(engine, wanted) == (kind != "neither")


@pytest.mark.parametrize(("engine", "kind", "sql"), CASES)
def test_a_default_may_be_the_moment_but_not_chance(engine: str, kind: str, sql: str) -> None:
    wanted = Wanted(Table(T, (A, B)), {("b",): Hint(default=sql)})
    assert refused(engine, wanted) == (kind == "chance")


@pytest.mark.parametrize(("engine", "kind", "sql"), [c for c in CASES if "SELECT" not in c[2]])
def test_a_check_holds_tomorrow_too(engine: str, kind: str, sql: str) -> None:
    check = Check("k", f"({sql}) IS NOT NULL")
    wanted = Wanted(Table(T, (A,), constraints=(check,)))
    assert refused(engine, wanted) == (kind != "neither")


@pytest.mark.parametrize("format_", ["delta", "iceberg", "parquet"])
@pytest.mark.parametrize(("sql", "no"), [("now()", True), ("rand()", True), ("upper(a)", False)])
def test_a_generated_value_is_of_the_row_alone(format_: str, sql: str, no: bool) -> None:
    table = Table(T, (A, replace(B, generated=sql)))
    assert refused(format_, Wanted(table)) == no
