"""The use cases: the only place that puts the parts together."""

from __future__ import annotations

from instar.app.events import Listener, Silent
from instar.app.matrix import matrix
from instar.app.project import ApplyReport, Project, init

__all__ = ["ApplyReport", "Listener", "Project", "Silent", "init", "matrix"]
