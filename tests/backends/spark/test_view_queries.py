"""A view's query as the catalog tells it, for each way in which Spark binds a view to its columns."""

from __future__ import annotations

import json
from typing import Any, cast

from instar.backends.spark.views import View, shown_query, views_in
from instar.core.schema import TableName
from instar.core.types import Integer
from instar.spark import SparkHandle

NAME = TableName("shop", "ext")
OWN = "spark_catalog"
SAID = {
    "view_text": "SELECT n FROM base",
    "view_schema_mode": "COMPENSATION",
    "view_catalog_and_namespace": "spark_catalog.default",
    "view_query_output_columns": ["n"],
    "columns": [{"name": "nn", "type": {"name": "int"}}],
}


class Catalog:
    """A schema with one view and a temporary one, that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, sql: str) -> list[Any]:
        self.asked.append(sql)
        if sql.startswith("SHOW VIEWS"):
            names = (("ext", False), ("gone", True))
            return [{"viewName": name, "isTemporary": passing} for name, passing in names]
        return [[json.dumps(SAID)]]


def test_what_the_catalog_says_of_a_view() -> None:
    catalog = Catalog()
    (view,) = views_in(cast(SparkHandle, catalog), "spark_catalog", "shop")
    assert view == View(NAME, "SELECT n FROM base", "default", "COMPENSATION", ("n",), ("nn",), OWN)
    assert len(catalog.asked) == 2, "a temporary view is not described"


def test_views_of_models_are_not_described() -> None:
    catalog = Catalog()
    assert views_in(cast(SparkHandle, catalog), "spark_catalog", "shop", {NAME}) == ()
    assert len(catalog.asked) == 1


QUERIES = {
    "COMPENSATION": "SELECT CAST(shown.`n` AS INT) AS `nn` FROM (\nSELECT n FROM base\n) AS shown",
    "BINDING": "SELECT CAST(shown.`n` AS INT) AS `nn` FROM (\nSELECT n FROM base\n) AS shown",
    "TYPE EVOLUTION": "SELECT shown.`n` AS `nn` FROM (\nSELECT n FROM base\n) AS shown",
    "EVOLUTION": "SELECT n FROM base",
}


def test_a_view_gives_its_own_types_unless_it_follows_its_query() -> None:
    for mode, query in QUERIES.items():
        view = View(NAME, "SELECT n FROM base", "shop", mode, ("n",), ("nn",))
        assert shown_query(view, {"nn": Integer(32)}) == query


def test_a_view_that_tells_too_little_is_its_text() -> None:
    assert shown_query(View(NAME, "SELECT 1 AS a"), {}) == "SELECT 1 AS a"
    assert shown_query(View(NAME, "", mode="BINDING"), {}) == ""
