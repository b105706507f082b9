"""Value proofs on Spark: all counts of a table in one job, then witnesses for what fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from instar.backends.spark.values import SparkValues
from instar.backends.sql import quote_backtick
from instar.backends.values import (
    ValueWriter,
    broken_at,
    live_predicate,
    projected_predicate,
)
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
from instar.core.types import KEY, Array, Binary, Column, Map, Path, Struct, Type, path_text
from instar.dialects import reading
from instar.spark import SparkHandle

_SHOWN_COLUMNS = 3
_LIVE = "__instar_p"
_KEY = "__instar_k"
_SEEN = "__instar_v"


@dataclass(frozen=True, slots=True)
class Prover:
    """Proves over `source`: SQL that stands after FROM and gives the live rows."""

    handle: SparkHandle
    source: str

    def prove(self, job: Job, proofs: Sequence[Proof]) -> list[ProofResult]:
        rows = [p for p in proofs if not isinstance(p, UniqueProof)]
        counts = dict(zip(rows, self._counts(job, rows), strict=True))
        results: list[ProofResult] = []
        for proof in proofs:
            if isinstance(proof, UniqueProof):
                results.append(self._unique(job, proof))
            elif not counts[proof]:
                results.append(ProofResult(proof, 0))
            else:
                shown = self._witnesses(job, proof)
                results.append(ProofResult(proof, counts[proof], shown))
        return results

    def _counts(self, job: Job, proofs: Sequence[Proof]) -> list[int]:
        if not proofs:
            return []
        tests = [_outer(job, i, p) for i, p in enumerate(proofs)]
        counts = ", ".join(f"count_if({test}) AS c{i}" for i, test in enumerate(tests))
        row = self.handle.run(f"SELECT {counts} FROM ({self._rows(job, proofs)})")[0]
        return [int(row[f"c{i}"]) for i in range(len(proofs))]

    def _rows(self, job: Job, proofs: Sequence[Proof]) -> str:
        """Rows as they will be, beside what the proofs over live rows say of each."""
        live = [
            f"{predicate(job, p)} AS {_LIVE}{i}"
            for i, p in enumerate(proofs)
            if isinstance(p, LiveProof)
        ]
        projected = ValueWriter(SparkValues(trying=True), trying=True).select_list(job.projection)
        return f"SELECT {', '.join([*live, *projected])} FROM {self.source}"

    def _witnesses(self, job: Job, proof: Proof) -> tuple[Witness, ...]:
        keys = _key_columns(job)
        seen = _seen(job, proof)
        inner = self._rows(job, [proof])
        beside = [f"{sql} AS {_KEY}{i}" for i, (_, sql) in enumerate(keys)]
        beside += [f"{sql} AS {_SEEN}{i}" for i, (_, sql, live) in enumerate(seen) if live]
        inner = inner.replace("SELECT ", f"SELECT {', '.join(beside)}, ", 1) if beside else inner
        shown = [f"{_KEY}{i}" for i in range(len(keys))]
        shown += [f"{_SEEN}{i}" if live else sql for i, (_, sql, live) in enumerate(seen)]
        names = [name for name, _ in keys] + [name for name, _, _ in seen]
        wish = ", ".join(f"{sql} AS w{i}" for i, sql in enumerate(shown))
        query = f"SELECT {wish} FROM ({inner}) WHERE {_outer(job, 0, proof)}"
        order = [f"w{i}" for i in range(max(len(keys), 1))]
        return self._shown(names, query, order)

    def _unique(self, job: Job, proof: UniqueProof) -> ProofResult:
        shared = self._shared(job, proof)
        count = self.handle.run(f"SELECT COALESCE(sum(__instar_n), 0) AS c FROM ({shared})")[0]["c"]
        shown = self._sharing(job, proof, shared) if count else ()
        return ProofResult(proof, int(count), shown)

    def _shared(self, job: Job, proof: UniqueProof) -> str:
        """The keys that several rows have; NULLs are never equal."""
        columns = [quote_backtick(c) for c in proof.columns]
        known = " AND ".join(f"{c} IS NOT NULL" for c in columns)
        return (
            f"SELECT {', '.join(columns)}, count(*) AS __instar_n FROM ({self._rows(job, ())})"
            f" WHERE {known} GROUP BY {', '.join(columns)} HAVING count(*) > 1"
        )

    def _sharing(self, job: Job, proof: UniqueProof, shared: str) -> tuple[Witness, ...]:
        """The rows that share a key, the first keys first.

        A hundred keys are small enough to go to every task; a window over the keys would send all rows
        of a key to one, and a key that is declared by mistake may have very many.
        """
        telling = _telling(job, proof)
        columns = [quote_backtick(c) for c in proof.columns]
        first = f"SELECT * FROM ({shared}) ORDER BY {', '.join(columns)} LIMIT {MAX_WITNESSES}"
        beside = [f"{sql} AS {_KEY}{i}" for i, (_, sql) in enumerate(telling)]
        rows = self._rows(job, ()).replace("SELECT ", f"SELECT {', '.join([*beside, ''])}", 1)
        same = " AND ".join(f"p.{c} = g.{c}" for c in columns)
        keys = [f"p.{_KEY}{i}" for i in range(len(telling))]
        shown = [*keys, *(_as_target(job, c) for c in proof.columns)]
        wish = ", ".join(f"{sql} AS w{i}" for i, sql in enumerate(shown))
        query = f"SELECT {wish} FROM ({rows}) AS p JOIN ({first}) AS g ON {same}"
        names = [*(name for name, _ in telling), *proof.columns]
        return self._shown(names, query, [*(f"p.{c}" for c in columns), *keys])

    def _shown(self, names: Sequence[str], query: str, order: Sequence[str]) -> tuple[Witness, ...]:
        rows = self.handle.run(f"{query} ORDER BY {', '.join(order)} LIMIT {MAX_WITNESSES}")
        return tuple(dict(zip(names, row, strict=True)) for row in rows)


def predicate(job: Job, proof: Proof) -> str:
    """The rows that break a proof, over live rows or over rows as they will be."""
    dialect = SparkValues(trying=True)
    match proof:
        case CastProof():
            assert job.live is not None
            found = live_predicate(dialect, job.live, proof)
            holder = job.live.column(proof.old_path[:-1])
            if proof.old_path[-1] != KEY or holder is None or not isinstance(holder.type, Map):
                return found
            return f"({found} OR {_key_clash(job, proof)})"
        case ExpressionProof() | VanishProof():
            assert job.live is not None
            return live_predicate(dialect, job.live, proof)
        case NotNullProof() | RowProof() | EmptyProof():
            return projected_predicate(dialect, job.target, proof)
        case UniqueProof():
            raise AssertionError("a unique key is proven by grouping")


def _outer(job: Job, index: int, proof: Proof) -> str:
    return f"{_LIVE}{index}" if isinstance(proof, LiveProof) else predicate(job, proof)


def _key_clash(job: Job, proof: CastProof) -> str:
    """Two keys of one map that become the same key."""
    dialect = SparkValues(trying=True)

    def clash(value: str) -> str:
        keys = f"transform(map_keys({value}), k -> {dialect.try_cast('k', proof.old, proof.new)})"
        return f"COALESCE(size(array_distinct({keys})) < size({keys}), FALSE)"

    assert job.live is not None
    return broken_at(dialect, job.live, proof.old_path[:-1], clash)


def as_text(value: str, type_: Type) -> str:
    return f"hex({value})" if isinstance(type_, Binary) else f"CAST({value} AS STRING)"


def _key_columns(job: Job) -> list[tuple[str, str]]:
    """(name, SQL over live rows) of what tells a row from others."""
    live = job.live
    assert live is not None
    flat = [c for c in live.columns if not isinstance(c.type, Struct | Array | Map)]
    by_name = {c.name.casefold(): c for c in flat}
    wanted = [by_name[k.casefold()] for k in live.primary_key if k.casefold() in by_name]
    if not wanted:
        declared = job.wanted.table.primary_key
        wanted = [by_name[k.casefold()] for k in declared if k.casefold() in by_name]
    return [(c.name, as_text(quote_backtick(c.name), c.type)) for c in wanted or flat[:1]]


def _telling(job: Job, proof: UniqueProof) -> list[tuple[str, str]]:
    """What tells rows with one key apart: their primary key, or where that is the key, what they hold."""
    assert job.live is not None
    own = {c.casefold() for c in proof.columns}
    keys = _key_columns(job)
    if any(name.casefold() not in own for name, _ in keys):
        return keys
    flat = (c for c in job.live.columns if not isinstance(c.type, Struct | Array | Map))
    others = [c for c in flat if c.name.casefold() not in own][:_SHOWN_COLUMNS]
    return [(c.name, as_text(quote_backtick(c.name), c.type)) for c in others]


def _as_target(job: Job, name: str) -> str:
    column = next(c for c in job.target.columns if c.name.casefold() == name.casefold())
    return as_text(f"p.{quote_backtick(column.name)}", column.type)


def _seen(job: Job, proof: Proof) -> list[tuple[str, str, bool]]:
    """(name, SQL, over live rows?) of the values that a witness shows beside its keys."""
    match proof:
        case CastProof(_, old_path) | VanishProof(_, old_path):
            assert job.live is not None
            return [_at(job.live.columns, old_path, live=True)]
        case ExpressionProof(path, sql, _):
            return [(path_text(path), f"CAST(({sql}) AS STRING)", True)]
        case NotNullProof(path):
            return [_at(job.target.columns, path, live=False)]
        case RowProof(_, expression):
            return [_at(job.target.columns, (c,), live=False) for c in _used(job, expression)]
        case _:
            return []


def _at(columns: tuple[Column, ...], path: Path, *, live: bool) -> tuple[str, str, bool]:
    """The value at a path as text; inside a container, the whole outermost one."""
    root = next(c for c in columns if c.name == path[0])
    value, type_ = quote_backtick(root.name), root.type
    shown = path[:1]
    for part in path[1:]:
        if not isinstance(type_, Struct):
            break
        value = f"({value}).{quote_backtick(part)}"
        type_ = next(f for f in type_.fields if f.name == part).type
        shown = (*shown, part)
    return path_text(shown), as_text(value, type_), live


def _used(job: Job, expression: str) -> list[str]:
    names = {c.name.casefold(): c.name for c in job.target.columns}
    tree = sqlglot.parse_one(expression, dialect=reading("spark"))
    used = dict.fromkeys(names.get(i.name.casefold(), "") for i in tree.find_all(exp.Identifier))
    return [name for name in used if name][:_SHOWN_COLUMNS]
