"""The use cases: the only place that puts the parts together."""

from __future__ import annotations

from instar.app.answers import ApplyReport, Drift
from instar.app.events import Listener, Silent
from instar.app.matrix import matrix
from instar.app.project import Project, ProjectPlan
from instar.run.options import RunOptions
from instar.sources.scaffold import init_project as init

__all__ = [
    "ApplyReport",
    "Drift",
    "Listener",
    "Project",
    "ProjectPlan",
    "RunOptions",
    "Silent",
    "init",
    "matrix",
]
