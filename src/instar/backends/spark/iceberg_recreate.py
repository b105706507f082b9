"""The steps of an Iceberg rewrite: a copy aside from a pinned snapshot, then two renames.

CREATE OR REPLACE … AS SELECT would keep the table's identity, but it overwrites what other writers
committed meanwhile in silence, and a writer that commits after it leaves files of the old types behind.
Under a rename a writer either commits before it, and its rows are carried over, or fails loudly: the name
is gone, or stands for a table with another uuid.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from instar.backends.spark import iceberg_ddl as ddl
from instar.backends.spark.aside import COPY_OF, aside_name, folder_aside, kept_name
from instar.backends.spark.checksum import carried_checksum
from instar.backends.spark.keys import key_data
from instar.backends.spark.mismatch import naming_data
from instar.backends.spark.statements import full_name, rename_table
from instar.backends.spark.values import SparkValues
from instar.backends.values import ValueWriter
from instar.core.changes import DropColumn
from instar.core.plan import Job, Rung, Step
from instar.core.schema import Table

BRANCH = "instar_rewrite"
"""The branch that pins the copied snapshot: it is read with the table's present schema."""
VERIFIED = "instar.copy.verified"
"""On the copy: the snapshot up to which it was compared with its source."""


def recreate_steps(catalog: str, job: Job) -> tuple[Step, ...]:
    """Copy and verify while the table is in use, then swap."""
    live = job.live
    assert live is not None
    full = full_name(catalog, aside_name(live.name))
    mark = {COPY_OF: live.extras.get("uuid", "")}
    create = ddl.create_table(full, job.target, _place(live), mark)
    shape = _shape(full, job.target)
    select = ", ".join(ValueWriter(SparkValues()).select_list(job.projection))
    insert = f"INSERT INTO {full} BY NAME SELECT {select} FROM {full_name(catalog, live.name)}"
    data = {
        "aside": aside_name(live.name).name,
        "kept_as": kept_name(live).name,
        "create": create,
        "shape": json.dumps(shape),
        "select": select,
        "checksum": carried_checksum(job.projection),
        "schema_id": live.extras.get("schema_id", ""),
        **key_data(job),
        **naming_data(job.projection, job.target),
    }
    copy = Step(
        "1-copy",
        "copy",
        Rung.REWRITE,
        f"copy {live.name} aside in its new shape, and compare",
        (create, *shape, f"{insert} VERSION AS OF '{BRANCH}'"),
        live,
        data=MappingProxyType(data),
    )
    return (copy, _swap(catalog, job, live, data))


def _shape(full: str, target: Table) -> list[str]:
    """What CREATE TABLE cannot say: the write order and the key."""
    order = ddl.write_order(full, target) if target.cluster_by else ()
    key = (ddl.set_key(full, target),) if ddl.identifiable(target) else ()
    return [*order, *key]


def _swap(catalog: str, job: Job, live: Table, data: Mapping[str, str]) -> Step:
    aside, kept = aside_name(live.name), kept_name(live)
    return Step(
        "2-swap",
        "swap",
        Rung.REWRITE,
        f"carry over what was written meanwhile, keep the old table as {kept}, put the copy in",
        (
            rename_table(catalog, live.name, kept),
            rename_table(catalog, aside, live.name),
        ),
        job.target,
        destructive=any(isinstance(c, DropColumn) for c in job.changes),
        confirm=f"Put the rewritten copy in the place of {live.name}?",
        data=MappingProxyType({**data, "kept": kept.name}),
    )


def _place(live: Table) -> str | None:
    location = live.extras.get("location")
    return folder_aside(location, live.extras.get("snapshot") or "0") if location else None
