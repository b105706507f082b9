"""Tables as values: what is wanted and what is live are the same kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from instar.core.types import Column, Path, children, name_text, with_children


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{name_text(self.schema)}.{name_text(self.name)}"

    @property
    def folded(self) -> TableName:
        """What all spellings of the name have in common, whatever their case."""
        return TableName(self.schema.casefold(), self.name.casefold())


@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK by its name; the expression is SQL text that is true or NULL for good rows."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Unique:
    name: str
    columns: tuple[str, ...]


Constraint = Check | Unique


@dataclass(frozen=True, slots=True)
class Table:
    """`change_tracking` None means "not said" in what is wanted; a live table says it where the engine can.

    `extras` are facts that an engine reports and that no door wants (location, protocol, provider);
    they are never compared.
    """

    name: TableName
    columns: tuple[Column, ...]
    format: str = ""
    primary_key: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    change_tracking: bool | None = None
    comment: str | None = None
    extras: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    def column(self, path: Path) -> Column | None:
        """The column at a path, at any depth."""
        columns, found = self.columns, None
        for part in path:
            found = next((c for c in columns if c.name == part), None)
            if found is None:
                return None
            columns = children(found.type)
        return found


@dataclass(frozen=True, slots=True)
class Hint:
    """How the migration gets to a wanted column; not part of the schema.

    `default` fills rows that exist when the column is added or made NOT NULL (`_default`);
    `using` computes the value from the old row in a rewrite (`_using`).
    """

    renamed_from: str | None = None
    default: str | None = None
    using: str | None = None


_NO_HINT = Hint()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a door asks for: the table, and how to get there. `origin` is the file it came from."""

    table: Table
    hints: Mapping[Path, Hint] = field(default_factory=lambda: MappingProxyType({}))
    origin: str = ""

    def hint(self, path: Path, fold: Callable[[str], str] = str.casefold) -> Hint:
        """The hint for a path, its names compared under the backend's rule."""
        if not self.hints:
            return _NO_HINT
        wish = tuple(map(fold, path))
        return next((h for p, h in self.hints.items() if tuple(map(fold, p)) == wish), _NO_HINT)


def replace_columns(table: Table, parent: Path, columns: tuple[Column, ...]) -> Table:
    """The table with other children under `parent` (the table itself for the empty path)."""
    return replace(table, columns=_replaced(table.columns, parent, columns))


def _replaced(
    columns: tuple[Column, ...], parent: Path, inner: tuple[Column, ...]
) -> tuple[Column, ...]:
    if not parent:
        return inner
    head, rest = parent[0], parent[1:]
    return tuple(
        replace(c, type=with_children(c.type, _replaced(children(c.type), rest, inner)))
        if c.name == head
        else c
        for c in columns
    )
