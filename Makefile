# Everything sets itself up in .venv; nothing is installed outside the project.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: help demo test check test-oracle test-browser bench-counting bench-engine bench-scaling bench-aim bench-downstream clean
.DEFAULT_GOAL := help

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(BIN)/pip pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/pip install --quiet --group test
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/pip install --quiet --group check
	@touch $@

demo: $(VENV)/.installed  ## set up, then run the main job on the bundled example
	$(BIN)/understudy demo

test: $(VENV)/.test  ## set up, then run the tests
	$(BIN)/python -m pytest

check: $(VENV)/.check  ## formatter, linter, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test-oracle: $(VENV)/.test  ## compare the engine with mbi 2.0 (installs it beside)
	$(BIN)/pip install --quiet --group oracle
	$(BIN)/python -m pytest -m oracle

test-browser: $(VENV)/.test  ## look at the pages in a real browser (needs Chromium)
	$(BIN)/pip install --quiet --group browser
	$(BIN)/python -m pytest -m browser

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/pip install --quiet --group bench
	@touch $@

bench-counting: $(VENV)/.installed  ## count all 3-way marginals beside mbi 2.0
	$(BIN)/python benchmarks/counting.py

bench-engine: $(VENV)/.installed  ## fit, query and generate beside mbi 2.0
	$(BIN)/python benchmarks/engine.py

bench-scaling: $(VENV)/.bench  ## cost as trees, attributes and rows grow
	$(BIN)/python benchmarks/scaling.py

bench-aim: $(VENV)/.installed  ## AIM on real tables: accuracy, time, bounds (resumable)
	$(BIN)/python benchmarks/aim.py

bench-downstream: $(VENV)/.bench  ## train on synthetic, test on real
	$(BIN)/python benchmarks/downstream.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-mbi .pytest_cache .mypy_cache .ruff_cache .hypothesis
