# Two commands are enough: `make search` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help setup test test-slow lint search bench-nano clean
.DEFAULT_GOAL := help

help:  ## What can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/ready  ## Create .venv with the pinned versions (a second call does nothing)

$(VENV)/ready: pyproject.toml constraints.txt setup.py $(wildcard native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "evonorm needs Python 3.11 or newer, found $$($(PYTHON) --version). Try: make PYTHON=python3.12 setup"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@

lint: setup  ## Format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: setup lint  ## Everything that must hold, in minutes
	$(BIN)/python -m pytest -n 2

test-slow: setup  ## The slower promises
	$(BIN)/python -m pytest -n 2 -m slow

bench-nano: setup  ## How much cheaper a step of the nano anchors is than of the CIFAR anchors
	$(BIN)/python -m benchmarks.nano_step

clean:  ## Remove what was built
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
