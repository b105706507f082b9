"""Counts in words, said alike wherever a person reads them."""

from __future__ import annotations


def plural(count: int, word: str, several: str = "") -> str:
    """`1 row`, `1,200 rows`; `several` is for nouns that take no plain s."""
    return f"{count:,} {word if count == 1 else several or f'{word}s'}"
