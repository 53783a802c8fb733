# make demo and make test are all there is on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test slow lint types benchmark

demo: $(READY)
	$(BIN)/loadsim scenario scenarios/twelve_callers.yaml

test: $(READY)
	$(BIN)/pytest -n 2 --dist loadfile -m 'not slow and not real_time'
	$(BIN)/pytest -m 'real_time and not slow'

slow: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal -m 'slow and not real_time'
	$(BIN)/pytest -m 'slow and real_time'

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/marimo check --strict $(filter-out analysis/study.py,$(wildcard analysis/*.py))

types: $(READY)
	$(BIN)/mypy

benchmark: $(READY)
	$(BIN)/python -m tests.benchmarks.client
	$(BIN)/python -m tests.benchmarks.callers
	$(BIN)/python -m tests.benchmarks.telemetry
	$(BIN)/python -m tests.benchmarks.page

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[embedded,parquet,analysis,dev]'
	touch $@
