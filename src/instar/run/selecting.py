"""Which models a run is about: names, patterns, tags, paths, what changed, and what is up or down the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from instar.errors import UsageError
from instar.sources.models import Model, Models
from instar.sources.reading import suggestion

Changed = Callable[[Model], bool]
_CHANGED = "state:changed"


def select(
    models: Models, chosen: Sequence[str], left_out: Sequence[str], changed: Changed
) -> frozenset[str]:
    """The union of what is chosen (everything when nothing is), without what is left out."""
    every = frozenset(models.models)
    wish = _union(models, chosen, changed) if chosen else every
    return wish - _union(models, left_out, changed)


def asks_for_changes(words: Sequence[str]) -> bool:
    """Whether a selection cannot be told without knowing what changed."""
    return any(word.strip("+") == _CHANGED for word in words)


def _union(models: Models, words: Sequence[str], changed: Changed) -> frozenset[str]:
    found: set[str] = set()
    for word in words:
        found |= _one(models, word, changed)
    return frozenset(found)


def _one(models: Models, word: str, changed: Changed) -> set[str]:
    """`+name`: with everything upstream; `name+`: with everything downstream."""
    up, down = word.startswith("+"), word.endswith("+")
    bare = word.removeprefix("+").removesuffix("+")
    found = _matching(models, bare, changed)
    wider = set(found)
    if up:
        wider |= _closure(found, {n: set(models.parents(n)) for n in models.models})
    if down:
        children: dict[str, set[str]] = {n: set() for n in models.models}
        for name in models.models:
            for parent in models.parents(name):
                children[parent].add(name)
        wider |= _closure(found, children)
    return wider


def _matching(models: Models, word: str, changed: Changed) -> set[str]:
    method, colon, value = word.partition(":")
    every = models.models.values()
    if not colon:
        found = {m.name for m in every if any(fnmatchcase(n, word) for n in _names(m))}
        if not found:
            raise UsageError(
                "E432",
                f"no model is called '{word}'",
                hint=suggestion(word, models.models, "There are"),
            )
        return found
    match method:
        case "tag":
            found = {m.name for m in every if value in m.tags}
        case "path":
            path = value.rstrip("/")
            found = {
                m.name
                for m in every
                if fnmatchcase(m.origin, value)
                or m.origin == path
                or m.origin.startswith(path + "/")
            }
        case "state" if value == "changed":
            return {m.name for m in every if changed(m)}
        case _:
            raise UsageError(
                "E432", f"'{word}' is no selection", hint="Use tag:, path: or state:changed."
            )
    if not found:
        raise UsageError("E432", f"nothing is selected by '{word}'")
    return found


def _names(model: Model) -> tuple[str, ...]:
    """A model is called as its file, or as its table, which is how a plan and a run name it."""
    table = model.table
    return model.name, f"{table.schema}.{table.name}", str(table)


def _closure(start: set[str], edges: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    open_ = list(start)
    while open_:
        for name in edges[open_.pop()] - found:
            found.add(name)
            open_.append(name)
    return found
