# attnexp: `make run` and `make test` need nothing but Python 3.11 or newer.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# Each process imports PyTorch and all tests, and a laptop has two cores at least. The tests of a
# file share what it trains, so they run in one process.
TESTS := -m pytest -n 2 --dist loadfile
# Modules are compiled once, and not by each process of tests.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python $(TESTS)

.DEFAULT_GOAL := help
.PHONY: help install run test check test-times test-all test-ray test-lowest test-hydra-next coverage snapshots lint types format docs course bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## create .venv and install attnexp into it

run: .venv/installed ## compare scoring functions on the noisy curve: table and pictures
	$(BIN)/attnexp -m experiment=first_look
	@echo "  . $(BIN)/activate  # once in each terminal: it makes attnexp a command"

test: .venv/tested ## run the tests of the mathematics whole, of all else the core: 2.5 minutes
	$(PYTEST)

check: test ## run the tests of commands, documents and sweeps too: what CI runs
	$(PYTEST) --jaxtyping-packages= -m "check and not slow and not site"

test-times: .venv/tested ## run the tests of make check, and print seconds by folder and the slowest tests
	$(PYTEST) -m "not slow" --times --durations=20

test-all: .venv/tested test-ray ## run all tests, the slow ones too
	$(PYTEST) -m "" tests

test-ray: .venv-ray/tested ## run the tests of Ray's launcher, in an environment of its own
	.venv-ray/bin/python -m pytest -m "" tests/sweeps/test_launchers.py -k ray

test-lowest: .venv-lowest/tested ## run make test with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python $(TESTS) --jaxtyping-packages=

test-hydra-next: .venv-hydra-next/tested ## run the tests of configurations with the next version of Hydra
	.venv-hydra-next/bin/python $(TESTS) tests/config tests/test_verbs.py tests/sweeps/test_plan.py

coverage: .venv/tested ## run the tests of make test, and print which lines none of them executes
	$(PYTEST) --cov=attnexp --cov-report=term-missing:skip-covered

snapshots: .venv/tested ## write the golden files of the tests anew
	$(BIN)/python -m pytest --snapshot-update tests/tables tests/plots/test_drawing.py
	@git diff --quiet -- tests/plots || echo "Pictures are drawn otherwise: make course draws those of the documents again."

lint: .venv/linted ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/linted ## check types
	$(BIN)/mypy

format: .venv/linted ## put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/documented .venv/tested ## build the site of the documents into site/, and test its pages
	$(BIN)/python docs/build.py site
	$(BIN)/python -m pytest --quiet -m "not slow" --site site tests/docs/test_site.py

course: .venv/documented ## run all commands of the course, draw the pictures of the documents again, build the site
	$(BIN)/python docs/draw.py
	$(BIN)/python docs/build.py site

bench: .venv/tested ## measure speed beside named rivals: one table of all benchmarks
	$(BIN)/python benchmarks/table.py

clean: ## remove .venv and what tools left behind
	rm -rf .venv .venv-ray .venv-lowest .venv-hydra-next dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

.venv/created:
	$(PYTHON) -m venv .venv
	touch $@

.venv/installed: .venv/created pyproject.toml constraints.txt
	$(PIP) --editable '.[all]'
	touch $@

.venv/tested: .venv/installed
	$(PIP) --editable '.[test]'
	touch $@

.venv/documented: .venv/installed
	$(PIP) --editable '.[docs]'
	touch $@

.venv/linted: .venv/tested
	$(PIP) --editable '.[lint]'
	touch $@

.venv-ray/tested: pyproject.toml constraints-ray.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --constraint constraints-ray.txt --editable '.[ray]' \
		pytest beartype
	touch $@

.venv-lowest/tested: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --constraint constraints-lowest.txt \
		--editable '.[test]'
	touch $@

.venv-hydra-next/tested: pyproject.toml constraints-hydra-next.txt
	$(PYTHON) -m venv .venv-hydra-next
	.venv-hydra-next/bin/python -m pip install --quiet --constraint constraints-hydra-next.txt \
		--editable '.[test]'
	touch $@
