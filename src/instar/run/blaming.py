"""Where in a model's file an engine's complaint is, and its words without the statements around the query."""

from __future__ import annotations

import re

from instar.errors import InstarError, Location
from instar.sources.models import Model

_LINE = re.compile(r"\n+LINE (\d+): ([^\n]*)")
_STATEMENT = "\n  in: "
_NULL = re.compile(r"NOT NULL constraint (?:failed: [^\n]*?\.|violated for column: )([^\n.]+)")
_FRAGMENT = re.compile(r"== SQL \(line \d+, position \d+\) ==\n([^\n]+)")


def blamed(error: InstarError, model: Model, sql: str) -> tuple[str, Location | None]:
    """The words and the place: the line that the engine points at, else the file."""
    if error.where is not None or model.file is None:
        return error.message, error.where
    told, _, statement = error.message.partition(_STATEMENT)
    if required := _required(model, told):
        return told, required
    found = _LINE.search(told)
    if sql not in statement:
        place = _fragment(model, str(getattr(error, "detail", "")))
        # A statement of Instar's own: the line of it tells nobody more than itself.
        words = (
            error.message if found is None else f"{told[: found.start()]}{_STATEMENT}{statement}"
        )
        return words, place or model.file.location()
    if found is None:
        return told, model.file.location()
    line = int(found[1]) - statement[: statement.index(sql)].count("\n")
    lines = sql.split("\n")
    # The line may be one of a view that the query reads.
    if not 1 <= line <= len(lines) or found[2].strip(". ") not in lines[line - 1]:
        return told[: found.start()], model.file.location()
    first = model.file.text[: model.offset].count("\n")
    return told[: found.start()], model.file.location(first + line)


def _required(model: Model, told: str) -> Location | None:
    """Where it is said that the column which a NULL came into takes none."""
    found = _NULL.search(told)
    name = found[1].casefold() if found else ""
    said = next((c for n, c in model.columns.items() if n.casefold() == name), None)
    return said.places.get("nullable") if said else None


def _fragment(model: Model, detail: str) -> Location | None:
    """Spark shows the expression itself: it is somewhere once in the query."""
    found = _FRAGMENT.search(detail)
    if found is None or model.body.count(found[1]) != 1:
        return None
    return model.locate(model.body.index(found[1]))
