"""Manifests: what they mean for each environment, and how they are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from instar.core.schema import Check, Hint, TableName, Unique, Wanted
from instar.core.types import Column, Integer, String, Timestamp, array, struct
from instar.errors import ProjectError
from instar.sources.manifest import load_manifest, load_manifests, read_manifests
from instar.sources.project import load_project

Read = Callable[..., Wanted]

ORDERS = """\
table: orders                # or schema.table
format: iceberg
change_tracking: true
primary_key: [id]
cluster_by: [CREATED_AT]
partition_by: ["days(CREATED_AT)", STATUS]
comment: all of them
properties: {delta.appendOnly: true, retention: 7}
constraints:
  positive: {check: "AMOUNT >= 0"}
  one_email: {unique: [mail]}
columns:
  - {name: ID, type: BIGINT}
  - name: STATUS
    type: VARCHAR
    nullable: false
    _default: "'UNDEFINED'"    # migration helper
  - name: FIRST_NAME
    type: VARCHAR
    _using: "split_part(FULL_NAME, ' ', 1)"
  - {name: MAIL, type: VARCHAR(255), renamed_from: EMAIL, comment: where to write}
  - {name: AMOUNT, type: INT, default: 0}
  - {name: CREATED_AT, type: TIMESTAMP}
"""


def test_the_manifest_of_the_guide(read: Read) -> None:
    wanted = read(ORDERS)
    table = wanted.table
    assert table.name == TableName("main", "orders")
    assert (table.format, table.change_tracking, table.comment) == ("iceberg", True, "all of them")
    assert table.primary_key == ("ID",)
    assert table.cluster_by == ("CREATED_AT",)
    assert table.partition_by == ("days(CREATED_AT)", "STATUS")
    assert dict(table.properties) == {"delta.appendOnly": "true", "retention": "7"}
    assert table.constraints == (Check("positive", "AMOUNT >= 0"), Unique("one_email", ("MAIL",)))
    assert table.columns == (
        Column("ID", Integer(64), nullable=False),
        Column("STATUS", String(), nullable=False),
        Column("FIRST_NAME", String()),
        Column("MAIL", String(255), comment="where to write"),
        Column("AMOUNT", Integer(32), default="0"),
        Column("CREATED_AT", Timestamp(zone=True)),
    )
    assert wanted.hints == {
        ("STATUS",): Hint(default="'UNDEFINED'"),
        ("FIRST_NAME",): Hint(using="split_part(FULL_NAME, ' ', 1)"),
        ("MAIL",): Hint(renamed_from="EMAIL"),
    }
    assert wanted.origin == "tables/t.yml"


def test_one_manifest_serves_every_environment(read: Read) -> None:
    """The schema comes from the environment; a format of Spark means nothing elsewhere."""
    table = read(ORDERS, env="quick").table
    assert table.name == TableName("raw", "orders")
    assert table.format == ""
    assert table.columns == read(ORDERS, env="dev").table.columns


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("orders", TableName("main", "orders")),
        ("sales.orders", TableName("sales", "orders")),
        ("'`a.b`.`c d`'", TableName("a.b", "c d")),
        ("'\"a.b\"'", TableName("main", "a.b")),
        ("NO", TableName("main", "NO")),
    ],
)
def test_names_of_tables(read: Read, text: str, name: TableName) -> None:
    assert read(f"table: {text}\ncolumns: [{{name: a, type: INT}}]\n").table.name == name


@pytest.mark.parametrize(
    "word", ["NO", "on", "yes", "null", "true", "0", "1.5", "2024-01-01", "~", "0x1F", "y", "1e3"]
)
def test_a_name_is_a_name_whatever_yaml_would_make_of_it(read: Read, word: str) -> None:
    (column,) = read(f"table: t\ncolumns:\n  - name: {word}\n    type: INT\n").table.columns
    assert column.name == word


@pytest.mark.parametrize(
    ("yaml", "expression"),
    [
        ("0", "0"),
        ("-1.5", "-1.5"),
        ("true", "true"),
        ("False", "False"),
        ("\"'a'\"", "'a'"),
        ("current_timestamp()", "current_timestamp()"),
        ("CURRENT_DATE", "CURRENT_DATE"),
        ("\"'a; b -- c'\"", "'a; b -- c'"),
        ('"`odd, name` + 1"', "`odd, name` + 1"),
    ],
)
def test_expressions_may_stand_without_quotes(read: Read, yaml: str, expression: str) -> None:
    wanted = read(f"table: t\ncolumns:\n  - name: a\n    type: INT\n    _default: {yaml}\n")
    assert wanted.hint(("a",)).default == expression


@pytest.mark.parametrize("nothing", ["", "~", "null"])
def test_an_empty_value_is_an_absent_one(read: Read, nothing: str) -> None:
    text = f"table: t\ncomment: {nothing}\ncolumns:\n  - name: a\n    type: INT\n    default: {nothing}\n"
    table = read(text).table
    assert (table.comment, table.columns[0].default) == (None, None)


NESTED = """\
table: t
columns:
  - name: PROFILE
    type: STRUCT<GIVEN STRING, `a.b` STRUCT<ZIP STRING>, ITEMS ARRAY<STRUCT<N INT>>>
    fields:
      given: {renamed_from: FIRST}
      "`a.b`.ZIP": {comment: postal code, nullable: false}
      ITEMS.element: {nullable: false}
      ITEMS.element.N: {_default: 0, default: 1}
