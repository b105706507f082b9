"""Compares a copy with its source while nobody should write, and tells afterwards whether somebody did."""

from __future__ import annotations

from dataclasses import dataclass, field

from instar.backends.dsql.recipe import DsqlRecipe
from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.checksum import content
from instar.backends.postgres.key import KeyColumns
from instar.backends.postgres.keyset import Keyset, Place
from instar.backends.postgres.verify import Verifier
from instar.backends.sql import qualified
from instar.core.schema import TableName

CHUNK = 10_000


@dataclass
class Digest:
    """Rows and their checksums, added up over chunks; the order does not count."""

    rows: int = 0
    total: int = 0

    def add(self, rows: int, total: int) -> None:
        self.rows += rows
        self.total += total

    def __str__(self) -> str:
        return f"{self.rows} {self.total}"


@dataclass(frozen=True)
class DsqlVerifier(Verifier):
    """The digest of the source is made of the same snapshots in which its chunks were compared."""

    chunk: int = CHUNK
    largest: int = CHUNK
    digest: Digest = field(default_factory=Digest)

    def _seen(self, low: Place | None, high: Place | None) -> None:
        recipe = self.recipe
        assert isinstance(recipe, DsqlRecipe)
        where = Keyset("", recipe.key).between(low, high)
        source = f"{qualified(recipe.table)} WHERE {where}"
        rows, total = self.session.ask(content(recipe.columns_then, source))[0]
        self.digest.add(int(rows), int(total))

    def _emptied(self) -> bool:
        return False

    def _settled(self, key: KeyColumns, *, old: bool) -> str:
        del key, old
        return "TRUE"


def rows_in(digest: str) -> int:
    return int(digest.split()[0])


def digest_of(session: DsqlSession, recipe: DsqlRecipe, table: TableName) -> str:
    """The digest of a table that nobody can write any more."""
    keyset = Keyset(qualified(table), recipe.key)
    found = Digest()
    place: Place | None = None
    while (end := keyset.end_of_batch(session, place, CHUNK)) is not None:
        source = f"{qualified(table)} WHERE {keyset.between(place, end)}"
        rows, total = session.ask(content(recipe.columns_then, source))[0]
        found.add(int(rows), int(total))
        place = end
    return str(found)
