"""All proofs of one table: one pass that counts, then witnesses for those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.native import known_types
from instar.backends.duckdb.predicates import broken_row
from instar.backends.duckdb.spelling import spelled
from instar.backends.duckdb.values import DuckDBValues
from instar.backends.sql import qualified, quote_double
from instar.backends.values import (
    ValueWriter,
    is_live_proof,
    projected_predicate,
)
from instar.core.checks import (
    MAX_WITNESSES,
    CastProof,
    EmptyProof,
    ExpressionProof,
    NotNullProof,
    Proof,
    ProofResult,
    RowProof,
    UniqueProof,
)
from instar.core.findings import Witness
from instar.core.plan import Job
from instar.core.projection import FieldCarry, FromExpression
from instar.core.schema import Table
from instar.core.types import Column, children

Ask = Callable[[str], list[tuple[Any, ...]]]

_FLAG, _KEY, _LIVE = "__instar_flag_", "__instar_key_", "__instar_live_"


_TELLING = 5
"""Columns that tell a row without a primary key."""


def _telling(table: Table) -> Iterator[str]:
    """The first plain columns; one that is called rowid hides the engine's own."""
    plain = [c.name for c in table.columns if not children(c.type) and fold(c.name) != "rowid"]
    yield from plain[:_TELLING]


def prove(ask: Ask, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
    """Counts in the order of the proofs."""
    if not proofs:
        return ()
    return _Prover(ask, job).results(proofs)


class _Prover:
    def __init__(self, ask: Ask, job: Job) -> None:
        assert job.live is not None
        self.ask = ask
        self.live: Table = job.live
        self.target = job.target
        self.table = qualified(job.live.name)
        fields = [f for f in job.projection if f.column.generated is None]
        self.dialect = DuckDBValues(known_types(self._with(fields, ()), job.live))
        self.fields = fields
        self.keys = job.live.primary_key or ("rowid", *_telling(job.live))

    def _with(
        self, fields: Sequence[FieldCarry], proofs: Sequence[Proof]
    ) -> tuple[FieldCarry, ...]:
        """The projection, and the expressions that proofs ask about, as fields."""
        extra = [
            FieldCarry(Column("", p.new), FromExpression(p.sql))
            for p in proofs
            if isinstance(p, ExpressionProof)
        ]
        return (*fields, *extra)

    def results(self, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        self.dialect = DuckDBValues(known_types(self._with(self.fields, proofs), self.live))
        plain: list[Proof] = [p for p in proofs if not isinstance(p, UniqueProof)]
        counts: dict[Proof, int] = {}
        if plain:
            counts.update(zip(plain, self._counts(plain), strict=True))
        counts.update({p: self._shared(p) for p in proofs if isinstance(p, UniqueProof)})
        return tuple(
            ProofResult(p, counts[p], self._witnesses(p) if counts[p] else ()) for p in proofs
        )

    def _source(self, proofs: Sequence[Proof]) -> str:
        """Every live row once: its keys, the live proofs as flags, and the row as it will be."""
        parts = [f"{self._key(k)} AS {_KEY}{i}" for i, k in enumerate(self.keys)]
        for place, proof in enumerate(proofs):
            if isinstance(proof, CastProof | ExpressionProof):
                parts.append(f"{broken_row(self.dialect, self.live, proof)} AS {_FLAG}{place}")
                parts.append(f"{self._live_value(proof)} AS {_LIVE}{place}")
        parts += ValueWriter(self.dialect, trying=True).select_list(tuple(self.fields))
        return f"(SELECT {', '.join(parts)} FROM {self.table}) AS projected"

    def _key(self, key: str) -> str:
        return key if key == "rowid" and not self.live.primary_key else quote_double(key)

    def _live_value(self, proof: CastProof | ExpressionProof) -> str:
        if isinstance(proof, CastProof):
            return quote_double(proof.old_path[0])
        return f"({proof.sql})"

    def _predicate(self, place: int, proof: Proof) -> str:
        if is_live_proof(proof):
            return f"{_FLAG}{place}"
        assert isinstance(proof, NotNullProof | RowProof | EmptyProof)
        return projected_predicate(self.dialect, self.target, proof)

    def _counts(self, proofs: Sequence[Proof]) -> list[int]:
        counts = [f"count(*) FILTER (WHERE {self._predicate(i, p)})" for i, p in enumerate(proofs)]
        rows = self.ask(f"SELECT {', '.join(counts)} FROM {self._source(proofs)}")
        return [int(count) for count in rows[0]]

    def _groups(self, proof: UniqueProof) -> str:
        """The keys that several rows share; NULLs are never equal."""
        keys = ", ".join(quote_double(c) for c in proof.columns)
        present = " AND ".join(f"{quote_double(c)} IS NOT NULL" for c in proof.columns)
        return f"SELECT {keys}, count(*) AS __instar_n FROM {self._source(())} WHERE {present} GROUP BY {keys} HAVING count(*) > 1"

    def _shared(self, proof: UniqueProof) -> int:
        rows = self.ask(f"SELECT COALESCE(sum(__instar_n), 0) FROM ({self._groups(proof)}) AS g")
        return int(rows[0][0])

    def _witnesses(self, proof: Proof) -> tuple[Witness, ...]:
        labels = dict(self._labels(proof))
        keys = {key: f"{_KEY}{i}" for i, key in enumerate(self.keys)}
        shown = {**keys, **labels}
        columns = ", ".join(f"CAST({value} AS VARCHAR)" for value in shown.values())
        order = ", ".join(keys.values()) if self.live.primary_key else f"{_KEY}0"
        if isinstance(proof, UniqueProof):
            on = " AND ".join(
                f"g.{quote_double(c)} = projected.{quote_double(c)}" for c in proof.columns
            )
            source = f"{self._source(())} JOIN ({self._groups(proof)}) AS g ON {on}"
            order = ", ".join(f"projected.{quote_double(c)}" for c in proof.columns) + f", {order}"
            where = "TRUE"
        else:
            source, where = self._source((proof,)), self._predicate(0, proof)
        sql = f"SELECT {columns} FROM {source} WHERE {where} ORDER BY {order} LIMIT {MAX_WITNESSES}"
        return tuple(dict(zip(shown, row, strict=True)) for row in self.ask(sql))

    def _labels(self, proof: Proof) -> Iterator[tuple[str, str]]:
        """What is shown of an offending row beside its key, as text."""
        match proof:
            case CastProof(_, old_path):
                yield old_path[0], f"{_LIVE}0"
            case ExpressionProof(path):
                yield path[0], f"{_LIVE}0"
            case NotNullProof(path):
                yield path[0], f"projected.{quote_double(path[0])}"
            case UniqueProof(_, columns):
                for column in columns:
                    yield column, f"projected.{quote_double(column)}"
            case RowProof(_, expression):
                names = tuple(c.name for c in self.target.columns)
                for column in sorted(spelled(expression, names).columns):
                    yield column, f"projected.{quote_double(column)}"
            case EmptyProof():
                return