"""


def test_nested_fields_are_reached_by_path(read: Read) -> None:
    wanted = read(NESTED)
    assert wanted.table.columns[0].type == struct(
        Column("GIVEN", String()),
        Column("a.b", struct(Column("ZIP", String(), nullable=False, comment="postal code"))),
        Column(
            "ITEMS",
            array(struct(Column("N", Integer(32), default="1")), nullable=False),
        ),
    )
    assert wanted.hints == {
        ("PROFILE", "GIVEN"): Hint(renamed_from="FIRST"),
        ("PROFILE", "ITEMS", "element", "N"): Hint(default="0"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "A DESC",
        "a desc nulls last",
        "days(a)",
        "bucket(16, a)",
        "`odd, name`",
        "odd, name",
        "truncate(4, s.`x.y`)",
        "s.x",
        "hours( a ) ASC",
    ],
)
@pytest.mark.parametrize("key", ["cluster_by", "partition_by"])
def test_what_clusters_or_partitions_by_a_column(read: Read, key: str, text: str) -> None:
    table = read(
        f"table: t\n{key}: [{json.dumps(text)}]\ncolumns:\n  - {{name: a, type: INT}}\n"
        "  - {name: 'odd, name', type: INT}\n  - {name: s, type: \"STRUCT<x INT, `x.y` INT>\"}\n"
    ).table
    assert getattr(table, key) == (text,)


def test_names_may_follow_each_other_in_a_chain(read: Read) -> None:
    wanted = read(
        "table: t\ncolumns:\n"
        "  - {name: a, type: INT, renamed_from: b}\n  - {name: c, type: INT, renamed_from: a}\n"
    )
    assert wanted.hints == {("a",): Hint(renamed_from="b"), ("c",): Hint(renamed_from="a")}


A = "table: t\ncolumns:\n  - name: a\n    type: INT\n"
"""A good manifest; what follows it is on line 5."""

BAD = [
    ("columns: [{name: a, type: INT}]\n", "E106", 1, "'table' is missing"),
    ("table: t\n", "E106", 1, "'columns' is missing"),
    ("table: t\ncolumns: []\n", "E106", 2, "names none"),
    ("table: t\ncolumns:\n", "E106", 2, "'columns' is empty"),
    ("table: a.b.c\ncolumns: [{name: a, type: INT}]\n", "E136", 1, "schema.table"),
    ("table: b__instar_old_1\ncolumns: [{name: a, type: INT}]\n", "E137", 1, "instar cleanup"),
    ("table: s.x__INSTAR_new\ncolumns: [{name: a, type: INT}]\n", "E137", 1, "x__INSTAR_new"),
    ("table: t\ncolumns: {a: INT}\n", "E104", 2, "must be a list"),
    ("table: t\ncolumns:\n  - a\n", "E104", 3, "must be a mapping"),
    ("table: t\ncolumns:\n  - {name: a}\n", "E106", 3, "'type' is missing"),
    ("table: t\ncolumns:\n  - {name: '', type: INT}\n", "E104", 3, "must be a name"),
    (A + "    nulable: false\n", "E103", 5, "Did you mean 'nullable'?"),
    (A + "    nullable: no\n", "E104", 5, "true or false, not 'no'"),
    (A + "    nullable: no\n", "E104", 5, "Write false, without quotes."),
    (A + "    nullable: 'true'\n", "E104", 5, "Write true, without quotes."),
    (A + "    type: INT\n", "E105", 5, "'type' stands twice"),
    (A + "    comment: [x]\n", "E104", 5, "a text, not a list"),
    (A + "primary_keys: [a]\n", "E103", 5, "Did you mean 'primary_key'?"),
    (A + "change_tracking: maybe\n", "E104", 5, "true or false"),
    (A + "format: csv\n", "E111", 5, "delta, iceberg, parquet"),
    (A + "primary_key: [b]\n", "E133", 5, "no column"),
    (A + "primary_key: [a, A]\n", "E105", 5, "twice"),
    (A + "primary_key: {a: b}\n", "E104", 5, "a list of names"),
    (A + "    nullable: true\nprimary_key: [a]\n", "E135", 5, "cannot be nullable"),
    (A + "cluster_by: [b]\n", "E133", 5, "There are: a."),
    (A + "partition_by: ['days(b)']\n", "E133", 5, "names 'b'"),
    (A + "partition_by: [bucket(16, a)]\n", "E133", 5, "put it into quotes"),
    (A + "cluster_by: [b DESC]\n", "E133", 5, "names 'b'"),
    (A + "primary_key: [a DESC]\n", "E133", 5, "names 'a DESC'"),
    (A + "constraints:\n  c: {check: 'a > 0', unique: [a]}\n", "E112", 6, "needs one of"),
    (A + "constraints:\n  c: {}\n", "E112", 6, "needs one of"),
    (A + "constraints:\n  c: {unique: [z]}\n", "E133", 6, "names 'z'"),
    (A + "constraints:\n  c: {check: 'a >'}\n", "E122", 6, "not one SQL expression"),
    (A + "  - {name: A, type: INT}\n", "E131", 5, "stands twice (as 'a')"),
    (A + "  - {name: b, type: \"STRUCT<a INT\"}\n", "E120", 5, "or '>' is expected"),
    (A + "  - {name: b, type: VARHCAR}\n", "E121", 5, "Did you mean VARCHAR?"),
    (A + "  - {name: b, type: DECIMAL(10, 2)}\n", "E103", 5, "needs quotes"),
    (A + "  - {name: b, type: STRUCT<x: INT>}\n", "E101", 5, "not valid YAML"),
    (A + "    renamed_from: a\n", "E132", 5, "from itself"),
    (A + "    renamed_from: b\n  - {name: b, type: INT, renamed_from: A}\n", "E132", 5, "in a ring"),
    (
        "table: t\ncolumns:\n  - name: a\n    type: STRUCT<x INT, y INT>\n    fields:\n"
        "      x: {renamed_from: y}\n      y: {renamed_from: x}\n",
        "E132",
        6,
        "'x' from 'y' from 'x'",
    ),
    (
        A + "    renamed_from: z\n  - {name: b, type: INT, renamed_from: Z}\n",
        "E132",
        6,
        "'b' and 'a' cannot both be renamed from 'Z'",
    ),
    (A + "    renamed_from: z\nprimary_key: [z]\n", "E133", 6, "It is renamed: name it 'a'"),
    (A + "    _default: ''\n", "E122", 5, "is empty"),
    (A + "    _default: \"1; drop table t\"\n", "E122", 5, "semicolon"),
    (A + "    _default: 1;\n", "E122", 5, "semicolon"),
    (A + "    _default: \"1 -- why\"\n", "E122", 5, "comment"),
    (A + "    _default: 1, 2\n", "E122", 5, "not one SQL expression"),
    (A + "    _default: drop table t\n", "E122", 5, "a statement"),
    (A + "    _default: select 1\n", "E122", 5, "a query"),
    (A + "    _default: UNDEFINED\n", "E122", 5, "_default: \"'UNDEFINED'\""),
    (A + "    _default: not yet known\n", "E122", 5, "not"),
    (A + "    default: a\n", "E122", 5, "takes for a column"),
    (A + "    _using: \"1) + (2\"\n", "E122", 5, "not one SQL expression"),
    (A + "    _using: \"'a\"\n", "E122", 5, "not one SQL expression"),
    (A + "    fields: {x: {comment: c}}\n", "E134", 5, "has no fields"),
    (
        "table: t\ncolumns:\n  - name: a\n    type: ARRAY<STRUCT<x INT>>\n    fields:\n      x: {comment: c}\n",
        "E134",
        6,
        "'a' has: element.",
    ),
    (
        "table: t\ncolumns:\n  - name: a\n    type: STRUCT<x INT>\n    fields:\n      x: {name: c}\n",
        "E103",
        6,
        "unknown key 'name'",
    ),
    (
        "table: t\ncolumns:\n  - name: a\n    type: STRUCT<x INT>\n    fields:\n      x: {}\n      X: {}\n",
        "E105",
        7,
        "stands twice",
    ),
    (
        "table: t\ncolumns:\n  - name: a\n    type: ARRAY<INT>\n    fields:\n      element: {renamed_from: e}\n",
        "E132",
        6,
        "no name of its own",
    ),
    (
        "table: t\ncolumns:\n  - name: a\n    type: STRUCT<x INT, y INT>\n    fields:\n"
        "      x: {renamed_from: z}\n      y: {renamed_from: z}\n",
        "E132",
        7,
        "cannot both",
    ),
    ("table: t\n\tcolumns: []\n", "E101", 2, "Indent with spaces"),
    ("", "E102", None, "is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "says"), BAD)
def test_what_is_wrong_is_named_with_its_place(
    read: Read, text: str, code: str, line: int | None, says: str
) -> None:
    with pytest.raises(ProjectError) as caught:
        read(text)
    error = caught.value
    assert says in f"{error.message} {error.hint}"
    assert error.code == code
    assert error.where is not None
    assert (error.where.file, error.where.line) == ("tables/t.yml", line)
    if line is not None:
        assert error.where.text == text.split("\n")[line - 1]


def test_a_name_may_be_renamed_to_another_case_of_itself(read: Read) -> None:
    wanted = read(
        "table: t\ncolumns:\n  - {name: SELECT, type: INT, renamed_from: select}\n"
        "  - name: s\n    type: STRUCT<X INT>\n    fields:\n      X: {renamed_from: x}\n"
    )
    assert wanted.hint(("SELECT",)).renamed_from == "select"
    assert wanted.hint(("s", "X")).renamed_from == "x"


def test_a_bad_type_is_pointed_at_where_it_goes_wrong(read: Read) -> None:
    with pytest.raises(ProjectError) as caught:
        read("table: t\ncolumns:\n  - name: a\n    type: STRUCT<x STRIGN>\n")
    assert str(caught.value.where) == "tables/t.yml:4:20"


@pytest.mark.parametrize(
    ("expression", "dev", "quick"),
    [("`a` + 1", True, False), ("{'x': 1}", False, True), ("'it\\'s; fine'", True, False)],
)
def test_expressions_are_read_in_the_dialect_of_the_environment(
    read: Read, expression: str, dev: bool, quick: bool
) -> None:
    text = A + f"    _using: {json.dumps(expression)}\n"
    for env, good in (("dev", dev), ("quick", quick)):
        if good:
            assert read(text, env=env).hint(("a",)).using == expression
        else:
            with pytest.raises(ProjectError, match="_using"):
                read(text, env=env)


def test_two_manifests_of_one_table_are_refused(root: Path) -> None:
    (root / "tables" / "a.yml").write_text(A)
    (root / "tables" / "b.yaml").write_text("# again\ntable: MAIN.T\n" + A.split("\n", 1)[1])
    with pytest.raises(ProjectError) as caught:
        load_manifests(load_project(root), "dev")
    error = caught.value
    assert error.code == "E130"
    assert "tables/a.yml:1:8" in error.message
    assert str(error.where) == "tables/b.yaml:2:8"


def test_manifests_lie_anywhere_under_tables(root: Path) -> None:
    for name in ("z.yml", "sub/y.yaml", ".hidden/x.yml", "notes.txt", ".w.yml"):
        path = root / "tables" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(A.replace("table: t", f"table: {path.stem.strip('.')}"))
    found = load_manifests(load_project(root))
    assert [w.origin for w in found] == ["tables/sub/y.yaml", "tables/z.yml"]


def test_every_broken_file_is_reported(root: Path) -> None:
    (root / "tables" / "good.yml").write_text(A)
    (root / "tables" / "bad1.yml").write_text("table: x\n")
    (root / "tables" / "bad2.yml").write_text("")
    found = read_manifests(load_project(root))
    assert [w.origin for w in found.wanted] == ["tables/good.yml"]
    assert [p.code for p in found.problems] == ["E106", "E102"]


MISTAKES = """\
tabel: x
table: orders
primary_key: [id, idd]
cluster_by: nothing
constraints:
  one: {chek: a > 0}
  two: {unique: [amount, gone]}
  three: {}
