"""Models that an environment leaves out because its engine cannot run them: never silently, never by name.

All models, where the engine has none; else those in Python where that is not Spark, and what is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from instar.app.events import Listener
from instar.app.naming import named
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.core.plan import Status, TablePlan
from instar.core.schema import TableName, Wanted
from instar.errors import Location, ProjectError
from instar.run.builders import no_models, runs_models
from instar.sources.models import Absent, Models, model_files
from instar.sources.project import Environment, ProjectConfig

LEFT_OUT = "F709"


def left_out(config: ProjectConfig, env: Environment) -> tuple[TableName, ...]:
    """The tables that models would have there; their files are not read, as no engine reads them so."""
    if runs_models(env):
        return ()
    return tuple(TableName(env.schema, path.stem) for path in model_files(config.root))


def refuse_absent(models: Models, env: Environment, patterns: Sequence[str]) -> None:
    """Who names a model that is left out, and nothing else by that, is told why."""
    present = [model.table for model in models.models.values()]
    for pattern in patterns:
        if not any(named(table, [pattern]) for table in present):
            for name, absent in models.absent.items():
                if named(absent.table, [pattern]):
                    raise ProjectError(
                        "E161",
                        f"the model '{name}' is left out: {_why(absent, env)}",
                        hint="Choose a Spark environment, or write it as SQL.",
                    )


def tell_absent(listener: Listener, env: Environment, models: Models) -> None:
    """One line for all that this environment leaves out."""
    if models.absent:
        count = plural(len(models.absent), "model is", "models are")
        names = ", ".join(models.absent)
        listener.note(
            f"{count} left out: '{env.name}' is {env.type}, and Python models run on Spark: {names}"
        )


def absent_plans(models: Models, env: Environment, backend: str) -> tuple[TablePlan, ...]:
    """A finding for each model that is left out."""
    return tuple(
        TablePlan(
            absent.table,
            backend,
            Status.NO_CHANGE,
            (),
            (_finding(absent, env),),
            (),
            None,
            None,
            origin=absent.origin,
        )
        for absent in models.absent.values()
    )


def _finding(absent: Absent, env: Environment) -> Finding:
    return Finding(
        LEFT_OUT,
        Severity.INFO,
        f"[{absent.table}] is left out: {_why(absent, env)}.",
        "A Spark environment builds it.",
        where=Location(absent.origin, 1, 1),
    )


def _why(absent: Absent, env: Environment) -> str:
    if not absent.roots:
        return f"a Python model runs on Spark only, and '{env.name}' is {env.type}"
    names = ", ".join(f"'{root}'" for root in absent.roots)
    made = f"the Python model{'s' if len(absent.roots) > 1 else ''} {names}"
    return f"it is made of {made}, and '{env.name}' is {env.type}"


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
        count = plural(len(meant), "model is", "models are")
        listener.note(f"{count} left out: '{env.name}' is {env.type}, where no model can run")
