"""Names that no table of a project may have: those of the copies that Instar makes itself."""

from __future__ import annotations

_OWN = "__instar_"
OWN_HINT = "Choose another name; `instar cleanup` would take it for an old copy."


def is_own(name: str) -> bool:
    """Whether a table of that name is taken for one of Instar's own."""
    return _OWN in name.casefold()


def own_words(name: str) -> str:
    return f"'{name}' is a name that Instar gives its own copies of tables"
