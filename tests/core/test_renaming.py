"""Column names inside SQL text follow a rename; strings, functions and fields do not."""

from __future__ import annotations

import pytest

from instar.core.renaming import renamed_sql


@pytest.mark.parametrize(
    ("sql", "renames", "expected"),
    [
        ("a > 0", {"a": "b"}, "b > 0"),
        ('"a" > 0 AND "A" < 9', {"a": "x y"}, '"x y" > 0 AND "x y" < 9'),
        ("`a` > 0", {"a": "it`s"}, "`it``s` > 0"),
        ("a + b", {"a": "b", "b": "a"}, "b + a"),
        ("note = 'a' AND a = 'it''s a'", {"a": "b"}, "note = 'a' AND b = 'it''s a'"),
        ("length(length) > a1", {"length": "size", "a": "b"}, "length(size) > a1"),
        ("s.a = a", {"a": "b"}, "s.a = b"),
        ("s.a = 1", {"s": "t"}, "t.a = 1"),
        ('"s"."a" = 1', {"a": "b"}, '"s"."a" = 1'),
        ("größe > 1", {"größe": "höhe"}, "höhe > 1"),
        ("a > 0", {"a": "a"}, "a > 0"),
        ("a > 0", {}, "a > 0"),
    ],
)
def test_only_columns_are_renamed(sql: str, renames: dict[str, str], expected: str) -> None:
    assert renamed_sql(sql, renames) == expected
