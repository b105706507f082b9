"""Proofs on DuckDB: a row without a key is named by its rowid and its first plain columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.native import known_types
from instar.backends.duckdb.predicates import broken_row
from instar.backends.duckdb.spelling import spelled
from instar.backends.duckdb.values import DuckDBValues
from instar.backends.relational.prove import Ask, Prover, written
from instar.backends.sql import quote_double
from instar.backends.values import ValueWriter, expressions_in
from instar.core.checks import ExpressionProof, Proof, ProofResult
from instar.core.plan import Job
from instar.core.schema import Table
from instar.core.types import children

_TELLING = 5
"""Columns that tell a row without a primary key."""


def prove(ask: Ask, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
    """Counts in the order of the proofs."""
    if not proofs:
        return ()
    live = job.live
    assert live is not None
    asked = [p.sql for p in proofs if isinstance(p, ExpressionProof)]
    values = DuckDBValues(known_types((*expressions_in(written(job)), *asked), live))
    names = tuple(c.name for c in job.target.columns)
    return Prover(
        ask,
        job,
        ValueWriter(values, trying=True),
        dict(_named_by(live)),
        broken=lambda proof: broken_row(values, live, proof),
        used=lambda sql: spelled(sql, names).columns,
    ).results(proofs)


def _named_by(table: Table) -> Iterator[tuple[str, str]]:
    """A column that is called rowid hides the engine's own."""
    plain = [c.name for c in table.columns if not children(c.type) and fold(c.name) != "rowid"]
    if not table.primary_key:
        yield "rowid", "rowid"
    for name in table.primary_key or plain[:_TELLING]:
        yield name, quote_double(name)
