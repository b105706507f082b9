"""What formats on Spark keep of a wanted table: the frame in which each says what it does not."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import replace

from instar.backends.spark.schemas import has_nested_limit, unreadable_name
from instar.core.findings import Finding, Severity
from instar.core.matching import Fold, at_path, folded
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import Column, Path, Type, bare

_PLAIN = re.compile(r"\w+", re.ASCII)
_RESERVED = frozenset(
    {
        "collation",
        "comment",
        "external",
        "is_managed_location",
        "location",
        "owner",
        "provider",
        "table_type",
    }
)


class Normalizer(ABC):
    """Collects findings while a format goes through one wanted table."""

    def __init__(self, wanted: Wanted, live: Table | None, fold: Fold) -> None:
        self.wanted, self.live, self.fold = wanted, live, fold
        self.findings: list[Finding] = []
        self.hints = dict(wanted.hints)

    @abstractmethod
    def table(self) -> Wanted:
        """What is kept, as the format would report it."""

    def say(
        self, code: str, words: str, path: Path = (), severity: Severity = Severity.WARNING
    ) -> None:
        name = self.wanted.table.name
        self.findings.append(Finding(code, severity, f"[{name}] {words}.", path=path))

    def never(self, words: str, path: Path = ()) -> None:
        self.say("F601", words, path, Severity.ERROR)

    def plain_names(self) -> None:
        """For tables of Spark's own catalog, which refuses any other name."""
        table = self.wanted.table.name
        for name in (table.schema, table.name):
            if not _PLAIN.fullmatch(name):
                self.never(f"the metastore takes only letters, digits and _ in '{name}'")

    def reserved(self, key: str) -> bool:
        """A property that Spark refuses to set, or takes for something else; and our own."""
        return key in _RESERVED or key.startswith("instar.")

    def settable(self) -> dict[str, str]:
        """The declared properties without those."""
        kept: dict[str, str] = {}
        for key, value in self.wanted.table.properties.items():
            if self.reserved(key):
                self.say("F604", f"property '{key}' is not yours to set; it is left out")
            else:
                kept[key] = value
        return kept

    def unenforced(self, engine: str) -> None:
        """For a format that keeps neither constraints nor a mark of change tracking."""
        table = self.wanted.table
        for constraint in table.constraints:
            self.say("F603", f"{engine} keeps no constraints: '{constraint.name}' is not enforced")
        if table.primary_key:
            words = "the primary key is written down, but not enforced"
            self.say("F603", words, severity=Severity.INFO)
        if table.change_tracking:
            words = f"{engine} keeps no mark of change tracking; the declaration counts instead"
            self.say("F604", words)

    def limits(self, columns: tuple[Column, ...]) -> None:
        """Spark remembers the limits of nested text in a line of its own, where it quotes no name: with
        an odd name in it a table cannot be read, written or dropped any more."""
        for column in columns:
            there = self._was(column)
            if there is not None and bare(there) == bare(column.type):
                continue
            odd = _beside_limit(column.type, there)
            if odd is not None:
                self.never(
                    f"'{column.name}' holds text with a limit and a field '{odd}': Spark cannot read that"
                    " type back; declare the text as STRING, or choose a name of letters, digits and _",
                    (column.name,),
                )

    def _was(self, column: Column) -> Type | None:
        if self.live is None:
            return None
        old = self.wanted.hint((column.name,), self.fold).renamed_from
        names = (column.name, old) if old else (column.name,)
        there = (at_path(self.live.columns, (name,), self.fold) for name in names)
        return next((c.type for c in there if c is not None), None)

    def fill_once(self, path: Path, default: str) -> None:
        """A default that cannot last: the rows that are there take it all the same."""
        wish = folded(path, self.fold)
        known = next((p for p in self.hints if folded(p, self.fold) == wish), path)
        hint = self.hints.get(known, Hint())
        self.hints[known] = replace(hint, default=hint.default or default)

    def spellings(self, columns: tuple[Column, ...]) -> dict[str, str]:
        """How the table will spell each name: a live column keeps its own spelling."""
        spelled = {self.fold(c.name): c.name for c in columns}
        live = self.live.columns if self.live is not None else ()
        return spelled | {self.fold(c.name): c.name for c in live if self.fold(c.name) in spelled}


def _beside_limit(wanted: Type, there: Type | None) -> str | None:
    """An odd field name in a column that has limited text in it too.

    What nobody declares may stay beside what is new; a live column that is broken so may be mended.
    """
    whole = (wanted,) if there is None or _is_broken(there) else (there, wanted)
    if not any(has_nested_limit(type_) for type_ in whole):
        return None
    return next((odd for type_ in whole if (odd := unreadable_name(type_)) is not None), None)


def _is_broken(live: Type) -> bool:
    return has_nested_limit(live) and unreadable_name(live) is not None
