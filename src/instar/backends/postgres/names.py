"""Names that fit into PostgreSQL's 63 bytes, and the names that Instar's own helpers take."""

from __future__ import annotations

import hashlib

from instar.core.schema import TableName

LIMIT = 63
NEW, LOG, POS, FN, SEARCH, OLD = (
    "__instar_new",
    "__instar_log",
    "__instar_pos",
    "__instar_fn",
    "__instar_h",
    "__instar_old_",
)
TRIGGER = "zz__instar_capture"
"""Fires after the table's own triggers: they go by name."""


def too_long(name: str) -> bool:
    return len(name.encode()) > LIMIT


def fitted(stem: str, suffix: str) -> str:
    """stem + suffix; a stem that is too long is cut and told apart by a hash."""
    if not too_long(stem + suffix):
        return stem + suffix
    mark = "_" + hashlib.sha256(stem.encode()).hexdigest()[:8]
    room = LIMIT - len((mark + suffix).encode())
    return stem.encode()[:room].decode(errors="ignore") + mark + suffix


def beside(name: TableName, suffix: str) -> TableName:
    return TableName(name.schema, fitted(name.name, suffix))
