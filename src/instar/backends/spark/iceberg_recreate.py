"""The steps of an Iceberg rewrite: a copy aside from a pinned snapshot, then two renames.

CREATE OR REPLACE … AS SELECT would keep the table's identity, but it overwrites what other writers
committed meanwhile in silence, and a writer that commits after it leaves files of the old types behind.
Under a rename a writer either commits before it, and its rows are carried over, or fails loudly: the name
is gone, or stands for a table with another uuid.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType

from instar.backends.spark import iceberg_ddl as ddl
from instar.backends.spark.checksum import checksum_select
from instar.backends.spark.values import SparkValues
from instar.backends.sql import quote_backtick
from instar.backends.values import ValueWriter
from instar.core.changes import DropColumn
from instar.core.plan import Job, Rung, Step
from instar.core.projection import (
    ArrayCarry,
    Carry,
    FieldCarry,
    FromOld,
    MapCarry,
    StructCarry,
)
from instar.core.schema import Table, TableName

BRANCH = "instar_rewrite"
"""The branch that pins the copied snapshot: it is read with the table's present schema."""
COPY_OF = "instar.copy.of"
"""On the copy: the uuid of the table it is made from."""
VERIFIED = "instar.copy.verified"
"""On the copy: the snapshot up to which it was compared with its source."""
NEXT_OLD = "next_old"
"""In a live table's extras: the number of the next old copy."""
_PLACE = re.compile(r"__instar_\w*$")


def aside_name(name: TableName) -> TableName:
    return TableName(name.schema, f"{name.name}__instar_new")


def kept_name(live: Table) -> TableName:
    number = live.extras.get(NEXT_OLD, "1")
    return TableName(live.name.schema, f"{live.name.name}__instar_old_{number}")


def is_own(name: str) -> bool:
    """A copy or an old table of ours, which no one declared."""
    return re.search(r"__instar_(new|old_\d+)$", name) is not None


def recreate_steps(catalog: str, job: Job) -> tuple[Step, ...]:
    """Copy and verify while the table is in use, then swap."""
    live, target = job.live, job.target
    assert live is not None
    aside, kept = aside_name(live.name), kept_name(live)
    full = ddl.full_name(catalog, aside)
    source = ddl.full_name(catalog, live.name)
    create = ddl.create_table(full, target, _place(live), {COPY_OF: live.extras.get("uuid", "")})
    shape: list[str] = []
    if target.cluster_by:
        shape += ddl.write_order(full, target)
    if ddl.identifiable(target):
        shape.append(ddl.set_key(full, target))
    select = ", ".join(ValueWriter(SparkValues()).select_list(job.projection))
    insert = f"INSERT INTO {full} BY NAME SELECT {select} FROM {source}"
    data = MappingProxyType(
        {
            "aside": aside.name,
            "kept_as": kept.name,
            "create": create,
            "shape": json.dumps(shape),
            "select": select,
            "checksum": checksum_select(
                [(quote_backtick(f.column.name), f.column.type) for f in stable(job.projection)]
            ),
            "schema_id": live.extras.get("schema_id", ""),
        }
    )
    dropped = any(isinstance(c, DropColumn) for c in job.changes)
    copy = Step(
        "1-copy",
        "copy",
        Rung.REWRITE,
        f"copy {live.name} aside in its new shape, and compare",
        (create, *shape, f"{insert} VERSION AS OF '{BRANCH}'"),
        live,
        data=data,
    )
    swap = Step(
        "2-swap",
        "swap",
        Rung.REWRITE,
        f"carry over what was written meanwhile, keep the old table as {kept}, put the copy in",
        (
            ddl.rename_table(catalog, live.name, kept),
            ddl.rename_table(catalog, aside, live.name),
        ),
        target,
        destructive=dropped,
        confirm=f"Put the rewritten copy in the place of {live.name}?",
        data=MappingProxyType({**data, "kept": kept.name}),
    )
    return (copy, swap)


def _place(live: Table) -> str | None:
    """A folder of its own: the names of copies come again, their files must not meet."""
    location = live.extras.get("location")
    if not location:
        return None
    return f"{_PLACE.sub('', location.rstrip('/'))}__instar_{live.extras.get('snapshot') or '0'}"


def stable(projection: tuple[FieldCarry, ...]) -> list[FieldCarry]:
    """The columns whose values come from the old ones alone: computing them twice gives the same."""
    return [f for f in projection if _is_stable(f)]


def _is_stable(field: FieldCarry) -> bool:
    source = field.source
    return isinstance(source, FromOld) and source.fill is None and _stable_carry(source.carry)


def _stable_carry(carry: Carry) -> bool:
    match carry:
        case StructCarry(fields):
            return all(_is_stable(f) for f in fields)
        case ArrayCarry(element):
            return _stable_carry(element)
        case MapCarry(key, value):
            return _stable_carry(key) and _stable_carry(value)
        case _:
            return True
