"""The commands on a real project with a real engine (DuckDB in a file)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from cli.running import Result, in_terminal
from instar.app import Project
from instar.app.opening import open_state
from instar.cli import main, screen

ORDERS = """\
table: orders
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: amount, type: STRING}
  - {name: old, type: INT}
"""


class Shop:
    """A project in a folder; commands run inside this process."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys

    def run(self, *args: str) -> Result:
        screen.use(screen.Screen())
        code = main.run([*args, "--project", str(self.root)])
        seen = self._capsys.readouterr()
        return Result(code, seen.out, seen.err)

    def declare(self, text: str, name: str = "orders") -> None:
        (self.root / "tables" / f"{name}.yml").write_text(text)

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        with duckdb.connect(str(self.root / ".instar" / "dev.duckdb")) as connection:
            return connection.execute(statement).fetchall()


@pytest.fixture
def shop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shop:
    """`orders` is live, with two rows."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "instar.yml").write_text(
        "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
        "  dev: {type: duckdb, database: .instar/dev.duckdb, schema: main}\n"
    )
    shop = Shop(tmp_path, capsys)
    shop.declare(ORDERS)
    assert shop.run("apply").code == 0
    shop.sql("INSERT INTO main.orders VALUES (1, '10', 1), (2, 'ten', 2)")
    return shop


def test_a_new_project_plans_and_applies_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["init", str(tmp_path / "new"), "--kind", "duckdb"]) == 0
    shop = Shop(tmp_path / "new", capsys)
    first = shop.run("plan")
    assert first.code == 0
    assert "warning" not in first.out
    assert "Plan: 2 to create." in first.out
    assert shop.run("apply").code == 0
    assert "Plan: nothing to do, 2 unchanged." in shop.run("plan").out


def test_plan_says_what_would_happen_and_touches_nothing(shop: Shop) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    result = shop.run("plan")
    assert result.code == 0
    assert "~ main.orders  duckdb  will be altered in place (metadata)" in result.out
    assert "\n+     note" in result.out
    assert result.out.endswith("Plan: 1 to change.\nNext: instar apply --env dev\n")
    assert "Looked at 1 table in " in result.err
    assert len(shop.sql("SELECT * FROM main.orders")[0]) == 3


def test_detailed_exit_code(shop: Shop) -> None:
    assert shop.run("plan", "--detailed-exit-code").code == 0
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    assert shop.run("plan", "--detailed-exit-code").code == 5


def test_a_blocked_plan_is_exit_three_with_witnesses(shop: Shop) -> None:
    shop.declare(ORDERS.replace("amount, type: STRING", "amount, type: INT"))
    result = shop.run("plan", "--allow-rewrite")
    assert result.code == 3
    assert "error[F201]" in result.out
    assert "ten" in result.out
    assert "Plan: 1 blocked." in result.out
    applied = shop.run("apply", "--allow-rewrite", "--yes")
    assert applied.code == 3
    assert "nothing was touched" in applied.err
    assert shop.sql("SELECT amount FROM main.orders ORDER BY id") == [("10",), ("ten",)]


def test_machines_get_one_document(shop: Shop) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    document = json.loads(shop.run("plan", "--format", "json").out)
    assert document["tables"][0]["status"] == "change"
    assert json.loads(shop.run("plan", "--format", "sarif").out)["version"] == "2.1.0"
    assert shop.run("plan", "--format", "markdown").out.startswith("## Instar plan for `dev`")
    assert shop.run("plan", "-qq").out == ""
    log = [json.loads(x) for x in shop.run("plan", "--log-format", "json").err.splitlines()]
    assert log[-1]["type"] == "change_summary"
    assert log[-1]["change"] == 1


DROP = ("apply", "--column-conflict", "drop")


def test_a_drop_without_a_word_is_exit_four(shop: Shop) -> None:
    shop.declare(ORDERS.replace("  - {name: old, type: INT}\n", ""))
    result = shop.run(*DROP)
    assert result.code == 4
    assert "error[E403]: needs confirmation: rerun with --yes" in result.err
    assert "old" in result.err
    assert len(shop.sql("SELECT * FROM main.orders")[0]) == 3


def test_yes_is_a_word(shop: Shop) -> None:
    shop.declare(ORDERS.replace("  - {name: old, type: INT}\n", ""))
    result = shop.run(*DROP, "--yes")
    assert result.code == 0
    assert "✓ main.orders  applied" in result.out
    assert shop.sql("SELECT * FROM main.orders ORDER BY id") == [(1, "10"), (2, "ten")]
    assert "Plan: nothing to do" in shop.run("plan").out


_NO = "error[E403]: not confirmed; nothing of the plan was done"


@pytest.mark.parametrize(
    ("typed", "code", "columns", "end"),
    [
        (b"y\n", 0, 2, "✓ main.orders  applied"),
        (b"n\n", 4, 3, _NO),
        (b"\x04", 4, 3, _NO),
        (
            b"\x03",
            130,
            3,
            "error[E406]: interrupted at a question; what it asks about was not done",
        ),
    ],
)
def test_a_terminal_is_asked(shop: Shop, typed: bytes, code: int, columns: int, end: str) -> None:
    """^D at the prompt is a no; ^C ends the command."""
    shop.declare(ORDERS.replace("  - {name: old, type: INT}\n", ""))
    ended, seen = in_terminal(DROP, typed, shop.root, when="[y/N]")
    assert "Go on? [y/N]" in seen
    assert end in re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert "Traceback" not in seen
    assert ended == code
    assert len(shop.sql("SELECT * FROM main.orders")[0]) == columns


def test_a_sealed_plan_is_applied_while_nothing_moves(shop: Shop, tmp_path: Path) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    sealed = str(tmp_path / "release.plan")
    assert f"instar apply {sealed}" in shop.run("plan", "--out", sealed).out
    shop.sql("INSERT INTO main.orders VALUES (3, 'x', 3)")
    assert shop.run("apply", sealed).code == 0
    again = shop.run("apply", sealed)
    assert again.code == 3
    assert "error[E404]" in again.err
    assert "has moved since (main.orders is as declared already)" in again.err


def test_a_sealed_plan_refuses_another_policy_or_environment(shop: Shop, tmp_path: Path) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    sealed = str(tmp_path / "release.plan")
    shop.run("plan", "--out", sealed)
    for extra in (["--allow-rewrite"], ["--env", "prod"]):
        result = shop.run("apply", sealed, *extra)
        assert result.code == 2
        assert "error[E411]" in result.err
    shop.run("plan", "--allow-rewrite", "--out", sealed)
    assert shop.run("apply", sealed, "--allow-rewrite").code == 0, "its own words are no others"


def test_a_blocked_plan_is_not_sealed(shop: Shop, tmp_path: Path) -> None:
    shop.declare(ORDERS.replace("amount, type: STRING", "amount, type: INT"))
    result = shop.run("plan", "--allow-rewrite", "--out", str(tmp_path / "p"))
    assert result.code == 3
    assert "not sealed" in result.err
    assert not (tmp_path / "p").exists()


def test_apply_as_json(shop: Shop) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    document = json.loads(shop.run("apply", "--format", "json").out)
    assert document["tables"][0]["table"] == "main.orders"
    assert document["tables"][0]["result"] == "applied"
    assert document["summary"]["done"] == 1


def test_a_corrected_block_is_told_for_what_was_applied_whatever_became_of_others(
    shop: Shop,
) -> None:
    stream = "change_tracking: true\n" + ORDERS.replace("orders", "a_stream")
    shop.declare(stream, "a_stream")
    assert shop.run("apply").code == 0
    shop.declare(stream.replace("columns:\n", "columns:\n  - {name: new, type: INT}\n"), "a_stream")
    shop.declare(ORDERS.replace("old, type: INT", "old, type: INT, nullable: false"))
    project = Project.load(shop.root)
    plan = project.plan()
    shop.sql("INSERT INTO main.orders VALUES (3, '30', NULL)")
    report = project.apply(plan)
    assert [r.ok for r in report.tables] == [True, False]
    ((name, block),) = report.blocks
    assert str(name) == "main.a_stream"
    assert block.rstrip().endswith("- {name: new, type: INT}")


def test_a_rename_by_case_alone_is_done_by_metadata_and_once(shop: Shop) -> None:
    shop.declare(ORDERS.replace("{name: old,", "{name: OLD, renamed_from: old,"))
    assert "1. rename old to OLD  [metadata]" in shop.run("apply").out
    assert "Plan: nothing to do, 1 unchanged." in shop.run("plan").out
    assert [c[0] for c in shop.sql("DESCRIBE main.orders")] == ["id", "amount", "OLD"]


def test_drift_history_diff_and_import(shop: Shop) -> None:
    assert shop.run("drift").code == 0
    shop.sql("ALTER TABLE main.orders ADD COLUMN by_hand INT")
    shop.sql("CREATE TABLE main.extra (a INT)")
    drifted = shop.run("drift")
    assert drifted.code == 5
    assert "\n-     by_hand" in drifted.out
    assert "main.orders" in shop.run("history").out
    assert json.loads(shop.run("history", "--format", "json").out)[0]["outcome"] == "finished"
    assert "\n+     by_hand" in shop.run("diff", "dev@1", "dev").out
    assert "# tables/extra.yml\n" in shop.run("import", "--dry-run").out
    assert not (shop.root / "tables" / "extra.yml").exists()
    assert shop.run("import").out == "wrote tables/extra.yml\n"
    assert "Plan: nothing to do" in shop.run("plan", "extra").out


def test_diff_knows_the_renames_that_were_applied(shop: Shop) -> None:
    """Two renames in a row, one of a field inside a renamed column; the hints have left the file since."""
    text = "table: p\ncolumns: [{{name: id, type: INT}}, {{name: {}, type: STRUCT<{} INT>{}}}]\n"
    file = shop.root / "tables" / "p.yml"
    first = ", renamed_from: a, fields: {x2: {renamed_from: x}}"
    for steps in (("a", "x", ""), ("b", "x2", first), ("c", "x2", ", renamed_from: b")):
        file.write_text(text.format(*steps))
        assert shop.run("apply", "p", "--yes").code == 0
    file.write_text(text.format("c", "x2", ""))
    found, back = (
        shop.run("diff", *sides).out for sides in (("dev@1", "dev@3"), ("dev@3", "dev@1"))
    )
    assert "~ main.p\n~     c     renamed from a\n~       x2  renamed from x\n" in found
    assert "~ main.p\n~     a    renamed from c\n~       x  renamed from x2\n" in back
    assert "~     c  renamed from b\n" in shop.run("diff", "dev@2", "dev").out


def test_diff_tells_schemas_apart_and_columns_that_are_computed(shop: Shop) -> None:
    shop.sql("CREATE SCHEMA one; CREATE SCHEMA two")
    for schema, column in (("one", "a"), ("two", "b")):
        text = f"table: {schema}.day\ncolumns: [{{name: {column}, type: INT}}]\n"
        (shop.root / "tables" / f"{schema}.yml").write_text(text)
    assert shop.run("apply").code == 0
    assert shop.run("diff", "dev@1", "dev").out == "No difference between dev@1 and dev.\n"
    shop.sql("ALTER TABLE one.day ADD COLUMN by_hand INT")
    assert "~ one.day\n+     by_hand" in shop.run("diff", "dev@1", "dev").out
    assert "two.day" not in shop.run("diff", "tables/one.yml", "dev").out

    with duckdb.connect(str(shop.root / "prod.duckdb")) as prod:
        prod.execute("CREATE TABLE sums (a INT, b INT GENERATED ALWAYS AS (a * 2))")
    shop.sql("CREATE TABLE main.sums (a INT, b INT)")
    config = shop.root / "instar.yml"
    line = "  prod: {type: duckdb, database: prod.duckdb, schema: main}\n"
    config.write_text(config.read_text().rstrip("\n") + "\n" + line)
    found = shop.run("diff", "dev", "prod").out
    assert "~ main.sums\n~     b  default none → GENERATED ALWAYS AS (" in found


def test_drift_names_live_tables_that_no_file_declares(shop: Shop) -> None:
    assert "info:" not in shop.run("drift").out
    shop.sql("CREATE TABLE main.stray (n INT)")
    shop.sql("CREATE TABLE main.orders__instar_old_1 (n INT)")
    result = shop.run("drift")
    assert result.code == 0, "nothing that is declared has drifted"
    assert (
        "info: 1 live table that no file declares: main.stray (`instar import --env dev`)\n"
        in result.out
    )
    assert json.loads(shop.run("drift", "--format", "json").out)["undeclared"] == ["main.stray"]
    assert "info:" not in shop.run("drift", "orders").out
    shop.sql("ALTER TABLE main.orders ADD COLUMN by_hand INT")
    comment = shop.run("drift", "--format", "markdown").out
    assert comment.startswith("## Instar drift for `dev`")
    assert "**Drift: 1 table apart, 0 as declared.**" in comment
    assert "main.stray" in comment
    assert "\n-     by_hand" in comment
    assert "nothing to do" not in comment


def test_import_takes_tables_of_another_schema_that_is_named(shop: Shop) -> None:
    shop.sql("CREATE SCHEMA sales; CREATE TABLE sales.day (a INT)")
    assert "sales" not in shop.run("import", "--dry-run").out
    assert shop.run("import", "sales.*").code == 0
    assert "table: sales.day" in (shop.root / "tables" / "day.yml").read_text()
    assert "nothing to do, 2 unchanged" in shop.run("plan").out
    assert shop.run("import", "sale.*").code == 2


def test_import_says_where_it_cannot_write(shop: Shop) -> None:
    shop.sql("CREATE TABLE main.extra (a INT)")
    (shop.root / "tables").rename(shop.root / "elsewhere")
    (shop.root / "tables").write_text("a file")
    result = shop.run("import", "extra")
    assert result.code == 2
    assert "error[E142]" in result.err


def test_import_tells_an_empty_schema_from_one_without_gaps(shop: Shop) -> None:
    assert shop.run("import").out == "Every live table has a manifest.\n"
    shop.sql("DROP TABLE main.orders")
    assert shop.run("import").out == "Schema 'main' has no tables.\n"


@pytest.mark.parametrize("command", ["plan", "apply", "drift"])
def test_a_project_that_declares_nothing_is_not_taken_for_one_that_is_in_order(
    shop: Shop, command: str
) -> None:
    (shop.root / "tables").rename(shop.root / "table")
    result = shop.run(command, "-q")
    assert result.code == 0
    assert result.err == (
        "warning: nothing is declared: no manifest in tables/, and no model that this environment runs\n"
    )


def test_init_says_nothing_when_it_is_to_be_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["init", str(tmp_path / "loud"), "--kind", "duckdb"]) == 0
    assert "wrote" in capsys.readouterr().out
    assert main.run(["init", str(tmp_path / "new"), "--kind", "duckdb", "-q"]) == 0
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "")
    assert (tmp_path / "new" / "instar.yml").is_file()


def test_verbose_twice_shows_every_row_that_a_finding_names(shop: Shop) -> None:
    shop.sql(f"INSERT INTO main.orders SELECT i, 'row {'x' * 60} ' || i, 1 FROM range(10, 18) t(i)")
    shop.declare(ORDERS.replace("amount, type: STRING", "amount, type: INT"))
    once, twice = shop.run("plan", "-v").out, shop.run("plan", "-vv").out
    assert "and 4 more" in once
    assert f"{'x' * 60} 17" not in once
    assert "more" not in twice.split("error[F201]")[1].split("help:")[0]
    assert f"{'x' * 60} 17" in twice


def test_an_error_says_where_more_is_written(shop: Shop) -> None:
    assert "  more: `instar explain E110`\n" in shop.run("plan", "--env", "dve").err


def test_doctor_validate_schema_server(shop: Shop) -> None:
    healthy = shop.run("doctor")
    assert healthy.code == 0
    assert "Doctor: everything is there." in healthy.out
    assert shop.run("validate").out == "Everything is valid.\n"
    assert "No local Spark server" in shop.run("server", "status").out


def test_doctor_does_not_blame_the_engine_for_the_state_store(shop: Shop) -> None:
    (shop.root / ".instar" / "state.db").write_text("not a database")
    result = shop.run("doctor")
    assert result.code == 1
    assert "✗ state            E301: " in result.out
    assert "✓ engine (duckdb)  answers; 1 table in schema 'main'" in result.out
    assert "Doctor: 1 problem." in result.out


def test_doctor_warns_of_unfinished_runs_and_names_the_command(shop: Shop) -> None:
    shop.declare(ORDERS + "  - {name: note, type: STRING}\n")
    project = Project.load(shop.root)
    (table,) = project.plan().tables
    with open_state(project.config) as store:
        store.begin("dev", table.table, table.steps, table.live, backend="duckdb")
    result = shop.run("doctor")
    assert result.code == 0
    assert "! state            1 unfinished run: main.orders\n" in result.out
    assert "    help: `instar recover --env dev` finishes" in result.out
    assert "Doctor: 1 warning." in result.out
    assert "Plan: 1 to finish first." in shop.run("plan").out
    asked = shop.run("recover", "--forget")
    assert asked.code == 4
    assert "- Forget the unfinished runs of 'dev' (main.orders); what they left behind" in asked.err
    assert (
        "main.orders: the unfinished run is forgotten" in shop.run("recover", "--forget", "-y").err
    )
    assert shop.run("recover", "--forget").out == "Nothing was left unfinished.\n"


def test_a_mistake_in_a_file_is_shown_where_it_is(shop: Shop) -> None:
    shop.declare("table: orders\ncolums: []\n")
    assert shop.run("validate").out == (
        "error[E103]: tables/orders.yml: unknown key 'colums'\n"
        "  --> tables/orders.yml:2:1\n"
        "    │\n"
        "  2 │ colums: []\n"
        "    │ ^^^^^^\n"
        "  help: Did you mean 'columns'?\n"
        "\n"
        "Found 1 error in 1 file.\n"
        "More: instar explain E103\n"
    )


def mistaken(shop: Shop) -> None:
    """Three mistakes in two manifests, one in a model, and a finding of a table that can be read."""
    shop.declare("table: orders\ncolumns:\n  - {name: a, type: INTT, nulable: no}\n")
    shop.declare("table: items\ncolums: []\n", "items")
    shop.declare("table: parts\nproperties: {x: y}\ncolumns: [{name: a, type: INT}]\n", "parts")
    (shop.root / "models").mkdir()
    (shop.root / "models" / "m.sql").write_text("SELECT a FROM ref('orders'), ref('itms')")


def test_validate_tells_every_mistake_of_every_file_and_counts_them(shop: Shop) -> None:
    mistaken(shop)
    result = shop.run("validate")
    assert result.code == 1
    for place in ("items.yml:2:1", "orders.yml:3:21", "orders.yml:3:27"):
        assert f"  --> tables/{place}\n" in result.out
    assert "  --> models/m.sql:1:30\n" in result.out
    assert result.out.count("error[") == 4
    assert "\nFound 4 errors and 1 note in 4 files.\n" in result.out
    planned = shop.run("plan")
    assert planned.code == 1
    assert "  2 more mistakes: `instar validate` lists them all.\n" in planned.err


def test_machines_get_every_mistake_too(shop: Shop) -> None:
    mistaken(shop)
    rows = json.loads(shop.run("validate", "--format", "json").out)
    assert sorted(r["code"] for r in rows if r["severity"] == "error") == [
        "E103",
        "E103",
        "E121",
        "E154",
    ]
    (run,) = json.loads(shop.run("validate", "--format", "sarif").out)["runs"]
    assert len(run["results"]) == 5
    (shop.root / "instar.yml").write_text("nmae: x\nenvironments: {a: {type: x}}\n")
    broken = shop.run("validate", "--format", "sarif")
    assert broken.code == 1
    assert len(json.loads(broken.out)["runs"][0]["results"]) == 2


@pytest.mark.parametrize("format", ["json", "sarif"])
def test_a_mistake_in_a_file_is_a_document_for_machines(shop: Shop, format: str) -> None:
    shop.declare("table: orders\ncolums: []\n")
    result = shop.run("validate", "--format", format)
    assert result.code == 1
    assert "E103" in json.dumps(json.loads(result.out))
    assert "tables/orders.yml" in result.out


def test_an_unknown_environment_and_table_get_a_hint(shop: Shop) -> None:
    assert "error[E110]" in shop.run("plan", "--env", "dve").err
    assert shop.run("plan", "nothing").code != 0
    assert "error[E410]" in shop.run("apply", "nothing.plan").err


TRACKED = """table: orders
change_tracking: true
columns:
  - {name: note, type: &text STRING}
  - {name: amount, type: *text}
  - {name: id, type: BIGINT, nullable: false}
  - {name: old, type: INT}
