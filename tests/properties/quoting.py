"""Texts that try to leave their quotes: as the name of a table and a column, a comment, a default, in a CHECK.

They go in through Instar and are read back through the engine alone; a manifest made of the live table
asks for nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column, Integer, String
from properties.traits import Traits
from properties.values import ODD_TEXT

ESCAPES = (
    "'); DROP TABLE t; --",
    '"); DROP TABLE t; --',
    "`); DROP TABLE t; --",
    "' || (SELECT 1) || '",
    "\\'; DROP TABLE t; --",
    "\\",
    "\\\\'",
    "$instar$; DROP TABLE t; $instar$",
    "E'\\x41'",
    "\\u0041",
    "${x}",
    "%(a)s",
    "{{ a }}",
    "*/ 1 /*",
    "a\r\nb",
    "\u2028\u0085",
    "\ufeff",
)


def texts(longest: int = 40) -> st.SearchStrategy[str]:
    anything = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    made = st.lists(st.sampled_from([*"'\"`\\;-$%{}[]()/*\n ", "--", "''", "a"]), max_size=8)
    return (
        st.sampled_from([*ESCAPES, *ODD_TEXT]) | made.map("".join) | st.text(anything, max_size=12)
    ).map(lambda t: t[:longest])


@dataclass(frozen=True)
class Quoted:
    """`refused`: the text that a CHECK lets no row have."""

    first: Wanted
    then: Wanted
    default: str
    fill: str
    refused: str


@st.composite
def quoted(draw: st.DrawFn, traits: Traits, rename: bool = True) -> Quoted:
    """A table with such texts, and a wish that renames the column and adds another one."""
    unique = st.lists(traits.names, min_size=3, max_size=3, unique_by=traits.fold)
    one, other, third = draw(unique.filter(lambda n: "id" not in map(traits.fold, n)))
    other = other if rename else one
    default, fill, refused = draw(st.lists(texts(), min_size=3, max_size=3, unique=True))
    comment = draw(texts().filter(bool))
    said = draw(texts().filter(bool))
    name = TableName("main", draw(traits.table_names))
    id_, quote = Column("id", Integer(32)), traits.quote

    def column(called: str) -> Column:
        sql = traits.literal(default, String()) if traits.defaults else None
        return Column(called, String(), default=sql, comment=comment)

    def checks(called: str) -> tuple[Check, ...]:
        sql = f"{quote(called)} <> {traits.literal(refused, String())}"
        return (Check("k", sql),) if traits.constraints else ()

    first = Table(name, (id_, column(one)), constraints=checks(one), comment=said)
    then = Table(
        name, (id_, column(other), Column(third, String())), constraints=checks(other), comment=said
    )
    hints = {(third,): Hint(default=traits.literal(fill, String()))}
    if rename:
        hints[(other,)] = Hint(renamed_from=one)
    return Quoted(Wanted(first), Wanted(then, hints), default, fill, refused)
