"""Instar: schema evolution for data pipelines that run on Spark.

    from instar import Policy, Project

    plan = Project.load(".").plan(env="prod", policy=Policy.of("drop"), spark=spark)
    plan.apply(confirm=lambda questions: True)

Importing this loads no engine and no driver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from instar.app import ApplyReport, Listener, Project, ProjectPlan, RunOptions
    from instar.core.document import plan_document
    from instar.core.findings import Finding, Severity
    from instar.core.plan import Plan, Status, Step, TablePlan
    from instar.core.policy import ColumnConflict, Policy
    from instar.errors import InstarError

__version__ = "0.1.0"

__all__ = [
    "ApplyReport",
    "ColumnConflict",
    "Finding",
    "InstarError",
    "Listener",
    "Plan",
    "Policy",
    "Project",
    "ProjectPlan",
    "RunOptions",
    "Severity",
    "Status",
    "Step",
    "TablePlan",
    "__version__",
    "plan_document",
]

_HOMES = {
    "ApplyReport": "instar.app",
    "ColumnConflict": "instar.core.policy",
    "Finding": "instar.core.findings",
    "InstarError": "instar.errors",
    "Listener": "instar.app",
    "Plan": "instar.core.plan",
    "Policy": "instar.core.policy",
    "Project": "instar.app",
    "ProjectPlan": "instar.app",
    "RunOptions": "instar.app",
    "Severity": "instar.core.findings",
    "Status": "instar.core.plan",
    "Step": "instar.core.plan",
    "TablePlan": "instar.core.plan",
    "plan_document": "instar.core.document",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'instar' has no attribute '{name}'")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)
