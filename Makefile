PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
INSTALL := install --quiet --disable-pip-version-check --no-compile
# Processes of the tests: one for each processor. Some tests wait for servers and leases, so `make test WORKERS=3` may be faster on two
WORKERS ?= auto
# What no process may keep, every process compiles again: the tests start hundreds
unexport PYTHONDONTWRITEBYTECODE

.PHONY: reproduce reproduce-full demo serve docs test lint style types unit test-slow test-oldest test-plain bench bench-scale bench-serve release-check audit clean help

reproduce: $(VENV)/report  ## the paper's main table in full, every other table, figure and claim from short runs, in five minutes: report/index.html
	@$(BIN)/latentbandits reproduce

reproduce-full: $(VENV)/report  ## everything in full, in tens of minutes: results/ and report/index.html
	@$(BIN)/latentbandits reproduce --full

demo: $(VENV)/sim  ## compare all policies on the paper's default world (under a minute)
	@$(BIN)/latentbandits compare --policies all --groups 2 --horizon 20000 --runs 32

serve: $(VENV)/serve  ## decisions over HTTP, with a simulated stream of visitors: prints the page's address and a key
	@$(BIN)/latentbandits serve --demo --store demo.db

docs: $(VENV)/docs  ## the site, with its gallery and notebooks run, warnings as errors: build/site/index.html
	$(BIN)/python -m website

test: $(VENV)/dev  ## lint, types, import rules and tests; the types are checked while the tests run
	@$(MAKE) --no-print-directory style
	@$(MAKE) --no-print-directory types >$(VENV)/types.log 2>&1 & types=$$!; \
	$(MAKE) --no-print-directory unit; tested=$$?; \
	wait $$types; checked=$$?; cat $(VENV)/types.log; exit $$((tested || checked))

lint: style types  ## the same without the tests

style: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/dev
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/dev
	$(BIN)/python -m tests.warm
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

test-slow: $(VENV)/slow  ## long statistical checks, the site, and the examples beside other packages
	$(BIN)/pytest -m slow -n auto --dist worksteal

test-oldest: $(OLDEST)/ready  ## the tests with the oldest Python and dependencies that pyproject.toml allows (needs python3.11)
	$(OLDEST)/bin/pytest -n $(WORKERS) --dist worksteal

test-plain: $(VENV)/dev  ## the tests without compilation: all code interpreted; slow
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -p tests.plain -m 'not slow and not compiled'

bench: $(VENV)/bench  ## speed, as ratios measured in one run (needs a C compiler)
	$(BIN)/python -m benchmarks

bench-scale: $(VENV)/dev  ## processes and a Dask cluster against threads; loopback only, some minutes
	$(BIN)/python -m benchmarks.scale

bench-serve: $(VENV)/dev  ## the service against an echo of the same stack and bare commits, as ratios, on the disk and in memory, and a long past; loopback only, about seven minutes
	$(BIN)/python -m benchmarks.serve

release-check: $(VENV)/dev  ## build a release and try it in clean environments, with the newest and the oldest dependencies
	$(BIN)/pip $(INSTALL) build twine
	$(BIN)/python -m tests.release

audit: $(VENV)/dev  ## the dependencies against the public list of vulnerabilities, before every release (needs the network)
	$(BIN)/pip $(INSTALL) pip-audit
	$(BIN)/pip-audit --skip-editable

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip $(INSTALL) --upgrade pip

$(VENV)/sim: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[sim]'
	@touch $@

$(VENV)/serve: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[serve,sim]'
	@touch $@ $(VENV)/sim

$(VENV)/report: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[report]'
	@touch $@ $(VENV)/sim

$(VENV)/docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[docs]'
	@touch $@ $(VENV)/report $(VENV)/serve $(VENV)/sim

$(VENV)/dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/report $(VENV)/serve $(VENV)/sim

$(VENV)/slow: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[dev,slow]'
	@touch $@ $(VENV)/dev $(VENV)/docs $(VENV)/report $(VENV)/serve $(VENV)/sim

$(VENV)/bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip $(INSTALL) --editable '.[dev,bench]'
	@touch $@ $(VENV)/dev $(VENV)/report $(VENV)/sim

$(OLDEST)/ready: pyproject.toml tests/oldest.py
	python3.11 -m venv $(OLDEST)
	$(OLDEST)/bin/python tests/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/pip $(INSTALL) --constraint $(OLDEST)/constraints.txt --editable '.[test]'
	@touch $@

clean:  ## remove the environment and the caches inside this folder
	rm -rf $(VENV) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist benchmarks/latest.json

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16
