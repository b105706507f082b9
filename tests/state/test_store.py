"""What a state store does in whatever database it is: found again, all or nothing, made by many at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer
from instar.errors import StateError
from instar.state import Store, open_store
from instar.state.models import Build, Done, ModelResult, Whole

ORDERS = TableName("main", "orders")
TABLE = Table(ORDERS, (Column("id", Integer(64)),))


def test_what_was_written_is_found_again(tmp_path: Path, state_url: str) -> None:
    with open_store(state_url, tmp_path) as store:
        store.record_version("dev", ORDERS, TABLE)
    with open_store(state_url, tmp_path, reading=True) as store:
        assert [v.table for v in store.versions("dev", ORDERS)] == [TABLE]


def test_a_look_makes_nothing(tmp_path: Path, state_url: str) -> None:
    for _ in range(2):
        with open_store(state_url, tmp_path, reading=True) as store:
            assert store.history("dev") == ()
            assert store.models.results("dev") == ()
            assert store._database.title == "the state file ':memory:'"
    assert list(tmp_path.iterdir()) == []


def test_a_transaction_is_all_or_nothing(tmp_path: Path, state_url: str) -> None:
    def half(store: Store) -> None:
        with store._database.write():
            store.record_version("dev", ORDERS, TABLE)
            raise ZeroDivisionError

    with open_store(state_url, tmp_path) as store:
        with pytest.raises(ZeroDivisionError):
            half(store)
        assert store.versions("dev", ORDERS) == ()


def test_a_document_nobody_understands_is_E301(tmp_path: Path, state_url: str) -> None:
    with open_store(state_url, tmp_path) as store:
        store.record_version("dev", ORDERS, TABLE)
        with store._database.write() as sql:
            sql.execute("""UPDATE versions SET doc = '{"_":"Tabel"}'""")
        with pytest.raises(StateError) as caught:
            store.versions("dev", ORDERS)
    assert caught.value.code == "E301"
    assert "backup" in (caught.value.hint or "")


def test_any_text_and_large_numbers_are_kept(tmp_path: Path, state_url: str) -> None:
    odd = TableName("main", 'it\'s 100 % odd? — \\ "x" 表')
    with open_store(state_url, tmp_path) as store:
        store.models.begin("dev", "r1", {"a": "?"})
        found = ModelResult(odd, "built", 2**40, 1.25, reason="%s", run="r1")
        store.models.result("dev", "r1", found)
        assert store.models.results("dev") == (found,)
        before = store._clock()
        store.keep("dev", odd, odd, "r1")
        (kept,) = store.kept("dev")
        assert before <= kept.when <= before + 60, "a time is not rounded"


def test_models_and_their_intervals(tmp_path: Path, state_url: str) -> None:
    days = [Done(f"2024-01-{d:02}", f"2024-01-{d + 1:02}", d < 3) for d in (3, 1, 2)]
    whole = Whole("day", "2024-01-01", "2024-01-04")
    with open_store(state_url, tmp_path) as store:
        log = store.models
        log.claim("dev", ORDERS, anew=True)
        log.claim("dev", ORDERS, anew=False)
        assert log.builds("dev") == {ORDERS: Build("", {}, "")}
        for mark in ("f1", "f2"):
            log.built("dev", ORDERS, Build(mark, {"raw": "1"}, "b"))
        log.claim("dev", ORDERS, anew=False)
        assert log.builds("dev") == {ORDERS: Build("f2", {"raw": "1"}, "b")}
        log.intervals_done("dev", ORDERS, days, "r1", anew=True, whole=whole)
        log.intervals_done("dev", ORDERS, [Done("2024-01-03", "2024-01-04", True)], "r2")
        assert list(log.intervals("dev", ORDERS)) == ["2024-01-01", "2024-01-02", "2024-01-03"]
        assert all(done.closed for done in log.intervals("dev", ORDERS).values())
        assert log.whole("dev", ORDERS) == whole
        log.claim("dev", ORDERS, anew=True)
        assert (log.intervals("dev", ORDERS), log.whole("dev", ORDERS)) == ({}, None)


def test_what_is_known_of_models_is_not_written_again(
    tmp_path: Path, state_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(state_url, tmp_path) as store:
        log, database = store.models, store._database
        log.claim("dev", ORDERS, anew=True)
        begun: list[str] = []
        begin = database._begin
        monkeypatch.setattr(database, "_begin", lambda: (begun.append("a write"), begin()))
        log.claim("dev", ORDERS, anew=False)
        log.intervals_done("dev", ORDERS, [], "run", anew=True)
        log.release("dev", [TableName("main", "other")])
        assert begun == []
        log.intervals_done("dev", ORDERS, [Done("a", "b", True)], "run")
        log.intervals_done("dev", ORDERS, [], "run", anew=True)
        assert log.intervals("dev", ORDERS) == {}
        log.release("dev", [ORDERS])
        assert log.builds("dev") == {}


def test_the_last_run_of_models(tmp_path: Path, state_url: str) -> None:
    with open_store(state_url, tmp_path) as store:
        assert store.models.last_run("dev") is None
        for run in ("b", "a", "c"):
            store.models.begin("dev", run, {"n": run})
            store.models.end(run, "finished")
        last = store.models.last_run("dev")
        assert last is not None
        assert (last.run, last.options, last.status) == ("c", {"n": "c"}, "finished")


MAKE = """
import sys, pathlib
from instar.state import open_store
from instar.core.schema import Table, TableName
with open_store(sys.argv[3], pathlib.Path(sys.argv[1])) as store:
    for n in range(20):
        store.record_version('dev', TableName('p' + sys.argv[2], str(n)), Table(TableName('p', 'x'), ()))
"""


def test_many_processes_may_make_it_at_once(tmp_path: Path, state_url: str) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", MAKE, str(tmp_path), str(n), state_url])
        for n in range(4)
    ]
    assert [child.wait() for child in children] == [0, 0, 0, 0]
    with open_store(state_url, tmp_path) as store:
        assert store._database.read("SELECT count(*) FROM versions") == [(80,)]
