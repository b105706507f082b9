"""`explain`, `schema`, `completion`, `version`: what needs no project."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from enum import Enum
from importlib import import_module
from textwrap import wrap
from typing import Annotated, Any, Optional

import typer

from instar import __version__
from instar.cli import completing
from instar.cli import options as o
from instar.cli.lines import Line, render
from instar.cli.options import DataFormat
from instar.cli.screen import Color, Screen, use
from instar.codes import CODES, CodeDoc
from instar.errors import UsageError

_WIDTH = 92
_FIX = "What to do: "


def explain(
    code: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="CODE", autocompletion=completing.codes, help="Such as F201 or E104."
        ),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="List every code.")] = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
) -> None:
    """Say what a code means, why it happens and what to do about it."""
    screen = use(Screen(color), format)
    chosen = CODES if all_ or code is None else {code.upper(): _found(code)}
    if format is DataFormat.JSON:
        rows = {k: {"title": d.title, "why": d.why, "fix": d.fix} for k, d in chosen.items()}
        screen.json(rows)
    elif code is not None and not all_:
        screen.document(render(_page(code.upper(), chosen[code.upper()]), screen.out))
    else:
        rows_ = [[("bold", f"{k}  "), ("", d.title)] for k, d in sorted(chosen.items())]
        screen.document(render(rows_, screen.out))
        screen.note("`instar explain CODE` says more about one of them.")


def _found(code: str) -> CodeDoc:
    doc = CODES.get(code.upper())
    if doc is None:
        near = get_close_matches(code.upper(), CODES, n=3, cutoff=0.5)
        said = f"Did you mean {', '.join(near)}? " if near else ""
        raise UsageError(
            "E413", f"there is no code '{code}'", hint=f"{said}`instar explain --all` lists them."
        )
    return doc


def _page(code: str, doc: CodeDoc) -> list[Line]:
    head: Line = [("bold", f"{code}: {doc.title}")]
    why: list[Line] = [[("", line)] for line in wrap(doc.why, _WIDTH)]
    first, *rest = wrap(doc.fix, _WIDTH - len(_FIX))
    fix: list[Line] = [[("cyan", _FIX), ("", first)]]
    return [head, [], *why, [], *fix, *([("", " " * len(_FIX) + line)] for line in rest)]


class SchemaOf(Enum):
    PROJECT = "project"
    MANIFEST = "manifest"


def schema(
    what: Annotated[
        SchemaOf,
        typer.Argument(metavar="project|manifest", help="instar.yml, or a table's file."),
    ] = SchemaOf.MANIFEST,
) -> None:
    """Print the JSON Schema of a file, for completion and checks in an editor."""
    from instar.sources import jsonschema

    by = {
        SchemaOf.PROJECT: jsonschema.project_schema,
        SchemaOf.MANIFEST: jsonschema.manifest_schema,
    }
    use(Screen()).json(by[what]())


class Shell(Enum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish|powershell", help="The shell.")],
) -> None:
    """Print the completion script for a shell."""
    # Not exported under its own name in every version of typer.
    script: Any = import_module("typer.completion").get_completion_script
    text = script(prog_name="instar", complete_var="_INSTAR_COMPLETE", shell=shell.value)
    use(Screen()).document(text)


def version(
    format: o.DataFormatOption = DataFormat.TEXT,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Those of Python and the engines too.")
    ] = False,
) -> None:
    """Print the version; with -v those of Python and the engines too."""
    screen = use(Screen())
    found = {"instar": __version__}
    if verbose or format is DataFormat.JSON:
        found |= {"python": ".".join(map(str, sys.version_info[:3])), **_libraries()}
    if format is DataFormat.JSON:
        screen.json(found)
    else:
        screen.document("\n".join(f"{name} {text}" for name, text in found.items()))


def _libraries() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    found = {}
    for name in ("pyspark", "duckdb", "sqlglot"):
        try:
            found[name] = installed(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
