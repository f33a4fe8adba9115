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

test-slow: setup browser  ## The slower promises
	$(BIN)/python -m pytest -n 2 -m slow -rs

.PHONY: browser
browser:
	@command -v chromium > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get install -qq -y --no-install-recommends chromium > /dev/null; } || \
	  echo "No chromium: the browser tests will be skipped. Install it with: apt-get install chromium"

bench-dashboard: setup  ## Page times at 100,000 candidates, and what ten open pages take from a search
	$(BIN)/python -m benchmarks.dashboard latency
	$(BIN)/python -m benchmarks.dashboard throughput

bench-nano: setup  ## How much cheaper a step of the nano anchors is than of the CIFAR anchors
	$(BIN)/python -m benchmarks.nano_step

clean:  ## Remove what was built
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
