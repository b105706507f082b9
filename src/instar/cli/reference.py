"""The reference pages of the documentation, written from the commands and codes themselves.

`python -m instar.cli.reference` writes docs/reference/; with `--check` it only says what is stale.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from instar.cli.apipage import api_page
from instar.cli.help import load, param_panels
from instar.cli.index import COMMANDS, EXIT_CODES, GROUPS
from instar.codes import CODES

_WRITTEN = "<!-- written by `python -m instar.cli.reference`; edit the source instead -->"

_FAMILIES = {
    "E1": "Files of the project",
    "E2": "Environment and engine",
    "E3": "State, locks, journal",
    "E4": "Plan and apply",
    "F1": "Columns",
    "F2": "Values in the rows",
    "F3": "Keys and constraints",
    "F4": "Order and change tracking",
    "F5": "Cost, and what cannot be undone",
    "F6": "What an engine cannot keep",
    "F7": "Models",
}


def pages() -> dict[str, str]:
    """File name to text."""
    return {
        "api.md": f"{_WRITTEN}\n\n{api_page()}",
        "cli.md": cli_page(),
        "codes.md": codes_page(),
    }


def cli_page() -> str:
    from instar.cli.main import app

    root: Any = get_command(app)
    parent = root.make_context("instar", [], resilient_parsing=True)
    parts = [_WRITTEN, "", "# Command line", "", _fence("instar COMMAND [OPTIONS]"), ""]
    for group in GROUPS:
        names = [n for n, e in COMMANDS.items() if e.group == group]
        parts += [f"**{group}**", ""]
        parts += [f"- [`{n}`](#instar-{n}): {COMMANDS[n].summary}" for n in names]
        parts.append("")
    parts += ["## Exit codes", "", "| code | means |", "|---|---|"]
    parts += [f"| {code} | {text} |" for code, text in EXIT_CODES.items()]
    parts += ["", *_environment_section()]
    for name, entry in COMMANDS.items():
        parts += _command_section(load(name, entry), name, parent)
    return "\n".join(parts).rstrip() + "\n"


def _environment_section() -> list[str]:
    rows = {
        "INSTAR_TRACEBACK": "`1` shows where an error came from",
        "NO_COLOR, FORCE_COLOR": "colour off or on, whatever reads stdout",
    }
    lines = [
        "## Environment variables",
        "",
        "Options that show `env:` can be given by it; besides:",
        "",
    ]
    lines += [f"- `{name}`: {text}" for name, text in rows.items()]
    return [*lines, ""]


def _command_section(command: Any, name: str, parent: Any) -> list[str]:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(["instar", *_names(context), *command.collect_usage_pieces(context)])
    lines = [f"## {' '.join(['instar', *_names(context)])}", "", _plain(command.help), ""]
    lines += [_fence(usage), ""]
    for panel, rows in param_panels(command, context).items():
        told = [(option, text) for option, text in rows if "--help" not in option]
        if told:
            lines += [f"| {panel} | |", "|---|---|"]
            lines += [f"| `{_cell(option)}` | {_cell(text)} |" for option, text in told]
            lines.append("")
    if examples := getattr(command, "examples", ()):
        lines += [_fence("\n".join(examples)), ""]
    for inner_name in getattr(command, "commands", {}):
        lines += _command_section(command.commands[inner_name], inner_name, context)
    return lines


def _names(context: Any) -> list[str]:
    names: list[str] = []
    while context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    return names


def _plain(text: str | None) -> str:
    return inspect.cleandoc(text or "")


def _fence(text: str) -> str:
    return f"```console\n{text}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def codes_page() -> str:
    parts = [_WRITTEN, "", "# Codes", ""]
    parts += [
        "`instar explain CODE` prints the same. E codes end a command, F codes are findings",
        "",
    ]
    parts[-2] += " of a plan: an error blocks its table, a warning or an info does not."
    for family, title in _FAMILIES.items():
        codes = sorted(c for c in CODES if c.startswith(family))
        if codes:
            parts += [f"## {title}", ""]
        for code in codes:
            doc = CODES[code]
            parts += [f"### {code}", "", f"**{doc.title}.** {doc.why}", "", doc.fix, ""]
    return "\n".join(parts).rstrip() + "\n"


def main(folder: Path, *, check: bool) -> int:
    stale = []
    for name, text in pages().items():
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    word = "stale" if check else "wrote"
    for name in stale:
        sys.stdout.write(f"{word}: {name}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(Path("docs/reference"), check="--check" in sys.argv[1:]))
