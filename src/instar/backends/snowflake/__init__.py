"""Snowflake: the statements of its column management, through the official connector."""
