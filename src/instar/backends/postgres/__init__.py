"""PostgreSQL: short locks, online constraints, and recreation that carries concurrent writes over."""
