"""Proofs on the rows; where the engine refuses an expression, which one, and what the others say all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import eq

from instar.backends.base import Backend
from instar.core.checks import ExpressionProof, NotNullProof, Proof, ProofResult, RowProof
from instar.core.findings import Finding, Severity
from instar.core.planner import Draft
from instar.core.projection import with_expressions
from instar.core.types import Path
from instar.errors import EngineError

_Told = tuple[Path, str]
"""What a proof is about: the path of a column, or the key of a constraint."""


def proven(sketch: Draft, backend: Backend) -> tuple[Sequence[ProofResult], tuple[Finding, ...]]:
    """What the rows say, and an F204 for each expression that the engine could not run on them."""
    try:
        return backend.prove(sketch.job, sketch.proofs), ()
    except EngineError as error:
        refused = dict(_refused(sketch, backend))
        if not refused:
            return (), (_unprovable(sketch, ((), ""), error),)
        findings = tuple(_unprovable(sketch, told, why) for told, why in refused.items())
        return _others(sketch, backend, {told[0] for told in refused}, refused), findings


def _refused(sketch: Draft, backend: Backend) -> Iterator[tuple[_Told, EngineError]]:
    """Each expression is tried by itself, without those of other columns."""
    for proof in sketch.proofs:
        if not isinstance(proof, ExpressionProof | NotNullProof | RowProof):
            continue
        path, _ = told = _about(proof)
        alone = with_expressions(sketch.job.projection, partial(eq, path))
        try:
            backend.prove(replace(sketch.job, projection=alone), [proof])
        except EngineError as error:
            yield told, error


def _others(
    sketch: Draft, backend: Backend, paths: set[Path], refused: dict[_Told, EngineError]
) -> Sequence[ProofResult]:
    """The proofs that need none of the refused expressions; none where that fails too."""
    rest = [p for p in sketch.proofs if _about(p) not in refused]
    able = with_expressions(sketch.job.projection, lambda at: at not in paths)
    try:
        return backend.prove(replace(sketch.job, projection=able), rest) if rest else ()
    except EngineError:
        return ()


def _about(proof: Proof) -> _Told:
    if isinstance(proof, RowProof):
        return (), f"constraints.{proof.name}"
    return getattr(proof, "path", ()), ""


def _unprovable(sketch: Draft, told: _Told, error: EngineError) -> Finding:
    path, key = told
    return Finding(
        "F204",
        Severity.ERROR,
        f"[{sketch.name}] the rows could not be checked: {error.message.splitlines()[0]}",
        error.hint or "Look at the expressions of this table's manifest.",
        path,
        key=key,
    )
