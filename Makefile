# One command each; `make help` lists them. Everything is installed into .venv, without root.

# The Python that makes the environment; 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE := tests/node
INPUTS := pyproject.toml constraints.txt
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help demo test check test-gpu clean

help:
	@echo "make demo      install, then search for a faster softmax on this machine's CPU: under 2 minutes once installed"
	@echo "make test      install what the tests need, then run them all (PYTEST_ARGS adds options)"
	@echo "make check     floors, types, lint, format and file length"
	@echo "make test-gpu  judge and memory tests in PYTHON's own environment, under its torch, without mcp"
	@echo "make clean     remove the environment and what tests and builds leave behind"
	@echo "PYTHON=python3.12 chooses another Python (3.11 or later) for all of them"

demo: $(VENV)/.installed
	@command -v g++ >/dev/null || { echo "g++ is missing: the demo's kernels are C++ (Debian: apt install g++)"; exit 1; }
	mkdir -p .kernelguild  # the search is kept here, in the checkout, rather than in the user's own home
	$(BIN)/kernelguild search examples/softmax_cpp/task.yaml --agents tuner:2 --rounds 16

test: $(VENV)/.installed-dev $(NODE)/node_modules/.installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-dev
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy src tests/*.py
# One run a folder: several hold a conftest.py, and modules of one run need different names.
	set -e; for folder in $(filter-out $(NODE)/ %__pycache__/,$(wildcard tests/*/)); do $(BIN)/mypy $$folder; done
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python -m pytest -q tests/packaging/test_file_length.py

# The package is not installed here: it is read from src, beside whatever torch and Triton this Python has.
test-gpu:
	PYTHONPATH="src$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON) -m pytest tests/memory tests/tools $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) $(NODE)/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is missing or older than 3.11; name another, such as: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) cannot make environments (Debian: apt install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(INPUTS) | $(VENV)/bin/python
	@echo "Installing into $(VENV), once. Downloads: torch, 190 MB as a CPU build and 2.8 GB with CUDA (pip's default on"
	@echo "Linux; the demo needs the CPU build only), and 40 MB of other packages. No root, nothing outside $(VENV)."
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing the checks' and tests' own tools into $(VENV), once. Downloads: 400 MB."
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,triton,cuda,dev]'
	touch $@

$(NODE)/node_modules/.installed: $(NODE)/package.json $(NODE)/package-lock.json | $(VENV)/.installed-dev
	@echo "Installing the real clients and a browser for tests into $(NODE)/node_modules, once. Downloads: 650 MB."
	cd $(NODE) && PATH="$(abspath $(BIN)):$$PATH" npm ci
	touch $@
