# attnexp: `make run` and `make test` need nothing but Python 3.11 or newer.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help install run test test-all test-ray lint types format bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

install: .venv/installed ## create .venv and install attnexp into it

run: .venv/installed ## compare scoring functions on the noisy curve: table and pictures
	$(BIN)/attnexp -m experiment=first_look
	@ls outputs/*/figures/fit.png outputs/*/figures/attention.png

test: .venv/tested ## run the tests, without the slow ones
	$(PYTEST)

test-all: .venv/tested test-ray ## run all tests, the slow ones too
	$(PYTEST) -m ""

test-ray: .venv-ray/tested ## run the tests of Ray's launcher, in an environment of its own
	.venv-ray/bin/python -m pytest -m "" tests/sweeps/test_launchers.py -k ray

lint: .venv/linted ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/linted ## check types
	$(BIN)/mypy

format: .venv/linted ## put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/tested ## measure start-up beside what it is compared with
	$(BIN)/python benchmarks/startup.py

clean: ## remove .venv and what tools left behind
	rm -rf .venv .venv-ray dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/created:
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/created pyproject.toml constraints.txt
	$(PIP) --editable .
	touch $@

.venv/tested: .venv/installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/linted: .venv/tested
	$(PIP) --editable '.[lint]'
	touch $@

.venv-ray/tested: pyproject.toml constraints-ray.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --constraint constraints-ray.txt --editable '.[ray]' \
		pytest beartype
	touch $@
