"""How help is written: options by theme, their environment variables, commands in order of use."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from instar.cli.index import COMMANDS, EXIT_CODES, GROUPS, Entry


def _record(param: Any, ctx: Any) -> tuple[str, str] | None:
    """A line of help with `[env: INSTAR_X=]` behind it."""
    record = param.get_help_record(ctx)
    if record is None:
        return None
    name, _ = record
    marks = []
    if param.envvar:
        marks.append(f"env: {param.envvar}=")
    if getattr(param, "show_default", False) and param.default not in (None, False, 0):
        marks.append(f"default: {getattr(param.default, 'value', param.default)}")
    if param.param_type_name == "argument":
        name = param.make_metavar(ctx) if param.metavar is None else param.metavar
        if param.required:
            marks.append("required")
    words = [param.help or "", f"[{'; '.join(marks)}]" if marks else ""]
    return name, "  ".join(w for w in words if w)


_PANELS = ["Arguments", "Options", "Which models", "Project", "What may be done", "Output"]


def param_panels(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options by theme, as (how it is written, what it means)."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = _record(param, ctx)
        if record is not None:
            other = "Arguments" if param.param_type_name == "argument" else "Options"
            panels.setdefault(getattr(param, "rich_help_panel", None) or other, []).append(record)
    order = [*_PANELS, *(panel for panel in panels if panel not in _PANELS)]
    return {panel: panels[panel] for panel in order if panel in panels}


def _write_params(command: Any, ctx: Any, formatter: Any) -> None:
    for panel, rows in param_panels(command, ctx).items():
        with formatter.section(panel):
            formatter.write_dl(rows)


class Command(TyperCommand):
    """A command whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_params(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        del ctx
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"  {example}\n")


class Root(TyperGroup):
    """The commands by name; a module is imported when its command is run, not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        del ctx
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else load(cmd_name, entry)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            near = get_close_matches(args[0], COMMANDS, n=1, cutoff=0.5)
            said = f"did you mean '{near[0]}'? " if near else ""
            raise NoSuchCommand(args[0], f"{said}`instar --help` lists the commands.")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for group in GROUPS:
            rows = [(n, e.summary) for n, e in COMMANDS.items() if e.group == group]
            with formatter.section(group):
                formatter.write_dl(rows, col_spacing=4)
        _write_params(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        del ctx
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES.items()])


class NoSuchCommand(Exception):
    """A word that is no command; `hint` names the nearest one."""

    def __init__(self, word: str, hint: str) -> None:
        super().__init__(f"no such command '{word}'")
        self.hint = hint


def load(name: str, entry: Entry) -> Any:
    """The command itself: its module is imported now."""
    module = import_module(f"instar.cli.commands.{entry.module}")
    attribute = getattr(module, entry.function)
    if isinstance(attribute, typer.Typer):
        command: Any = get_command(attribute)
        command.name = name
        return command
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    app.command(name, cls=Command, context_settings=settings)(attribute)
    command = get_command(app)
    command.examples = entry.examples
    return command
