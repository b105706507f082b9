"""From a model and the columns of its query to the table that it wants, beside the one that is live."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from instar.core.promotions import Verdict, promotion
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import (
    Array,
    Column,
    Date,
    Decimal,
    Map,
    Path,
    String,
    Struct,
    Timestamp,
    Type,
    children,
    type_text,
    with_children,
)
from instar.dialects import reading
from instar.errors import Location, ProjectError
from instar.run.inferring import Inferrer
from instar.run.values import Asked, usable
from instar.sources.models import Model
from instar.sources.models_said import ColumnSaid
from instar.sources.paths import split_path
from instar.sources.reading import suggestion


def wanted_table(
    model: Model, inferred: tuple[Column, ...], live: Table | None, inferrer: Inferrer
) -> Wanted:
    """What the model asks for: the live order first, new columns behind, nothing narrowed by a batch."""
    check_output(model, inferred)
    said = {n.casefold(): c for n, c in model.columns.items()}
    columns = tuple(_said(_open(c), said.get(c.name.casefold())) for c in inferred)
    if live is not None and model.strategy != "full_refresh":
        columns = _beside(columns, live, said)
    table = Table(model.table, columns, format=model.format, partition_by=_partitions(model))
    hints = _hints(model, columns, live, inferrer)
    return Wanted(table, MappingProxyType(hints), model.origin)


def _partitions(model: Model) -> tuple[str, ...]:
    """Parquet replaces whole partitions only; the other formats find rows by value."""
    by = model.incremental.partition_column if model.incremental else None
    return (by,) if by and model.format == "parquet" else ()


def check_output(model: Model, inferred: tuple[Column, ...]) -> None:
    """What the frontmatter says must fit what the query returns."""
    names = [c.name.casefold() for c in inferred]
    twice = next((c.name for c in inferred if names.count(c.name.casefold()) > 1), None)
    if twice is not None:
        raise ProjectError(
            "E157",
            f"the query returns two columns named '{twice}'",
            hint="Name the columns instead of *, or rename one with AS.",
            where=model.locate(0),
        )
    shown = [c.name for c in inferred]
    for key in model.incremental.columns if model.incremental else ():
        if key.casefold() not in names:
            raise ProjectError(
                "E160",
                f"the incremental key '{key}' is not a column of the query",
                hint=suggestion(key, shown, "It returns"),
                where=model.places.get("incremental"),
            )
    _check_time(model, inferred)
    for name in model.columns:
        path = split_path(name) or (name,)
        if not _has(inferred, path):
            raise ProjectError(
                "E164",
                f"'columns' names '{name}', which the query does not return",
                hint=suggestion(name, shown, "It returns"),
                where=model.places.get(f"columns.{name}"),
            )


def _check_time(model: Model, inferred: tuple[Column, ...]) -> None:
    """An interval begins and ends at a time; a text or a number that stands for one has another order."""
    name = model.incremental.event_time_column if model.incremental else None
    if model.incremental is None or name is None:
        return
    type_ = next(c.type for c in inferred if c.name.casefold() == name.casefold())
    where = model.places.get("incremental.event_time_column", model.places.get("incremental"))
    if not isinstance(type_, Date | Timestamp):
        raise ProjectError(
            "E160",
            f"the event time '{name}' is a {type_text(type_)}, neither a DATE nor a TIMESTAMP",
            hint="Cast it in the query.",
            where=where,
        )
    if isinstance(type_, Date) and model.incremental.granularity == "hour":
        raise ProjectError(
            "E160",
            f"the event time '{name}' is a DATE, and a DATE has no hours",
            hint="Choose the granularity day, or cast it to a TIMESTAMP in the query.",
            where=model.places.get("incremental.granularity", where),
        )


def _has(columns: tuple[Column, ...], path: Path) -> bool:
    found = next((c for c in columns if c.name.casefold() == path[0].casefold()), None)
    if found is None:
        return False
    return len(path) == 1 or _has(children(found.type), path[1:])


def _open(column: Column) -> Column:
    """Only name and type: what an analyser thinks of NULL is no promise to keep."""
    return Column(column.name, _opened(column.type))


def _opened(type_: Type) -> Type:
    inner = tuple(
        Column(c.name, _opened(c.type), nullable=not (isinstance(type_, Map) and c is type_.key))
        for c in children(type_)
    )
    return with_children(type_, inner)


def _said(column: Column, said: ColumnSaid | None) -> Column:
    return column if said is None else replace(column, nullable=said.nullable)


def _beside(
    columns: tuple[Column, ...], live: Table, said: Mapping[str, ColumnSaid]
) -> tuple[Column, ...]:
    there = {c.name.casefold(): (n, c) for n, c in enumerate(live.columns)}

    def source(column: Column) -> tuple[int, Column] | None:
        about = said.get(column.name.casefold())
        old = about.renamed_from if about else None
        found = there.get(column.name.casefold())
        return there.get(old.casefold()) if old and found is None else found

    placed = [(source(c), c) for c in columns]
    kept = [
        (place[0], replace(c, type=not_narrowed(place[1].type, c.type)))
        for place, c in placed
        if place is not None
    ]
    new = [c for place, c in placed if place is None]
    return (*(c for _, c in sorted(kept, key=lambda item: item[0])), *new)


def not_narrowed(live: Type, new: Type) -> Type:
    """Texts and decimals that this query happens to give shorter keep the room that they have."""
    match live, new:
        case (String(), String()) | (Decimal(), Decimal()):
            return live if promotion(new, live).verdict is Verdict.LOSSLESS else new
        case (Struct(old), Struct(fields)):
            by_name = {f.name.casefold(): f for f in old}
            return Struct(tuple(_part(by_name.get(f.name.casefold()), f) for f in fields))
        case (Array(old_element), Array(element)):
            return Array(_part(old_element, element))
        case (Map(old_key, old_value), Map(key, value)):
            return Map(_part(old_key, key), _part(old_value, value))
        case _:
            return new


def _part(live: Column | None, new: Column) -> Column:
    return new if live is None else replace(new, type=not_narrowed(live.type, new.type))


def _hints(
    model: Model, columns: tuple[Column, ...], live: Table | None, inferrer: Inferrer
) -> dict[Path, Hint]:
    """Renames at every depth; the values that old rows take, for new columns only."""
    row = live.columns if live is not None else columns
    there = {c.name.casefold() for c in row}
    by_name = {c.name.casefold(): c for c in columns}
    filler = _Filler(model, by_name, there, row, inferrer)
    hints: dict[Path, Hint] = {}
    for name, said in model.columns.items():
        path = _spelled(split_path(name) or (name,), columns)
        default = using = None
        if len(path) == 1:
            default = filler.value(path[0], "default")
            # Checked always, used once: an old row has no use for it when the column is there.
            backfill = filler.value(path[0], "backfill")
            renamed = said.renamed_from is not None and said.renamed_from.casefold() in there
            using = backfill if path[0].casefold() not in there and not renamed else None
        hint = Hint(said.renamed_from, default, using)
        if hint != Hint():
            hints[path] = hint
    return hints


def _spelled(path: Path, columns: tuple[Column, ...]) -> Path:
    found: list[str] = []
    for part in path:
        column = next(c for c in columns if c.name.casefold() == part.casefold())
        found.append(column.name)
        columns = children(column.type)
    return tuple(found)


class _Filler:
    """Values for old rows. A backfill may name new columns: what they are filled with stands in."""

    def __init__(
        self,
        model: Model,
        columns: Mapping[str, Column],
        there: set[str],
        row: tuple[Column, ...],
        inferrer: Inferrer,
    ) -> None:
        self.model, self.columns, self.there = model, columns, there
        self.row, self.inferrer = row, inferrer
        self.said = {n.casefold(): c for n, c in model.columns.items()}
        self.done: dict[tuple[str, str], str | None] = {}
        self.open: set[str] = set()

    def value(self, name: str, key: str) -> str | None:
        place = (name.casefold(), key)
        if place not in self.done:
            self.done[place] = self._value(name, key)
        return self.done[place]

    def _value(self, name: str, key: str) -> str | None:
        said = self.said.get(name.casefold())
        sql = getattr(said, key) if said is not None else None
        if sql is None or said is None:
            return None
        known = self._known(name, said.places.get(key)) if key == "backfill" else {}
        type_ = self.columns[name.casefold()].type
        row = self._row(name) if key == "backfill" else ()
        idle = key == "backfill" and name.casefold() in self.there
        if idle and self._names_others(sql, row):
            return None
        asked = Asked(f"the {key} of '{name}'", sql, type_, said.places.get(key))
        return usable(asked, self.inferrer, row, known)

    def _row(self, name: str) -> tuple[Column, ...]:
        """What a backfill may name; one that is not needed (any more) may still say the old names."""
        if name.casefold() not in self.there:
            return self.row
        renamed = [
            Column(said.renamed_from, self.columns[new].type)
            for new, said in self.said.items()
            if said.renamed_from and new in self.columns
        ]
        return (*self.row, *(c for c in renamed if c.name.casefold() not in self.there))

    def _names_others(self, sql: str, row: tuple[Column, ...]) -> bool:
        """Columns that went when the backfill was used; a new table never had them."""
        from sqlglot import exp, parse_one
        from sqlglot.errors import SqlglotError

        try:
            tree = parse_one(sql, read=reading(self.inferrer.dialect))
        except SqlglotError:
            return False
        names = {c.name.casefold() for c in (*row, *self.columns.values())}
        return any(c.parts[0].name.casefold() not in names for c in tree.find_all(exp.Column))

    def _known(self, name: str, where: Location | None) -> dict[str, str]:
        """What every new column holds before the backfill of this one."""
        if name.casefold() in self.open:
            raise ProjectError(
                "E158", f"the backfill of '{name}' depends on itself through others", where=where
            )
        self.open.add(name.casefold())
        found: dict[str, str] = {}
        mentioned = (self.said[name.casefold()].backfill or "").casefold()
        for other, column in self.columns.items():
            if other in self.there or other not in mentioned:
                continue
            own = other == name.casefold()
            value = self._renamed(other)
            if value is None and not own:
                value = self.value(column.name, "backfill")
            nothing = self.inferrer.null(column.type)
            found[column.name] = value or self.value(column.name, "default") or nothing
        self.open.discard(name.casefold())
        return found

    def _renamed(self, name: str) -> str | None:
        """The old name of a column that is renamed by the same plan: the old row has only that one."""
        said = self.said.get(name)
        old = said.renamed_from if said is not None else None
        if old is None or old.casefold() not in self.there:
            return None
        from sqlglot import exp

        return exp.column(old, quoted=True).sql(dialect=self.inferrer.dialect)
