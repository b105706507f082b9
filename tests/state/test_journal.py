"""The journal and what stays after it: every transition survives the process that wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer, String
from instar.errors import StateError
from instar.state import Entry, JournalRun, StepStatus, Store, open_store
from instar.state.redact import redacted

ORDERS = TableName("main", "orders")
ONE = Table(ORDERS, (Column("id", Integer(64)),))
TWO = Table(ORDERS, (*ONE.columns, Column("status", String())))
STEPS = (
    Step("1", "alter", Rung.METADATA, "add status", ("ALTER …",), TWO),
    Step("2", "fill", Rung.STEPS, "fill status", ("UPDATE …",), TWO, repeatable=True),
)
RENAMES = frozenset({(("a",), "b"), (("b",), "a")})


@pytest.fixture
def run(store: Store) -> JournalRun:
    return store.begin("dev", ORDERS, STEPS, ONE, command="instar apply", renames=RENAMES)


Seen = Callable[[], JournalRun]


@pytest.fixture
def seen(tmp_path: Path, state_url: str) -> Iterator[Seen]:
    """The unfinished run, as another process finds it."""
    with open_store(state_url, tmp_path) as other:
        yield lambda: other.unfinished("dev")[0]


def statuses(run: JournalRun) -> list[str]:
    return [step.status.value for step in run.steps]


def test_a_run_begins_with_all_steps_pending(run: JournalRun, seen: Seen) -> None:
    found = seen()
    assert statuses(found) == ["pending", "pending"]
    assert tuple(s.step for s in found.steps) == STEPS
    assert (found.before, found.table, found.renames) == (ONE, ORDERS, RENAMES)
    assert found.status is Entry.OPEN


def test_each_transition_is_there_for_the_next_process(run: JournalRun, seen: Seen) -> None:
    run.applying(STEPS[0], ONE)
    assert statuses(seen()) == ["applying", "pending"]
    assert seen().steps[0].before == ONE
    run.applied(STEPS[0])
    assert statuses(seen()) == ["applied", "pending"]
    run.applying(STEPS[1], TWO)
    run.failed(STEPS[1], "E210: refused, token=abc123")
    failed = seen().steps[1]
    assert (failed.status, failed.error) == (StepStatus.FAILED, "E210: refused, token=***")
    run.applying(STEPS[1], TWO)
    assert seen().steps[1].error is None
    run.applied(STEPS[1])
    assert statuses(seen()) == ["applied", "applied"]


def test_finishing_keeps_version_and_renames_and_ends_the_run(
    store: Store, run: JournalRun
) -> None:
    run.finished(TWO)
    assert store.unfinished("dev") == ()
    assert run.status is Entry.FINISHED
    (version,) = store.versions("dev", ORDERS)
    assert (version.n, version.table, version.run) == (1, TWO, run.run)
    assert store.done_renames("dev", ORDERS) == RENAMES


def test_a_memo_is_durable_write_by_write(run: JournalRun, seen: Seen) -> None:
    memo = run.memo(STEPS[0])
    memo["batch"] = "1"
    memo["batch"] = "2"
    memo["shadow"] = "x"
    del memo["shadow"]
    other = seen()
    assert dict(other.memo(STEPS[0])) == {"batch": "2"}
    assert dict(other.memo(STEPS[1])) == {}
    with pytest.raises(KeyError):
        del memo["shadow"]
    with pytest.raises(KeyError):
        memo["shadow"]


def test_a_second_run_of_a_table_waits_for_the_first(store: Store, run: JournalRun) -> None:
    with pytest.raises(StateError) as caught:
        store.begin("dev", ORDERS, STEPS, ONE)
    assert caught.value.code == "E309"
    store.begin("prod", ORDERS, STEPS, ONE)
    store.begin("dev", TableName("main", "items"), STEPS, ONE)
    assert {r.table.name for r in store.unfinished("dev")} == {"orders", "items"}
    assert [r.table.name for r in store.unfinished("dev", ORDERS)] == ["orders"]


def test_an_abandoned_run_is_over_and_nothing_can_be_added_to_it(
    store: Store, run: JournalRun
) -> None:
    store.abandon(run)
    assert store.unfinished("dev") == ()
    for late in (
        lambda: run.applied(STEPS[0]),
        lambda: run.applying(STEPS[0], ONE),
        lambda: run.failed(STEPS[0], "?"),
        lambda: run.finished(TWO),
        run.close_failed,
    ):
        with pytest.raises(StateError) as caught:
            late()
        assert caught.value.code == "E310"
    assert store.versions("dev", ORDERS) == ()
    assert store.done_renames("dev", ORDERS) == frozenset()


def test_versions_count_up_and_skip_what_did_not_change(store: Store) -> None:
    numbers = [store.record_version("dev", ORDERS, t, origin="o.yml") for t in (ONE, ONE, TWO, ONE)]
    assert numbers == [1, 1, 2, 3]
    assert [v.table for v in store.versions("dev", ORDERS)] == [ONE, TWO, ONE]
    assert store.versions("prod", ORDERS) == ()


def test_renames_are_replaced_not_added_to(store: Store) -> None:
    store.remember_renames("dev", ORDERS, RENAMES)
    assert store.all_done_renames("dev") == {ORDERS: RENAMES}
    store.remember_renames("dev", ORDERS, frozenset({(("x", "y"), "z")}))
    assert store.done_renames("dev", ORDERS) == {(("x", "y"), "z")}
    store.remember_renames("dev", ORDERS, frozenset())
    assert store.all_done_renames("dev") == {}


def test_old_copies_are_kept_until_forgotten(store: Store) -> None:
    old = TableName("main", "orders__old")
    store.keep("dev", ORDERS, old, "r1")
    store.keep("dev", ORDERS, old, "r2")
    (kept,) = store.kept("dev")
    assert (kept.table, kept.kept_name, kept.run) == (ORDERS, old, "r2")
    store.forget("dev", old)
    assert store.kept("dev") == ()


def test_history_tells_newest_first_how_each_run_ended(store: Store, tmp_path: Path) -> None:
    first = store.begin("dev", ORDERS, STEPS, ONE, command="apply postgresql://me:hush@h/db")
    first.applying(STEPS[0], ONE)
    first.failed(STEPS[0], "E210: no")
    store.abandon(first)
    second = store.begin("dev", ORDERS, STEPS, ONE)
    for step in STEPS:
        second.applying(step, ONE)
        second.applied(step)
    second.finished(TWO)
    store.begin("dev", TableName("main", "items"), STEPS[:1], None)
    items, done, forgotten = store.history("dev")
    assert (items.outcome, items.seconds, items.table.name) == ("open", None, "items")
    assert (done.outcome, done.steps, done.applied) == ("finished", 2, 2)
    assert done.what == "add status; fill status"
    assert done.seconds is not None
    assert (forgotten.outcome, forgotten.applied, forgotten.error) == ("abandoned", 0, "E210: no")
    assert [e.table.name for e in store.history("dev", ORDERS)] == ["orders", "orders"]
    (command,) = {
        row[0] for row in store._database.read("SELECT command FROM entries WHERE id = 1")
    }
    assert command == "apply postgresql://me:***@h/db"
    assert b"hush" not in b"".join(file.read_bytes() for file in tmp_path.glob("state.db*"))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://me:hush@host/db", "postgresql://me:***@host/db"),
        ("sc://host:15002/;token=hush;x=1", "sc://host:15002/;token=***;x=1"),
        ("fs.s3a.secret.key is set", "fs.s3a.secret.key is set"),
        ("fs.s3a.access-key: hush", "fs.s3a.access-key: ***"),
        ("'fs.s3a.secret.key'='hush'", "'fs.s3a.secret.key'=***"),
        ("CREATE USER me PASSWORD 'hush'", "CREATE USER me PASSWORD ***"),
        ("password authentication failed", "password authentication failed"),
        ("password = 'two words'", "password = ***"),
        ("column 'token' is missing", "column 'token' is missing"),
        ("an ordinary sentence: nothing to hide", "an ordinary sentence: nothing to hide"),
    ],
)
def test_secrets_are_taken_out_of_text(text: str, clean: str) -> None:
    assert redacted(text) == clean
