"""What the formats on Spark share: types, lossy predicates, casts, checksums, on the real engine."""

from __future__ import annotations

import pytest

from backends.spark.helpers import columns
from instar.backends.spark.checksum import checksum_select
from instar.backends.spark.expressions import canonical
from instar.backends.spark.lossy import LOSSY
from instar.backends.spark.schemas import schema_json
from instar.backends.spark.types import columns_from_json, from_spark, spark_type
from instar.backends.spark.values import SparkValues
from instar.core.promotions import LOSSLESS_WHEN
from instar.core.types import Json, Opaque, Time, Uuid, bare
from instar.spark import SparkHandle, SparkSqlError

TYPES = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(38,10)",
    "string",
    "varchar(5)",
    "char(3)",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "variant",
    "interval day to second",
    "interval year to month",
    "array<map<string, decimal(5,2)>>",
    "struct<a: int NOT NULL COMMENT 'it\\'s', `b c`: array<struct<`x``y`: date>>, `NOT`: string>",
]


@pytest.mark.parametrize("text", TYPES)
def test_a_type_is_read_and_written_the_same(text: str) -> None:
    type_ = from_spark(text)
    assert from_spark(spark_type(type_)) == type_
    assert not isinstance(type_, Opaque)


def test_spark_text_with_bare_odd_names_and_unknown_types() -> None:
    assert from_spark("struct<a b:int,c:string>") == from_spark("struct<`a b`: int, c: string>")
    assert from_spark("void") == Opaque("void")
    assert from_spark("struct<>") == from_spark("STRUCT<>")
    assert [spark_type(t) for t in (Uuid(), Json(), Time())] == ["STRING"] * 3
    for bad in ("struct<a:int", "array<int", "int>"):
        with pytest.raises(ValueError, match="not a Spark type"):
            from_spark(bad)


@pytest.mark.spark
def test_the_engine_reads_what_is_written_and_writes_what_is_read(spark: SparkHandle) -> None:
    names = {f"c{i}": text for i, text in enumerate(TYPES)}
    wish = columns(**names)
    select = ", ".join(f"CAST(NULL AS {spark_type(c.type)}) AS {c.name}" for c in wish)
    schema = spark.sql(f"SELECT {select}").schema
    seen = columns_from_json(schema.json())
    limited = {"c9", "c10"}
    # A CAST forgets limits; the JSON schema keeps them as metadata.
    for mine, theirs in zip(wish, seen, strict=True):
        assert mine.name in limited or bare(mine.type) == bare(theirs.type)
    kept = columns_from_json(schema_json(wish))
    assert [bare(c.type) for c in kept] == [bare(c.type) for c in wish]


