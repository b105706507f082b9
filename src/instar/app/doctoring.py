"""Is everything there that a project needs? Each answer comes with what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from instar.app.events import Listener
from instar.app.leaving import tell_absent
from instar.app.opening import open_state, opened
from instar.app.placing import located
from instar.backends.registry import rules_for
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.core.schema import TableName
from instar.errors import InstarError, ProjectError
from instar.run.builders import runs_models
from instar.sources.manifest import read_manifests
from instar.sources.models import load_models, model_files
from instar.sources.project import Environment, ProjectConfig
from instar.spark.java import find_java

if TYPE_CHECKING:
    from instar.app.project import Project


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that a project needs: whether it is there, and what to do if not."""

    name: str
    ok: bool
    detail: str
    hint: str | None = None
    warns: bool = False
    """Nothing is missing, but something is to be done."""


def validated(config: ProjectConfig, env: Environment, listener: Listener) -> tuple[Finding, ...]:
    """Everything that is wrong with manifests and models, then what each table's engine could not keep."""
    found = read_manifests(config, env)
    problems = list(found.problems)
    # A model may read a table whose manifest is broken; that is one mistake, not two.
    broken = (TableName(env.schema, path.stem) for path in found.broken)
    if runs_models(env) and model_files(config.root):
        try:
            names = (*(w.table.name for w in found.wanted), *broken)
            tell_absent(listener, env, load_models(config, env, names))
        except ProjectError as error:
            problems += error.every
    findings = list(map(mistake, problems))
    for item in found.wanted:
        rules = rules_for(env.type, item.table.format or env.format)
        _, said = rules.normalize(item, None)
        findings += located(said, item.origin, config.root)
    return tuple(findings)


def mistake(error: InstarError) -> Finding:
    """An error in a file as a finding: it has an E code."""
    return Finding(error.code, Severity.ERROR, error.message, error.hint, where=error.where)


def examined(project: Project, env: str | None) -> tuple[Diagnosis, ...]:
    """Python, the files, Java, the engine, the state store: in the order a newcomer meets them."""
    chosen = project.environment(env)
    checks: list[tuple[str, Callable[[], str | Diagnosis]]] = [
        ("python", lambda: ".".join(map(str, sys.version_info[:3]))),
        ("manifests", lambda: _tables(len(project.wanted(chosen.name)))),
        ("state", lambda: _state(project, chosen.name)),
    ]
    if chosen.type == "spark" and chosen.connect_url is None:
        checks.append(("java", _java))
    checks.append((f"engine ({chosen.type})", lambda: _engine(project, chosen)))
    return tuple(_diagnosed(name, check) for name, check in checks)


def _diagnosed(name: str, check: Callable[[], str | Diagnosis]) -> Diagnosis:
    try:
        found = check()
        return found if isinstance(found, Diagnosis) else Diagnosis(name, True, found)
    except InstarError as error:
        return Diagnosis(name, False, f"{error.code}: {error.message}", error.hint)


def _java() -> str:
    found = find_java()
    return f"Java {found.major} ({found.home})"


def _state(project: Project, env: str) -> str | Diagnosis:
    with open_state(project.config, reading=True) as store:
        open_runs = store.unfinished(env)
    if not open_runs:
        return "ready"
    count = plural(len(open_runs), "unfinished run")
    names = ", ".join(dict.fromkeys(str(run.table) for run in open_runs))
    hint = f"`instar recover --env {env}` finishes what an earlier apply began."
    return Diagnosis("state", True, f"{count}: {names}", hint, warns=True)


def _engine(project: Project, env: Environment) -> str:
    """Apart from the state store: what is wrong with that has a line of its own."""
    engine = opened(project.config, env, project.listener, reading=True)
    try:
        names = [name for b in engine.backends.values() for name in b.list_tables(env.schema)]
    finally:
        engine.close()
    return f"answers; {_tables(len(set(names)))} in schema '{env.schema}'"


def _tables(count: int) -> str:
    return plural(count, "table")
