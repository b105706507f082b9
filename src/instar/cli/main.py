"""The entry point: run a command, and turn whatever happens into words and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from instar import __version__
from instar.cli import screen
from instar.cli.help import NoSuchCommand, Root
from instar.cli.index import COMMANDS
from instar.core.numbers import plural
from instar.errors import InstarError

_FRAMES = 3
"""How many places of a traceback a crash shows."""

_ABOUT = """Schema evolution for data pipelines on Spark: planned, proven, crash-safe.

Say in tables/*.yml what a table should look like; Instar compares that with what is live, says what
would happen and what it costs, and does it without losing a value."""

# The root of what the parser raises; typer does not export it in every version.
_PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    cls=Root,
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(help=_ABOUT)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    if version:
        screen.current().document(f"instar {__version__}")
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        screen.current().problem(context.get_help())
        raise typer.Exit(2)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """What the `instar` script calls."""
    words = sys.argv[1:] if args is None else list(args)
    signal.signal(signal.SIGTERM, _stopped)
    code = run(words)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            screen.discard(stream)
    sys.exit(code)


def _stopped(_signal: int, _frame: object) -> NoReturn:
    """A cancelled job of CI, a container that is stopped: as Ctrl-C, so that locks and statements are let go."""
    raise KeyboardInterrupt


def run(words: list[str]) -> int:
    """One command; every way it can end is an exit code."""
    if "_INSTAR_COMPLETE" in os.environ:
        completion: Any = import_module("typer.completion")
        completion.completion_init()
    try:
        answer = get_command(app).main(words, prog_name="instar", standalone_mode=False)
    except InstarError as error:
        return _failed(error)
    except NoSuchCommand as error:
        return _misused(str(error), error.hint)
    except _PARSER_ERROR as error:
        return _misused(*_usage(error, words))
    except (KeyboardInterrupt, typer.Abort):
        answer = 130
    except BrokenPipeError:
        screen.discard(sys.stdout)
        return 0
    except Exception as error:
        return _crashed(error, words)
    if answer == 130:
        _interrupted(words)
    return answer if isinstance(answer, int) else 0


def _failed(error: InstarError) -> int:
    from instar.cli.failing import failure
    from instar.cli.lines import render
    from instar.cli.problems import error_lines

    shown = screen.current()
    where = str(error.where) if error.where else None
    shown.event("error", code=error.code, message=error.message, hint=error.hint, where=where)
    document = None if shown.answered else failure(error, shown.format)
    if document is not None:
        shown.document(document)
    if shown.log_format is screen.LogFormat.TEXT:
        shown.problem(render(error_lines(error), shown.err))
        if others := len(getattr(error, "others", ())):
            words = plural(others, "more mistake")
            shown.problem(shown.err("dim", f"  {words}: `instar validate` lists them all."))
        if "instar explain" not in (error.hint or ""):
            shown.problem(shown.err("dim", f"  more: `instar explain {error.code}`"))
    _traceback(error)
    return error.exit_code


def _misused(message: str, hint: str) -> int:
    shown = screen.current()
    shown.problem(shown.err("bold red", "error") + f": {message}")
    shown.problem(shown.err("cyan", "  help: ") + hint)
    return 2


def _usage(error: Any, words: list[str]) -> tuple[str, str]:
    """The parser's complaint in our words, with the nearest option where there is one."""
    context = getattr(error, "ctx", None)
    known = ["instar", *(w for w in words[:1] if w in COMMANDS)]
    command = context.command_path if context is not None else " ".join(known)
    near = sorted(getattr(error, "possibilities", None) or ())
    if getattr(error, "option_name", None) and type(error).__name__ == "NoSuchOption":
        said = f"did you mean '{near[0]}'? " if near else ""
        return f"no such option '{error.option_name}'", f"{said}`{command} --help` lists them."
    text = error.format_message().rstrip(".").replace(": Value error, ", ": ")
    return text[:1].lower() + text[1:], f"`{command} --help` shows what is possible."


_GO_ON = "`instar apply` (or `instar recover`) goes on where this stopped."
_RESUMED_BY = {
    "apply": _GO_ON,
    "recover": _GO_ON,
    "revert": _GO_ON,
    "cleanup": _GO_ON,
    "run": "`instar run --resume` goes on where this stopped.",
}
"""The commands that change tables: what goes on with each. The others touch none."""


def _interrupted(words: list[str]) -> None:
    shown = screen.current()
    shown.event("interrupted")
    resumed_by = _RESUMED_BY.get(next(iter(words), ""))
    if resumed_by is None:
        shown.problem("interrupted; no table was touched.")
        return
    shown.problem("interrupted; what was begun, if anything, is in the journal.")
    shown.problem(f"  help: {resumed_by}")


def _crashed(error: Exception, words: list[str]) -> int:
    import platform
    import shlex

    from instar.state.redact import redacted

    shown = screen.current()
    shown.problem(
        shown.err("bold red", "internal error")
        + f": {type(error).__name__}: {redacted(str(error)).splitlines()[0] if str(error) else ''}"
    )
    shown.problem(f"  This is a bug in Instar {__version__}, not a mistake of yours.")
    shown.problem(f"  command: {redacted(shlex.join(['instar', *words]))}")
    shown.problem(
        "  journal: what was applied is in the project's state store (.instar/state.db unless"
        " instar.yml says otherwise); `instar recover` finishes what was begun."
    )
    shown.problem(f"  where: {_frames(error)}")
    shown.problem(
        f"  help: report these lines, with Python {platform.python_version()} on {platform.system()}, and"
        " the traceback that the same command prints with INSTAR_TRACEBACK=1."
    )
    _traceback(error)
    return 1


def _frames(error: BaseException) -> str:
    """The innermost places of a traceback, without any value: a crash may not come a second time."""
    import traceback
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    return " > ".join(
        f"{'/'.join(Path(f.filename).parts[-2:])}:{f.lineno} {f.name}" for f in frames
    )


def _traceback(error: BaseException) -> None:
    if os.environ.get("INSTAR_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)


if __name__ == "__main__":
    main()