# from, to, values that survive, values that do not: labelled by hand.
LABELLED = [
    ("bigint", "int", "1, -2147483648", "2147483648"),
    ("int", "float", "16777216", "16777217"),
    (
        "bigint",
        "double",
        "9007199254740992, -9223372036854775808L",
        "9007199254740993L, 9223372036854775807L",
    ),
    ("bigint", "float", "16777216", "16777217, 9223372036854775807L"),
    ("int", "decimal(5,2)", "999, -999", "1000"),
    ("int", "boolean", "0, 1", "2, -1"),
    ("int", "varchar(3)", "123, -12", "1234, -123"),
    ("boolean", "varchar(4)", "TRUE", "FALSE"),
    ("double", "float", "1.5D, double('NaN'), double('Infinity')", "0.1D, 1e300D, 1e-320D"),
    (
        "double",
        "int",
        "2147483647D, -2147483648D, -0.0D",
        "1.5D, 2147483648D, double('NaN'), double('Infinity')",
    ),
    (
        "double",
        "bigint",
        "1e18D, -9223372036854775808D",
        "9223372036854775807D, double('NaN'), 1.5D, 1e300D",
    ),
    ("float", "bigint", "1F", "9.223372E18F, 1.5F, float('NaN')"),
    ("double", "decimal(5,2)", "1.25D", "1.255D, 1000D, double('NaN'), double('-Infinity')"),
    ("decimal(10,2)", "decimal(5,1)", "12.50", "12.55, 123456.00"),
    ("decimal(12,2)", "int", "12.00", "12.50, 2147483648.00"),
    ("decimal(20,4)", "double", "1.1000", "1234567890123456.7891"),
    ("decimal(5,2)", "varchar(4)", "1.25", "12.25"),
    ("string", "int", "'007', '+12', ' 12 ', '-0'", "'x', '', '1.9', '1e3', '2147483648'"),
    ("string", "boolean", "'t', 'yes', '1', 'FALSE'", "'maybe', ''"),
    (
        "string",
        "double",
        "'1', '1.10', 'inf', '1e3', '-0.1', 'NaN', '-0', '1d', ' 2E-5 ', '123456789012345.6', '1e-310', '5e22'",
        "'x', '1e999', '0.12345678901234567890', '12345678901234567891', '1e-400', '123456789012345678d', '3e-324'",
    ),
    ("string", "float", "'0.1', '1.5'", "'0.123456789', '16777217'"),
    (
        "string",
        "decimal(5,2)",
        "'1.5', '1.500', '1e2', ' 1 ', '.5', '-0', '00.10', '12500e-2'",
        "'1.555', '1000', 'x', '1e-9', '1.255e0', '0.999', '9.999'",
    ),
    ("string", "decimal(38,0)", "'12', '12.0'", "'12.5', 'NaN', '12.5e0'"),
    (
        "string",
        "date",
        "'2020-1-1', '2020', '2020-01-02T00:00:00', ' 2020-01-02 ', '5000000-01-01', '+12345',"
        " '2020-01-02T00:00:00Z'",
        "'2020-13-01', '2020-01-02 10:00', 'x', '2020-01-01 hello', '2020-01-02T25:61', '5000000-01-01 10:00:00',"
        " '202001', ' 12345 ', '2020-01-02T00:00:00+02:00'",
    ),
    (
        "string",
        "timestamp",
        "'2020-01-01', '2020-01-01T10:00:00Z', '2020-01-01 10:00:00.123456000'",
        "'10:00', '2020-01-01 10:00:00.1234567', 'x', '202001'",
    ),
    (
        "string",
        "timestamp_ntz",
        "'2020-01-01', '2020-01-01 10:00:00.5'",
        "'2020-01-01T10:00:00Z', '2020-01-01 10:00:00+02:00', 'x', '202001'",
    ),
    ("string", "varchar(3)", "'abc', '', 'äöü'", "'abcd', 'abc '"),
    ("string", "char(3)", "'ab', 'abc'", "'abcd', 'ab '"),
    ("char(5)", "varchar(3)", "'abc  '", "'abcd '"),
    ("binary", "string", "X'6162'", "X'FF'"),
    ("binary", "varchar(1)", "X'61'", "X'6162'"),
    (
        "date",
        "timestamp",
        "DATE'9999-12-31', date_from_unix_date(106751991), date_from_unix_date(-106751991)",
        "date_from_unix_date(106751992), date_from_unix_date(-106751992), DATE'+5000000-01-01'",
    ),
    ("date", "timestamp_ntz", "DATE'0001-01-01'", "DATE'+5000000-01-01'"),
    ("date", "varchar(10)", "DATE'2020-01-01'", "DATE'+12020-01-01'"),
    ("timestamp", "date", "TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP'2020-01-01 00:00:01'"),
    (
        "timestamp",
        "varchar(19)",
        "TIMESTAMP'2020-01-01 00:00:01'",
        "TIMESTAMP'2020-01-01 00:00:01.5'",
    ),
    ("timestamp", "timestamp_ntz", "TIMESTAMP'2020-01-01 10:00:00'", ""),
    ("variant", "varchar(3)", "parse_json('\"a\"')", "parse_json('\"ab\"')"),
    ("interval day to second", "varchar(40)", "INTERVAL '1' DAY", ""),
]


