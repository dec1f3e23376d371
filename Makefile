# Each target sets up what it needs in .venv and uses it again while pyproject.toml stays the same.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint format bench clean

demo: .venv/.core
	$(BIN)/python examples/digits.py

test: .venv/.dev
	$(BIN)/python -m pytest

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.core
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

.venv/.core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/.dev: .venv/.core
	$(PIP) -e '.[dev]'
	touch $@

clean:
	rm -rf .venv out
