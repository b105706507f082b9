"""A check that a statement makes for itself: the engine raises these words, and they become a coded error."""

from __future__ import annotations

import re

from instar.errors import EngineError

MEND_KEY = "Mend the query: filter such rows, or choose another key."
_HINTS = {"E430": MEND_KEY}
_SAID = re.compile(r"instar refuses (E\d{3}): ([^\n]*?) \.(?:\s|$|['\"\]])")


def refusal(code: str, message: str) -> str:
    """The text that a statement raises."""
    return f"instar refuses {code}: {message} ."


def refused(text: str) -> EngineError | None:
    """The error behind an engine's message, where a check of ours raised it."""
    found = _SAID.search(text)
    return EngineError(found[1], found[2], hint=_HINTS.get(found[1])) if found else None
