"""A plan as plain data: the JSON document that machines read, and the fingerprint that seals it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, assert_never

from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    CreateTable,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
    kind,
)
from instar.core.classify import Classified
from instar.core.findings import Finding, Severity
from instar.core.plan import Cost, Plan, Rung, Status, Step, TablePlan
from instar.core.policy import Policy
from instar.core.schema import Check, Constraint, Table
from instar.core.types import Column, path_text, type_text
from instar.errors import Location

VERSION = 1

Document = dict[str, Any]


def plan_document(plan: Plan) -> Document:
    """The whole plan; everything in it is JSON."""
    return {
        "version": VERSION,
        "env": plan.env,
        "policy": policy_document(plan.policy),
        "tables": [table_plan_document(t) for t in plan.tables],
        "summary": summary(plan),
        "fingerprint": fingerprint(plan),
    }


def table_plan_document(table: TablePlan) -> Document:
    return {
        "table": str(table.table),
        "backend": table.backend,
        "origin": table.origin or None,
        "status": table.status.value,
        "changes": [_classified(c) for c in table.changes],
        "findings": [finding_document(f) for f in table.findings],
        "steps": [step_document(s) for s in table.steps],
        "normalized_columns": list(table.normalized_columns),
    }


def summary(plan: Plan) -> Document:
    """How many tables meet which end, and how many findings of each severity there are."""
    verbs = ("create", "change", "rewrite", "unfinished", "blocked", "unchanged")
    counts = dict.fromkeys(verbs, 0)
    for table in plan.tables:
        counts[verb(table)] += 1
    said = [f.severity for t in plan.tables for f in t.findings]
    return {**counts, "findings": {s.value: said.count(s) for s in Severity}}


def verb(table: TablePlan) -> str:
    """What becomes of a table in one word, a rewrite told apart from a cheaper change."""
    match table.status:
        case Status.CREATE:
            return "create"
        case Status.BLOCKED:
            return "blocked"
        case Status.NO_CHANGE:
            return "unfinished" if table.unfinished else "unchanged"
        case Status.CHANGE:
            return "rewrite" if rung(table) in (Rung.REWRITE, Rung.REFRESH) else "change"
        case _:
            assert_never(table.status)


def rung(table: TablePlan) -> Rung:
    """The highest rung that any step of the table climbs."""
    return max((s.rung for s in table.steps), key=lambda r: r.height, default=Rung.METADATA)


def policy_document(policy: Policy) -> Document:
    return {
        "column_conflict": policy.column_conflict.value,
        "allow_column_removal": policy.allow_column_removal,
        "allow_rewrite": policy.allow_rewrite,
        "allow_full_refresh": policy.allow_full_refresh,
    }


def step_document(step: Step) -> Document:
    return {
        "id": step.id,
        "kind": step.kind,
        "rung": step.rung.value,
        "title": step.title,
        "sql": list(step.sql),
        "cost": cost_document(step.cost),
        "destructive": step.destructive,
        "reversible": step.reversible,
        "irreversible": list(step.irreversible),
        "confirm": step.confirm,
        "why_not_cheaper": step.why_not_cheaper,
    }


def cost_document(cost: Cost) -> Document:
    return {"rows": cost.rows, "bytes": cost.bytes, "files": cost.files}


def place_document(where: Location | None) -> Document | None:
    if where is None:
        return None
    return {"file": where.file, "line": where.line, "column": where.column}


def finding_document(finding: Finding) -> Document:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "path": path_text(finding.path) or None,
        "count": finding.count,
        "witnesses": [dict(w) for w in finding.witnesses],
        "where": place_document(finding.where),
    }


def _classified(item: Classified) -> Document:
    return {
        **change_document(item.change),
        "safety": item.safety.value,
        "reason": item.reason,
        "accepted": item.accepted,
        "reaches": [
            {
                "table": r.table,
                "column": r.column,
                "rows": r.column is None,
                "from": list(r.sources),
                "perhaps": r.perhaps,
            }
            for r in item.reaches
        ],
    }


def change_document(change: Change) -> Document:
    """One change: its kind, its place, what was and what is wanted."""
    path, old, new = _sides(change)
    inner = change.modifications if isinstance(change, ModifyColumn) else ()
    return {
        "kind": kind(change),
        "path": path or None,
        "from": old,
        "to": new,
        "modifications": [modification_document(m) for m in inner],
    }


def _sides(change: Change) -> tuple[str, Any, Any]:
    match change:
        case CreateTable(table):
            return "", None, table_document(table)
        case AddColumn(path, column, after):
            return path_text(path), None, {**column_document(column), "after": after}
        case DropColumn(path, column):
            return path_text(path), column_document(column), None
        case ModifyColumn(path, _, old, new, _):
            return path_text(path), column_document(old), column_document(new)
        case ReorderColumns(path, before, after_order):
            return path_text(path), list(before), list(after_order)
        case ChangePrimaryKey(keys, wanted):
            return "", list(keys), list(wanted)
        case ChangeClustering(by, wanted_by) | ChangePartitioning(by, wanted_by):
            return "", list(by), list(wanted_by)
        case AddConstraint(constraint):
            return constraint.name, None, constraint_document(constraint)
        case DropConstraint(constraint):
            return constraint.name, constraint_document(constraint), None
        case ChangeProperty(key, value, wish):
            return key, value, wish
        case _:
            assert_never(change)


def modification_document(modification: Modification) -> Document:
    match modification:
        case TypeChange(old, new):
            return {"kind": "type", "from": type_text(old), "to": type_text(new)}
        case Nullability(was, will):
            return {"kind": "nullability", "from": _null_text(was), "to": _null_text(will)}
        case Rename() | DefaultChange() | CommentChange():
            return {"kind": kind(modification), "from": modification.old, "to": modification.new}
        case _:
            assert_never(modification)


def _null_text(nullable: bool) -> str:
    return "NULL" if nullable else "NOT NULL"


def column_document(column: Column) -> Document:
    return {
        "name": column.name,
        "type": type_text(column.type),
        "nullable": column.nullable,
        "default": column.default,
        "comment": column.comment,
    }


def constraint_document(constraint: Constraint) -> Document:
    if isinstance(constraint, Check):
        return {"name": constraint.name, "check": constraint.expression}
    return {"name": constraint.name, "unique": list(constraint.columns)}


def table_document(table: Table) -> Document:
    return {
        "table": str(table.name),
        "format": table.format or None,
        "columns": [column_document(c) for c in table.columns],
        "primary_key": list(table.primary_key),
        "constraints": [constraint_document(c) for c in table.constraints],
        "cluster_by": list(table.cluster_by),
        "partition_by": list(table.partition_by),
        "properties": dict(table.properties),
        "change_tracking": table.change_tracking,
        "comment": table.comment,
    }


def fingerprint(plan: Plan) -> str:
    """Equal for two plans exactly when they would do the same to the same schemas.

    Costs, findings, witnesses and the words of questions may move while rows come and go; the schemas,
    the statements, what a step needs to run, and the policy may not.
    """
    told = [
        VERSION,
        plan.env,
        _canonical(plan.policy),
        [_acts(t) for t in sorted(plan.tables, key=lambda t: t.table)],
    ]
    text = json.dumps(told, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _acts(table: TablePlan) -> list[Any]:
    if not table.steps:
        # A table that is left alone counts by name: were it to move, it would have steps.
        return [str(table.table), table.backend, table.status.value]
    steps = [
        [s.kind, s.rung.value, list(s.sql), s.destructive, _canonical(s.data)] for s in table.steps
    ]
    status, live, target = table.status.value, _canonical(table.live), _canonical(table.target)
    return [str(table.table), table.backend, status, live, target, steps]


@lru_cache(maxsize=256)
def _compared(kind: type) -> tuple[str, ...] | None:
    return tuple(f.name for f in fields(kind) if f.compare) if is_dataclass(kind) else None


def _canonical(value: Any) -> Any:
    """Any value of the core as JSON with the class names kept, so that no two read alike."""
    if isinstance(value, Enum):
        return value.value
    names = _compared(value.__class__)
    if names is not None:
        return {type(value).__name__: {n: _canonical(getattr(value, n)) for n in names}}
    if isinstance(value, Mapping):
        return {str(k): _canonical(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_canonical(v) for v in value]
    return value
