# make run    set everything up and start the server, with a demo project that measures itself
# make quick  style, and the tests that need no process, server, browser, database or engine
# make test   set everything up and run every test
# make long   studies that need minutes of real time; each has a short form among the tests
# make check  what CI runs: format, lint, types, import rules, packages, tests

PYTHON ?= python3
PYTEST_ARGS ?=
SERVE_ARGS ?=

PY := .venv/bin/python
# The environment is made anew only when a requirement changed, or when the folder moved: an
# editable install remembers where the sources were.
KEY := $(firstword $(shell { cat pyproject.toml constraints.txt; pwd; } | cksum))
STAMP := .venv/.setup-$(KEY)
ENGINES := .venv/.engines-$(KEY)

.PHONY: setup engines web types ready run quick test long check style page-types format node browser
.PHONY: demo-model test-models real-models minilm keras-models inc-gui second-onnxruntime clean

setup: $(STAMP)

$(STAMP):
	@bash scripts/make_venv.sh .venv '.[dev]' $(PYTHON)
	@rm -f .venv/.setup-*
	@touch $@
	@echo "Ready: .venv/bin/modeldyno --help"

# PyTorch and TensorFlow are large: only the tests need them.
engines: $(ENGINES)

$(ENGINES):
	@bash scripts/make_venv.sh .venv '.[dev,tested]' $(PYTHON)
	@rm -f .venv/.engines-* .venv/.setup-*
	@touch $(STAMP) $@

# All that tests need. Most of it is waiting for downloads, so what can be is fetched together (-j).
ready: engines test-models second-onnxruntime node browser web

run: setup web
	@exec .venv/bin/modeldyno serve --demo $(SERVE_ARGS)

# The page of the workbench, into the Python package; only when its sources changed.
web:
	@$(PYTHON) scripts/build_web.py

# JSON Schemas of all documents, and the types of the API that the page is written against.
types: setup web
	@$(PY) scripts/write_schemas.py
	@$(PY) scripts/write_openapi.py web/openapi.json
	@cd web && npm run --silent types
	@$(PY) scripts/write_page_tables.py

# The page and the browser are for other tests.
quick:
	@$(MAKE) -s -j3 --output-sync=target test-models style
	$(PY) scripts/run_tests.py --part quick $(PYTEST_ARGS)

test:
	@$(MAKE) -s -j3 ready
	$(PY) scripts/run_tests.py $(PYTEST_ARGS)

long:
	@$(MAKE) -s -j3 ready
	$(PY) scripts/run_studies.py $(STUDIES)

# What needs no browser and no models is looked at while those are still being fetched.
check:
	@$(MAKE) -s -j4 --output-sync=target ready style page-types
	$(PY) scripts/run_tests.py $(PYTEST_ARGS)

style: engines
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) .venv/bin/lint-imports --no-logo
	$(PY) -m pip check

page-types: engines web
	$(PY) scripts/write_openapi.py web/openapi.json
	$(PY) scripts/write_page_tables.py --check
	cd web && npm run --silent types-are-fresh && npm run --silent check && npm run --silent test

format: setup
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

test-models: real-models minilm keras-models inc-gui

real-models: engines
	@$(PY) scripts/fetch_test_models.py

# Loading PyTorch to find out that there is nothing to do would take seconds.
minilm: real-models
	@test -d .cache/models/minilm || $(PY) scripts/export_minilm.py

keras-models: engines
	@$(PY) scripts/export_keras.py

inc-gui: engines
	@$(PY) -m scripts.fetch_inc_gui

# Another version of it, in an environment of its own.
second-onnxruntime: engines
	@$(PY) scripts/make_second_onnxruntime.py

# The stock Socket.IO client, for the tests of our events. Without Node those are skipped.
NODE := tests/node/node_modules/.package-lock.json

node:
	@if command -v npm > /dev/null; then $(MAKE) -s $(NODE); fi

$(NODE): tests/node/package-lock.json
	@cd tests/node && npm ci --silent --no-audit --no-fund
	@touch $@

# For the tests that look at pages as people do.
browser: engines  # both may need apt-get, one after the other
	@bash scripts/install_browser.sh

demo-model: engines
	$(PY) scripts/train_demo.py

clean:
	rm -rf .venv .cache dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf tests/node/node_modules web/node_modules src/modeldyno/static
	find src tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} +
