"""All proofs of one table: one pass that counts, then witnesses for those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from instar.backends.postgres.scratch import Speller, types_of
from instar.backends.postgres.spelling import spelled
from instar.backends.postgres.values import PostgresValues, PostgresWriter, expressions_in
from instar.backends.sql import qualified, quote_double
from instar.backends.values import is_live_proof, live_predicate, projected_predicate
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
from instar.core.schema import Table

Ask = Callable[[str], list[tuple[Any, ...]]]

_FLAG, _KEY, _LIVE = "__instar_flag_", "__instar_key_", "__instar_live_"


def prove(
    ask: Ask, speller: Speller | None, job: Job, proofs: Sequence[Proof]
) -> Sequence[ProofResult]:
    """Counts in the order of the proofs."""
    return _Prover(ask, speller, job, proofs).results() if proofs else ()


class _Prover:
    def __init__(
        self, ask: Ask, speller: Speller | None, job: Job, proofs: Sequence[Proof]
    ) -> None:
        assert job.live is not None
        self.ask = ask
        self.proofs = proofs
        self.live: Table = job.live
        self.target = job.target
        self.table = qualified(job.live.name)
        self.fields = tuple(f for f in job.projection if f.column.generated is None)
        asked = [p.sql for p in proofs if isinstance(p, ExpressionProof)]
        texts = tuple(dict.fromkeys([*expressions_in(self.fields), *asked]))
        self.dialect = PostgresValues(types_of(speller, texts, job.live.columns))
        self.keys = dict(self._named_by())

    def _named_by(self) -> Iterator[tuple[str, str]]:
        """A row is named by its key; without one by its first column and its place."""
        for name in self.live.primary_key:
            yield name, f"live.{quote_double(name)}"
        if not self.live.primary_key:
            yield "ctid", "live.ctid"
            first = self.live.columns[:1]
            yield from ((c.name, f"live.{quote_double(c.name)}") for c in first)

    def results(self) -> Sequence[ProofResult]:
        plain: list[Proof] = [p for p in self.proofs if not isinstance(p, UniqueProof)]
        counts: dict[Proof, int] = {}
        if plain:
            counts.update(zip(plain, self._counts(plain), strict=True))
        counts.update({p: self._shared(p) for p in self.proofs if isinstance(p, UniqueProof)})
        return tuple(
            ProofResult(p, counts[p], self._witnesses(p) if counts[p] else ()) for p in self.proofs
        )

    def _source(self, proofs: Sequence[Proof]) -> str:
        """Every live row once: its keys, the live proofs as flags, and the row as it will be."""
        parts = [f"CAST({sql} AS text) AS {_KEY}{i}" for i, sql in enumerate(self.keys.values())]
        for place, proof in enumerate(proofs):
            if isinstance(proof, CastProof | ExpressionProof):
                parts.append(f"{live_predicate(self.dialect, self.live, proof)} AS {_FLAG}{place}")
                parts.append(f"CAST({self._live_value(proof)} AS text) AS {_LIVE}{place}")
        parts += PostgresWriter(self.dialect, trying=True).select_list(self.fields)
        return f"(SELECT {', '.join(parts)} FROM {self.table} AS live) AS projected"

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
        keys = {key: f"projected.{_KEY}{i}" for i, key in enumerate(self.keys)}
        shown = {**keys, **dict(self._labels(proof))}
        columns, order = ", ".join(shown.values()), ", ".join(keys.values())
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
                yield old_path[0], f"projected.{_LIVE}0"
            case ExpressionProof(path):
                yield path[0], f"projected.{_LIVE}0"
            case NotNullProof(path):
                yield path[0], self._shown(path[0])
            case UniqueProof(_, columns):
                yield from ((c, self._shown(c)) for c in columns)
            case RowProof(_, expression):
                names = tuple(c.name for c in self.target.columns)
                used = sorted(spelled(expression, names).columns)
                yield from ((c, self._shown(c)) for c in used)
            case EmptyProof():
                return

    def _shown(self, column: str) -> str:
        return f"CAST(projected.{quote_double(column)} AS text)"
