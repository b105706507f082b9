"""One SQL expression and no more: what is read as one, what is refused, and with which words."""

from __future__ import annotations

import pytest

from instar.expressions import BadExpression, check_expression, one_expression

DIALECTS = ("spark", "duckdb", "postgres", "snowflake")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["amount", "comment", "copy", "update", "merge", "cache", "use"])
def test_a_lone_name_is_a_column_whatever_statement_begins_so(name: str, dialect: str) -> None:
    assert check_expression(name, dialect) == name


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "text",
    ["a + 1", "(SELECT max(a) FROM t)", "CAST(a AS INT)", "a.b.c", "1", "CURRENT_DATE", "a[1]"],
)
def test_an_expression_that_is_no_lone_name(text: str, dialect: str) -> None:
    assert check_expression(text, dialect) is None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("1, 2", "not one SQL expression"),
        ("1,", "not one SQL expression"),
        ("1) + (2", "not one SQL expression"),
        ("a AS", "not one SQL expression"),
        ("AS a", "not one SQL expression"),
        ("a FROM t", "not one SQL expression"),
        ("'a", "not one SQL expression"),
        ("a;", "without a semicolon"),
        ("a; DROP TABLE t", "without a semicolon"),
        ("a -- b", "a comment"),
        ("a /* b */", "a comment"),
        ("pending order", "two words side by side"),
        ("ALL a", "two words side by side"),
        ("a AS b", "two words side by side"),
        ("SELECT 1", "a query"),
        ("*", "a star"),
        ("DROP TABLE t", "a statement"),
    ],
)
def test_what_is_refused(text: str, words: str, dialect: str) -> None:
    with pytest.raises(BadExpression, match=words) as caught:
        check_expression(text, dialect)
    assert "<Token" not in str(caught.value)


def test_the_text_of_an_engine_may_hold_a_comment_and_end_in_a_semicolon() -> None:
    assert one_expression("a > 0 -- said", "spark").sql(comments=False) == "a > 0"
    assert one_expression("a;", "spark").sql() == "a"


def test_two_statements_are_no_expression() -> None:
    with pytest.raises(BadExpression, match="more than one"):
        one_expression("a; b", "spark")
