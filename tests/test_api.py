"""The public surface: what `from instar import …` offers, and that importing it loads no engine."""

from __future__ import annotations

import subprocess
import sys

import instar

SURFACE = {
    "ApplyReport",
    "ColumnConflict",
    "Finding",
    "InstarError",
    "Listener",
    "Plan",
    "Policy",
    "Project",
    "Severity",
    "Status",
    "Step",
    "TablePlan",
    "__version__",
    "plan_document",
}


def test_the_surface_is_what_the_docs_promise() -> None:
    assert set(instar.__all__) == SURFACE
    for name in SURFACE:
        assert getattr(instar, name) is not None


def test_everything_public_is_documented() -> None:
    for name in SURFACE - {"__version__"}:
        assert getattr(instar, name).__doc__, name


def test_importing_instar_loads_no_engine() -> None:
    code = (
        "import sys, instar; from instar import Policy, Project;"
        "print([m for m in ('pyspark', 'duckdb', 'snowflake', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_policy_from_words() -> None:
    policy = instar.Policy.of("reorder", allow_rewrite=True)
    assert policy.reorders
    assert policy.allow_rewrite
    assert not policy.drops
