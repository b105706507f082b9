"""Calls the function of a Python model with the DataFrames that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from traceback import extract_tb
from typing import Any

from instar.errors import InstarError, Location, ProjectError
from instar.sources.models import Model
from instar.sources.models_python import FUNCTION

Frames = Mapping[str, Callable[[], Any]]


class Refs:
    """`refs["name"]` and `refs("name")`: the DataFrame of a model or a declared table."""

    def __init__(self, frames: Frames) -> None:
        self._frames = {name.casefold(): frame for name, frame in frames.items()}

    def __getitem__(self, name: str) -> Any:
        if name.casefold() not in self._frames:
            raise LookupError(f"refs takes a name that stands there as a text: refs['{name}']")
        return self._frames[name.casefold()]()

    def __call__(self, name: str) -> Any:
        return self[name]


def call_model(model: Model, session: Any, frames: Frames) -> Any:
    """The DataFrame that the function returns; nothing of it has been computed."""
    from pyspark.errors import PySparkException

    space: dict[str, Any] = {"__name__": f"instar_model_{model.name}"}
    try:
        exec(compile(model.body, model.origin, "exec"), space)
        frame = space[FUNCTION](session, Refs(frames))
    except (InstarError, PySparkException):
        raise
    except (Exception, SystemExit) as error:
        message = f"the model '{model.name}' failed: {type(error).__name__}: {error}"
        raise ProjectError("E163", message, where=_failed_at(model, error)) from error
    if not hasattr(frame, "schema"):
        message = f"the model '{model.name}' returned {type(frame).__name__}, not a DataFrame"
        raise ProjectError("E163", message, where=model.locate(None))
    return frame


def _failed_at(model: Model, error: BaseException) -> Location:
    """The line of the model's own that the failure came from."""
    lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename == model.origin]
    assert model.file is not None
    return model.file.location(lines[-1]) if lines else model.locate(None)
