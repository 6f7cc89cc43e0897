# The commands of this repository. `make run` and `make test` need a Debian 12 with git, make and python3-venv.

# The system's interpreter where it will do: Debian builds it with profile-guided optimisation, which is worth a third.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys; assert sys.version_info >= (3, 11); print(sys.executable)' \
	2>/dev/null || echo python3)
VENV := .venv
BIN := $(VENV)/bin
CONFIG ?= config/demo.toml
# A stamp per set of packages: nothing is installed again until pyproject.toml changes.
INSTALLED := $(VENV)/.installed
INSTALLED_TEST := $(VENV)/.installed-test
INSTALLED_BENCH := $(VENV)/.installed-bench

.PHONY: run test test-long check bench clean

run: $(INSTALLED)
	@exec $(BIN)/ordinal run $(CONFIG)

check: $(INSTALLED_TEST)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check system-packages
	$(BIN)/pytest -m "not long"

test-long: $(INSTALLED_TEST) system-packages
	$(BIN)/pytest -m long

bench: $(INSTALLED_BENCH)
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) build ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(INSTALLED_TEST): pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@ $(INSTALLED)

$(INSTALLED_BENCH): pyproject.toml | $(BIN)/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@ $(INSTALLED)

$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { echo 'missing: python3 (Debian: apt-get install python3 python3-venv)' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'missing: Python 3.11 or later (make PYTHON=python3.12 chooses another)' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo 'missing: the venv module (Debian: apt-get install python3-venv)' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# docker-compose checks docker-compose.yml, and needs no container engine for that. Where it cannot be installed the
# tests say what they leave out.
.PHONY: system-packages
system-packages:
	@command -v docker-compose >/dev/null || test "$$(id -u)" != 0 || ! command -v apt-get >/dev/null \
		|| { apt-get update -qq && apt-get install -y -qq --no-install-recommends docker-compose; } >/dev/null 2>&1 \
		|| echo 'docker-compose could not be installed'
