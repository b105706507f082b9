"""The reference page of the Python API, written from its signatures and docstrings."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import instar

_BEGIN = """\
`from instar import Project` loads no engine and no driver. Everything here is typed; what `Project` returns are plain
values. Errors are `InstarError`s with a `code`, a `message`, a `hint` and often a place (`where`). `confirm` gets the
questions of a plan, each with a `text`, and says whether to go on; without it a plan that asks is refused (E403).
`spark` is a session of yours, classic or Connect; without it the environment's own is opened.

```python
from instar import Policy, Project

plan = Project.load(".").plan(env="prod", policy=Policy.of("drop"), spark=spark)
for table in plan.blocked:
    print(table.table, [finding.message for finding in table.findings])
if not plan.blocked:
    plan.apply(confirm=lambda questions: True)
```"""


_SAID = ("instar.app", "instar.apply", "instar.run", "instar.state", "instar.errors")


def api_page() -> str:
    parts = ["# Python", "", _BEGIN, ""]
    public = [n for n in instar.__all__ if not n.startswith("__")]
    parts += [f"- [`{name}`](#{name.lower()}): {_first(getattr(instar, name))}" for name in public]
    for name in public:
        parts += ["", *_section(getattr(instar, name))]
    parts += ["", "## What these return", ""]
    parts += ["Named in the signatures above; you read them and do not make them.", ""]
    for value in returned([getattr(instar, n) for n in public]):
        parts += [f"### {value.__name__}", "", _doc(value), "", *_members(value), ""]
    return "\n".join(parts).rstrip() + "\n"


def _section(thing: Any) -> list[str]:
    lines = [f"## {thing.__name__}", "", _doc(thing), ""]
    if not inspect.isclass(thing):
        return [*lines, f"```python\n{thing.__name__}{signature(thing)}\n```"]
    return [*lines, *_members(thing)]


def _members(thing: type) -> list[str]:
    """Values of an enum, fields of a value, then properties and methods."""
    lines: list[str] = []
    if issubclass(thing, Enum):
        return [", ".join(f"`{thing.__name__}.{m.name}`" for m in thing)]
    if is_dataclass(thing):
        shown = [f for f in fields(thing) if not f.name.startswith("_")]
        lines += [f"- `{f.name}: {_annotation(f.type)}`" for f in shown]
    for name, value in public_members(thing):
        if isinstance(value, property):
            told = inspect.get_annotations(value.fget)["return"] if value.fget else "Any"
            lines.append(f"- `{name}: {_annotation(told)}` {_doc(value)}".rstrip())
    for name, value in public_members(thing):
        if not isinstance(value, property):
            lines += ["", f"```python\n{name}{signature(value)}\n```", "", _doc(value)]
    return lines


def public_members(thing: type) -> Iterator[tuple[str, Any]]:
    """Its own properties and methods, in the order of the code; what takes a `World` is machinery."""
    for name, value in vars(thing).items():
        if isinstance(value, classmethod):
            value = getattr(thing, name)
        if name.startswith("_") or not (isinstance(value, property) or inspect.isroutine(value)):
            continue
        if isinstance(value, property) or "world" not in inspect.signature(value).parameters:
            yield name, value


def signature(function: Any) -> str:
    """As it stands in the code, without `self` and with short defaults; long ones on several lines."""
    told = inspect.signature(function)
    words: list[str] = []
    for parameter in told.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(_parameter(parameter))
    back = f" -> {_annotation(told.return_annotation)}"
    line = f"({', '.join(words)}){back}"
    if len(line) <= 90:
        return line
    return "(\n" + "".join(f"    {word},\n" for word in words) + f"){back}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    text = f"{stars}{parameter.name}: {_annotation(parameter.annotation)}"
    default = parameter.default
    if default is parameter.empty:
        return text
    plain = default is None or isinstance(default, str | int | tuple)
    made = is_dataclass(default) and not isinstance(default, type) and default == type(default)()
    return f"{text} = {repr(default) if plain else f'{type(default).__name__}()' if made else '…'}"


def _annotation(told: Any) -> str:
    return told if isinstance(told, str) else getattr(told, "__name__", str(told))


def _doc(thing: Any) -> str:
    """Its own words, never those of a class that it is derived from."""
    text = inspect.cleandoc(thing.__doc__ or "")
    # A dataclass without words has its signature for a docstring.
    return "" if text.startswith(f"{getattr(thing, '__name__', '')}(") else text


def _first(thing: Any) -> str:
    return _doc(thing).split("\n\n")[0].replace("\n", " ")


def returned(public: list[Any]) -> list[type]:
    """The values that methods of the public classes return, and what is in them, down to the schema."""
    found: dict[str, type] = {}
    open_ = [c for thing in public if inspect.isclass(thing) for c in _classes_of_methods(thing)]
    while open_:
        value = open_.pop(0)
        told = is_dataclass(value) or issubclass(value, Enum) or value.__name__ == "Web"
        if value in public or not told or not value.__module__.startswith(_SAID):
            continue
        if value.__name__ in found:
            continue
        found[value.__name__] = value
        if is_dataclass(value):
            open_ += [c for told in typing.get_type_hints(value).values() for c in _classes(told)]
    return [found[name] for name in sorted(found)]


def _classes_of_methods(thing: type) -> Iterator[type]:
    for _, value in public_members(thing):
        if inspect.isroutine(value):
            yield from _classes(typing.get_type_hints(value).get("return"))
    if is_dataclass(thing):
        for told in typing.get_type_hints(thing).values():
            yield from _classes(told)


def _classes(told: Any) -> Iterator[type]:
    """The classes of Instar inside an annotation."""
    if isinstance(told, type) and not isinstance(told, types.GenericAlias):
        if told.__module__.startswith("instar"):
            yield told
        return
    for inner in typing.get_args(told):
        yield from _classes(inner)
