"""The page about kill points shows the failpoints that DuckDB comes by today, and what is seen there."""

from __future__ import annotations

import re
from pathlib import Path

from kill.harness import ForkServer, Killer
from kill.page import PAGE, TITLES, Walk, sections, shown, written

REFRESH = "run `make docs`"


def published(text: str) -> dict[str, dict[str, str]]:
    """What is said of each failpoint, under each heading."""
    return {
        part.splitlines()[0]: {
            point: seen
            for points, seen in re.findall(r"^\| (`.+?`) \| (.+) \|$", part, re.MULTILINE)
            for point in re.findall("`([^`]+)`", points)
        }
        for part in text.split("\n### ")[1:]
    }


def test_the_failpoints_are_those_of_today(tmp_path: Path, server: ForkServer) -> None:
    told = published(sections(PAGE.read_text(encoding="utf-8"))["duckdb"])
    walk = Walk(Killer(server, "duckdb"), tmp_path)
    ways = {way.heading: way for way in walk.ways(shown("duckdb"))}
    assert {h: tuple(points) for h, points in told.items()} == {
        h: way.points for h, way in ways.items()
    }, REFRESH
    heading = next(h for h in ways if "another key" in h)
    for point in ways[heading].points[::3]:
        assert walk.seen(ways[heading].cases[0], point) == told[heading][point], REFRESH


def test_the_page_stands_under_the_words_of_today() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(TITLES) == set(sections(text)), REFRESH
    assert text == written(sections(text)), REFRESH