"""


def test_a_tracked_table_keeps_its_order_and_gets_its_manifest_corrected(shop: Shop) -> None:
    shop.declare(TRACKED.replace("&text ", "").replace("*text", "STRING"))
    printed = shop.run("apply")
    assert (printed.code, "🤑 save credits — reorder your yml." in printed.out) == (0, True)
    block = "  - {name: id, type: BIGINT, nullable: false}\n  - {name: amount, type: STRING}\n"
    assert block in printed.out
    assert "wrote" in shop.run("apply", "--write-manifests").out
    assert block in (shop.root / "tables" / "orders.yml").read_text()
    assert "live order is kept" not in shop.run("plan").out
    assert [row[0] for row in shop.sql("DESCRIBE main.orders")] == ["id", "amount", "old", "note"]


def test_a_corrected_manifest_leaves_out_what_is_no_longer_declared(shop: Shop) -> None:
    text = TRACKED.replace("&text ", "").replace("*text", "STRING")
    shop.declare(text.replace("  - {name: old, type: INT}\n", ""))
    assert "wrote" in shop.run("apply", "--write-manifests").out
    assert "old" not in (shop.root / "tables" / "orders.yml").read_text()
    assert shop.run("apply", "--column-conflict", "drop", "--yes").code == 0
    assert [row[0] for row in shop.sql("DESCRIBE main.orders")] == ["id", "amount", "note"]
    assert "nothing to do" in shop.run("plan").out


def test_a_block_that_cannot_be_written_is_printed(shop: Shop) -> None:
    shop.declare(TRACKED)
    done = shop.run("apply", "--write-manifests")
    assert done.code == 0
    assert "tables/orders.yml cannot be rewritten" in done.err
    assert "columns:\n  - {name: id, type: BIGINT, nullable: false}" in done.out
    assert (shop.root / "tables" / "orders.yml").read_text() == TRACKED


def test_the_commands_that_a_report_names_can_be_typed(shop: Shop) -> None:
    assert "answers; 1 table in schema" in shop.run("doctor").out
    shop.sql('CREATE TABLE main."my t" (a INT, b INT)')
    shop.declare("table: '`my t`'\ncolumns: [{name: b, type: INT}, {name: a, type: INT}]\n", "my")
    told = shop.run("apply", "my t", "--column-conflict", "reorder", "--yes").out
    assert "`instar revert 'my t'` puts it back, `instar cleanup 'my t'` drops it" in told
