"""Snowflake through any connection with the connector's cursor: inspect in bulk, prove, run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from instar.backends.base import Backend, NotATable, RunContext
from instar.backends.snowflake.render import ASIDE, MISSING, SnowflakeValues
from instar.backends.snowflake.rules import SnowflakeRules, kept_name
from instar.backends.snowflake.types import reported_type
from instar.backends.sql import literal, qualified, quote_double
from instar.backends.values import ValueWriter, live_predicate, projected_predicate
from instar.core.capabilities import Rules
from instar.core.checks import LiveProof, Proof, ProofResult, UniqueProof
from instar.core.findings import Witness
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.errors import EngineError, VerificationFailed

Row = Mapping[str, Any]


class SnowflakeBackend(Backend):
    """`connection` is an open `snowflake.connector` connection."""

    def __init__(self, connection: Any) -> None:
        self.rules: Rules = SnowflakeRules()
        self._connection = connection

    def _rows(self, sql: str) -> list[Row]:
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                names = [d[0] for d in cursor.description or ()]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except Exception as error:
            raise EngineError("E240", f"Snowflake: {str(error).splitlines()[0]}") from error

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        wanted = {TableName(kept_name(n.schema), kept_name(n.name)): n for n in names}
        found: dict[TableName, Table | NotATable] = {}
        for schema in {n.schema for n in wanted}:
            for name, table in self._schema(schema).items():
                if name in wanted:
                    found[wanted[name]] = table
        return found

    def _schema(self, schema: str) -> dict[TableName, Table | NotATable]:
        where = f"TABLE_SCHEMA = {literal(schema)}"
        kinds = self._rows(
            f"SELECT TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE {where}"
        )
        columns: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._rows(f"SELECT * FROM INFORMATION_SCHEMA.COLUMNS WHERE {where}"):
            columns[str(row["TABLE_NAME"])].append(row)
        keys: defaultdict[str, list[Row]] = defaultdict(list)
        for row in self._rows(f"SHOW PRIMARY KEYS IN SCHEMA {quote_double(schema)}"):
            keys[str(row["table_name"])].append(row)
        shown = {r["name"]: r for r in self._rows(f"SHOW TABLES IN SCHEMA {quote_double(schema)}")}
        result: dict[TableName, Table | NotATable] = {}
        for kind in kinds:
            name = TableName(schema, str(kind["TABLE_NAME"]))
            if kind["TABLE_TYPE"] != "BASE TABLE":
                result[name] = NotATable(name, f"a {str(kind['TABLE_TYPE']).lower()}")
            else:
                result[name] = _table(
                    name, columns[name.name], keys[name.name], shown.get(name.name, {})
                )
        return result

    def list_tables(self, schema: str) -> Sequence[TableName]:
        found = self._schema(kept_name(schema))
        return sorted(n for n, t in found.items() if isinstance(t, Table))

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        costs: dict[TableName, Cost] = {}
        for schema in {n.schema for n in names}:
            shown = self._rows(f"SHOW TABLES IN SCHEMA {quote_double(kept_name(schema))}")
            by_name = {r["name"]: r for r in shown}
            for name in names:
                row = by_name.get(kept_name(name.name))
                if name.schema == schema and row is not None:
                    costs[name] = Cost(int(row["rows"] or 0), int(row["bytes"] or 0))
        return costs

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        assert job.live is not None
        return [self._proven(job, job.live, proof) for proof in proofs]

    def _proven(self, job: Job, live: Table, proof: Proof) -> ProofResult:
        values = SnowflakeValues()
        projected = ", ".join(ValueWriter(values, trying=True).select_list(job.projection))
        rows = f"(SELECT {projected} FROM {qualified(live.name)})"
        if isinstance(proof, UniqueProof):
            keys = ", ".join(quote_double(c) for c in proof.columns)
            sql = f"SELECT {keys}, COUNT(*) AS N FROM {rows} GROUP BY {keys} HAVING COUNT(*) > 1"
            found = self._rows(sql)
            return ProofResult(proof, sum(int(r["N"]) for r in found), _witnesses(found))
        if isinstance(proof, LiveProof):
            source, broken = qualified(live.name), live_predicate(values, live, proof)
        else:
            source, broken = rows, projected_predicate(values, job.target, proof)
        count = int(self._rows(f"SELECT COUNT(*) AS N FROM {source} WHERE {broken}")[0]["N"])
        shown = self._rows(f"SELECT * FROM {source} WHERE {broken} LIMIT 100") if count else []
        return ProofResult(proof, count, _witnesses(shown))

    def run(self, step: Step, context: RunContext) -> None:
        if MISSING in step.data:
            self._nothing_missing(step)
        for number, sql in enumerate(step.sql, 1):
            context.failpoint(f"{step.kind}:statement:{number}:before")
            self._rows(sql)
            context.failpoint(f"{step.kind}:statement:{number}:after")

    def _nothing_missing(self, step: Step) -> None:
        """Old rows go only when the table has them all: others may have written before the swap."""
        aside = TableName(step.after.name.schema, step.data[ASIDE])
        if aside not in self._schema(aside.schema):
            return
        missing = int(self._rows(step.data[MISSING])[0]["N"])
        if missing:
            raise VerificationFailed(
                "E242",
                f"[{step.after.name}] {missing} rows of the old table, {aside}, are not in the new one",
                hint="Both are there. Bring over what is missing, then run `instar apply` again.",
            )

    def close(self) -> None:
        self._connection.close()


def _witnesses(rows: Sequence[Row]) -> tuple[Witness, ...]:
    return tuple({k: None if v is None else str(v) for k, v in r.items()} for r in rows[:100])


def _table(name: TableName, columns: list[Row], keys: list[Row], shown: Row) -> Table:
    ordered = sorted(columns, key=lambda r: int(r["ORDINAL_POSITION"]))
    key = sorted(keys, key=lambda r: int(r["key_sequence"]))
    return Table(
        name,
        tuple(_column(r) for r in ordered),
        primary_key=tuple(str(r["column_name"]) for r in key),
        cluster_by=_clustering(str(shown.get("cluster_by") or "")),
        change_tracking=str(shown.get("change_tracking", "OFF")).upper() == "ON",
        comment=shown.get("comment") or None,
    )


def _column(row: Row) -> Column:
    return Column(
        str(row["COLUMN_NAME"]),
        reported_type(row),
        nullable=row["IS_NULLABLE"] == "YES",
        default=row.get("COLUMN_DEFAULT"),
        comment=row.get("COMMENT") or None,
    )


def _clustering(text: str) -> tuple[str, ...]:
    """`LINEAR(A, B)` as the service reports it."""
    inner = text[text.index("(") + 1 : text.rindex(")")] if "(" in text else text
    return tuple(part.strip().strip('"') for part in inner.split(",") if part.strip())
