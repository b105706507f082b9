"""From an environment of the project to an opened engine and a state store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instar.app.events import Listener
from instar.backends.registry import Engine, EngineSettings, open_engine
from instar.sources.project import Environment, ProjectConfig
from instar.spark.settings import SparkSettings
from instar.state import Store, open_store


@dataclass(frozen=True, slots=True)
class World:
    """An environment with its engine and the state store, both open."""

    env: Environment
    engine: Engine
    store: Store


@contextmanager
def open_state(project: ProjectConfig, *, reading: bool = False) -> Iterator[Store]:
    store = open_store(project.state.reveal(), project.root, reading=reading)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def open_world(
    project: ProjectConfig,
    env: Environment,
    listener: Listener,
    session: Any = None,
    *,
    reading: bool = False,
    alone: bool = False,
) -> Iterator[World]:
    """`reading`: what is not there yet is not made for a look at it."""
    with open_state(project, reading=reading) as store:
        engine = opened(project, env, listener, session, reading=reading, alone=alone)
        try:
            yield World(env, engine, store)
        finally:
            engine.close()


def engine_settings(
    project: ProjectConfig,
    env: Environment,
    session: Any = None,
    *,
    reading: bool = False,
    alone: bool = False,
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
        reading=reading,
        alone=alone,
    )


def _under(root: Path, folder: str | None) -> Path | None:
    return None if folder is None else root / folder


def opened(
    project: ProjectConfig,
    env: Environment,
    listener: Listener,
    session: Any = None,
    *,
    reading: bool = False,
    alone: bool = False,
) -> Engine:
    settings = engine_settings(project, env, session, reading=reading, alone=alone)
    return open_engine(settings, listener.note)
