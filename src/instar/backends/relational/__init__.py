"""What engines of tables, keys and CHECKs have in common; each brings its cells, its types, its expressions."""
