"""A whole backend over Python rows: the reference that the conformance suite is checked against."""

from instar.backends.memory.backend import MemoryBackend
from instar.backends.memory.rules import MemoryRules

__all__ = ["MemoryBackend", "MemoryRules"]
