"""A Python model that fails: the words, and the line of its own that it failed at."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.errors import ProjectError
from instar.run.python_model import call_model
from instar.sources.models import load_models
from instar.sources.project import load_project

FAILING = {
    "import no_such_module\ndef model(spark, refs):\n    pass\n": (1, "No module named"),
    "def model(spark, refs):\n    a = 1\n    return a + nothing\n": (3, "NameError"),
    "def model(spark, refs):\n    name = 'orders'\n    return refs[name]\n": (
        3,
        "stands there as a text",
    ),
    "import sys\ndef model(spark, refs):\n    sys.exit(3)\n": (3, "SystemExit"),
}


@pytest.mark.parametrize("text", FAILING)
def test_a_failure_shows_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "instar.yml").write_text(
        "name: s\nenvironments:\n  dev: {type: spark, schema: main}\n"
    )
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.py").write_text(text)
    config = load_project(tmp_path)
    model = load_models(config, config.environment("dev")).models["m"]
    with pytest.raises(ProjectError) as caught:
        call_model(model, None, {})
    line, words = FAILING[text]
    assert caught.value.code == "E163"
    assert words in caught.value.message
    assert caught.value.where is not None
    assert caught.value.where.line == line
