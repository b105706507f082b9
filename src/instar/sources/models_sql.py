"""A model's SQL: exactly one query, the tables it reads with their places in the text, its output names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from instar.dialects import reading
from instar.sources.models_words import squeezed

if TYPE_CHECKING:
    from sqlglot import exp

_REF = re.compile(r"ref\s*\(\s*'((?:[^']|'')*)'\s*\)", re.IGNORECASE)
_CALLS = ("ref",)
_SPACES = ("", "smelt")
_PATH = re.compile(r"[./:*?]")
_STILL = frozenset(
    (*_CALLS, "range", "generate_series", "unnest", "explode", "posexplode", "inline")
)
"""Functions in the place of a table that give the same rows for the same words."""
_OPENS = re.compile(r"['\"`]|/\*|\$\w*\$")
_BEFORE_ALIAS = ("sample", "version", "when", "changes", "partition")
"""What may stand between the name of a table and its alias."""
_AS_SELECT = {
    "TABLE": "Write SELECT * FROM and the name of the table.",
    "VALUES": "Name the columns: SELECT * FROM (VALUES …) AS t(a, b).",
    "PIVOT": "Write SELECT * FROM (PIVOT …).",
    "UNPIVOT": "Write SELECT * FROM (UNPIVOT …).",
}
"""How a query that is none by its first word is written as one."""


@dataclass(frozen=True, slots=True)
class Read:
    """One table that the query names: its parts, whether by ref(), and where it stands in the text.

    `bare`: no alias stands behind it, so its columns go by its own name (`orders.id`).
    """

    parts: tuple[str, ...]
    by_ref: bool
    start: int
    end: int
    bare: bool = False

    @property
    def name(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. `star`: its output has a star, so only the engine knows the names.

    `unseen`: it reads files or functions, whose changes no table tells.
    """

    reads: tuple[Read, ...]
    outputs: tuple[str, ...]
    star: bool
    canonical: str
    unseen: bool = False


class BadQuery(ValueError):
    """Why the text is no model query; `at` is the offset in the text where that shows."""

    def __init__(self, code: str, message: str, at: int | None = None, hint: str | None = None):
        super().__init__(message)
        self.code, self.at, self.hint = code, at, hint


def parse_query(text: str, dialect: str) -> Query:
    """The one SELECT of a model, or a `BadQuery`."""
    tree = parsed(text, dialect)
    reads = tuple(sorted(_reads(tree, text), key=lambda r: r.start))
    outputs, star = _outputs(tree)
    twice = next((n for n in outputs if _count(outputs, n) > 1), None)
    if twice is not None:
        raise BadQuery(
            "E157",
            f"the query returns two columns named '{twice}'",
            _place_of(tree, twice),
            "Give one of them another name with AS.",
        )
    return Query(reads, outputs, star, squeezed(text, dialect), _unseen(tree, text))


def _count(names: tuple[str, ...], name: str) -> int:
    return sum(n.casefold() == name.casefold() for n in names)


def parsed(text: str, dialect: str) -> exp.Query:
    """The tree of exactly one query."""
    import logging

    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ParseError, TokenError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        found = [t for t in sqlglot.parse(text, read=reading(dialect)) if t is not None]
    except ParseError as error:
        raise _unparsable(error, text) from None
    except TokenError:
        said = "the SQL cannot be read: a quote or a comment is not closed"
        raise BadQuery("E151", said, _left_open(text, dialect), _template_hint(text)) from None
    found = [t for t in found if not isinstance(t, exp.Semicolon)]
    if not found:
        raise BadQuery("E152", "there is no query", 0, "Write one SELECT after the frontmatter.")
    if len(found) > 1:
        hint = "Keep one; intermediate results belong into a WITH or a model of their own."
        raise BadQuery("E152", "there are two statements", _beginnings(text, dialect)[1][0], hint)
    tree = found[0]
    if not isinstance(tree, exp.Query):
        raise _no_select(*_beginnings(text, dialect)[0])
    return tree


def _left_open(text: str, dialect: str) -> int | None:
    """Where the quote or comment begins that goes on to the end: the text before it can be read."""
    import sqlglot
    from sqlglot.errors import TokenError

    for found in reversed(list(_OPENS.finditer(text))):
        try:
            sqlglot.tokenize(text[: found.start()], read=reading(dialect))
        except TokenError:
            continue
        return found.start()
    return None


def _beginnings(text: str, dialect: str) -> list[tuple[int, str]]:
    """Where each statement begins, and its first word."""
    import sqlglot

    found: list[tuple[int, str]] = []
    open_ = False
    for token in sqlglot.tokenize(text, read=reading(dialect)):
        ends = token.token_type is sqlglot.TokenType.SEMICOLON
        if not open_ and not ends:
            found.append((token.start, token.text.upper()))
        open_ = not ends
    return found


