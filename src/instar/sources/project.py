"""instar.yml: the project, its environments and where its state is kept."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from instar.errors import ProjectError, UsageError
from instar.sources.keys import (
    DEFAULT_STATE,
    ENGINES,
    ENVIRONMENT_KEYS,
    PLANNED_ENGINES,
    PROJECT_KEYS,
    VERSION,
)
from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode
from instar.sources.problems import Problems
from instar.sources.reading import Read, Reader, plain_value, shown, suggestion
from instar.sources.secret import Masked, Secret
from instar.sources.yamlfile import SourceFile

PROJECT_FILE = "instar.yml"
_VARIABLE = re.compile(r"\$(\$?)\{([^}]*)\}")
SCHEMAS = {
    "spark": "main",
    "duckdb": "main",
    "postgres": "public",
    "dsql": "public",
    "snowflake": "PUBLIC",
}
"""Where tables are that name no schema, by the type of environment."""
_NO_TEXTS: Mapping[str, str] = Masked({})


@dataclass(frozen=True, slots=True)
class Environment:
    """One engine to work on. `format` is empty where the engine has only one."""

    name: str
    type: str
    schema: str = "main"
    format: str = ""
    connect_url: Secret | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)
    database: str | None = field(default=None, repr=False)
    jars: str | None = None
    repository: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=lambda: _NO_TEXTS)


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """What instar.yml says. `models` is kept as it stands for the door that reads it.

    `unset`: the environments that cannot be used, because a variable that they name is not set.
    """

    root: Path
    name: str
    version: int
    state: Secret
    default_env: str
    environments: Mapping[str, Environment]
    models: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    unset: Mapping[str, ProjectError] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def names(self) -> tuple[str, ...]:
        """Every environment, usable or not."""
        return (*self.environments, *self.unset)

    def environment(self, name: str | None = None) -> Environment:
        """The environment of that name; the default one when none is named."""
        wanted = self.default_env if name is None else name
        found = self.environments.get(wanted)
        if wanted in self.unset:
            raise self.unset[wanted]
        if found is None:
            raise UsageError(
                "E110",
                f"there is no environment '{wanted}' in {PROJECT_FILE}",
                hint=suggestion(wanted, self.names, "There are"),
            )
        return found


def find_root(start: Path) -> Path:
    """The nearest folder, from `start` upwards, that holds an instar.yml."""
    start = start.absolute()
    if not start.exists():
        raise UsageError("E108", f"there is no folder '{start}'", hint="Look at --project.")
    for folder in (start, *start.parents):
        if (folder / PROJECT_FILE).is_file():
            return folder
    raise ProjectError(
        "E108",
        f"no {PROJECT_FILE} in this folder or any above it",
        hint="Run `instar init` to begin a project, or name its folder with --project.",
    )


def load_project(root: Path) -> ProjectConfig:
    """The project of a folder, found from it upwards."""
    root = find_root(root)
    file = SourceFile.read(root / PROJECT_FILE, root)
    return _Project(file, root).read(file.tree())


def substitute(file: SourceFile, node: Node, problems: Problems) -> None:
    """Put variables in place of `${NAME}`, in values; `$${` stands for a plain `${`."""
    match node:
        case MappingNode(pairs=pairs):
            for _, value in pairs:
                substitute(file, value, problems)
        case SequenceNode(items=items):
            for item in items:
                substitute(file, item, problems)
        case Scalar(text=text) if "${" in text and node.shown is None:
            try:
                node.text = _VARIABLE.sub(lambda m: _variable(file, node, m), text)
                _check_said(file, node, text)
            except ProjectError as error:
                problems.add(error)
            node.shown = text
            node.plain = False


def _variable(file: SourceFile, node: Scalar, match: re.Match[str]) -> str:
    if match[1]:
        return match[0][1:]
    name = match[2]
    if name not in os.environ:
        message = f"the environment variable {name} is not set"
        hint = f"Set it, for example: export {name}=…" if name else "Write ${NAME}."
        raise file.error("E107", message, node, hint)
    return os.environ[name]


def _check_said(file: SourceFile, node: Scalar, text: str) -> None:
    """A CI secret that nobody has set is an empty text, and an empty setting is taken for its default."""
    if node.text.strip() or _VARIABLE.sub("", text).strip():
        return
    names = list(dict.fromkeys(m[2] for m in _VARIABLE.finditer(text)))
    what = "variable {} is" if len(names) == 1 else "variables {} are"
    message = f"the environment {what.format(' and '.join(names))} empty"
    raise file.error("E107", message, node, "Set it, or leave the key out to take the default.")


class _Project(Reader):
    def __init__(self, file: SourceFile, root: Path) -> None:
        super().__init__(file)
        self.root = root

    def read(self, tree: Node) -> ProjectConfig:
        apart = self.outside_environments(tree)
        top = self.object(tree, PROJECT_KEYS, self.file.name)
        version = top.get("version", VERSION)
        if version != VERSION:
            message = f"version {version} is not known; this Instar reads version {VERSION}"
            self.problems.add(self.file.error("E111", message, top.place("version")))
        environments, unset = self.environments(apart)
        if "environments" in top.values and not (environments or unset or self.problems.found):
            message = "'environments' names none"
            self.problems.add(self.file.error("E106", message, top.place("environments")))
        models = top.get("models")
        default = self.problems.tried(self.default, top, apart)
        self.problems.end()
        assert default is not None
        return ProjectConfig(
            root=self.root,
            name=top.get("name"),
            version=version,
            state=Secret(top.get("state", DEFAULT_STATE)),
            default_env=default,
            environments=MappingProxyType(environments),
            models=MappingProxyType(plain_value(self.mapping("models", models)) if models else {}),
            unset=MappingProxyType(unset),
        )

    def outside_environments(self, tree: Node) -> dict[str, Node]:
        """Variables in place, except in the environments: those are returned by name."""
        found: dict[str, Node] = {}
        for key, value in tree.pairs if isinstance(tree, MappingNode) else ():
            if key.text == "environments" and isinstance(value, MappingNode):
                found |= {name: node for name, (_, node) in self.named(key.text, value).items()}
            else:
                substitute(self.file, value, self.problems)
        return found

    def environments(
        self, nodes: Mapping[str, Node]
    ) -> tuple[dict[str, Environment], dict[str, ProjectError]]:
        """Those that can be read; one that lacks a variable harms only who asks for it."""
        found: dict[str, Environment] = {}
        unset: dict[str, ProjectError] = {}
        for name, node in nodes.items():
            missing = Problems()
            substitute(self.file, node, missing)
            try:
                missing.end()
            except ProjectError as error:
                unset[name] = error
                continue
            if env := self.problems.tried(self.environment, name, node):
                found[name] = env
        return found, unset

    def default(self, top: Read, environments: Mapping[str, Node]) -> str:
        named: str | None = top.get("default_env")
        if named is None:
            return next(iter(environments), "")
        if named not in environments:
            raise self.file.error(
                "E110",
                f"'default_env' is '{named}', which is not one of the environments",
                top.place("default_env"),
                suggestion(named, environments, "There are"),
            )
        return named

    def environment(self, name: str, node: Node) -> Environment:
        what = f"environment '{name}'"
        type_ = self.engine(node, what)
        read = self.object(node, ENVIRONMENT_KEYS[type_], what)
        if "connect_url" in read.values and "master" in read.values:
            message = f"{what} has both 'connect_url' and 'master'"
            self.problems.add(self.file.error("E112", message, read.place("master")))
        url = read.get("connect_url")
        return Environment(
            name=name,
            type=type_,
            schema=read.get("schema", SCHEMAS[type_]),
            format=read.get("format", "delta" if type_ == "spark" else ""),
            connect_url=None if url is None else Secret(url),
            master=read.get("master"),
            conf=Masked(read.get("conf", {})),
            database=read.get("database", ".instar/dev.duckdb" if type_ == "duckdb" else None),
            jars=read.get("jars"),
            repository=read.get("repository"),
            options=_options(read),
        )

    def engine(self, node: Node, what: str) -> str:
        """The type, first: it decides which keys are known."""
        mapping = self.mapping(what, node)
        found = next((value for key, value in mapping.pairs if key.text == "type"), None)
        if found is None:
            raise self.file.error(
                "E106", f"{what}: 'type' is missing", mapping, f"One of {', '.join(ENGINES)}."
            )
        type_ = self.text("type", found)
        if type_ in PLANNED_ENGINES:
            message = f"{what}: '{type_}' is not available yet"
            raise self.file.error("E109", message, found, f"There are: {', '.join(ENGINES)}.")
        if type_ not in ENGINES:
            message = f"{what}: there is no engine {shown(found)}"
            raise self.file.error("E109", message, found, suggestion(type_, ENGINES, "There are"))
        return type_


_OWN_FIELDS = frozenset(
    ("type", "schema", "format", "connect_url", "master", "conf", "database", "jars")
) | {"repository", "options"}


def _options(read: Read) -> Masked:
    """What only the driver reads: the keys without a field of their own, and `options`."""
    own = {key: str(value) for key, value in read.values.items() if key not in _OWN_FIELDS}
    return Masked({**read.get("options", {}), **own})
