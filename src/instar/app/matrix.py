"""The published capability matrix: what was seen when every operation was run on every engine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

RESOURCE = "matrix.json"

WORDS: Mapping[str, str] = {
    "metadata": "catalog only",
    "overlay": "a new definition over the same files",
    "steps": "native statements that touch rows",
    "rewrite": "the table is built anew and replaced",
    "never": "refused, with a finding",
    "not kept": "the engine does not keep it; a finding says so",
    "nothing": "nothing to do: the engine never kept it",
}
BESIDE = "not all of it is kept or enforced, or no manifest can ask for it"


def published() -> dict[str, Any]:
    """The matrix as data: `engines` (versions) and `operations` (operation → backend → rung, note and also)."""
    text = files("instar").joinpath(RESOURCE).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def matrix(format_: str = "text") -> str:
    """As text, markdown or json."""
    data = published()
    if format_ == "json":
        return json.dumps(data, indent=2, ensure_ascii=False)
    return _markdown(data) if format_ == "markdown" else _text(data)


def _text(data: Mapping[str, Any]) -> str:
    backends = list(data["engines"])
    wide = max(len(op) for op in data["operations"]) + 2
    lines = [(" " * wide + "".join(f"{b:<10}" for b in backends)).rstrip()]
    for operation, row in data["operations"].items():
        lines.append(
            f"{operation:<{wide}}" + "".join(f"{_starred(row[b]):<10}" for b in backends).rstrip()
        )
    lines += ["", *(f"{rung}: {words}" for rung, words in WORDS.items())]
    lines.append(f"*: {BESIDE}; `instar matrix --format markdown` says what")
    lines.append("probed on " + ", ".join(f"{b} {v}" for b, v in data["engines"].items()))
    return "\n".join(lines)


def _markdown(data: Mapping[str, Any]) -> str:
    backends = list(data["engines"])
    lines = [
        "| operation | " + " | ".join(f"{b} {v}" for b, v in data["engines"].items()) + " |",
        "|---" * (len(backends) + 1) + "|",
    ]
    notes: dict[str, int] = {}
    for operation, row in data["operations"].items():
        cells = [_marked(row[b], notes) for b in backends]
        lines.append(f"| {operation} | " + " | ".join(cells) + " |")
    lines += ["", *(f"- **{rung}**: {words}" for rung, words in WORDS.items())]
    lines += [f"- **\\***: {BESIDE}", ""]
    lines += [f"{number}. {note}" for note, number in notes.items()]
    return "\n".join(lines)


def _starred(cell: Mapping[str, str]) -> str:
    return cell["rung"] + ("*" if cell["also"] else "")


def _marked(cell: Mapping[str, str], notes: dict[str, int]) -> str:
    said = (cell[key].replace("|", "\\|") for key in ("note", "also") if cell[key])
    numbers = [str(notes.setdefault(note, len(notes) + 1)) for note in said]
    return f"{_starred(cell)} ({', '.join(numbers)})" if numbers else cell["rung"]
