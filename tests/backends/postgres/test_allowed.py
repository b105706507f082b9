"""Who may do what is asked before anything is touched: a role without a right is refused by the plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from backends.world import BIG
from instar import Plan, Policy, Project
from instar.core.findings import Severity
from instar.core.types import Column
from instar.errors import EngineError

PROJECT = """\
name: shop
environments:
  prod: {{type: postgres, url: "{url}", schema: {schema}, lock_timeout: 1, lock_attempts: 1}}
"""
COLUMNS = "table: t\nprimary_key: [id]\ncolumns:\n  - {name: id, type: BIGINT}\n"
NOTED = COLUMNS + "  - {name: note, type: VARCHAR}\n"
LIVE = "CREATE TABLE t (id BIGINT PRIMARY KEY, note VARCHAR); INSERT INTO t VALUES (1, '7')"
OWNED = f"{LIVE}; ALTER TABLE t OWNER TO boss"
WANTED = {
    "a new table": COLUMNS,
    "a column": NOTED + "  - {name: more, type: INTEGER}\n",
    "a check": NOTED.replace("columns:", "constraints: {few: {check: id < 9}}\ncolumns:", 1),
    "a key": NOTED.replace("columns:", "constraints: {one: {unique: [note]}}\ncolumns:", 1),
    "a type": NOTED.replace("VARCHAR", "INTEGER"),
}
EVERY = "GRANT USAGE, CREATE ON SCHEMA {s} TO clerk, boss"
ROLES = ("clerk", "boss", "other")


@pytest.fixture
def shop(world: World) -> Iterator[World]:
    for role in ROLES:
        world.sql(f"CREATE ROLE {role} LOGIN")
    yield world
    world.sql(f"DROP SCHEMA {world.schema} CASCADE")
    for role in ROLES:
        world.sql(f"DROP ROLE {role}")


def planned(root: Path, world: World, postgres: PostgresServer, wanted: str) -> Plan:
    url = postgres.url().replace("postgres@", "clerk@")
    (root / "tables").mkdir(exist_ok=True)
    (root / "instar.yml").write_text(PROJECT.format(url=url, schema=world.schema))
    (root / "tables" / "t.yml").write_text(WANTED[wanted])
    return Project.load(root).plan(policy=Policy(allow_rewrite=True))


def errors(plan: Plan, world: World) -> list[str]:
    (table,) = plan.tables
    found = [f for f in table.findings if f.severity is Severity.ERROR]
    assert {f.code for f in found} <= {"F608"}
    start = f"[{world.schema}.t] the role 'clerk' "
    assert all(f.message.startswith(start) and f.hint for f in found)
    return [
        f.message.removeprefix(start)
        .replace(world.schema + ".", "s.")
        .replace(f"'{world.schema}'", "'s'")
        for f in found
    ]


USE, MAKE = "has no USAGE on the schema 's'.", "has no CREATE on the schema 's'."
OWN = "is no member of 'boss', which owns the table."
READ = "has no SELECT on the table."
BESIDE = "CREATE TABLE child (id BIGINT REFERENCES t); CREATE VIEW seen AS SELECT id FROM t"
LACKS: dict[str, tuple[str, str, list[str]]] = {
    "nothing at all": ("a new table", "SELECT", [USE, MAKE]),
    "no CREATE": ("a new table", "GRANT USAGE ON SCHEMA {s} TO clerk", [MAKE]),
    "not the owner": ("a column", f"{OWNED}; {EVERY}", [OWN]),
    "a member that does not inherit": (
        "a column",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk WITH INHERIT FALSE",
        [OWN],
    ),
    "an owner shut out of the schema": ("a column", f"{OWNED}; GRANT boss TO clerk", [USE]),
    "a key without CREATE": (
        "a key",
        f"{OWNED}; GRANT boss TO clerk; GRANT USAGE ON SCHEMA {{s}} TO clerk",
        [MAKE],
    ),
    "rows that may not be read": (
        "a type",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk; REVOKE ALL ON t FROM boss",
        [READ],
    ),
    "an owner that may make nothing": (
        "a type",
        f"{OWNED}; GRANT USAGE, CREATE ON SCHEMA {{s}} TO clerk; GRANT boss TO clerk",
        ["cannot give a table to 'boss', which has no CREATE on the schema 's'."],
    ),
    "an owner that it cannot become": (
        "a type",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk WITH SET FALSE",
        ["cannot give a table to 'boss', which owns this one (SET is not granted)."],
    ),
    "what hangs on it is others'": (
        "a type",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk; {BESIDE};"
        " ALTER TABLE child OWNER TO other; ALTER VIEW seen OWNER TO other",
        [
            "is no member of 'other', which owns s.child that refers to it.",
            "is no member of 'other', which owns the view s.seen that reads it.",
        ],
    ),
    "what it refers to is others'": (
        "a type",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk; CREATE TABLE p (id BIGINT PRIMARY KEY);"
        " INSERT INTO p VALUES (1); ALTER TABLE t ADD FOREIGN KEY (id) REFERENCES p",
        [
            "has no REFERENCES on s.p, which it refers to.",
            "has no UPDATE (which the lock of the cut-over takes) on s.p, which it refers to.",
        ],
    ),
    "a grantee has granted on": (
        "a type",
        f"{OWNED}; {EVERY}; GRANT boss TO clerk; GRANT SELECT ON t TO other WITH GRANT OPTION;"
        " GRANT USAGE ON SCHEMA {s} TO other; SET ROLE other; GRANT SELECT (id) ON t TO clerk;"
        " RESET ROLE; REVOKE USAGE ON SCHEMA {s} FROM other",
        [
            "cannot act as 'other', who granted privileges on s.t.",
            "cannot grant anew what 'other' granted on s.t, who has no USAGE on its schema.",
        ],
    ),
}


@pytest.mark.parametrize("case", LACKS.values(), ids=LACKS.keys())
def test_what_is_missing_is_named_before_anything_is_touched(
    tmp_path: Path, shop: World, postgres: PostgresServer, case: tuple[str, str, list[str]]
) -> None:
    wanted, rights, lacks = case
    shop.sql(rights.format(s=shop.schema))
    plan = planned(tmp_path, shop, postgres, wanted)
    assert errors(plan, shop) == lacks
    assert plan.blocked
    assert not plan.pending


def test_no_temporary_tables(tmp_path: Path, shop: World, postgres: PostgresServer) -> None:
    """The keys of rows that writers change are gathered in one: that is found out before the copy, not behind it."""
    shop.sql(f"{OWNED}; {EVERY.format(s=shop.schema)}; GRANT boss TO clerk")
    shop.sql("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    try:
        plan = planned(tmp_path, shop, postgres, "a type")
        with pytest.raises(EngineError, match="temporary tables") as refused:
            planned(tmp_path, shop, postgres, "a check")
    finally:
        shop.sql("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
    words = (
        "has no TEMPORARY on the database 'postgres', where the keys of changed rows are gathered."
    )
    assert errors(plan, shop) == [words]
    assert "TEMPORARY on the database" in str(refused.value.hint)


def test_a_role_that_only_reads(tmp_path: Path, shop: World, postgres: PostgresServer) -> None:
    """The server refuses to make a table; it does not refuse the expression."""
    shop.sql(f"{OWNED}; {EVERY.format(s=shop.schema)}; GRANT boss TO clerk")
    shop.sql("ALTER ROLE clerk SET default_transaction_read_only = on")
    with pytest.raises(EngineError, match="read-only transaction") as refused:
        planned(tmp_path, shop, postgres, "a check")
    assert refused.value.code == "E252"
    assert "default_transaction_read_only" in str(refused.value.hint)


MEMBER = f"{OWNED}; {EVERY}; GRANT boss TO clerk"
ENOUGH = {
    "a new table": EVERY,
    "a column": f"{OWNED}; GRANT USAGE ON SCHEMA {{s}} TO clerk; GRANT boss TO clerk WITH SET FALSE",
    "a check": f"{OWNED}; GRANT USAGE ON SCHEMA {{s}} TO clerk; GRANT boss TO clerk",
    "a key": MEMBER,
    "a type": f"{MEMBER}; {BESIDE}; ALTER TABLE child OWNER TO clerk; ALTER VIEW seen OWNER TO boss",
}


@pytest.mark.parametrize("wanted", ENOUGH)
def test_what_is_enough_is_enough(
    tmp_path: Path, shop: World, postgres: PostgresServer, wanted: str
) -> None:
    shop.sql(ENOUGH[wanted].format(s=shop.schema))
    plan = planned(tmp_path, shop, postgres, wanted)
    assert errors(plan, shop) == []
    project = Project.load(tmp_path)
    reports = project.apply(plan, confirm=lambda _: True).tables
    assert [r.error for r in reports] == [None]
    owner = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 't'::regclass"
    assert shop.sql(owner) == [("clerk" if wanted == "a new table" else "boss",)]


def test_what_a_grantee_has_granted_on_stays_its_grant(shop: World) -> None:
    """So that it goes with the grantee's right; of the table, a column, a view and a sequence, each in turn."""
    grants = ("SELECT ON t", "INSERT (id) ON t", "SELECT ON seen", "USAGE ON SEQUENCE t_id_seq")
    shop.sql("CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int)")
    shop.sql("CREATE VIEW seen AS SELECT id FROM t")
    shop.sql(f"GRANT USAGE ON SCHEMA {shop.schema} TO clerk, boss")
    for grant in grants:
        shop.sql(f"GRANT {grant} TO other WITH GRANT OPTION; REVOKE {grant} FROM other")
        shop.sql(f"GRANT {grant} TO clerk WITH GRANT OPTION; SET ROLE clerk")
        shop.sql(f"GRANT {grant} TO boss WITH GRANT OPTION; SET ROLE boss")
        shop.sql(f"GRANT {grant} TO other; RESET ROLE")
    acl = """SELECT relname, a.grantor, a.grantee, a.privilege_type, a.is_grantable, attname
    FROM pg_class c LEFT JOIN pg_attribute t ON t.attrelid = c.oid AND attacl IS NOT NULL,
    aclexplode(coalesce(attacl, relacl)) a
    WHERE relnamespace = current_schema()::regnamespace AND relname !~ 'instar' ORDER BY 1, 2, 3, 4, 6"""
    before = shop.sql(acl)
    shop.apply(shop.want(Column("id", BIG, nullable=False), Column("n", BIG), primary_key=("id",)))
    assert shop.sql(acl) == before
    shop.sql("REVOKE SELECT ON t FROM clerk CASCADE")
    assert shop.sql("SELECT has_table_privilege('other', 't', 'SELECT')") == [(False,)]


def test_a_schema_that_nobody_may_make(
    tmp_path: Path, shop: World, postgres: PostgresServer
) -> None:
    shop.schema, real = "nowhere", shop.schema
    plan = planned(tmp_path, shop, postgres, "a new table")
    assert errors(plan, shop) == [
        "has no CREATE on the database 'postgres', and there is no schema 's'."
    ]
    shop.schema = real
