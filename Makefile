# A fresh machine needs Python 3.11 or newer, make and nothing else.

VENV := .venv
BIN := $(VENV)/bin
LOCKS := requirements/build.lock requirements/runtime.lock requirements/dev.lock
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-input --no-compile
# As pip does, but on all cores. Files that do not compile are package data and never imported.
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
# Without the advertisement of its successor. A link to nothing, or a page in no menu, is an error; --quiet would
# hide both.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
FUZZ_CASES ?= 1000000
# With this variable set, each of the hundreds of processes that the tests start would compile everything again.
unexport PYTHONDONTWRITEBYTECODE
# Tests with real services wait more than they compute. Tests of one file share their services. Files that wait
# alternate with files that compute (tests/services/plugin.py); those of faults, the longest, come first.
BY_FILE := --dist loadscope --no-loadscope-reorder
# Only folders that exist: a kind of test may not have its first one yet.
FIRST_TESTS := $(wildcard tests/unit tests/property)
OTHER_TESTS := $(wildcard tests/faults tests/contract tests/database tests/model tests/integration)
# Tests marked `one_database` (texts, files, the command line, long tests) run on SQLite only.
BOTH_DATABASES_TESTS := $(wildcard tests/database tests/contract tests/faults/test_engine_database.py \
	tests/integration/test_families.py)
BROWSER_TESTS := $(wildcard tests/browser)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format docs bench lock clean
.DELETE_ON_ERROR:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.dev-ready ## Create the virtual environment, with the development requirements

demo: $(VENV)/.ready ## Run the whole system against a simulated fleet
	@$(BIN)/facho demo

# Browser tests, then tests on PostgreSQL, run in parallel to those with real services, which mostly wait. Their
# output is shown when all have ended.
test: setup ## Run every test: quick ones, with real services, on PostgreSQL, in a browser
	@$(BIN)/python -m tests.services prepare
	@failed=""; background=; output=$$(mktemp); \
	trap 'kill $$background 2>/dev/null; rm -f $$output' EXIT; trap 'exit 1' INT TERM; \
	stage() { name=$$1; shift; $(BIN)/python -m pytest "$$@" || failed="$$failed $$name"; }; \
	report_failures() { [ -z "$$failed" ] || { echo "Failures are above, in:$$failed"; exit 1; }; }; \
	stage quick -n auto $(FIRST_TESTS); \
	( failed=""; running=; trap 'kill $$running 2>/dev/null' EXIT; trap 'exit 1' TERM; \
	  stage() { name=$$1; shift; $(BIN)/python -m pytest "$$@" & running=$$!; \
	    wait $$running || failed="$$failed $$name"; running=; }; \
	  $(if $(BROWSER_TESTS),stage browser $(BROWSER_TESTS);) \
	  stage postgresql -n 2 $(BY_FILE) --database postgresql -m both_databases $(BOTH_DATABASES_TESTS); \
	  report_failures ) >$$output 2>&1 & background=$$!; \
	stage services -n 3 $(BY_FILE) $(OTHER_TESTS); \
	wait $$background || failed="$$failed browser-or-postgresql"; background=; cat $$output; report_failures

lint: setup ## Check style, types, import contracts and the docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tests.documents
	@$(MKDOCS)

format: setup ## Rewrite the code in the house format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: setup ## Build the docs as a site with a search, in build/site
	@$(MKDOCS)
	@echo "Serve it: $(BIN)/python -m http.server --directory build/site 8080"

bench: setup ## Run all benchmarks, the long tests and the fuzzers
	@$(BIN)/python -m tests.services prepare
	@$(BIN)/python -m bench snmp
	@$(BIN)/python -m bench adapt
	@$(BIN)/python -m bench decode
	@$(BIN)/python -m bench sim
	@$(BIN)/python -m bench collect
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench collect --database-url {url}
	@$(BIN)/python -m bench scheduler
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench scheduler --database-url {url}
	@$(BIN)/python -m bench coordinator
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench coordinator --database-url {url}
	@$(BIN)/python -m bench forecast
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench workers --database-url {url} --broker-url {broker}
	@$(BIN)/python -m bench million --onus 100000 --olts 25 --minutes 2
	@$(BIN)/python -m tests.services postgres --set shared_buffers=2GB --set max_wal_size=8GB -- \
		$(BIN)/python -m bench million --database-url {url} --broker-url {broker}
	@$(BIN)/python -m bench history
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench history --database-url {url}
	@$(BIN)/python -m tests.services postgres -- $(BIN)/python -m bench web --database-url {url}
	@TESTS_LONG=1 $(BIN)/python -m pytest tests/integration/test_bench_engine.py tests/model/test_week.py \
		tests/faults/test_engine_killed.py
	@TESTS_LONG=1 $(BIN)/python -m pytest --database postgresql -m both_databases tests/faults/test_engine_killed.py
	@TESTS_LONG=1 $(BIN)/python -m pytest -n auto tests/property tests/unit/snmp/test_around.py
	@FUZZ_CASES=$(FUZZ_CASES) $(BIN)/python -m pytest -n auto tests/property/test_fuzz.py tests/property/test_v3_fuzz.py

lock: setup ## Compile requirements/*.in to lock files with hashes
	@for name in build runtime dev; do \
	  $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes \
	    --no-header --no-emit-index-url --no-emit-find-links --upgrade \
	    requirements/$$name.in --output-file requirements/$$name.lock || exit 1; \
	done

clean: ## Remove the virtual environment and the caches
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The demo needs fewer packages than the tests, so it is ready sooner on a fresh machine.
$(VENV)/.ready: pyproject.toml requirements/build.lock requirements/runtime.lock requirements/make-venv
	@requirements/make-venv $(VENV)
	@echo "Installing the requirements ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/build.lock -r requirements/runtime.lock
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@$(COMPILE)
	@touch $@

$(VENV)/.dev-ready: $(VENV)/.ready requirements/dev.lock
	@echo "Installing the development requirements ..."
	@$(PIP_INSTALL) --require-hashes -r requirements/dev.lock
	@$(COMPILE)
	@touch $@
