"""The steps that give a Parquet table another definition: over the same files, or over a copy of them."""

from __future__ import annotations

import json
from types import MappingProxyType

from instar.backends.spark import parquet_ddl as ddl
from instar.backends.spark.aside import COPY_OF, aside_name, kept_name
from instar.backends.spark.checksum import carried_checksum
from instar.backends.spark.keys import key_data
from instar.backends.spark.mismatch import naming_data
from instar.backends.spark.parquet_capability import EXTERNAL, WRITERS
from instar.backends.spark.statements import full_name, rename_table
from instar.backends.spark.values import SparkValues
from instar.backends.values import ValueWriter
from instar.core.changes import AddColumn, DropColumn
from instar.core.plan import Job, Rung, Step
from instar.core.schema import Table

FILES = "instar.copy.files"
"""On the new definition: a digest of the files that it was made from and compared with."""
REFUSED = "instar.never_overlay"
"""On a table: why an overlay was refused, so that the next plan takes the rewrite."""


def rewrite_steps(catalog: str, job: Job) -> list[Step]:
    """Copy, compare, and check that no file moved; then two renames."""
    live = job.live
    assert live is not None
    target = job.target
    full = full_name(catalog, aside_name(live.name))
    select = ", ".join(ValueWriter(SparkValues()).select_list(job.projection))
    source = full_name(catalog, live.name)
    insert = f"INSERT INTO {full} BY NAME SELECT {select} FROM {source}"
    data = _data(full, live, target) | {
        "select": select,
        "checksum": carried_checksum(job.projection),
        "overlay": "",
        **key_data(job),
        **naming_data(job.projection, job.target),
    }
    made = ddl.Definition(data["head"], data["tail"])
    copy = Step(
        "",
        "copy",
        Rung.REWRITE,
        f"copy {live.name} aside in its new shape, into a folder of its own, and compare ({WRITERS})",
        (made.at(f"{live.extras.get('location', '')}__instar"), insert),
        live,
        data=MappingProxyType(data),
    )
    return [copy, _swap(catalog, job, live, target, data, Rung.REWRITE)]


def overlay_steps(catalog: str, job: Job, target: Table) -> list[Step]:
    """A second definition over the same files, checked against them; then two renames."""
    live = job.live
    assert live is not None
    full = full_name(catalog, aside_name(live.name))
    new = [c.path for c in job.changes if isinstance(c, AddColumn)]
    data = _data(full, live, target) | {"overlay": "yes", "new": json.dumps(new)}
    made = ddl.Definition(data["head"], data["tail"])
    sql = [made.at(live.extras.get("location", ""))]
    if target.partition_by:
        sql.append(f"MSCK REPAIR TABLE {full}")
    define = Step(
        "",
        "overlay",
        Rung.OVERLAY,
        f"define {live.name} anew over its files, and check what the files hold",
        tuple(sql),
        live,
        data=MappingProxyType(data),
    )
    return [define, _swap(catalog, job, live, target, data, Rung.OVERLAY)]


def _data(full: str, live: Table, target: Table) -> dict[str, str]:
    made = ddl.definition(full, target, {COPY_OF: live.extras.get("location", "")})
    return {
        "aside": aside_name(live.name).name,
        "kept_as": kept_name(live).name,
        "head": made.head,
        "tail": made.tail,
        "defaults": json.dumps(ddl.defaults(full, target)),
        "location": live.extras.get("location", ""),
    }


def _swap(
    catalog: str, job: Job, live: Table, target: Table, data: dict[str, str], rung: Rung
) -> Step:
    aside, kept = aside_name(live.name), kept_name(live)
    sql = [rename_table(catalog, live.name, kept), rename_table(catalog, aside, live.name)]
    said = dict(data)
    if rung is Rung.OVERLAY:
        title = f"put the new definition of {live.name} in the place of the old one"
        sql.append(f"DROP TABLE {full_name(catalog, kept)}")
        confirm = None
    else:
        was = "; the table is EXTERNAL from then on" if live.extras.get(EXTERNAL) != "yes" else ""
        title = f"keep the old table as {kept} with its folder, put the copy in its place{was}"
        confirm = f"Put the rewritten copy in the place of {live.name}?"
        said["kept"] = kept.name
    return Step(
        "",
        "swap",
        rung,
        title,
        tuple(sql),
        target,
        destructive=any(isinstance(c, DropColumn) for c in job.changes),
        confirm=confirm,
        data=MappingProxyType(said),
    )
