# Each target sets up what it needs in .venv and uses it again while pyproject.toml stays the same.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint format bench peers clean

demo: .venv/.core
	$(BIN)/ordinate demo

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

# cblearn needs NumPy 1, and newer versions of pyarrow NumPy 2: an environment of its own. DATA names a folder with real sets, if any.
peers: .venv-peers/.ready
	.venv-peers/bin/python benchmarks/peers_cblearn.py $(if $(DATA),--data $(DATA)) $(ARGS)

.venv-peers/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet -e . 'cblearn==0.4.0' 'numpy<2' 'pyarrow<20'
	touch $@

.venv/.core: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/.dev: .venv/.core
	$(PIP) -e '.[dev]'
	touch $@

clean:
	rm -rf .venv .venv-peers out
