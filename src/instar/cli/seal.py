"""Sealed plans: a plan in a file that may be applied later, if nothing moved in between."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instar import __version__
from instar.core.document import VERSION, plan_document, policy_document
from instar.core.plan import Plan
from instar.core.policy import ColumnConflict, Policy
from instar.errors import Location, PlanMoved, UsageError


@dataclass(frozen=True, slots=True)
class Seal:
    """What has to be planned again, and what that plan must be."""

    project: str
    env: str
    tables: tuple[str, ...]
    policy: Policy
    fingerprint: str
    planned: tuple[dict[str, Any], ...] = field(default=(), compare=False, repr=False)
    """The tables as their documents said them, to tell what has moved."""


def write_seal(path: Path, plan: Plan, project: str, tables: tuple[str, ...]) -> None:
    """The plan's document with a seal; the statements are there to be read, never to be run."""
    seal = {
        "project": project,
        "instar": __version__,
        "tables": list(tables),
        "policy": policy_document(plan.policy),
    }
    document = {**plan_document(plan), "sealed": seal}
    document = {**document, "sealed": {**seal, "hash": _hash(document)}}
    text = json.dumps(document, indent=2)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            "E412",
            f"the plan cannot be written to {path}: {error.strerror}",
            hint="Name another file.",
        ) from error


def read_seal(path: Path) -> Seal:
    """The seal of a plan file; one that was changed, or anything else, is an error that names the file."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            "E410", f"the plan file cannot be read: {error.strerror}", where=Location(str(path))
        ) from error
    except ValueError as error:
        raise _unsealed(path) from error
    return _seal(path, document)


def moved(seal: Seal, now: Plan) -> tuple[str, ...]:
    """What became of each table that is planned otherwise today; empty where the documents show nothing."""
    before = {table["table"]: table for table in seal.planned}
    today = {table["table"]: table for table in plan_document(now)["tables"]}
    return tuple(_moved(before, today))


def _moved(before: dict[str, Any], today: dict[str, Any]) -> Iterator[str]:
    for name in sorted({*before, *today}):
        if name not in today:
            yield f"{name} is no longer declared"
        elif name not in before:
            yield f"{name} is declared since"
        elif today[name]["status"] == "blocked" != before[name]["status"]:
            yield f"{name} is blocked now"
        elif before[name]["steps"] and not today[name]["steps"]:
            yield f"{name} is as declared already"
        elif _acts(before[name]) != _acts(today[name]):
            yield f"{name} needs other steps now"


def _acts(table: dict[str, Any]) -> list[Any]:
    """What would be done and why, without what moves while rows come and go."""
    changes = [{**c, "reaches": None} for c in table["changes"]]
    return [changes, [[s["kind"], s["rung"], s["sql"]] for s in table["steps"]]]


def _hash(document: dict[str, Any]) -> str:
    """Of everything that the document says, in whatever layout."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _check_whole(path: Path, document: dict[str, Any]) -> None:
    seal = dict(document["sealed"])
    if seal.pop("hash") != _hash({**document, "sealed": seal}):
        raise PlanMoved(
            "E414",
            "the sealed plan was changed after it was sealed; nothing was touched",
            hint="Change the manifests or the policy, and seal a new plan with `instar plan --out FILE`.",
            where=Location(str(path)),
        )


def _seal(path: Path, document: Any) -> Seal:
    try:
        seal = document["sealed"]
        policy = seal["policy"]
        if document["version"] != VERSION:
            raise _unsealed(path)
        _check_whole(path, document)
        return Seal(
            seal["project"],
            document["env"],
            tuple(seal["tables"]),
            Policy(
                ColumnConflict(policy["column_conflict"]),
                policy["allow_column_removal"],
                policy["allow_rewrite"],
                policy["allow_full_refresh"],
            ),
            document["fingerprint"],
            tuple(document["tables"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _unsealed(path) from error


def _unsealed(path: Path) -> UsageError:
    return UsageError(
        "E410",
        "this file is not a sealed plan of this version",
        hint="Make one with `instar plan --out FILE`.",
        where=Location(str(path)),
    )