@pytest.mark.spark
@pytest.mark.parametrize(("old", "new", "good", "bad"), LABELLED, ids=lambda v: v[:24])
def test_exactly_the_values_that_do_not_survive_are_found(
    spark: SparkHandle, old: str, new: str, good: str, bad: str
) -> None:
    values, was, will = SparkValues(), from_spark(old), from_spark(new)
    rows = [(v, label) for text, label in ((good, False), (bad, True)) for v in _split(text)]
    source = " UNION ALL ".join(
        f"SELECT {n} AS n, CAST({v} AS {spark_type(was)}) AS v" for n, (v, _) in enumerate(rows)
    )
    source += f" UNION ALL SELECT -1, CAST(NULL AS {spark_type(was)})"
    lossy, cast = values.lossy("v", was, will), values.cast("v", was, will)
    attempt = values.try_cast("v", was, will)
    found = spark.run(
        f"SELECT n, {lossy} AS l, {attempt} IS NULL AS gone FROM ({source}) ORDER BY n"
    )
    assert [r["l"] for r in found] == [False, *(label for _, label in rows)]
    assert all(r["gone"] for r in found if r["l"])
    # As text: Python's own dates end in the year 9999.
    text = f"CAST({cast} AS STRING)"
    kept = spark.run(f"SELECT {text} AS c FROM ({source}) WHERE n >= 0 AND NOT {lossy}")
    assert [r["c"] for r in kept].count(None) == 0
    assert len(kept) == len(_split(good))
    if bad:
        with pytest.raises(SparkSqlError, match="instar: a value does not survive"):
            spark.run(f"SELECT {cast} AS c FROM ({source}) WHERE {lossy}")


@pytest.mark.spark
def test_an_expression_gives_no_value_that_the_cast_would_cut_or_round(spark: SparkHandle) -> None:
    said = {
        ("1.5D", "int"): None,
        ("2D", "int"): "2",
        ("true", "tinyint"): "1",
        ("TIMESTAMP'2020-01-01 10:00:00.5'", "bigint"): None,
        ("9223372036854775807", "bigint"): "9223372036854775807",
        ("1.005", "decimal(4,2)"): None,
        ("'1.005'", "decimal(4,2)"): None,
        ("1.1D", "decimal(4,2)"): "1.10",
        ("TIMESTAMP'2020-01-01 10:00:00'", "date"): None,
        ("'2020-01-01'", "date"): "2020-01-01",
        ("DATE'+5000000-01-01'", "date"): "+5000000-01-01",
    }
    casts = (SparkValues().try_cast(f"({sql})", None, from_spark(new)) for sql, new in said)
    (row,) = spark.run(f"SELECT {', '.join(f'CAST({cast} AS STRING)' for cast in casts)}")
    assert tuple(row) == tuple(said.values())


def test_every_change_of_type_that_depends_on_the_rows_has_a_predicate() -> None:
    """Spark has no UUID, JSON or TIME: they are text there before anything is compared."""
    absent = {Uuid, Json, Time}
    checked = {pair for pair in LOSSLESS_WHEN if not absent & set(pair)}
    always = {(a, b) for a, b in checked if LOSSLESS_WHEN[a, b].__name__ == "_always"}
    assert checked - always == set(LOSSY) - always


@pytest.mark.spark
def test_nested_values_are_rebuilt_by_name_and_keys_never_merge(spark: SparkHandle) -> None:
    values = SparkValues()
    turned = values.cast(
        "named_struct('b', 2, 'a', '1')", None, from_spark("struct<a: int, b: int>")
    )
    empty = values.cast("(array())", None, from_spark("array<struct<a: int>>"))
    row = spark.run(f"SELECT {turned} AS t, {empty} AS e")[0]
    assert (tuple(row["t"]), row["e"]) == ((1, 2), [])
    merged = values.cast("map('1', 'x', '01', 'y')", None, from_spark("map<int, string>"))
    with pytest.raises(SparkSqlError, match="two keys of a map"):
        spark.run(f"SELECT {merged}")
    quiet = SparkValues(trying=True).try_cast(
        "map('1', 'x', '01', 'y')", None, from_spark("map<int, string>")
    )
    assert spark.run(f"SELECT {quiet} AS m")[0]["m"] is None


TEXTS = [
    "'it''s'",
    "'it' 's'",
    r"'it\'s'",
    "\"it''s\"",
    '"a""b"',
    "'a\"\"b'",
    "''''",
    "''",
    r"'a\\b'",
    r"r'a\b'",
    r"'x''y\tz'",
    "concat('it''s', ' so')",
]


@pytest.mark.spark
def test_a_text_in_an_expression_is_read_as_the_engine_reads_it(spark: SparkHandle) -> None:
    pairs = ", ".join(f"{text}, {canonical(text)}" for text in TEXTS)
    said = list(spark.run(f"SELECT {pairs}")[0])
    assert said[::2] == said[1::2]


