"""A test bed for Aurora DSQL: a real PostgreSQL 16 that refuses what the service refuses.

Two layers do it. `layer.sql` lives in the database and sees rows and catalogs: limits of a transaction, one
DDL a transaction, what ALTER TABLE may do, types. `proxy.py` stands on the wire and sees statements: those
that no trigger sees, and the word ASYNC, which PostgreSQL does not know.
"""

from backends.dsql.bed.bed import ADMIN, DsqlBed

__all__ = ["ADMIN", "DsqlBed"]
