"""The tables of the state store, in SQLite's words; other databases spell the three types their way."""

from __future__ import annotations

TABLES = (
    """CREATE TABLE locks (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  token TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, node TEXT NOT NULL,
  pid INTEGER NOT NULL, born TEXT NOT NULL, since REAL NOT NULL, expires REAL NOT NULL,
  PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE entries (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL, command TEXT NOT NULL, env TEXT NOT NULL,
  schema TEXT NOT NULL, name TEXT NOT NULL, backend TEXT NOT NULL, origin TEXT NOT NULL,
  before TEXT, fingerprint TEXT NOT NULL, renames TEXT NOT NULL,
  status TEXT NOT NULL, started REAL NOT NULL, ended REAL)""",
    "CREATE INDEX entries_by_table ON entries (env, schema, name)",
    "CREATE INDEX open_entries ON entries (env) WHERE status = 'open'",
    """CREATE TABLE steps (
  entry INTEGER NOT NULL REFERENCES entries (id), n INTEGER NOT NULL,
  step TEXT NOT NULL, title TEXT NOT NULL, doc TEXT NOT NULL, before TEXT,
  status TEXT NOT NULL, error TEXT, started REAL, ended REAL,
  PRIMARY KEY (entry, n), UNIQUE (entry, step))""",
    """CREATE TABLE memo (
  entry INTEGER NOT NULL REFERENCES entries (id), step TEXT NOT NULL,
  key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (entry, step, key))""",
    """CREATE TABLE versions (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL,
  at REAL NOT NULL, doc TEXT NOT NULL, fingerprint TEXT NOT NULL,
  origin TEXT NOT NULL, run TEXT NOT NULL,
  PRIMARY KEY (env, schema, name, n))""",
    """CREATE TABLE renames (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, doc TEXT NOT NULL,
  PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE kept (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  kept_schema TEXT NOT NULL, kept_name TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, kept_schema, kept_name))""",
)

MODEL_TABLES = (
    """CREATE TABLE IF NOT EXISTS model_builds (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL,
  inputs TEXT NOT NULL, build TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE IF NOT EXISTS model_intervals (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, start TEXT NOT NULL,
  stop TEXT NOT NULL, closed INTEGER NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, schema, name, start))""",
    """CREATE TABLE IF NOT EXISTS model_wholes (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, granularity TEXT NOT NULL,
  start TEXT NOT NULL, stop TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE IF NOT EXISTS model_ways (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, way TEXT NOT NULL,
  PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE IF NOT EXISTS model_runs (
  run TEXT PRIMARY KEY, env TEXT NOT NULL, options TEXT NOT NULL, status TEXT NOT NULL,
  started REAL NOT NULL, ended REAL)""",
    """CREATE TABLE IF NOT EXISTS model_results (
  run TEXT NOT NULL, env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  status TEXT NOT NULL, rows INTEGER, seconds REAL, reason TEXT, error TEXT, at REAL NOT NULL,
  PRIMARY KEY (run, schema, name))""",
)
