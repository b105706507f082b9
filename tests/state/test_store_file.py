"""The state file: made where it is asked for, and its troubles said in coded words."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer
from instar.errors import StateError, UsageError
from instar.state import Store, open_store
from instar.state.database import FORMAT
from instar.state.models import ModelResult

URL = "sqlite:///.instar/state.db"
ORDERS = TableName("main", "orders")
TABLE = Table(ORDERS, (Column("id", Integer(64)),))


def state_file(root: Path) -> Path:
    return root / ".instar" / "state.db"


def test_the_file_and_its_folders_are_made_and_found_again(tmp_path: Path) -> None:
    with open_store(URL, tmp_path) as store:
        store.record_version("dev", ORDERS, TABLE)
    with open_store(URL, tmp_path) as store:
        assert [v.table for v in store.versions("dev", ORDERS)] == [TABLE]
    assert state_file(tmp_path).exists()


def test_a_path_with_four_slashes_is_absolute(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/elsewhere.db", Path("/nowhere")):
        assert (tmp_path / "elsewhere.db").exists()


def test_the_format_version_is_in_the_file(tmp_path: Path) -> None:
    open_store(URL, tmp_path).close()
    sql = sqlite3.connect(state_file(tmp_path))
    assert sql.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    assert sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_what_became_of_a_model_waits_for_the_disk_with_the_end_of_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(URL, tmp_path) as store:
        database, waited = store._database, list[bool]()
        commit = database._commit

        def told() -> None:
            commit()
            waited.append(database.read("PRAGMA synchronous") == [(2,)])

        store.models.builds("dev")
        monkeypatch.setattr(database, "_commit", told)
        store.models.begin("dev", "r", {})
        with pytest.raises(StateError), database.write(waits=False):
            raise StateError("E300", "undone")
        store.models.result("dev", "r", ModelResult(ORDERS, "built", 1))
        store.models.end("r", "finished")
        assert waited == [True, False, True]


def test_a_file_that_is_no_database_is_E301(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_bytes(b"this is not a database, " * 100)
    with pytest.raises(StateError) as caught:
        open_store("sqlite:///state.db", tmp_path)
    assert caught.value.code == "E301"
    assert "backup" in (caught.value.hint or "")
    assert (tmp_path / "state.db").read_bytes().startswith(b"this is not"), "it is left alone"


def test_a_file_with_damaged_pages_is_E301(tmp_path: Path) -> None:
    with open_store(URL, tmp_path) as store:
        for n in range(50):
            store.record_version(f"env{n}", ORDERS, TABLE)
    whole = state_file(tmp_path).read_bytes()
    state_file(tmp_path).write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StateError) as caught, open_store(URL, tmp_path) as store:
        store.versions("env1", ORDERS)
    assert caught.value.code == "E301"


def test_somebody_elses_database_is_E301_and_left_alone(tmp_path: Path) -> None:
    sql = sqlite3.connect(tmp_path / "state.db")
    sql.execute("CREATE TABLE customers (id)")
    sql.commit()
    before = (tmp_path / "state.db").read_bytes()
    with pytest.raises(StateError) as caught:
        open_store("sqlite:///state.db", tmp_path)
    assert caught.value.code == "E301"
    assert (tmp_path / "state.db").read_bytes() == before


def test_a_newer_format_is_E302(tmp_path: Path) -> None:
    open_store(URL, tmp_path).close()
    sql = sqlite3.connect(state_file(tmp_path))
    sql.execute(f"PRAGMA user_version = {FORMAT + 1}")
    sql.close()
    with pytest.raises(StateError) as caught:
        open_store(URL, tmp_path)
    assert caught.value.code == "E302"


def test_a_folder_that_cannot_be_made_is_E305(tmp_path: Path) -> None:
    (tmp_path / ".instar").write_text("a file where the folder should be")
    with pytest.raises(StateError) as caught:
        open_store(URL, tmp_path)
    assert caught.value.code == "E305"


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that any user can enter; tmp_path belongs to its owner only."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX users")
@pytest.mark.parametrize("existing", [False, True], ids=["new", "existing"])
def test_a_read_only_place_is_E305(public_folder: Path, existing: bool) -> None:
    if existing:
        open_store("sqlite:///state.db", public_folder).close()
        (public_folder / "state.db").chmod(0o444)
    public_folder.chmod(0o555)
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setuid(65534)
        code = ""
        try:
            with open_store("sqlite:///state.db", public_folder) as store:
                store.record_version("dev", ORDERS, TABLE)
        except StateError as error:
            code = error.code
        os._exit(0 if code == "E305" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    public_folder.chmod(0o755)


def test_a_full_disk_is_E306_and_loses_nothing_that_was_written(tmp_path: Path) -> None:
    with open_store(URL, tmp_path) as store:
        store.record_version("dev", ORDERS, TABLE)
        pages = store._database.read("PRAGMA page_count")[0][0]
        store._database.read(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StateError) as caught:
            _fill(store)
        assert caught.value.code == "E306"
        assert [v.n for v in store.versions("dev", ORDERS)] == [1]


def _fill(store: Store) -> None:
    for n in range(1000):
        store.record_version("dev", TableName("main", f"t{n}" * 50), TABLE)


@pytest.mark.parametrize("url", ["mysql://me:hush@host/db", "sqlite:///", "x.db"])
def test_other_addresses_are_a_usage_error_that_shows_no_secret(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_store(url, tmp_path)
    assert caught.value.code == "E311"
    assert "hush" not in f"{caught.value.message} {caught.value.hint}"
