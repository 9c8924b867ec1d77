# Everything a developer or CI runs. `make help` lists it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOCK   := requirements-dev.lock
RUNTIME_LOCK := deploy/requirements.lock
DEMO_VENV := .venv-demo

# Markers of pyproject.toml: `make quick LEFT_OUT='real or random'`.
LEFT_OUT ?=
CORES := $(shell getconf _NPROCESSORS_ONLN)
# One more than there are cores: some tests wait for processes.
WORKERS ?= $(shell expr $(CORES) + 1)
# Tests on a real control plane wait for it most of the time: with as few workers as the others, two cores idle.
REAL_WORKERS ?= $(shell expr $(CORES) \* 3)
# Files in the order of tests/conftest.py, which begins with those that take long.
PYTEST = -m pytest --dist loadfile --no-loadscope-reorder
# From 3.12 on Python itself tells which lines run (sys.monitoring), which costs next to nothing.
COUNTS_LINES = $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 12))'

.DEFAULT_GOAL := help
.PHONY: help demo check quick test coverage fuzz fuzz-gangs fuzz-hostile chaos mutations lint fmt lock image manifests dist e2e e2e-prepare e2e-up e2e-down bench bench-full bench-plan pictures controlplane soak clean

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "koordpy needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@echo "installing koordpy into $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .  # builds with the hatchling of the lock file
	@touch $@

# What a user would install, beside the checkout's own environment: none of the tools that developers need.
$(DEMO_VENV)/.ready: pyproject.toml $(RUNTIME_LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "koordpy needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@echo "installing koordpy into $(DEMO_VENV) ..."
	@$(PYTHON) -m venv $(DEMO_VENV)
	@$(DEMO_VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r $(RUNTIME_LOCK)
	@$(DEMO_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(DEMO_VENV)/.ready ## a simulated cluster, koordpy on it, and a live view of what happens (DEMO=short ends by itself)
	@$(DEMO_VENV)/bin/koordpy demo

controlplane: $(READY) ## build etcd, kube-apiserver and helm once, into the user's cache
	@$(BIN)/python -m tests.controlplane.build etcd kube-apiserver kube-scheduler helm

check: lint quick ## the inner loop: lint, types and the quick tests, in 80 seconds on two cores

quick: LEFT_OUT = real or process or random
quick: $(READY) ## the tests that need no control plane, no process of their own and no random worlds by the hundred
	@$(BIN)/python $(PYTEST) -n $(WORKERS) -q -m 'not ($(LEFT_OUT))'

# Those that wait, then those that work: beside each other, the first would be late. $(1) is what runs Python.
EVERY_TEST = { $(1) $(PYTEST) -n $(REAL_WORKERS) -m real; waiting=$$?; \
	$(1) $(PYTEST) -n $(WORKERS) -m 'not real' && [ $$waiting = 0 ]; }

test: controlplane ## every test, the ones on a real kube-apiserver included; from Python 3.12 on with coverage
	@if $(COUNTS_LINES); then $(MAKE) --no-print-directory coverage; else $(call EVERY_TEST,$(BIN)/python); fi

coverage: controlplane ## every test, and how much of koordpy they run (on Python 3.11 it takes two and a half times as long)
	@rm -f .coverage .coverage.*
	@if $(COUNTS_LINES); then export COVERAGE_CORE=sysmon; fi; $(call EVERY_TEST,$(BIN)/coverage run); result=$$?; \
	$(BIN)/coverage combine --quiet && echo "coverage: $$($(BIN)/coverage report --format=total) % of the lines in koordpy/ were run"; \
	exit $$result

fuzz: controlplane ## random clusters and pods, koordpy beside the real kube-scheduler (FUZZ=3000 cases, FROM=0)
	@$(BIN)/python -m tests.differential --count $${FUZZ:-3000} --first $${FROM:-0}

fuzz-gangs: $(READY) ## random worlds with gangs against the scheduler in memory (GANG_SEEDS=1000, or FROM:TO)
	@GANG_SEEDS=$${GANG_SEEDS:-1000} $(BIN)/python -m pytest -q tests/scheduler/gangs/test_model.py

fuzz-hostile: $(READY) ## objects and requests that are meant to hurt, by kind (HOSTILE=200 of each), and what a tenant costs others
	@HOSTILE=$${HOSTILE:-200} $(BIN)/python -m pytest -q -n auto --timeout 3600 tests/hostile
	@$(BIN)/python -m tests.hostile.tenants

chaos: $(READY) ## whole systems on an API that fails, from seeds (SEEDS=200, or FROM:TO)
	@$(BIN)/koordpy simulate --seeds $${SEEDS:-200}

soak: controlplane ## koordpy under load on a real kube-apiserver for MINUTES=20, one of its processes killed each minute
	@$(BIN)/python -m tests.soak --minutes $${MINUTES:-20}

mutations: $(READY) ## breaks the code in small ways, and sees whether simulated worlds find them (COUNT=120, WORLDS=60; an hour)
	@$(BIN)/python -m tests.mutations --count $${COUNT:-120} --seeds $${WORLDS:-60}

lint: $(READY) ## formatting, lint and strict types
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make fmt'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy

fmt: $(READY) ## format the code and mend what ruff can mend
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

bench: controlplane ## figures: koordpy beside others on a real kube-apiserver, the quick set (10 minutes, and the first build)
	@$(BIN)/python -m bench quick

bench-full: controlplane ## every workload with every scheduler, three times (hours)
	@$(BIN)/python -m bench live

bench-plan: $(READY) ## figures of planning in memory alone: time, growth, memory, wake-ups (a few minutes)
	@$(BIN)/python -m bench plan

pictures: $(READY) ## draw docs/queues.png and docs/backfill.png anew, from runs on the embedded API (3 minutes)
	@$(BIN)/python -m bench pictures

image: $(READY) ## build koordpy's image (IMAGE=koordpy:version)
	@$(BIN)/python -m e2e image $(IMAGE)

manifests: $(READY) ## write anew what is made from the chart: its README, `koordpy install manifests`, the golden files
	@$(BIN)/python -m deploy.render

dist: $(READY) ## everything that a release has, into dist/: wheel, sdist, image, chart, manifests, SBOM, checksums
	@$(BIN)/python -m deploy.dist

e2e-prepare: $(READY) ## build what `make e2e` needs and keep it in the user's cache: the first time 6 minutes after `make controlplane`
	@$(BIN)/python -m e2e prepare

e2e: $(READY) ## image, chart and stories on a real cluster: KUBECONFIG's (with IMAGE=), or one of kind (KEEP=1: it stays)
	@$(BIN)/python -m e2e run $(STORIES)

e2e-up: $(READY) ## the cluster of `make e2e` alone
	@$(BIN)/python -m e2e up

e2e-down: $(READY) ## end what `make e2e-up` or `make e2e KEEP=1` has left
	@$(BIN)/python -m e2e down

lock: ## pin in requirements-dev.lock and deploy/requirements.lock what pyproject.toml asks for (UPGRADE=1: the newest versions)
	@$(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/pip install --quiet --disable-pip-version-check uv
	@$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev \
	    --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade) --output-file $(LOCK) pyproject.toml
	@$(VENV)/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --constraints $(LOCK) \
	    --custom-compile-command 'make lock' --output-file $(RUNTIME_LOCK) pyproject.toml

clean: ## remove virtual environments and caches (the built control plane stays in the user's cache)
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.* build dist *.egg-info
