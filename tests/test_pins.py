"""Every dependency has its bounds and, beside it, the reason for them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

LINES = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8").splitlines()
PIN = re.compile(r"^[^#]*\"[a-z][\w.-]*(?:\[\w+\])?(?:[<>=]=?[\d.]+,?)+\"")


def test_every_pin_has_its_reason_beside_it() -> None:
    pins = [(above, line) for above, line in pairwise(LINES) if PIN.match(line)]
    assert len(pins) > 15
    bare = [line for above, line in pins if "#" not in line and not above.strip().startswith("#")]
    assert not bare


def test_every_dependency_is_bounded() -> None:
    named = [line for line in LINES if re.match(r"^  \"[a-z]", line) and "." in line]
    loose = [line for line in named if PIN.match(line) and not re.search(r"==|<", line)]
    assert named
    assert not loose
