# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
LINT_READY := $(VENV)/.lint-ready
JOBS ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup demo test audit lint lit bench

help: ## List the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-8s %s\n", $$1, $$2 }'

setup: $(READY) ## Create .venv with the package and its test tools

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

demo: $(READY) ## Compile examples/rms_mm.py for a Trainium 2 into out/demo
	$(BIN)/axon compile examples/rms_mm.py --arg bf16[4096,1024] --arg bf16[1024] --arg bf16[1024,2048] --device trn2 -o out/demo

test: $(READY) ## Run every test (unit, lit in-process, end to end)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal test

audit: $(READY) ## Run every test with each shortcut checked against the definition it replaces
	AXON_AUDIT=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal test

$(LINT_READY): $(READY)
	$(BIN)/python -m pip install --quiet -e '.[lint]'
	touch $@

lint: $(LINT_READY) ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

lit: $(READY) ## Run the lit tests with stock lit, one process a command
	$(BIN)/lit test/lit -v

bench: $(READY) ## Run the benchmark suite
	$(BIN)/python -m benchmarks.run
