"""Core values survive as documents, exactly."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instar.core import types as t
from instar.core.changes import KINDS, AddColumn, ModifyColumn, Rename, TypeChange
from instar.core.plan import Cost, Rung, Step
from instar.core.schema import Check, Hint, Table, TableName, Unique, Wanted
from instar.core.serial import NotADocument, dumps, fingerprint, from_doc, loads, to_doc

names = st.text(min_size=1, max_size=8)
maybe_text = st.none() | st.text(max_size=8)
scalars = st.one_of(
    st.sampled_from([t.Boolean(), t.Binary(), t.Date(), t.Time(), t.Uuid(), t.Json(), t.Variant()]),
    st.builds(t.Integer, st.sampled_from([8, 16, 32, 64, 128]), st.booleans()),
    st.builds(t.Float, st.sampled_from([32, 64])),
    st.builds(t.Decimal, st.integers(1, 38), st.integers(0, 10)),
    st.builds(t.String, st.none() | st.integers(1, 999), st.booleans()),
    st.builds(t.Timestamp, st.booleans(), st.integers(0, 9)),
    st.builds(t.Interval, st.sampled_from(["", "DAY TO SECOND"])),
    st.builds(t.Opaque, names),
)


def columns_of(types: st.SearchStrategy[t.Type]) -> st.SearchStrategy[t.Column]:
    return st.builds(
        t.Column,
        names,
        types,
        st.booleans(),
        maybe_text,
        maybe_text,
        st.none() | st.integers(0, 2**63),
        maybe_text,
    )


def _nested(inner: st.SearchStrategy[t.Type]) -> st.SearchStrategy[t.Type]:
    column = columns_of(inner)
    return st.one_of(
        st.builds(t.Struct, st.lists(column, max_size=3).map(tuple)),
        st.builds(t.Array, column),
        st.builds(t.Map, column, column),
    )


columns = columns_of(st.recursive(scalars, _nested, max_leaves=6))
name_lists = st.lists(names, max_size=3).map(tuple)
mappings = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3).map(
    MappingProxyType
)
tables = st.builds(
    Table,
    name=st.builds(TableName, names, names),
    columns=st.lists(columns, max_size=4).map(tuple),
    format=st.sampled_from(["", "delta"]),
    primary_key=name_lists,
    constraints=st.lists(
        st.builds(Check, names, names) | st.builds(Unique, names, name_lists), max_size=2
    ).map(tuple),
    cluster_by=name_lists,
    partition_by=name_lists,
    properties=mappings,
    change_tracking=st.sampled_from([None, True, False]),
    comment=maybe_text,
    extras=mappings,
)


@given(tables)
@settings(deadline=None)
def test_a_table_comes_back_from_json_text_exactly(table: Table) -> None:
    back = loads(dumps(table))
    assert back == table
    assert back.extras == table.extras
    assert repr(back) == repr(table)


@given(tables)
@settings(deadline=None)
def test_the_fingerprint_ignores_identities_and_extras_only(table: Table) -> None:
    other = replace(
        table,
        columns=tuple(t.without_identity(c) for c in table.columns),
        extras=MappingProxyType({"location": "elsewhere"}),
    )
    assert fingerprint(other) == fingerprint(table)
    assert fingerprint(replace(table, comment=(table.comment or "") + "!")) != fingerprint(table)


def test_the_fingerprint_does_not_depend_on_the_order_of_properties() -> None:
    one = Table(TableName("s", "a"), (), properties=MappingProxyType({"x": "1", "y": "2"}))
    two = Table(TableName("s", "a"), (), properties=MappingProxyType({"y": "2", "x": "1"}))
    assert fingerprint(one) == fingerprint(two)


def test_documents_are_compact_and_readable() -> None:
    column = t.Column("id", t.Integer(32), nullable=False)
    assert to_doc(column) == {
        "_": "Column",
        "name": "id",
        "type": {"_": "Integer", "bits": 32},
        "nullable": False,
    }
    assert to_doc(Rung.REWRITE) == {"_": "Rung", "is": "rewrite"}


def test_a_step_comes_back_with_its_cost_rung_and_data() -> None:
    table = Table(TableName("main", "orders"), (t.Column("id", t.Integer(64)),))
    step = Step(
        "1",
        "rewrite",
        Rung.REWRITE,
        "rewrite it",
        ("SELECT 1", "SELECT 'ü'"),
        table,
        Cost(rows=3),
        destructive=True,
        confirm="Really?",
        irreversible=("time travel",),
        data=MappingProxyType({"_": "even this key", "shadow": "orders__new"}),
    )
    assert from_doc(json.loads(json.dumps(to_doc(step)))) == step


def test_changes_and_what_is_wanted_come_back() -> None:
    old, new = t.Column("a", t.Integer(32)), t.Column("b", t.Integer(64))
    change = ModifyColumn(
        ("b",), ("a",), old, new, (Rename("a", "b"), TypeChange(old.type, new.type))
    )
    wanted = Wanted(
        Table(TableName("main", "x"), (new,)), MappingProxyType({("b",): Hint(renamed_from="a")})
    )
    for value in (change, AddColumn(("p", "q"), new, None), wanted, frozenset({(("b",), "a")})):
        assert loads(dumps(value)) == value


def test_every_kind_of_change_is_known() -> None:
    from instar.core.serial import _KNOWN

    assert set(KINDS) <= set(_KNOWN.values())


@pytest.mark.parametrize(
    "text",
    [
        '{"_":"Nonsense"}',
        '{"_":"Integer","size":4}',
        '{"_":"Rung","is":"?"}',
        "{",
        '{"_":"Column"}',
    ],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(NotADocument):
        loads(text)


def test_a_foreign_value_is_no_core_value() -> None:
    with pytest.raises(TypeError):
        to_doc(object())
