"""Proofs on PostgreSQL: a row without a key is named by its place and its first column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from instar.backends.postgres.errors import RowsInTheWay
from instar.backends.postgres.scratch import Speller, types_of
from instar.backends.postgres.spelling import spelled
from instar.backends.postgres.values import PostgresValues, PostgresWriter
from instar.backends.relational.prove import Ask, Prover, written
from instar.backends.sql import quote_double
from instar.backends.values import expressions_in, live_predicate
from instar.core.checks import ExpressionProof, Proof, ProofResult
from instar.core.plan import Job
from instar.core.schema import Table
from instar.errors import EngineError


def prove(
    ask: Ask, speller: Speller | None, job: Job, proofs: Sequence[Proof], place: str = "ctid"
) -> Sequence[ProofResult]:
    """Counts in the order of the proofs; `place` tells rows apart that have no key."""
    if not proofs:
        return ()
    live = job.live
    assert live is not None
    asked = [p.sql for p in proofs if isinstance(p, ExpressionProof)]
    texts = (*expressions_in(written(job)), *asked)
    values = PostgresValues(types_of(speller, texts, live.columns))
    names = tuple(c.name for c in job.target.columns)
    return Prover(
        _told_apart(ask),
        job,
        PostgresWriter(values, trying=True),
        dict(_named_by(live, place)),
        broken=lambda proof: live_predicate(values, live, proof),
        used=lambda sql: spelled(sql, names).columns,
    ).results(proofs)


def _told_apart(ask: Ask) -> Ask:
    """An expression that fails on a row says nothing of rows that came later."""

    def asked(sql: str) -> list[tuple[Any, ...]]:
        try:
            return ask(sql)
        except RowsInTheWay as error:
            raise EngineError("E254", error.message) from error

    return asked


def _named_by(table: Table, place: str) -> Iterator[tuple[str, str]]:
    if place and not table.primary_key:
        yield place, place
    for name in table.primary_key or [c.name for c in table.columns[:1]]:
        yield name, quote_double(name)
