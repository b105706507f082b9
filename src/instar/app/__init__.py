"""The use cases: the only place that puts the parts together."""

from __future__ import annotations

from instar.app.events import Listener, Silent
from instar.app.project import Project

__all__ = ["Listener", "Project", "Silent"]