DIFFERENT = [
    ("string", "'', NULL, 'a'"),
    (
        "double",
        "0.0D, -0.0D, double('NaN'), double('Infinity'), double('-Infinity'), NULL, 1.0D,"
        " 4.9E-324D, 1.7976931348623157E308D",
    ),
    ("float", "float('Infinity'), float('-Infinity'), float('NaN'), float('-0.0'), float('0')"),
    (
        "decimal(38,10)",
        "9999999999999999999999999999.9999999999BD, -9999999999999999999999999999.9999999999BD,"
        " 9999999999999999999999999999.9999999998BD, 0BD, 0.0000000001BD, NULL",
    ),
    ("decimal(10,2)", "1.00BD, 100BD, 0.01BD, -1.00BD, NULL"),
    ("date", "DATE'0001-01-01', DATE'9999-12-31', DATE'1969-12-31', DATE'1970-01-01', NULL"),
    (
        "timestamp",
        "TIMESTAMP'0001-01-01 00:00:00Z', TIMESTAMP'9999-12-31 23:59:59.999999Z',"
        " TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP'1970-01-01 00:00:00Z', NULL",
    ),
    (
        "timestamp_ntz",
        "TIMESTAMP_NTZ'0001-01-01 00:00:00', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999',"
        " TIMESTAMP_NTZ'9999-12-31 23:59:59.999998', NULL",
    ),
    ("binary", "X'', X'00', X'0000', NULL"),
    (
        "array<struct<d: decimal(38,0), t: timestamp, f: double>>",
        "array(), NULL, array(NULL), array(named_struct('d', NULL, 't', NULL, 'f', NULL)),"
        " array(named_struct('d', 1BD, 't', NULL, 'f', double('Infinity'))),"
        " array(named_struct('d', 1BD, 't', NULL, 'f', double('-Infinity')))",
    ),
    ("array<int>", "array(), NULL, array(NULL), array(1, 2), array(2, 1)"),
    (
        "array<array<int>>",
        "array(array(1), array(2)), array(array(1, 2)), array(array(), array(1, 2))",
    ),
    ("map<string, double>", "map(), NULL, map('a', 0.0D), map('a', -0.0D), map('a', NULL)"),
    (
        "struct<a: int, b: int>",
        "NULL, named_struct('a', 1, 'b', NULL), named_struct('a', NULL, 'b', 1)",
    ),
    ("variant", "parse_json('1'), parse_json('\"1\"'), NULL"),
]
SAME = [
    ("map<string, int>", "map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"),
    ("double", "double('NaN')", "double('NaN') * -1"),
    ("char(4)", "'ab'", "'ab  '"),
]


@pytest.mark.spark
def test_the_checksum_tells_rows_apart_and_does_not_mind_their_order(spark: SparkHandle) -> None:
    def totals(type_: str, *groups: tuple[str, ...]) -> list[tuple[int, str]]:
        """Of each group of values, all in one job."""
        rows = " UNION ALL ".join(
            f"SELECT {n} AS n, CAST({v} AS {spark_type(from_spark(type_))}) AS v"
            for n, values in enumerate(groups)
            for v in values
        )
        check = checksum_select([("v", from_spark(type_))])
        found = spark.run(f"SELECT n, {check} FROM ({rows}) GROUP BY n ORDER BY n")
        return [(row["rows"], row["total"]) for row in found]

    for type_, text in DIFFERENT:
        values = _split(text)
        assert len(set(totals(type_, *((v,) for v in values)))) == len(values), type_
    for type_, one, other in SAME:
        assert len(set(totals(type_, (one,), (other,)))) == 1, type_
    ordered = totals("int", ("1", "2", "2"), ("2", "1", "2"))
    assert ordered[0] == ordered[1]
    assert len(set(totals("int", ("1", "1"), ("1",), ("1", "3"), ("2", "2")))) == 4


def _split(text: str) -> list[str]:
    """Values between commas that stand outside brackets and quotes."""
    found, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(text):
        quoted ^= letter == "'"
        depth += (letter == "(") - (letter == ")") if not quoted else 0
        if letter == "," and not depth and not quoted:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()] if text.strip() else []