columns:
  - {name: id, type: BIGNT, nullable: true}
  - {name: id, type: INT}
  - {name: amount, type: INT, nullable: perhaps, _default: open}
  - {name: x, type: "STRUCT<a INT>", fields: {b: {}, a: {comment: [1]}}}
  - {name: y, type: INT, renamed_from: y}
  - {name: z}
  - 7
"""


def test_every_mistake_of_a_manifest_is_told_once(root: Path) -> None:
    (root / "tables" / "bad.yml").write_text(MISTAKES)
    found = read_manifests(load_project(root))
    told = [(p.code, p.where.line) for p in found.problems if p.where]
    expected = [
        ("E103", 1),
        ("E103", 6),
        ("E112", 8),
        ("E121", 10),
        ("E131", 11),
        ("E104", 12),
        ("E134", 13),
        ("E104", 13),
        ("E132", 14),
        ("E106", 15),
        ("E104", 16),
    ]
    assert sorted(told, key=lambda t: t[1]) == expected, "keys may name the column that has no name"
    whole = MISTAKES.replace("  - 7\n", "")
    (root / "tables" / "bad.yml").write_text(whole)
    found = read_manifests(load_project(root))
    more = [(p.code, p.where.line) for p in found.problems if p.where]
    assert sorted(set(more) - set(expected)) == [
        ("E122", 12),
        ("E133", 3),
        ("E133", 4),
        ("E133", 7),
    ]


def test_one_manifest_by_its_path(root: Path) -> None:
    path = root / "elsewhere.yml"
    path.write_text(A)
    assert load_manifest(load_project(root), "dev", path).table.name.name == "t"


def cache_file(root: Path) -> Path:
    return root / ".instar" / "cache" / "manifests-spark.json"


def test_an_unchanged_manifest_comes_from_the_cache(root: Path, read: Read) -> None:
    first = read(ORDERS)
    document = json.loads(cache_file(root).read_text())
    assert read(ORDERS) == first
    document["columns"][0]["name"] = "FROM_CACHE"
    cache_file(root).write_text(json.dumps(document))
    assert read(ORDERS).table.columns[0].name == "FROM_CACHE"
    assert read(ORDERS + "# changed\n").table.columns[0].name == "ID"
    assert "FROM_CACHE" not in cache_file(root).read_text()


def test_columns_that_come_back_are_kept_once_and_told_apart(root: Path, read: Read) -> None:
    again = "columns:\n  - {name: a, type: INT}\n  - {name: b, type: INT, comment: one}\n"
    other = again.replace("one", "two")
    for name, text in (("x", again), ("y", again), ("z", other)):
        (root / "tables" / f"{name}.yml").write_text(f"table: {name}\n{text}")
    first = load_manifests(load_project(root), "dev")
    document = json.loads(cache_file(root).read_text())
    assert [c["name"] for c in document["columns"]] == ["a", "b", "b"]
    assert load_manifests(load_project(root), "dev") == first
    assert [w.table.columns[1].comment for w in first] == ["one", "one", "two"]


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"stamp": 1}', "null", "\udcff"])
def test_a_broken_cache_is_as_good_as_none(root: Path, read: Read, broken: str) -> None:
    first = read(ORDERS)
    cache_file(root).write_bytes(broken.encode("utf-8", "surrogateescape"))
    assert read(ORDERS) == first


def test_a_cache_that_cannot_be_written_is_no_error(root: Path, read: Read) -> None:
    (root / ".instar").write_text("a file where the folder should be")
    assert read(ORDERS).table.name.name == "orders"
