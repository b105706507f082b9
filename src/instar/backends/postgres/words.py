"""The locks that a step takes, for people."""

from __future__ import annotations

EXCLUSIVE = "ACCESS EXCLUSIVE"
SHARED = "SHARE UPDATE EXCLUSIVE, writers go on"


def locked(title: str, lock: str, timeout: float) -> str:
    """A title with the lock that the step takes and how long it waits for it."""
    return f"{title} [lock: {lock}; waits {timeout:g}s]"
