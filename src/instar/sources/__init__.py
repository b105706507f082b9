"""What is wanted, read from the files of a project: instar.yml, manifests, models."""
