"""Models that an environment leaves out because its engine cannot run them: never silently, never by name."""

from __future__ import annotations

from collections.abc import Sequence

from instar.app.events import Listener
from instar.app.naming import named
from instar.core.schema import TableName, Wanted
from instar.run.builders import no_models, runs_models
from instar.sources.models import model_files
from instar.sources.project import Environment, ProjectConfig


def left_out(config: ProjectConfig, env: Environment) -> tuple[TableName, ...]:
    """The tables that models would have there; their files are not read, as no engine reads them so."""
    if runs_models(env):
        return ()
    return tuple(TableName(env.schema, path.stem) for path in model_files(config.root))


def refuse_models(config: ProjectConfig, env: Environment) -> None:
    """For what is about models and nothing else."""
    if left_out(config, env):
        raise no_models(env)


def tell_left_out(
    listener: Listener,
    env: Environment,
    left: Sequence[TableName],
    wanted: Sequence[Wanted] = (),
    tables: Sequence[str] = (),
) -> None:
    """Say it where such models were meant too; an error where a name means nothing else."""
    for pattern in tables:
        kept = any(named(item.table.name, [pattern]) for item in wanted)
        if not kept and any(named(name, [pattern]) for name in left):
            raise no_models(env)
    meant = [name for name in left if not tables or named(name, tables)]
    if meant:
        count = f"{len(meant)} model{'s are' if len(meant) != 1 else ' is'}"
        listener.note(f"{count} left out: '{env.name}' is {env.type}, where no model can run")
