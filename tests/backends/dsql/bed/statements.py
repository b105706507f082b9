"""What is done with the text of a statement before PostgreSQL sees it: as it is, refused, or as a job."""

from __future__ import annotations

import re
from collections.abc import Iterator

_QUOTED = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | \$(\w*)\$.*?\$\1\$ | --[^\n]* | /\*.*?\*/""",
    re.DOTALL | re.VERBOSE,
)
_SET_LEVEL = r"SET\s+(LOCAL\s+|SESSION\s+)?(default_transaction_isolation|transaction_isolation)\b"

_UNSUPPORTED = "0A000"
REFUSED: tuple[tuple[str, str, str], ...] = (
    (r"SAVEPOINT\b", _UNSUPPORTED, "unsupported transaction statement: SAVEPOINT"),
    (r"RELEASE\b", _UNSUPPORTED, "unsupported transaction statement: RELEASE"),
    (
        r"ROLLBACK\s+(WORK\s+|TRANSACTION\s+)?TO\b",
        _UNSUPPORTED,
        "unsupported transaction statement: ROLLBACK TO",
    ),
    (r"LISTEN\b", _UNSUPPORTED, "unsupported statement: Listen"),
    (r"NOTIFY\b", _UNSUPPORTED, "unsupported statement: Notify"),
    (r"UNLISTEN\b", _UNSUPPORTED, "unsupported statement: Unlisten"),
    (r"VACUUM\b", _UNSUPPORTED, "unsupported VACUUM statement"),
    (r"TRUNCATE\b", _UNSUPPORTED, "unsupported statement: Truncate"),
    (r"MERGE\b", _UNSUPPORTED, "unsupported statement type: MERGE"),
    (r"LOCK\b", _UNSUPPORTED, "unsupported statement: Lock"),
    (r"(DO|CLUSTER|REINDEX)\b", _UNSUPPORTED, "unsupported statement"),
    (r"CREATE\s+DATABASE\b", _UNSUPPORTED, "unsupported statement: Createdb"),
    (r"CREATE\s+TABLESPACE\b", _UNSUPPORTED, "unsupported statement: CreateTableSpace"),
    (r"CREATE\s+EXTENSION\b", _UNSUPPORTED, "unsupported statement: CreateExtension"),
    (r"CREATE\s+FOREIGN\s+TABLE\b", _UNSUPPORTED, "unsupported statement: CreateForeignTable"),
    (r"CREATE\s+TRIGGER\b", _UNSUPPORTED, "CREATE TRIGGER not supported"),
    (r"ALTER\s+SYSTEM\b", _UNSUPPORTED, "unsupported statement: AlterSystem"),
    (
        r"SET\s+(SESSION\s+CHARACTERISTICS|TRANSACTION)\b",
        _UNSUPPORTED,
        'setting configuration parameter "TRANSACTION" not supported',
    ),
    (
        _SET_LEVEL,
        _UNSUPPORTED,
        'setting configuration parameter "default_transaction_isolation" not supported',
    ),
    (
        r"SET\s+(LOCAL\s+|SESSION\s+)?lock_timeout\b",
        _UNSUPPORTED,
        'setting configuration parameter "lock_timeout" not supported',
    ),
    (
        r"(BEGIN|START\s+TRANSACTION)\b.*\bLEVEL\s+(SERIALIZABLE|READ\s+(UN)?COMMITTED)\b",
        _UNSUPPORTED,
        "Unsupported isolation level",
    ),
    (
        r"SHOW\s+lc_collate\b",
        "42704",
        'unrecognized configuration parameter "lc_collate"',
    ),
    (
        r"CREATE\s+(GLOBAL\s+|LOCAL\s+)?TEMP(ORARY)?\b",
        _UNSUPPORTED,
        "TEMPORARY or TEMP table not supported for CREATE TABLE",
    ),
    (r"CREATE\s+UNLOGGED\b", _UNSUPPORTED, "UNLOGGED table not supported for CREATE TABLE"),
    (
        r"(CREATE|ALTER)\s+TABLE\b.*\b(big|small)?serial[248]?\b",
        "42704",
        'type "serial" does not exist',
    ),
    (
        r"CREATE\s+(UNIQUE\s+)?INDEX\s+(?!ASYNC\b)",
        _UNSUPPORTED,
        "unsupported mode. please use CREATE INDEX ASYNC.",
    ),
    (
        r".*\bFOR\s+(SHARE|NO\s+KEY\s+UPDATE)\b",
        _UNSUPPORTED,
        "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
    ),
    (r".*\bTABLESAMPLE\b", _UNSUPPORTED, "TABLESAMPLE clause not supported"),
    (
        r".*\bpg_(try_)?advisory_\w+\s*\(",
        _UNSUPPORTED,
        "no record says that the service has advisory locks",
    ),
    (
        r".*\b(FROM|JOIN)\s+(pg_catalog\s*\.\s*)?pg_(authid|database|enum|event_trigger|extension"
        r"|policy|publication\w*|rewrite|statistic_ext\w*|trigger|locks)\b",
        _UNSUPPORTED,
        "the service's documentation does not offer this catalog",
    ),
    (
        r".*\b(to_tsvector|to_tsquery|(plainto|phraseto|websearch_to)_tsquery)\s*\(",
        "42704",
        'text search configuration "english" does not exist',
    ),
    (r"SELECT\b.*\b(line|circle|polygon|lseg)\s*\(", _UNSUPPORTED, "datatype not supported"),
    (r".*\bLEFT\s+(OUTER\s+)?JOIN\s+LATERAL\b", "42804", "attribute 1 has wrong type"),
    (r".*\bctid\b", _UNSUPPORTED, "no record says that the service has ctid"),
)
"""(how the statement looks, SQLSTATE, message): recorded answers of the service where there are any."""

_RULES = tuple((re.compile(p, re.IGNORECASE | re.DOTALL), c, m) for p, c, m in REFUSED)
_INDEX = re.compile(r"(CREATE\s+(?:UNIQUE\s+)?INDEX)\s+ASYNC\b(.*)$", re.IGNORECASE | re.DOTALL)
_ALTER = re.compile(r"(ALTER\s+TABLE)\s+ASYNC\b(.*)$", re.IGNORECASE | re.DOTALL)
_UNIQUE = re.compile(r"CREATE\s+UNIQUE\s+INDEX", re.IGNORECASE)


def judged(text: str) -> str:
    """One or more statements as they are sent on."""
    return "; ".join(_judged(part) for part in split(text)) or text


def split(text: str) -> Iterator[str]:
    """Statements between semicolons that stand in no quotes."""
    masked, start = _masked(text), 0
    for place, char in enumerate(masked):
        if char == ";":
            if masked[start:place].strip():
                yield text[start:place]
            start = place + 1
    if masked[start:].strip():
        yield text[start:]


def _masked(text: str) -> str:
    """The same text with everything quoted or commented as blanks, place by place."""
    return _QUOTED.sub(lambda m: "_" * len(m[0]) if m[0][0] == '"' else " " * len(m[0]), text)


def _judged(statement: str) -> str:
    masked = _masked(statement)
    start = len(masked) - len(masked.lstrip())
    bare = masked[start:]
    for rule, code, message in _RULES:
        if rule.match(bare):
            return f"SELECT bed.refuse({_literal(code)}, {_literal(message)})"
    body = statement[start:]
    if found := _INDEX.match(bare):
        plain = body[: found.end(1)] + body[found.start(2) :]
        harmless = _UNIQUE.sub("CREATE INDEX", plain)
        return f"SELECT bed.build({_literal(plain)}, {_literal(harmless)}) AS job_id"
    if found := _ALTER.match(bare):
        plain = body[: found.end(1)] + body[found.start(2) :]
        return f"SELECT bed.later({_literal(plain)}) AS job_id"
    return statement


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
