"""Amazon Aurora DSQL: PostgreSQL's words, without locks, triggers and large transactions."""