def _no_select(at: int, word: str) -> BadQuery:
    hint = _AS_SELECT.get(word, "A model only reads; what it returns is what its table will hold.")
    return BadQuery("E152", f"a model is one SELECT; this begins with {word}", at, hint)


def _unparsable(error: Any, text: str) -> BadQuery:
    first = error.errors[0] if error.errors else {}
    said = str(first.get("description") or "it is not SQL").rstrip(".").splitlines()[0]
    if "missing for" in said:
        said = "it ends too early or a part is missing"
    if "Token" in said:
        word = str(first.get("highlight") or "").strip()
        said = f"'{word}' does not belong here" if word else "a word does not belong here"
    line, column = first.get("line"), first.get("col")
    at = None
    if isinstance(line, int) and isinstance(column, int):
        lines = text.splitlines(keepends=True)
        end = sum(map(len, lines[: line - 1])) + column
        at = max(0, end - len(str(first.get("highlight") or "")))
    return BadQuery("E151", f"the SQL cannot be read: {said}", at, _template_hint(text))


def _template_hint(text: str) -> str | None:
    if "{{" not in text and "{%" not in text:
        return None
    return "A template is not filled in: a model is plain SQL, and names others by ref('name')."


def _offset(tree: Any) -> int | None:
    starts = [n.meta["start"] for n in tree.walk() if "start" in n.meta]
    return min(starts, default=None)


def _reads(tree: exp.Query, text: str) -> Iterator[Read]:
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    seen: set[int] = set()
    for scope in traverse_scope(tree):
        ctes = {name.casefold() for name in scope.cte_sources}
        for table in scope.tables:
            if id(table) in seen:
                continue
            seen.add(id(table))
            inner = table.this
            if isinstance(inner, exp.Anonymous):
                if found := _by_ref(table, inner, text):
                    yield found
                continue
            hidden = not table.db and table.name.casefold() in ctes
            named = isinstance(inner, exp.Identifier) and "start" in inner.meta
            if named and not hidden and not _file(inner, text):
                yield _by_name(table)


def _file(name: exp.Identifier, text: str) -> bool:
    """FROM 'f.csv': a text in the place of a table, as DuckDB reads files."""
    return text.startswith("'", name.meta["start"]) and bool(_PATH.search(name.name))


def _unseen(tree: exp.Query, text: str) -> bool:
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        inner = table.this
        if isinstance(inner, exp.Identifier):
            if "start" in inner.meta and _file(inner, text):
                return True
        elif isinstance(inner, exp.Anonymous) and str(inner.this).casefold() in _STILL:
            continue
        elif isinstance(inner, exp.Func) and not isinstance(inner, exp.GenerateSeries):
            return True
    return False


def _by_ref(table: exp.Table, call: exp.Anonymous, text: str) -> Read | None:
    space = table.db.casefold()
    if str(call.this).casefold() not in _CALLS or space not in _SPACES:
        return None
    match = _REF.match(text, call.meta["start"])
    if match is None:
        raise BadQuery(
            "E154", "ref() takes the name of one model in quotes", call.meta["start"], "ref('name')"
        )
    start = table.args["db"].meta["start"] if space else match.start()
    return Read((match[1].replace("''", "'"),), True, start, match.end(), _bare(table))


def _by_name(table: exp.Table) -> Read:
    parts = [p for p in table.parts if "start" in p.meta]
    start = min(p.meta["start"] for p in parts)
    end = max(p.meta["end"] for p in parts) + 1
    return Read(tuple(p.name for p in parts), False, start, end, _bare(table))


def _bare(table: exp.Table) -> bool:
    """Whether an alias is missing that could stand right behind the name."""
    return not any(table.args.get(key) for key in ("alias", *_BEFORE_ALIAS))


def _outputs(tree: exp.Query) -> tuple[tuple[str, ...], bool]:
    """The names that the query itself gives; none where a star or an unnamed value stands."""
    from sqlglot import exp

    first = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    if not isinstance(first, exp.Select):
        return (), True
    star = any(e.is_star for e in first.expressions)
    names = tuple(e.alias_or_name for e in first.expressions if not e.is_star)
    return tuple(n for n in names if n), star


def _place_of(tree: exp.Query, name: str) -> int | None:
    """Where the second column of that name stands."""
    from sqlglot import exp

    first = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    same = [e for e in first.expressions if e.alias_or_name.casefold() == name.casefold()]
    return _offset(same[1]) if len(same) > 1 else None
