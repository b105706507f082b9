"""Plan of 200 Delta tables x 50 columns, two changed, with the warm local server.

Reference: DESCRIBE DETAIL and DESCRIBE TABLE of every table over the same server, one after the other.
"""

from __future__ import annotations

from bench.measure import timed
from bench.projects import project_folder, write_manifest
from instar import Project

TABLES, COLUMNS = 200, 50


def main() -> None:
    from instar.spark import SparkSettings, open_session

    with (
        project_folder() as root,
        open_session(SparkSettings(root=root / ".instar"), print) as spark,
    ):
        columns = {f"c{n:02}": ("INT", "STRING", "DOUBLE")[n % 3] for n in range(COLUMNS)}
        for number in range(TABLES):
            write_manifest(root, f"t{number:03}", columns)
        project = Project.load(root)
        made = timed(lambda: project.apply(project.plan("dev"), confirm=lambda _: True))
        print(f"delta_200: created by instar in {made:.1f} s")
        for number in range(2):
            write_manifest(root, f"t{number:03}", {**columns, "c00": "BIGINT"})
        first = timed(lambda: project.plan("dev"))
        plan = project.plan("dev")
        ours = timed(lambda: project.plan("dev"))

        def bare() -> None:
            for number in range(TABLES):
                spark.run(f"DESCRIBE DETAIL spark_catalog.main.t{number:03}")
                spark.run(f"DESCRIBE TABLE spark_catalog.main.t{number:03}")

        reference = timed(bare)
        assert len(plan.pending) == 2, [t.table for t in plan.pending]
        print(f"delta_200: instar plan, first {first:.2f} s, again {ours:.2f} s")
        print(f"delta_200: reference, DESCRIBE DETAIL + DESCRIBE of each {reference:.2f} s")
        print(f"delta_200: {ours / reference:.2f}x", flush=True)


if __name__ == "__main__":
    main()
