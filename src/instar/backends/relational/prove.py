"""All proofs of one table: one pass that counts, then witnesses for those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from instar.backends.sql import qualified, quote_double
from instar.backends.values import ValueWriter, projected_predicate
from instar.core.checks import (
    MAX_WITNESSES,
    CastProof,
    EmptyProof,
    ExpressionProof,
    LiveProof,
    NotNullProof,
    Proof,
    ProofResult,
    RowProof,
    UniqueProof,
    VanishProof,
)
from instar.core.findings import Witness
from instar.core.plan import Job
from instar.core.projection import Projection

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query and gives its rows."""

_FLAG, _KEY, _LIVE = "__instar_flag_", "__instar_key_", "__instar_live_"


def written(job: Job) -> Projection:
    """The target's columns without those that the engine computes itself."""
    return tuple(f for f in job.projection if f.column.generated is None)


@dataclass(frozen=True, slots=True)
class Prover:
    """`writer` tries its casts; `keys` name a row, as SQL over live rows, the first of them alone where
    there is no primary key; `broken` is true for live rows that break a proof; `used` are the columns
    that an expression over the target reads.
    """

    ask: Ask
    job: Job
    writer: ValueWriter
    keys: Mapping[str, str]
    broken: Callable[[LiveProof], str]
    used: Callable[[str], frozenset[str]]

    def results(self, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        """Counts in the order of the proofs."""
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
        assert self.job.live is not None
        parts = [f"{sql} AS {_KEY}{i}" for i, sql in enumerate(self.keys.values())]
        for place, proof in enumerate(proofs):
            if isinstance(proof, LiveProof):
                parts.append(f"{self.broken(proof)} AS {_FLAG}{place}")
                parts.append(f"{_live_value(proof)} AS {_LIVE}{place}")
        parts += self.writer.select_list(written(self.job))
        return f"(SELECT {', '.join(parts)} FROM {qualified(self.job.live.name)}) AS projected"

    def _predicate(self, place: int, proof: Proof) -> str:
        if isinstance(proof, LiveProof):
            return f"{_FLAG}{place}"
        assert not isinstance(proof, UniqueProof)
        return projected_predicate(self.writer.dialect, self.job.target, proof)

    def _counts(self, proofs: Sequence[Proof]) -> list[int]:
        counts = [f"count(*) FILTER (WHERE {self._predicate(i, p)})" for i, p in enumerate(proofs)]
        rows = self.ask(f"SELECT {', '.join(counts)} FROM {self._source(proofs)}")
        return [int(count) for count in rows[0]]

    def _groups(self, proof: UniqueProof) -> str:
        """The keys that several rows share; NULLs are never equal."""
        keys = ", ".join(quote_double(c) for c in proof.columns)
        present = " AND ".join(f"{quote_double(c)} IS NOT NULL" for c in proof.columns)
        return (
            f"SELECT {keys}, count(*) AS __instar_n FROM {self._source(())} WHERE {present}"
            f" GROUP BY {keys} HAVING count(*) > 1"
        )

    def _shared(self, proof: UniqueProof) -> int:
        rows = self.ask(f"SELECT COALESCE(sum(__instar_n), 0) FROM ({self._groups(proof)}) AS g")
        return int(rows[0][0])

    def _witnesses(self, proof: Proof) -> tuple[Witness, ...]:
        assert self.job.live is not None
        keys = {key: f"projected.{_KEY}{i}" for i, key in enumerate(self.keys)}
        shown = {**keys, **dict(self._labels(proof))}
        columns = ", ".join(f"CAST({value} AS VARCHAR)" for value in shown.values())
        order = list(keys.values()) if self.job.live.primary_key else [f"projected.{_KEY}0"]
        if isinstance(proof, UniqueProof):
            on = " AND ".join(f"g.{quote_double(c)} = {_projected(c)}" for c in proof.columns)
            source = f"{self._source(())} JOIN ({self._groups(proof)}) AS g ON {on}"
            order = [*map(_projected, proof.columns), *order]
            where = "TRUE"
        else:
            source, where = self._source((proof,)), self._predicate(0, proof)
        rows = self.ask(
            f"SELECT {columns} FROM {source} WHERE {where} "
            f"ORDER BY {', '.join(order)} LIMIT {MAX_WITNESSES}"
        )
        return tuple(dict(zip(shown, row, strict=True)) for row in rows)

    def _labels(self, proof: Proof) -> Iterator[tuple[str, str]]:
        """What is shown of an offending row beside its key."""
        match proof:
            case CastProof(_, old_path) | VanishProof(_, old_path):
                yield old_path[0], f"projected.{_LIVE}0"
            case ExpressionProof(path):
                yield path[0], f"projected.{_LIVE}0"
            case NotNullProof(path):
                yield path[0], _projected(path[0])
            case UniqueProof(_, columns):
                yield from ((c, _projected(c)) for c in columns)
            case RowProof(_, expression):
                yield from ((c, _projected(c)) for c in sorted(self.used(expression)))
            case EmptyProof():
                return


def _live_value(proof: LiveProof) -> str:
    if isinstance(proof, ExpressionProof):
        return f"({proof.sql})"
    return quote_double(proof.old_path[0])


def _projected(column: str) -> str:
    return f"projected.{quote_double(column)}"
