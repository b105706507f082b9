# Instar: every target sets up what it needs.
.DEFAULT_GOAL := help
.PHONY: help setup demo test full check format bench kill fuzz docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

help:  ## Show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(STAMP)  ## Make .venv with instar and everything its tests need

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Instar needs Python 3.11 or newer; set PYTHON=python3.12, say") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $(STAMP)

demo: setup  ## Evolve Delta, Iceberg, Parquet, DuckDB and PostgreSQL tables, on an embedded Spark and a real server
	$(BIN)/python demo/run.py

test: setup  ## Run all tests
	$(BIN)/python tests/everything.py

# One test may go over hundreds of kills, or over a million rows ten times.
LONG := $(BIN)/python -m pytest --timeout=7200 --durations=10

full: setup  ## All that is long: every scenario and case on every format, TPC-H at SF0.1, a million rows with writers
	INSTAR_ALL=1 INSTAR_TEST_PG_ROWS=1000000 INSTAR_TEST_PG_ROUNDS=10 $(LONG) tests/backends tests/lifecycle tests/models tests/matrix tests/spark/test_disk_full.py

kill: setup  ## Kill the process and the servers at every failpoint of apply and run on every backend, finish, compare (N/N)
	INSTAR_KILL_ALL=1 $(LONG) tests/kill tests/run/test_kill*.py tests/lifecycle/test_dsql.py

check: setup  ## Lint, format, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

format: setup  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## Measure against named references; prints ratios
	$(BIN)/python -m bench

fuzz: setup  ## Property tests with many more examples
	INSTAR_FUZZ=1 $(BIN)/python -m pytest --timeout=0 tests/core tests/sources tests/backends -k property

docs: setup  ## Generate the reference pages, the capability matrix and the kill points from the code and the engines
	$(BIN)/python -m instar.cli.reference
	$(BIN)/python -m tests.lifecycle.page
	$(BIN)/python -m tests.matrix
	$(BIN)/python tests/kill/page.py duckdb postgres dsql delta iceberg parquet

clean:  ## Remove what the targets made
	rm -rf $(VENV) .instar .bench build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
