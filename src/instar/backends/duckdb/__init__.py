"""DuckDB: transactional DDL, exact casts, rewrites in one transaction."""
