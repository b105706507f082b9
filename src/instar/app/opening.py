"""From an environment of the project to an opened engine and a state store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from instar.app.events import Listener
from instar.backends.registry import Engine, EngineSettings, open_engine
from instar.sources.project import Environment, ProjectConfig
from instar.spark.settings import SparkSettings


def engine_settings(
    project: ProjectConfig, env: Environment, session: Any = None
) -> EngineSettings:
    """What the registry needs to open an environment; a session that was handed in wins."""
    root = project.root / ".instar"
    spark = None
    if env.type == "spark":
        spark = SparkSettings(
            root=root,
            connect_url=str(env.connect_url.reveal()) if env.connect_url else None,
            master=env.master,
            conf=tuple(sorted(env.conf.items())),
            jars=_under(project.root, env.jars),
            repository=env.repository,
        )
    return EngineSettings(
        type=env.type,
        format=env.format,
        root=project.root,
        database=env.database,
        spark=spark,
        session=session,
        options=env.options,
    )


def _under(root: Path, folder: str | None) -> Path | None:
    return None if folder is None else root / folder


def opened(
    project: ProjectConfig, env: Environment, listener: Listener, session: Any = None
) -> Engine:
    return open_engine(engine_settings(project, env, session), listener.note)
