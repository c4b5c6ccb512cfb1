# Everything sets itself up in .venv; nothing is installed outside the project.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin

.PHONY: demo test check test-oracle clean
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

test-oracle: $(VENV)/.test  ## compare the engine with mbi 2.0
	$(BIN)/pip install --quiet --group oracle
	$(BIN)/python -m pytest -m oracle

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
