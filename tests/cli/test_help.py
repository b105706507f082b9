"""Help: quick, complete, and helpful when a word is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.running import environment, instar
from instar.cli import main
from instar.cli.help import load
from instar.cli.index import COMMANDS, EXIT_CODES, GROUPS


def test_root_help_lists_every_command_and_exit_code() -> None:
    result = instar("--help")
    assert result.code == 0
    assert result.err == ""
    for name in COMMANDS:
        assert f"\n  {name} " in result.out
    for group in GROUPS:
        assert f"\n{group}:" in result.out
    for code in EXIT_CODES:
        assert f"\n  {code} " in result.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_examples(name: str) -> None:
    result = instar(name, "--help")
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith(f"Usage: instar {name} ")
    for example in COMMANDS[name].examples:
        assert f"  {example}\n" in result.out


def leaves(name: str) -> list[tuple[tuple[str, ...], Any]]:
    """A command with its words, or those under it."""
    command = load(name, COMMANDS[name])
    inner = getattr(command, "commands", {})
    return [((name, n), c) for n, c in inner.items()] or [((name,), command)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_help_of_its_command(name: str) -> None:
    for words, command in leaves(name):
        told = instar(*words, "--help").out
        for param in command.params:
            if param.param_type_name == "option" and not param.hidden:
                assert re.search(rf"{re.escape(param.opts[0])}\b", told), (words, param.opts)


@pytest.mark.parametrize("option", ["env", "project", "column-conflict", "color"])
def test_environment_variables_are_shown(option: str) -> None:
    variable = "INSTAR_" + option.upper().replace("-", "_")
    assert f"env: {variable}=" in " ".join(instar("plan", "--help").out.split())


@pytest.mark.parametrize(
    "args",
    [["--help"], ["plan", "--help"], ["apply", "--help"], ["--version"], ["explain", "F201"]],
)
def test_help_loads_no_engine(args: list[str]) -> None:
    code = (
        "import sys\n"
        "from instar.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n"
        "    heavy = {'pyspark', 'duckdb', 'sqlglot', 'ruamel', 'rich', 'snowflake', 'grpc', 'pandas'}\n"
        "    sys.stderr.write(','.join(sorted(heavy & {m.split('.')[0] for m in sys.modules})))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_only_the_command_that_runs_is_imported() -> None:
    code = (
        "import sys\n"
        "from instar.cli.main import run\n"
        "run(['--help'])\n"
        "sys.stderr.write(','.join(m for m in sys.modules if m.startswith('instar.cli.commands.')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (["pln"], "error: no such command 'pln'", "did you mean 'plan'?"),
        (["qqqq"], "error: no such command 'qqqq'", "`instar --help` lists the commands."),
        (
            ["plan", "--column-conflit", "drop"],
            "error: no such option '--column-conflit'",
            "did you mean '--column-conflict'?",
        ),
        (["plan", "--format", "xml"], "'xml' is not one of 'text', 'json'", "`instar plan --help`"),
        (["diff", "dev"], "error: missing argument 'RIGHT'", "`instar diff --help`"),
        (["plan", "--env"], "option '--env' requires an argument", "`instar plan --help`"),
        (["server", "strat"], "no such command 'strat'", "`instar server --help`"),
    ],
)
def test_a_wrong_word_is_exit_two_with_a_hint(args: list[str], message: str, hint: str) -> None:
    result = instar(*args)
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert f"  help: {hint}" in result.err
    assert "Traceback" not in result.err


def test_no_command_is_help_on_stderr_and_exit_two() -> None:
    result = instar()
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("Usage: instar ")


def test_explain() -> None:
    page = instar("explain", "f201")
    assert page.code == 0
    assert page.out.startswith("F201: ")
    assert "What to do: " in page.out
    assert max(map(len, page.out.splitlines())) <= 100
    wrong = instar("explain", "F211")
    assert wrong.code == 2
    assert "error[E413]" in wrong.err
    assert "Did you mean F201" in wrong.err
    assert "F201  " in instar("explain", "--all").out


def test_version() -> None:
    assert instar("--version").out == instar("version").out
    assert "\npyspark " in instar("version", "-v").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_script(shell: str) -> None:
    assert "_INSTAR_COMPLETE" in instar("completion", shell).out


def test_completion_completes() -> None:
    def complete(words: str) -> list[str]:
        env = {
            "_INSTAR_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        return instar(env=env).out.split()

    assert complete("instar pl") == ["plan"]
    assert "--allow-rewrite" in complete("instar plan --allow")
    assert complete("instar plan --column-conflict re") == ["reorder"]
    assert complete("instar explain F30") == ["F301", "F302"]
    assert complete("instar plan ") == [], "without a project"


def test_completion_knows_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "instar.yml").write_text(
        "name: p\nenvironments:\n  dev: {type: duckdb}\n  de prod: {type: duckdb}\n"
        "  prod-eu: {type: duckdb, database: '${NO_SUCH_DATABASE}'}\n"
    )
    for name in ("orders", "sales.orders", "other", "`o dd`"):
        (tmp_path / "tables" / f"{len(name)}.yml").write_text(
            f"table: '{name}'\ncolumns: [{{name: a, type: INT}}]\n"
        )

    def offered(words: str) -> list[str]:
        monkeypatch.setenv("_INSTAR_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        with pytest.raises(SystemExit):
            main.run([])
        return capsys.readouterr().out.split()

    at = f"--project {tmp_path}"
    assert offered(f"instar plan {at} --env ") == ["dev", "prod-eu"]
    assert offered(f"instar diff {at} de") == ["dev"]
    for command in ("plan", "apply", "drift", "history", "revert", "cleanup"):
        assert offered(f"instar {command} {at} o") == ["orders", "other"]
    assert offered(f"instar plan {at} sales.") == ["sales.orders"]
    (tmp_path / "instar.yml").write_text("nonsense")
    assert offered(f"instar plan {at} o") == []
