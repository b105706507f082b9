"""The live rows that break a proof: values that are lost, and map keys that would become one."""

from __future__ import annotations

from instar.backends.duckdb.values import DuckDBValues
from instar.backends.values import broken_at, live_predicate
from instar.core.checks import CastProof, LiveProof
from instar.core.schema import Table
from instar.core.types import Map


def broken_row(dialect: DuckDBValues, live: Table, proof: LiveProof) -> str:
    """True for the live rows that break the proof."""
    lost = live_predicate(dialect, live, proof)
    if not isinstance(proof, CastProof) or not _is_key(live, proof):
        return lost
    clash = broken_at(
        dialect, live, proof.old_path[:-1], lambda value: _clash(dialect, value, proof)
    )
    return f"({lost} OR {clash})"


def _is_key(live: Table, proof: CastProof) -> bool:
    parent = live.column(proof.old_path[:-1]) if len(proof.old_path) > 1 else None
    return (
        parent is not None
        and isinstance(parent.type, Map)
        and proof.old_path[-1] == parent.type.key.name
    )


def _clash(dialect: DuckDBValues, value: str, proof: CastProof) -> str:
    cast = dialect.try_cast("k", proof.old, proof.new)
    keys = (
        f"list_filter(list_transform(map_keys({value}), lambda k: {cast}), lambda k: k IS NOT NULL)"
    )
    return f"COALESCE(len(list_distinct({keys})) < len({keys}), FALSE)"
