# Each target sets up what it needs in an environment of its own and uses it again while pyproject.toml stays the same.
PYTHON ?= python3
VENV ?= .venv
# What the extra gpu installs; a build for the CPU alone is smaller.
TORCH ?= torch
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-extras test-plain test-wheel fuzz lint format docs bench peers clean

demo: $(VENV)/.core
	$(BIN)/ordinate demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# What `make test` skipped last time, with all that it needs: nothing may be skipped now.
test-extras: $(VENV)/.extras
	ORDINATE_NO_SKIPS=1 $(BIN)/python -m pytest --skipped-last-time

# Where there is no numba, the plain NumPy backend takes over.
test-plain: $(VENV)/.dev
	PYTHONPATH=tests/without_numba $(BIN)/python -m pytest -p no:cacheprovider \
	    -W "ignore:numba could not be imported" -k "not numba" $(addprefix tests/test_,$(addsuffix .py,$(PLAIN)))
PLAIN := cli_files landmark metrics responses saving stores triplets

# The source distribution and the wheel, checked by twine and tried in an empty environment, away from the sources. DIST=dist keeps them.
test-wheel:
	$(PYTHON) tests/try_wheel.py $(DIST)

# Files with known answers, damaged files, kills and full disks; docs/reliability.md. SHORT=1 takes less than two
# minutes, SEED=2 makes other cases, CASE="known:1:17" runs one again.
fuzz: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fuzz $(if $(SHORT),--short) $(if $(SEED),--seed $(SEED)) \
	    $(if $(CASE),--case $(CASE)) $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, in docs/_build/html/index.html; GALLERY=none leaves out the examples, to read while writing.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.core
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# cblearn needs NumPy 1, and newer versions of pyarrow NumPy 2: an environment of its own. DATA names a folder with real sets, if any.
peers: .venv-peers/.ready
	.venv-peers/bin/python benchmarks/peers_cblearn.py $(if $(DATA),--data $(DATA)) $(ARGS)

.venv-peers/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet -e . 'cblearn==0.4.0' 'numpy<2' 'pyarrow<20'
	touch $@

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(PIP) -e '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.core
	$(PIP) -e '.[docs]'
	touch $@

$(VENV)/.extras: $(VENV)/.dev
	$(PIP) '$(TORCH)'
	$(PIP) -e '.[dev,dask,gpu]'
	touch $@

clean:
	rm -rf $(VENV) .venv-peers out docs/_build docs/gallery docs/generated
