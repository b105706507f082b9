"""A full refresh and a backfill of a model's table on Delta, against the bare Spark statements.

`INSTAR_BENCH_ROWS` sets another size.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.measure import alternating, timed
from bench.projects import project_folder
from instar import Policy, Project
from instar.spark import SparkHandle, SparkSettings, open_session

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "2000000"))
ROUNDS = 3
FRONT = "---\nincremental: {unique_key: id}\n%s---\n"
BEFORE = "SELECT id, CAST(id % 1000 AS BIGINT) AS qty, concat('note ', id % 97) AS note FROM raw"
BACKFILL = "columns: {twice: {backfill: qty * 2}}\n"
CASES = {
    # the model's next query, its frontmatter, and what a person would have typed
    "full refresh": (
        BEFORE.replace("AS BIGINT", "AS STRING"),
        "",
        ("CREATE OR REPLACE TABLE {t} USING delta AS {query}",),
    ),
    "backfill": (
        BEFORE.replace(" FROM", ", (id % 1000) * 2 AS twice FROM"),
        BACKFILL,
        ("ALTER TABLE {t} ADD COLUMN twice BIGINT", "UPDATE {t} SET twice = qty * 2"),
    ),
}


def main() -> None:
    with project_folder() as root, open_session(SparkSettings(root / ".instar"), print) as handle:
        (root / "models").mkdir()
        handle.run("CREATE SCHEMA IF NOT EXISTS spark_catalog.main")
        source = "spark_catalog.main.raw"
        handle.run(f"CREATE TABLE {source} USING delta AS SELECT id FROM range(0, {ROWS}, 1, 4)")
        for title in CASES:
            one(root, handle, title)


def one(root: Path, handle: SparkHandle, title: str) -> None:
    query, front, statements = CASES[title]
    place, model = "spark_catalog.main.m", root / "models" / "m.sql"

    def fresh() -> None:
        handle.run(f"DROP TABLE IF EXISTS {place}")
        (root / ".instar/state.db").unlink(missing_ok=True)
        model.write_text(FRONT % "" + BEFORE)
        Project.load(root).run("dev", confirm=lambda _: True, spark=handle.session)
        model.write_text(FRONT % front + query)

    def bare() -> float:
        fresh()
        said = query.replace("raw", "spark_catalog.main.raw")
        wish = [sql.format(t=place, query=said) for sql in statements]
        return timed(lambda: [handle.run(sql) for sql in wish])

    def ours() -> float:
        fresh()
        project = Project.load(root)
        plan = project.plan("dev", Policy(allow_full_refresh=True), spark=handle.session)
        return timed(lambda: project.apply(plan, confirm=lambda _: True, spark=handle.session))

    seconds = alternating(ROUNDS, bare=bare, instar=ours)
    print(f"model_changes {title}: instar, {ROWS:,} rows         {seconds['instar']:.2f} s")
    print(f"model_changes {title}: reference, bare statements  {seconds['bare']:.2f} s")
    print(f"model_changes {title}: {seconds['instar'] / seconds['bare']:.2f}x", flush=True)


if __name__ == "__main__":
    main()
