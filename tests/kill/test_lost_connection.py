"""The connection is lost between Delta's commit and the answer: the outcome is looked up, nothing is tried again."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from instar.spark import SparkHandle, SparkSettings, connect
from instar.spark.server import lease_server
from lifecycle.world import World

pytestmark = pytest.mark.spark

OLD = """table: t
columns:
  - {name: id, type: INT}
  - {name: age, type: STRING}
"""
NEW = OLD.replace("{name: age, type: STRING}", "{name: age, type: INT}")


class Wire:
    """Passes bytes to a server and back, until it is cut: before an answer, once `cut` says so."""

    def __init__(self, port: int, cut: Callable[[], bool]) -> None:
        self._to, self._cut = port, cut
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.was_cut = False
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for end in (self._listening, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [client, server]
                for pair, back in (((client, server), False), ((server, client), True)):
                    threading.Thread(target=self._pump, args=(*pair, back), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, back: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if back and self._cut():
                    self.was_cut = True
                    self.close()
                    return
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def world(spark: SparkHandle, tmp_path: Path) -> Iterator[World]:
    schema = f"lost_{uuid.uuid4().hex[:8]}"
    spark.run(f"CREATE SCHEMA spark_catalog.{schema}")
    (tmp_path / "instar.yml").write_text(
        "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
        f"  dev: {{type: spark, schema: {schema}, format: delta}}\n"
    )
    place = f"spark_catalog.{schema}.t"
    yield World(tmp_path, spark.run, place, "delta", "spark", spark.session)
    spark.run(f"DROP SCHEMA spark_catalog.{schema} CASCADE")


def rewrites(world: World) -> list[object]:
    """The versions in which rows were written under Instar's mark."""
    return [
        row["version"]
        for row in world.sql(f"DESCRIBE HISTORY {world.table}")
        if str(row["userMetadata"]).startswith("instar ") and row["operationMetrics"]
    ]


def test_the_answer_to_a_commit_is_lost(world: World, spark_root: Path) -> None:
    world.apply(OLD)
    world.fill(["1 | '36'", "2 | NULL"])
    world.declare(NEW)
    plan = world.plan()
    location = urlsplit(world.sql(f"DESCRIBE DETAIL {world.table}")[0]["location"]).path
    log = Path(unquote(location)) / "_delta_log"
    known = set(log.glob("*.json"))

    def rewritten() -> bool:
        new = set(log.glob("*.json")) - known
        return any('"add":' in text and "instar " in text for text in map(Path.read_text, new))

    lease = lease_server(SparkSettings(spark_root), note=lambda _: None)
    wire = Wire(lease.port, rewritten)
    session = connect.open_local(wire.port, lease.token)
    try:
        (lost,) = world.project.apply(plan, confirm=world.yes, spark=session).tables
    finally:
        connect.close(session)
        wire.close()
        lease.release()
    assert wire.was_cut
    assert lost.error is not None
    assert lost.error.code == "E211"
    assert len(rewrites(world)) == 1, "committed, though nobody was told"
    (found,) = world.project.recover(spark=world.spark)
    assert found.ok
    assert any("the table shows that it was done" in note for note in found.notes), found.notes
    assert len(rewrites(world)) == 1, "and not once more"
    assert world.rows() == ["1 | 36", "2 | NULL"]
    assert world.plan().pending == ()
