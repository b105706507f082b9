"""Follows the writers of a table that is copied: a trigger writes the keys of changed rows into a log.

Draining the log deletes those rows from the copy and takes them over again, all of one snapshot, so that keys
that moved between rows never clash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from instar.backends.postgres.names import FN, LOG, TRIGGER, beside
from instar.backends.postgres.privileges import private
from instar.backends.postgres.recipe import Recipe
from instar.backends.postgres.session import Session
from instar.backends.postgres.settings import UNCLEANED
from instar.backends.postgres.verify import BeginAnew, Verifier
from instar.backends.sql import literal, qualified, quote_double

_CAPTURED = """SELECT c.oid || '/' || c.relfilenode, (SELECT count(*) FROM pg_trigger g
WHERE g.tgrelid = c.oid AND g.tgfoid = to_regproc(%s) AND g.tgenabled = 'A') = 2
FROM pg_class c WHERE c.oid = %s::regclass"""


class Following:
    """The log of one recreation."""

    def __init__(self, session: Session, recipe: Recipe) -> None:
        self.session = session
        self.recipe = recipe
        self.table = qualified(recipe.table)
        self.log = qualified(beside(recipe.table, LOG))
        self.fn = qualified(beside(recipe.table, FN))

    def create(self) -> Iterator[str]:
        keys = ", ".join(f"k{n} {t}" for n, (_, t) in enumerate(self.recipe.key, start=1))
        yield (
            f"CREATE TABLE {self.log} (seq bigint GENERATED ALWAYS AS IDENTITY, "
            f"truncated boolean NOT NULL DEFAULT FALSE, {keys}) {UNCLEANED}"
        )
        yield private(self.log)
        yield self._function()
        yield from self._triggers()

    def remove(self) -> Iterator[str]:
        yield f'DROP TRIGGER "{TRIGGER}_r" ON {self.table}'
        yield f'DROP TRIGGER "{TRIGGER}_t" ON {self.table}'
        yield f"DROP FUNCTION {self.fn}()"
        yield f"DROP TABLE {self.log}"

    def captured(self) -> tuple[str, bool]:
        """The table's file, and whether both triggers tell what happens to it."""
        (file, followed) = self.session.ask(_CAPTURED, [self.fn, self.table])[0]
        return str(file), bool(followed)

    def _function(self) -> str:
        marks = ", ".join(f"k{n}" for n in range(1, len(self.recipe.key) + 1))
        columns = [quote_double(c) for c, _ in self.recipe.key]
        old, new = (", ".join(f"{side}.{c}" for c in columns) for side in ("OLD", "NEW"))
        body = (
            f"BEGIN IF TG_OP = 'TRUNCATE' THEN INSERT INTO {self.log} (truncated) VALUES (TRUE); RETURN NULL; "
            "END IF; "
            f"IF TG_OP <> 'INSERT' THEN INSERT INTO {self.log} ({marks}) VALUES ({old}); END IF; "
            f"IF TG_OP = 'INSERT' THEN INSERT INTO {self.log} ({marks}) VALUES ({new}); "
            f"ELSIF TG_OP = 'UPDATE' AND ROW({new}) IS DISTINCT FROM ROW({old}) THEN "
            f"INSERT INTO {self.log} ({marks}) VALUES ({new}); END IF; "
            "RETURN NULL; END"
        )
        return (
            f"CREATE FUNCTION {self.fn}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER "
            f"SET search_path = pg_catalog AS {literal(body)}"
        )

    def _triggers(self) -> list[str]:
        rows, emptied = quote_double(f"{TRIGGER}_r"), quote_double(f"{TRIGGER}_t")
        return [
            f"CREATE TRIGGER {rows} AFTER INSERT OR UPDATE OR DELETE ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {self.fn}()",
            f"CREATE TRIGGER {emptied} AFTER TRUNCATE ON {self.table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {self.fn}()",
            f"ALTER TABLE {self.table} ENABLE ALWAYS TRIGGER {rows}, "
            f"ENABLE ALWAYS TRIGGER {emptied}",
        ]

    def more_than(self, most: int) -> bool:
        """Whether more changes wait; a key that changed twice counts twice."""
        rows = f"SELECT 1 FROM {self.log} LIMIT {most + 1}"
        return int(self.session.ask(f"SELECT count(*) FROM ({rows}) AS l")[0][0]) > most

    def drain(self, *, compare: bool = False) -> int:
        """Take over every change that the log shows; inside a transaction of one snapshot; how many keys."""
        session, key = self.session, self.recipe.key
        if session.ask(f"SELECT 1 FROM {self.log} WHERE truncated LIMIT 1"):
            raise BeginAnew
        marks = [f"k{n}" for n in range(1, len(key) + 1)]
        columns = ", ".join(marks)
        count = session.execute(
            f"CREATE TEMP TABLE instar_keys ON COMMIT DROP AS SELECT DISTINCT {columns} FROM {self.log}"
        )
        if count:
            session.execute("ANALYZE pg_temp.instar_keys")
            session.execute(f"DELETE FROM {self.log}")
            copied = self._same("copied", self.recipe.found_by)
            session.execute(
                f"DELETE FROM {self.recipe.new} AS copied USING pg_temp.instar_keys AS keys WHERE {copied}"
            )
            changed = self._among(self._same("live", [c for c, _ in key]))
            session.execute(self.recipe.insert(self.recipe.projected(changed)))
            if compare:
                Verifier(session, self.recipe).some(changed, self._among(copied))
        session.execute("DROP TABLE pg_temp.instar_keys")
        return count

    def _among(self, same: str) -> str:
        return f"EXISTS (SELECT 1 FROM pg_temp.instar_keys AS keys WHERE {same})"

    def _same(self, alias: str, columns: Sequence[str]) -> str:
        pairs = enumerate(columns, start=1)
        return " AND ".join(f"keys.k{n} = {alias}.{quote_double(c)}" for n, c in pairs)
