"""Keys that a plan has proven, proven again when the change is carried out: no format on Spark enforces one."""

from __future__ import annotations

import json

from instar.backends.sql import quote_backtick
from instar.core.checks import ProofResult, UniqueProof, finding_for, proofs_for
from instar.core.plan import Job, Step
from instar.errors import VerificationFailed
from instar.spark import SparkHandle

_KEYS = "keys"
_SHOWN = 5
UNTOUCHED = "The key was not written down."


def key_data(job: Job) -> dict[str, str]:
    """For a step's data: the keys that its plan had to prove; nothing where the change concerns none."""
    proofs = proofs_for(job.changes, job.wanted, str.casefold)
    keys = [(p.name, p.columns, p.primary) for p in proofs if isinstance(p, UniqueProof)]
    return {_KEYS: json.dumps(keys)} if keys else {}


def shared_key(handle: SparkHandle, step: Step, source: str) -> str:
    """What is wrong with the keys of the rows in `source`, which stands after FROM; empty if nothing is."""
    for name, columns, primary in json.loads(step.data.get(_KEYS, "[]")):
        quoted = [quote_backtick(c) for c in columns]
        known = " AND ".join(f"{c} IS NOT NULL" for c in quoted)
        names = ", ".join(quoted)
        twice = (
            f"SELECT to_json(struct({names})) AS k, count(*) AS n FROM {source} WHERE {known}"
            f" GROUP BY {names} HAVING count(*) > 1"
        )
        found = handle.run(f"SELECT k, sum(n) OVER () AS n FROM ({twice}) LIMIT {_SHOWN}")
        if found:
            proof = UniqueProof(name, tuple(columns), primary)
            told = finding_for(step.after.name, ProofResult(proof, int(found[0]["n"])))
            return f"{told.message} {', '.join(row['k'] for row in found)}"
    return ""


def prove_keys(handle: SparkHandle, step: Step, table: str, put_back: str) -> None:
    """Refuses rows that share a key; `put_back` says what became of the table."""
    if _KEYS not in step.data:
        return
    # What another session wrote is not seen before.
    handle.run(f"REFRESH TABLE {table}")
    if said := shared_key(handle, step, table):
        raise came_late(said, put_back)


def came_late(said: str, put_back: str) -> VerificationFailed:
    return VerificationFailed(
        "E227",
        f"{said} They came after the plan",
        hint=f"{put_back} Plan again: it shows the rows.",
    )
