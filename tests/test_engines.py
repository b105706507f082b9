"""Every kind of environment has its row in each table that goes by it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from instar.backends.registry import OPENERS, RULES, rules_for
from instar.dialects import DIALECTS
from instar.sources.keys import ENGINES, ENVIRONMENT_KEYS, FORMATS
from instar.sources.project import SCHEMAS


@pytest.mark.parametrize(
    "table",
    [OPENERS, DIALECTS, ENVIRONMENT_KEYS, SCHEMAS, dict.fromkeys(kind for kind, _ in RULES)],
    ids=["openers", "dialects", "keys", "schemas", "rules"],
)
def test_every_engine_is_in(table: dict[str, object]) -> None:
    assert set(table) == set(ENGINES)


@pytest.mark.parametrize("kind", ENGINES)
def test_what_a_row_names_is_there(kind: str) -> None:
    assert find_spec(OPENERS[kind].module)
    for format_ in FORMATS if kind == "spark" else ("",):
        assert rules_for(kind, format_).name == (format_ or kind)
