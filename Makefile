# Two commands are enough: `make search` and `make test`. Both set up .venv first. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MINUTES ?= 10
FUZZ_SECONDS ?= 300
.DEFAULT_GOAL := help
.PHONY: help setup search test test-slow lint docs wheel attack audit sanitize gpu-checks browser bench-layers bench-step bench-nano bench-driver bench-cluster bench-dashboard clean

help:  ## What can be made, in the order in which a newcomer needs it
	@sed -nE -e 's/^# --- (.*)/\n\1:/p' -e 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

# --- to begin with

setup: $(VENV)/ready  ## Create .venv with the pinned versions (a second call does nothing)

$(VENV)/ready: pyproject.toml constraints.txt setup.py $(wildcard native/*)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "evonorm needs Python 3.11 or newer, found $$($(PYTHON) --version). Try: make PYTHON=python3.12 setup"; exit 1; }
	@echo "Setting up $(VENV): 6 GB on disk and some minutes, most of it for torch with CUDA. Without a GPU less will do:"
	@echo "pytorch.org/get-started names the index of CPU builds; call make again with PIP_EXTRA_INDEX_URL set to it."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(BIN)/pip install --disable-pip-version-check --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@
	@echo "Done. To have the command evonorm in this terminal: . $(VENV)/bin/activate"

search: setup  ## Ten minutes of search on real CIFAR-10 (MINUTES=60 make search: an hour), then the report
	@data=; $(BIN)/evonorm data cifar10 || { data="--data digits"; \
	  echo "*** No CIFAR-10 to be had: searching on scikit-learn's digits instead. The figures say little about layers. ***"; }; \
	$(BIN)/evonorm search recipes/laptop.toml --minutes $(MINUTES) $$data && \
	$(BIN)/evonorm report "$$(ls -t runs | head -n 1)" && \
	echo "To go on by hand: . $(VENV)/bin/activate; evonorm top $$(ls -t runs | head -n 1)"

# --- to be sure

test: setup lint  ## Everything that must hold, in minutes
	$(BIN)/python -m pytest -n 2

test-slow: setup browser  ## The slower promises
	$(BIN)/python -m pytest -n 2 -m slow -rs

lint: setup  ## Format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# --- to read and to ship

docs: setup  ## The documentation as a site in build/site, offline; a warning or a dead link is an error
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . build/site
	@echo "build/site/index.html"

wheel: setup  ## dist/: a Linux wheel with the native kernel, a pure wheel for other systems, the sources
	$(BIN)/python tools/wheels.py

# --- to be very sure

attack: setup  ## Damage, forge and kill for MINUTES (make attack MINUTES=30); prints a table of counts
	$(BIN)/python -m tests.attack --minutes $(MINUTES)

audit:  ## Known holes in the pinned packages, by pip-audit in an environment of its own; fails where it has no data
	$(PYTHON) -m venv build/audit && build/audit/bin/pip install --quiet pip-audit
	build/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

SANITIZE := -std=c++17 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-math-errno -fopenmp -Wno-psabi

sanitize: setup  ## The native kernel under the address and undefined-behaviour sanitizers, fuzzed
	mkdir -p build
	$(CXX) $(SANITIZE) -c native/engine_portable.cpp -o build/engine_portable.o
	$(CXX) $(SANITIZE) -mavx2 -mfma -mf16c -c native/engine_avx2.cpp -o build/engine_avx2.o
	$(CXX) $(SANITIZE) -w -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -c native/engine_avx512.cpp -o build/engine_avx512.o
	$(CXX) $(SANITIZE) native/fuzz.cpp native/program.cpp native/machine_code.cpp native/dispatch.cpp build/engine_*.o -o build/fuzz
	$(BIN)/python -m tests.kernels.write_programs build/programs.bin
	OMP_NUM_THREADS=2 ./build/fuzz build/programs.bin $(FUZZ_SECONDS)

browser:
	@command -v chromium > /dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && apt-get install -qq -y --no-install-recommends chromium > /dev/null; } || \
	  echo "No chromium: the browser tests will be skipped. Install it with: apt-get install chromium"

# --- to measure

gpu-checks: setup  ## What can be known of the GPU kernels without a GPU: values, registers and spills, traffic
	$(BIN)/python -m benchmarks.gpu_checks values
	$(BIN)/python -W ignore -m benchmarks.gpu_checks targets
	$(BIN)/python -W ignore -m benchmarks.gpu_checks traffic

bench-layers: setup  ## One layer against BatchNorm + ReLU, timm and torch.compile; memory; distance to the limit
	$(BIN)/python -m benchmarks.layers
	$(BIN)/python -m benchmarks.layers --malloc system
	$(BIN)/python -m benchmarks.layers --random 200
	$(BIN)/python -m benchmarks.layers --random 200 --malloc system
	$(BIN)/python -m benchmarks.layers --rivals
	$(BIN)/python -m benchmarks.layers --memory
	$(BIN)/python -m benchmarks.layers --limit

bench-step: setup  ## Whole training steps against BatchNorm + ReLU: both layouts, one and two threads, both mallocs
	$(BIN)/python -m benchmarks.steps
	$(BIN)/python -m benchmarks.steps --channels-first
	$(BIN)/python -m benchmarks.steps --threads 1
	$(BIN)/python -m benchmarks.steps --layers evonorm-s0 evonorm-b0 --malloc system

bench-nano: setup  ## How much cheaper a step of the nano anchors is than of the CIFAR anchors
	$(BIN)/python -m benchmarks.nano_step

bench-driver: setup  ## What the search's driver costs by itself
	$(BIN)/python benchmarks/driver.py

bench-cluster: setup  ## 5000 simulated workers on hosts of a Ray cluster, some of them killed; when faults are noticed
	$(BIN)/python -m benchmarks.cluster busy --mean 60
	$(BIN)/python -m benchmarks.cluster busy --mean 10 --seconds 60
	$(BIN)/python -m benchmarks.cluster busy --mean 60 --kill 3
	$(BIN)/python -m benchmarks.cluster tasks --mean 5 --kill 6
	$(BIN)/python -m benchmarks.cluster notice --kill 5
	$(BIN)/python -m benchmarks.cluster same --seconds 300

bench-dashboard: setup  ## Page times at 100,000 candidates, and what ten open pages take from a search
	$(BIN)/python -m benchmarks.dashboard latency
	$(BIN)/python -m benchmarks.dashboard share
	$(BIN)/python -m benchmarks.dashboard throughput

# --- to begin again

clean:  ## Remove what was built
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
