# Everything sets itself up in .venv; nothing is installed outside the project.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n $(or $(WORKERS),2)

.PHONY: help demo quick test test-docs test-benchmarks audit vulnerabilities check docs build picture test-oracle test-torch test-spark test-browser \
	bench-counting bench-reading bench-engine bench-fits bench-beside bench-scaling bench-aim bench-aim2 bench-downstream \
	bench-quick bench-grid bench-peers bench-micro bench-gpu bench-spark bench-seeded results clean
.DEFAULT_GOAL := help

help:  ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(BIN)/pip pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --group test
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/pip install --quiet --constraint constraints.txt --group check
	@touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/pip install --quiet --constraint constraints.txt --group docs
	@touch $@

demo: $(VENV)/.installed  ## set up, then run the main job on the bundled example
	$(BIN)/understudy demo

test: $(VENV)/.test  ## set up, then run the tests
	$(PYTEST) --ignore tests/benchmarks --ignore tests/docs

quick: $(VENV)/.test  ## the tests for while you work: all but the slow ones, under a minute
	$(PYTEST) --ignore tests/benchmarks -m "not slow and not oracle and not browser and not audit"

test-docs: $(VENV)/.test  ## run every block of code and every notebook of the documentation
	$(PYTEST) tests/docs

test-benchmarks: $(VENV)/.test  ## the tests of the benchmarks and of the pages that they write
	$(PYTEST) tests/benchmarks

audit: $(VENV)/.test  ## every promise, the tests that hold it, and whether the kept mutants are caught
	PYTHONPATH=tests $(BIN)/python -m audit

vulnerabilities:  ## compare the pinned dependencies with databases of known vulnerabilities
	$(PYTHON) -m venv .venv-vulnerabilities
	.venv-vulnerabilities/bin/pip install --quiet "pip-audit>=2.9"
	PYTHONPATH=tests .venv-vulnerabilities/bin/python -m audit.vulnerabilities .venv-vulnerabilities/bin/pip-audit

check: $(VENV)/.check  ## formatter, linter, strict types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs  ## the documentation site, into build/site; a warning is an error
	$(BIN)/python docs/build_site.py

build: $(BIN)/pip  ## the package for an index, into dist
	$(BIN)/pip install --quiet "build>=1.2"
	$(BIN)/python -m build

picture: $(VENV)/.installed  ## make the README's picture of a report again (needs Chromium)
	$(BIN)/python docs/picture.py

test-oracle: $(VENV)/.test  ## compare the engine with mbi 2.0 and scores with SDMetrics (installs them beside)
	$(BIN)/pip install --quiet --group oracle
	$(BIN)/python -m pytest -m oracle

test-torch: $(VENV)/.test  ## the engine on PyTorch, on the processor (installs a PyTorch without CUDA: 200 MB)
	$(BIN)/pip install --quiet --no-deps "torch==2.13.0" sympy filelock networkx fsspec  # sympy asks for an older mpmath than is pinned, and works with it
	$(BIN)/python -m pytest tests/contracts/test_engines.py tests/model/test_devices.py

test-spark: $(VENV)/.test  ## the contract of sources over a Spark session on this machine (needs Java; installs PySpark: 450 MB)
	$(BIN)/pip install --quiet --constraint constraints.txt "pyspark==4.1.4"
	UNDERSTUDY_TEST_SPARK=1 $(BIN)/python -m pytest -k "spark and not front" tests/contracts/test_sources.py tests/contracts/test_persons.py tests/source/test_spark.py tests/test_sample_spark.py

test-browser: $(VENV)/.test  ## look at the pages in a real browser (needs Chromium)
	$(BIN)/pip install --quiet --group browser
	$(BIN)/python -m pytest -m browser

$(VENV)/.bench: $(VENV)/.installed
	$(BIN)/pip install --quiet --group bench
	@touch $@

bench-counting: $(VENV)/.installed  ## count all 3-way marginals beside mbi 2.0
	$(BIN)/python benchmarks/counting.py

bench-reading: $(VENV)/.installed  ## read CSV files beside DuckDB
	$(BIN)/python benchmarks/reading.py

bench-engine: $(VENV)/.installed  ## fit, query and generate beside mbi 2.0
	$(BIN)/python benchmarks/engine.py

bench-fits: $(VENV)/.installed  ## the fits of recorded runs: steps and seconds, beside those of another checkout (OLD=folder)
	$(BIN)/python benchmarks/fits.py $(if $(OLD),--old $(OLD))

bench-scaling: $(VENV)/.bench  ## cost as trees, attributes and rows grow
	$(BIN)/python benchmarks/scaling.py

bench-beside: $(VENV)/.bench  ## cells of the grid beside another checkout's, the same seeds (OLD=folder)
	$(BIN)/python benchmarks/beside.py $(if $(OLD),--old $(OLD))

bench-aim: $(VENV)/.installed  ## AIM on real tables: accuracy, time, bounds (resumable)
	$(BIN)/python benchmarks/aim.py

bench-aim2: $(VENV)/.installed  ## aim2 beside aim, the same seeds (resumable; an hour)
	$(BIN)/python benchmarks/aim2.py --tables titanic adult salary --epsilons 0.1 1 --seeds 9001 9002 9003

bench-downstream: $(VENV)/.bench  ## train on synthetic, test on real
	$(BIN)/python benchmarks/downstream.py

bench-quick: $(VENV)/.bench  ## two tables, all our mechanisms, about 10 minutes; run again, it compares
	$(BIN)/python benchmarks/run_grid.py --plan quick --again
	$(BIN)/python benchmarks/results_page.py

bench-grid: $(VENV)/.bench  ## the paper's grid, most telling cells first; hours, can be stopped and goes on
	$(BIN)/python benchmarks/run_grid.py --plan $(or $(PLAN),stored) $(if $(MINUTES),--minutes $(MINUTES)) --jobs $(or $(JOBS),1)
	$(BIN)/python benchmarks/results_page.py

bench-peers: $(VENV)/.bench  ## the same cells for every peer, ours beside; at most LIMIT seconds a cell (300)
	$(BIN)/python benchmarks/run_grid.py --plan peers --give-up --limit $(or $(LIMIT),300) $(if $(MINUTES),--minutes $(MINUTES))
	$(BIN)/python benchmarks/results_page.py

bench-micro: $(VENV)/.installed  ## the hot paths beside their stored baseline: what got slower
	$(BIN)/python benchmarks/micro.py

bench-gpu: $(VENV)/.installed  ## AIM with its models on a GPU beside the processor (needs a GPU and PyTorch)
	$(BIN)/python benchmarks/gpu.py

bench-spark: $(VENV)/.installed  ## all 3-way marginals on Spark beside DuckDB, up to 100 million rows (needs Java; installs PySpark)
	$(BIN)/pip install --quiet "pyspark==4.1.4"
	$(BIN)/python benchmarks/spark.py

bench-seeded: $(VENV)/.installed  ## are seeded runs still the same, to the last digit? more than an hour; QUICK=1: titanic, some minutes
	$(BIN)/python benchmarks/seeded.py $(if $(QUICK),--quick)

results: $(VENV)/.bench  ## write docs/results.md and its figures from the stored results
	$(BIN)/python benchmarks/results_page.py

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
