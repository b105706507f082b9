"""Python models: a function `model(spark, refs)` whose reads are the names it takes out of `refs`."""

from __future__ import annotations

import ast

from instar.errors import ProjectError
from instar.sources.models_front import FENCE
from instar.sources.models_sql import Query, Read
from instar.sources.yamlfile import SourceFile

FUNCTION = "model"


def read_python(file: SourceFile) -> tuple[str | None, Query]:
    """The frontmatter (in `# ---` comments), and what the function reads; nothing of it is run."""
    try:
        tree = ast.parse(file.text, filename=file.name)
    except SyntaxError as error:
        where = file.location(error.lineno or 1, error.offset)
        raise ProjectError("E163", f"not valid Python: {error.msg}", where=where) from None
    function = next(
        (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION), None
    )
    if function is None or len(function.args.args) != 2:
        line = function.lineno if function else 1
        raise ProjectError(
            "E163",
            "a Python model is a function model(spark, refs) that returns a DataFrame",
            hint="def model(spark, refs): return refs['orders'].where('amount > 0')",
            where=file.location(line, 1),
        )
    refs = function.args.args[1].arg
    offsets = _line_offsets(file.text)
    reads = [
        Read((name,), True, offsets[node.lineno - 1] + node.col_offset, _end(node, offsets))
        for node in ast.walk(function)
        if (name := _taken(node, refs)) is not None and isinstance(node, ast.expr)
    ]
    return _front(file), Query(tuple(reads), (), True, ast.dump(tree))


def _line_offsets(text: str) -> list[int]:
    found, at = [], 0
    for line in text.splitlines(keepends=True):
        found.append(at)
        at += len(line)
    return found or [0]


def _end(node: ast.expr, offsets: list[int]) -> int:
    return offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _taken(node: ast.AST, refs: str) -> str | None:
    """`refs["name"]` or `refs("name")`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(text))):
            return text if name == refs else None
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text))]):
            return text if name == refs else None
        case _:
            return None


def _front(file: SourceFile) -> str | None:
    """Comment lines between two `# ---`, with their line numbers kept."""
    lines = file.text.splitlines()
    if not lines or lines[0].rstrip() != f"# {FENCE}":
        return None
    told = [""]
    for line in lines[1:]:
        if line.rstrip() == f"# {FENCE}":
            return "\n".join(told) + "\n"
        if not line.startswith("#"):
            break
        told.append(" " if line == "#" else line[1:].removeprefix(" "))
    raise ProjectError(
        "E150",
        "the frontmatter is not closed",
        hint=f"End it with the comment line: # {FENCE}",
        where=file.location(1, 1),
    )
