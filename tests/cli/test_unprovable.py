"""An expression that the engine refuses is named at its line, and hides nothing that the rows say."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from instar import Project

MANIFEST = """\
table: t
constraints:
  odd: {check: "nope(a) > 0"}
  small: {check: "a < 10"}
columns:
  - {name: a, type: INT}
  - {name: b, type: INT}
  - name: s
    type: STRUCT<x INT, y INT>
    fields:
      y: {_default: "nope_at_y(a)"}
  - name: z
    type: INT
    _default: "nope_at_z()"
  - {name: fine, type: INT, _default: "a + 1", nullable: false}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "instar.yml").write_text(
        "name: shop\nenvironments:\n  dev: {type: duckdb, database: shop.duckdb, schema: main}\n"
    )
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/t.yml").write_text(MANIFEST)
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE t (a INT, b VARCHAR, s STRUCT(x INT))")
        connection.execute("INSERT INTO t VALUES (1, '1', NULL), (50, 'q', {'x': 1})")
    return tmp_path


def test_each_refused_expression_has_its_line_and_the_rows_are_looked_at(root: Path) -> None:
    (table,) = Project.load(root).plan().tables
    said = {(f.code, f.where.line if f.where else None) for f in table.findings}
    refused = {line for code, line in said if code in ("F204", "F606")}
    assert refused == {3, 11, 14}
    assert ("F201", 7) in said
    assert ("F302", 4) in said
