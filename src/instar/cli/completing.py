"""What a shell offers at the tab key: environments, tables, codes. It never says why there is nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from instar.errors import InstarError

if TYPE_CHECKING:
    from instar.app import Project


def environments(context: typer.Context, incomplete: str) -> list[str]:
    """Those of the project's instar.yml."""
    try:
        return _offered(_project(context).config.names, incomplete)
    except InstarError:
        return []


def tables(context: typer.Context, incomplete: str) -> list[str]:
    """Those that the project declares: by their bare name until a schema is typed."""
    try:
        names = _project(context).declared(context.params.get("env"))
    except InstarError:
        return []
    full = "." in incomplete
    return _offered((str(n) if full else n.name for n in names), incomplete)


def codes(incomplete: str) -> list[str]:
    from instar.codes import CODES

    return _offered(CODES, incomplete)


def _project(context: typer.Context) -> Project:
    from instar.app import Project

    return Project.load(context.params.get("project") or Path("."), alone=True)


def _offered(words: Iterable[str], incomplete: str) -> list[str]:
    """A word that a shell would take apart is not offered."""
    fitting = (w for w in words if w.startswith(incomplete))
    return [
        w for w in dict.fromkeys(fitting) if w.replace(".", "_").replace("-", "_").isidentifier()
    ]
