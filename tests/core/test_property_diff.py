"""For any two tables: the changes between them lead from one to the other, and no value goes astray."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.strategies import NAME, Evolution, evolutions, examples, tables, types
from instar.backends.memory.rows import from_text, project_row, to_text
from instar.core.changes import kind
from instar.core.diff import diff
from instar.core.evolve import evolve
from instar.core.projection import FromOld, Projection, StructCarry, project
from instar.core.schema import Table, Wanted
from instar.core.types import (
    Array,
    Column,
    Map,
    Path,
    Struct,
    Type,
    bare,
    children,
    name_text,
    path_text,
    type_text,
    walk,
    with_children,
)
from instar.sources.typetext import parse_type

MANY = settings(max_examples=examples(40), deadline=None)
FOLDS = {"exact names": (False, str), "folded names": (True, str.casefold)}


@given(table=tables())
@MANY
def test_a_table_does_not_differ_from_itself(table: Table) -> None:
    assert diff(table, Wanted(table)) == ()
    assert diff(table, Wanted(table), fold=str) == ()


@pytest.mark.parametrize("folding", FOLDS)
@given(data=st.data())
@MANY
def test_the_changes_lead_to_what_is_wanted(folding: str, data: st.DataObject) -> None:
    folds, fold = FOLDS[folding]
    way: Evolution = data.draw(evolutions(folding=folds))
    changes = diff(way.live, way.wanted, fold)
    assert evolve(way.live, changes) == way.expected


@given(way=evolutions(folding=True))
@MANY
def test_a_table_that_got_there_needs_nothing_more(way: Evolution) -> None:
    done = frozenset(
        (tuple(map(str.casefold, path)), hint.renamed_from.casefold())
        for path, hint in way.wanted.hints.items()
        if hint.renamed_from is not None
    )
    assert diff(way.expected, way.wanted, done=done) == ()


@given(way=evolutions(folding=False))
@MANY
def test_one_change_for_one_column(way: Evolution) -> None:
    changes = diff(way.live, way.wanted, str)
    places = [(kind(c), getattr(c, "path", ())) for c in changes]
    assert len(places) == len(set(places))


# --- values follow their columns ------------------------------------------------------------------


def _tokens(type_: Type, path: Path) -> Any:
    """A value in which every leaf says its own live path."""
    match type_:
        case Struct(fields):
            return {f.name: _tokens(f.type, (*path, f.name)) for f in fields}
        case Array(element):
            return [_tokens(element.type, (*path, "element"))]
        case Map(key, value):
            return {_tokens(key.type, (*path, "key")): _tokens(value.type, (*path, "value"))}
        case _:
            return path


def _expected(type_: Type, path: Path, origin: dict[Path, Path | None]) -> Any:
    """The same for the target: every leaf must hold the path that it came from."""
    came = origin.get(path) if path else ()
    if came is None:
        return None
    match type_:
        case Struct(fields):
            return {f.name: _expected(f.type, (*path, f.name), origin) for f in fields}
        case Array(element):
            return [_expected(element.type, (*path, "element"), origin)]
        case Map(key, value):
            return {
                _expected(key.type, (*path, "key"), origin): _expected(
                    value.type, (*path, "value"), origin
                )
            }
        case _:
            return came


def _without_defaults(column: Column) -> Column:
    inner = tuple(map(_without_defaults, children(column.type)))
    return replace(column, default=None, type=with_children(column.type, inner))


@pytest.mark.parametrize("folding", FOLDS)
@given(data=st.data())
@MANY
def test_every_value_follows_its_column(folding: str, data: st.DataObject) -> None:
    folds, fold = FOLDS[folding]
    way: Evolution = data.draw(evolutions(folding=folds, retype=False))
    table = Table(NAME, tuple(map(_without_defaults, way.wanted.table.columns)))
    wanted = Wanted(table, way.wanted.hints)
    changes = diff(way.live, wanted, fold)
    target = evolve(way.live, changes)
    projection = project(way.live, target, changes, wanted, fold)
    row = _tokens(Struct(way.live.columns), ())
    assert project_row(projection, row) == _expected(Struct(target.columns), (), way.origin)
    again = from_text(to_text(projection), way.live.columns, target.columns)
    assert again == projection


@given(way=evolutions(folding=False))
@MANY
def test_a_projection_covers_every_target_column_and_reads_only_live_ones(way: Evolution) -> None:
    changes = diff(way.live, way.wanted, str)
    target = evolve(way.live, changes)
    projection = project(way.live, target, changes, way.wanted, str)
    _covers(projection, way.live.columns, target.columns)


def _covers(projection: Projection, live: tuple[Column, ...], target: tuple[Column, ...]) -> None:
    assert tuple(field.column for field in projection) == target
    there = {c.name: c for c in live}
    for field in projection:
        if isinstance(field.source, FromOld):
            old = there[field.source.name]
            if isinstance(field.source.carry, StructCarry):
                _covers(field.source.carry.fields, children(old.type), children(field.column.type))


# --- text -----------------------------------------------------------------------------------------


@given(type_=types())
@MANY
def test_type_text_reads_back(type_: Type) -> None:
    assert bare(parse_type(type_text(type_))) == bare(type_)


@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1),
        min_size=1,
        unique_by=str.casefold,
    )
)
@MANY
def test_any_name_survives_type_text(names: list[str]) -> None:
    type_ = Struct(tuple(Column(name, parse_type("INT"), nullable=False) for name in names))
    assert parse_type(type_text(type_)) == type_


@given(names=st.lists(st.text(alphabet='ab.`" ü1-', min_size=1), min_size=1, max_size=4))
@MANY
def test_two_paths_never_share_a_text(names: list[str]) -> None:
    joined = ".".join(names)
    if len(names) > 1:
        assert path_text(tuple(names)) != name_text(joined)
    assert path_text(tuple(names)) == ".".join(map(name_text, names))


@given(table=tables())
@MANY
def test_walk_meets_every_column_once(table: Table) -> None:
    met = list(walk(table.columns))
    assert len({path for path, _ in met}) == len(met)
    assert all(table.column(path) == column for path, column in met)
