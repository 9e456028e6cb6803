PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: reproduce demo test lint unit test-slow bench clean help

reproduce: $(VENV)/report  ## every table, figure and claim of the paper beside ours: results/ and report/index.html
	@$(BIN)/latentbandits reproduce

demo: $(VENV)/ready  ## compare all policies on the paper's default world (under a minute)
	@$(BIN)/latentbandits demo

test: lint unit  ## lint, types, import rules and tests

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/dev
	$(BIN)/pytest -n auto --dist worksteal

test-slow: $(VENV)/dev  ## long statistical checks: the paper's table, a million rounds of ridge updates
	$(BIN)/pytest -m slow

bench: $(VENV)/bench  ## speed, as ratios measured in one run (needs a C compiler)
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/ready: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/report: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@ $(VENV)/ready

$(VENV)/dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/report $(VENV)/ready

$(VENV)/bench: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@ $(VENV)/dev $(VENV)/report $(VENV)/ready

clean:  ## remove the environment and the caches inside this folder
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist benchmarks/latest.json

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
