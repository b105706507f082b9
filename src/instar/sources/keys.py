"""Every key of instar.yml and of a manifest, as one table that readers, checks and JSON Schemas share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Kind(Enum):
    """What stands under a key."""

    __hash__ = object.__hash__

    NAME = auto()
    TEXT = auto()
    FLAG = auto()
    NUMBER = auto()
    NAMES = auto()
    """A list of names, or one name."""
    EXPRESSION = auto()
    """One SQL expression; a bare number or flag stands for itself."""
    TYPE = auto()
    """SQL type text."""
    TEXTS = auto()
    """A mapping from text to text."""
    OBJECT = auto()
    OBJECTS = auto()
    """A list of objects."""
    NAMED = auto()
    """A mapping from a name to an object."""
    ANY = auto()


@dataclass(frozen=True, slots=True)
class Key:
    kind: Kind
    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()
    keys: Mapping[str, Key] = field(default_factory=dict)


Keys = Mapping[str, Key]

FORMATS = ("delta", "iceberg", "parquet")
ENGINES = ("spark", "duckdb", "postgres", "dsql", "snowflake")
PLANNED_ENGINES = ("ducklake", "clickhouse", "bigquery")
VERSION = 1
DEFAULT_STATE = "sqlite:///.instar/state.db"

_COMMON: Keys = {
    "type": Key(Kind.TEXT, "The engine.", required=True, choices=ENGINES),
    "schema": Key(
        Kind.NAME,
        "The schema of tables that name none; `main` unless said (Snowflake: `PUBLIC`, PostgreSQL"
        " and DSQL: `public`).",
    ),
}

ENVIRONMENT_KEYS: Mapping[str, Keys] = {
    "spark": {
        **_COMMON,
        "format": Key(
            Kind.TEXT, "The format of tables that name none; `delta` unless said.", choices=FORMATS
        ),
        "connect_url": Key(Kind.TEXT, "A Spark Connect server: sc://host:15002."),
        "master": Key(Kind.TEXT, "A cluster's master: spark://host:7077, yarn, k8s://…"),
        "conf": Key(Kind.TEXTS, "Spark settings."),
        "jars": Key(Kind.TEXT, "A folder that holds the engine jars."),
        "repository": Key(Kind.TEXT, "The Maven mirror to fetch engine jars from."),
    },
    "duckdb": {
        **_COMMON,
        "database": Key(Kind.TEXT, "The database file; `.instar/dev.duckdb` unless said."),
    },
    "postgres": {
        **_COMMON,
        "url": Key(Kind.TEXT, "postgresql://user:password@host/database: ${DATABASE_URL}."),
        "host": Key(Kind.TEXT, "The host, or the folder of a socket."),
        "port": Key(Kind.NUMBER, "The port; 5432 unless said."),
        "database": Key(Kind.NAME, "The database."),
        "user": Key(Kind.TEXT, "The user."),
        "password": Key(Kind.TEXT, "The password; take it from the environment: ${NAME}."),
        "sslmode": Key(Kind.TEXT, "As libpq names it: require, verify-full, …"),
        "sslrootcert": Key(Kind.TEXT, "The file of the root certificate."),
        "passfile": Key(Kind.TEXT, "The file of passwords; ~/.pgpass unless said."),
        "service": Key(Kind.TEXT, "A service of pg_service.conf."),
        "lock_timeout": Key(Kind.NUMBER, "Seconds to wait for a lock; 5 unless said."),
        "lock_attempts": Key(Kind.NUMBER, "How often a lock is tried; 8 unless said."),
        "batch_rows": Key(Kind.NUMBER, "Rows of a copy's first batch; 2000 unless said."),
    },
    "dsql": {
        **_COMMON,
        "host": Key(Kind.TEXT, "The cluster's endpoint: NAME.dsql.REGION.on.aws."),
        "region": Key(Kind.TEXT, "Its region, where the endpoint's name does not hold it."),
        "user": Key(Kind.TEXT, "The role; `admin` unless said."),
        "password": Key(
            Kind.TEXT,
            "A token: ${NAME}. Where it is not there, one is signed with AWS credentials each time.",
        ),
        "url": Key(Kind.TEXT, "Instead of all these, a URL: ${DSQL_URL}."),
        "port": Key(Kind.NUMBER, "The port; 5432 unless said."),
        "database": Key(Kind.NAME, "The database; `postgres` unless said."),
        "sslmode": Key(Kind.TEXT, "As libpq names it; `verify-full` unless said."),
        "sslrootcert": Key(Kind.TEXT, "The file of the root certificate; `system` unless said."),
        "lock_attempts": Key(
            Kind.NUMBER, "How often a transaction that lost is tried; 8 unless said."
        ),
        "batch_rows": Key(Kind.NUMBER, "Rows of a copy's batch; 1000 unless said, 2999 at most."),
    },
    "snowflake": {
        **_COMMON,
        "database": Key(Kind.NAME, "The database.", required=True),
        "account": Key(Kind.TEXT, "The account identifier.", required=True),
        "user": Key(Kind.TEXT, "The user."),
        "password": Key(Kind.TEXT, "The password; take it from the environment: ${NAME}."),
        "token": Key(Kind.TEXT, "A token; take it from the environment: ${NAME}."),
        "private_key_file": Key(Kind.TEXT, "The file of the private key."),
        "private_key_file_pwd": Key(Kind.TEXT, "Its passphrase: ${NAME}."),
        "authenticator": Key(Kind.TEXT, "How to log in, as the driver names it."),
        "role": Key(Kind.NAME, "The role."),
        "warehouse": Key(Kind.NAME, "The warehouse."),
        "host": Key(Kind.TEXT, "Another host than the account's."),
        "options": Key(Kind.TEXTS, "Anything else that the driver takes."),
    },
}

PROJECT_KEYS: Keys = {
    "name": Key(Kind.NAME, "The name of the project.", required=True),
    "version": Key(Kind.NUMBER, f"The version of this file's format: {VERSION}."),
    "state": Key(
        Kind.TEXT,
        f"The state store; `{DEFAULT_STATE}` unless said. For a team: ${{INSTAR_STATE}}, which holds"
        " postgresql://user:password@host/database.",
    ),
    "default_env": Key(Kind.NAME, "The environment of a command that names none."),
    "environments": Key(Kind.NAMED, "The engines to work on, by name.", required=True),
    "models": Key(Kind.ANY, "Settings of models, by model."),
}

_HELPERS: Keys = {
    "renamed_from": Key(Kind.NAME, "The name it had: its values follow."),
    "_default": Key(
        Kind.EXPRESSION, "Fills rows that exist when it is added or made NOT NULL; not kept."
    ),
    "_using": Key(Kind.EXPRESSION, "Its value from the old row, in a rewrite; not kept."),
}

FIELD_KEYS: Keys = {
    "nullable": Key(Kind.FLAG, "Whether it may be NULL; true unless said."),
    "default": Key(Kind.EXPRESSION, "The lasting default."),
    "comment": Key(Kind.TEXT, "What it is."),
    **_HELPERS,
}

COLUMN_KEYS: Keys = {
    "name": Key(Kind.NAME, "The name of the column.", required=True),
    "type": Key(Kind.TYPE, "SQL type text, of Spark's or DuckDB's family.", required=True),
    **FIELD_KEYS,
    "fields": Key(
        Kind.NAMED,
        "Nested fields by relative path (`ADDRESS.ZIP`, `element.score`), odd names in backticks.",
        keys=FIELD_KEYS,
    ),
}

CONSTRAINT_KEYS: Keys = {
    "check": Key(Kind.EXPRESSION, "True or NULL for every good row."),
    "unique": Key(Kind.NAMES, "Columns whose values together are unique."),
}

MANIFEST_KEYS: Keys = {
    "table": Key(Kind.TEXT, "The table: `orders` or `schema.orders`.", required=True),
    "format": Key(Kind.TEXT, "The format on Spark, where it differs.", choices=FORMATS),
    "change_tracking": Key(Kind.FLAG, "Whether others read its changes."),
    "primary_key": Key(Kind.NAMES, "The columns of the primary key; they are NOT NULL."),
    "cluster_by": Key(Kind.NAMES, "The columns to cluster by."),
    "partition_by": Key(Kind.NAMES, "The columns or transforms to partition by."),
    "constraints": Key(Kind.NAMED, "CHECK and UNIQUE by name.", keys=CONSTRAINT_KEYS),
    "properties": Key(Kind.TEXTS, "Table properties."),
    "comment": Key(Kind.TEXT, "What the table is."),
    "columns": Key(Kind.OBJECTS, "The columns in order.", required=True, keys=COLUMN_KEYS),
}
