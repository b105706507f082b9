"""The import layers hold, heavy drivers load late, and files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "instar"

LAYERS: list[set[str]] = [
    {"__init__"},
    {"cli"},
    {"app"},
    {"run"},
    {"apply"},
    {"sources", "backends"},
    {"spark", "state", "expressions"},
    {"dialects"},
    {"core"},
    {"errors", "codes"},
]
"""From the top down: a part may import what stands below it, and nothing beside or above it."""

ALSO: dict[str, set[str]] = {
    # The conformance suite is for the tests of backends; nothing imports it.
    "testing": {"apply", "backends", "core", "errors"},
    # The opener of the public names: it loads the use cases when one is asked for.
    "__init__": {"app", "core", "errors"},
}

HEAVY = ("pyspark", "duckdb", "snowflake", "psycopg", "pandas", "pyarrow", "numpy", "grpc")

MAX_LINES, MAX_FUNCTION = 500, 40


def parts() -> set[str]:
    return {p.stem for p in PACKAGE.iterdir() if p.is_dir() or p.suffix == ".py"} - {"__pycache__"}


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, those inside functions and TYPE_CHECKING blocks too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            assert node.module is not None
            yield node.lineno, node.module
            if node.module == "instar":
                yield from ((node.lineno, f"instar.{alias.name}") for alias in node.names)


def allowed(part: str) -> set[str]:
    if part in ALSO:
        return ALSO[part]
    height = next(i for i, layer in enumerate(LAYERS) if part in layer)
    return set().union(*LAYERS[height + 1 :])


def test_every_part_has_a_layer_and_every_layer_its_parts() -> None:
    assert parts() == set().union(*LAYERS, ALSO)


def test_imports_go_one_way() -> None:
    wrong = []
    for file in files():
        part = part_of(file)
        for line, module in imports(file):
            names = module.split(".")
            if names[0] != "instar" or len(names) == 1 or names[1] == part:
                continue
            if names[1] in parts() and names[1] not in allowed(part):
                wrong.append(f"{file.relative_to(PACKAGE)}:{line}: {part} imports {names[1]}")
    assert not wrong, "\n".join(wrong)


def test_core_needs_nothing_but_the_standard_library() -> None:
    wrong = [
        f"{file.relative_to(PACKAGE)}:{line}: {module}"
        for file in files()
        if part_of(file) == "core"
        for line, module in imports(file)
        if module.split(".")[0] not in sys.stdlib_module_names | {"instar"}
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", ["core", "errors", "codes"])
def test_core_does_no_input_or_output(part: str) -> None:
    """No files, no clock, no logging, no processes."""
    outside = {
        "os",
        "io",
        "pathlib",
        "logging",
        "time",
        "socket",
        "subprocess",
        "random",
        "sqlite3",
    }
    wrong = [
        f"{file.relative_to(PACKAGE)}:{line}: {module}"
        for file in files()
        if part_of(file) == part
        for line, module in imports(file)
        if module.split(".")[0] in outside
    ]
    assert not wrong, "\n".join(wrong)


def loaded(code: str) -> set[str]:
    """The heavy modules that are in memory once the code has run in a process of its own."""
    tell = f"{code}\nprint(*[m for m in {HEAVY!r} if m in __import__('sys').modules])"
    done = subprocess.run(
        [sys.executable, "-c", tell], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.splitlines()[-1].split())


HELP = """
import sys
sys.argv = ["instar", "--help"]
from instar.cli.main import main
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


@pytest.mark.parametrize(
    "code",
    [
        "import instar",
        "import instar.core.planner",
        "import instar.backends.registry",
        "import instar.backends.memory",
        HELP,
    ],
    ids=["import instar", "the core", "the registry", "the memory engine", "instar --help"],
)
def test_no_driver_is_loaded_by(code: str) -> None:
    assert loaded(code) == set()


def test_the_look_for_drivers_finds_one_that_is_loaded() -> None:
    assert "duckdb" in loaded("import duckdb")


def test_files_are_short() -> None:
    lengths = {
        str(f.relative_to(PACKAGE)): len(f.read_text(encoding="utf-8").splitlines())
        for f in files()
    }
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_functions_are_short() -> None:
    long = {}
    for file in files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                length = node.end_lineno - node.lineno + 1
                if length > MAX_FUNCTION:
                    long[f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}"] = length
    assert long == {}


def test_every_module_says_its_job_first() -> None:
    silent = [
        str(f.relative_to(PACKAGE))
        for f in files()
        if not ast.get_docstring(ast.parse(f.read_text(encoding="utf-8")))
    ]
    assert silent == []
