"""Manifests: every table that the files under tables/ declare, for one environment."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from instar.core.schema import TableName, Wanted
from instar.dialects import DIALECTS
from instar.errors import Location, ProjectError
from instar.sources.cache import ManifestCache
from instar.sources.checking import check_manifest
from instar.sources.problems import Problems
from instar.sources.project import Environment, ProjectConfig
from instar.sources.raw import RawManifest, build
from instar.sources.yamlfile import SourceFile, shown_path

FOLDER = "tables"
SUFFIXES = frozenset({".yml", ".yaml"})


@dataclass(frozen=True, slots=True)
class Manifests:
    """All that could be read, and everything that is wrong with the `broken` files."""

    wanted: tuple[Wanted, ...]
    problems: tuple[ProjectError, ...] = ()
    broken: tuple[Path, ...] = ()


def load_manifests(
    project: ProjectConfig, env: Environment | str | None = None
) -> tuple[Wanted, ...]:
    """What the manifests want, by file name; the first problem is raised, with the others."""
    found = read_manifests(project, env)
    problems = Problems()
    problems.found += found.problems
    problems.end()
    return found.wanted


def read_manifests(project: ProjectConfig, env: Environment | str | None = None) -> Manifests:
    """What the manifests want, and every problem of every file."""
    chosen = env if isinstance(env, Environment) else project.environment(env)
    with _no_collection():
        return _read_all(project, chosen)


@contextmanager
def _no_collection() -> Iterator[None]:
    """A third of the time for a thousand manifests would go into looking for garbage that is not there."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_all(project: ProjectConfig, chosen: Environment) -> Manifests:
    dialect = DIALECTS[chosen.type]
    cache = ManifestCache(project.root, dialect)
    wanted: list[Wanted] = []
    problems: list[ProjectError] = []
    broken: list[Path] = []
    first: dict[TableName, Location] = {}
    for path in manifest_files(project.root):
        try:
            raw, origin = _raw(path, project.root, dialect, cache)
            item = build(raw, chosen, origin)
            _only_one(item, raw, path, project.root, first)
            wanted.append(item)
        except ProjectError as problem:
            problems += problem.every
            broken.append(path)
    cache.save()
    return Manifests(tuple(wanted), tuple(problems), tuple(broken))


def load_manifest(project: ProjectConfig, env: Environment | str | None, path: Path) -> Wanted:
    """One manifest by its file, wherever it is."""
    chosen = env if isinstance(env, Environment) else project.environment(env)
    file = SourceFile.read(path, project.root)
    return build(check_manifest(file, DIALECTS[chosen.type]), chosen, file.name)


def manifest_files(root: Path) -> list[Path]:
    """The manifests of a project, in the order of their names; hidden files and folders are not read."""
    return sorted(_files(root / FOLDER), key=lambda path: path.parts)


def _files(folder: Path) -> Iterator[Path]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(folder / entry.name)
        elif os.path.splitext(entry.name)[1] in SUFFIXES and entry.is_file():
            yield folder / entry.name


def _raw(path: Path, root: Path, dialect: str, cache: ManifestCache) -> tuple[RawManifest, str]:
    try:
        data = path.read_bytes()
    except OSError:
        data = None
    known = None if data is None else cache.get(data)
    if known is not None:
        return known, shown_path(path, root)
    file = SourceFile.read(path, root, data)
    raw = check_manifest(file, dialect)
    cache.put(file.text.encode() if data is None else data, raw)
    return raw, file.name


def _only_one(
    item: Wanted, raw: RawManifest, path: Path, root: Path, first: dict[TableName, Location]
) -> None:
    """Two manifests of one table are refused, whatever the case of its name."""
    name = item.table.name
    key = name.folded
    line, column = raw["place"]
    if key in first:
        where = SourceFile.read(path, root).location(line, column)
        message = f"the table {name} is declared twice: here and in {first[key]}"
        raise ProjectError("E130", message, hint="Keep one of the two.", where=where)
    first[key] = Location(item.origin, line, column)
