"""What a code says to people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeDoc:
    """One row of `instar explain`: a title, why it happens, what to do."""

    title: str
    why: str
    fix: str
