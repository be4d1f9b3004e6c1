# Everything starts from here. Only Python 3.11+ is needed; the rest comes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PEERS := $(VENV)/peers
CLAUDE := $(VENV)/claude
CLIENTS := $(VENV)/clients/ready
DOCS := $(VENV)/docs/ready

.PHONY: setup run test test-claude quick browser check docs bench screenshots soak clean

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

# The tests start a hundred processes: each would compile the whole product again where Python may not keep what it compiled.
test test-claude quick soak: export PYTHONDONTWRITEBYTECODE :=
# Closing a database in a file waits for the disk, and thousands of tests close one: their files are in memory where that has room.
test test-claude quick soak: export TMPDIR := $(or $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 2000000 { print $$6 }'),$(TMPDIR))

test: setup browser $(CLIENTS)  ## The tests, on SQLite and on a real PostgreSQL that comes in a wheel.
	$(BIN)/python -m pytest -n $$($(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal

# The makers of clients from the OpenAPI description pin versions that the product does not have.
$(CLIENTS): $(READY)
	$(PYTHON) -m venv $(VENV)/clients
	$(VENV)/clients/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(VENV)/clients/bin/python -m pip install --quiet --disable-pip-version-check --group clients
	@touch $(CLIENTS)

quick: setup  ## A first answer: SQLite only, no browser, no kills, nothing marked slow.
	$(BIN)/python -m pytest --quick -n $$($(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal

test-claude: setup $(CLAUDE)/ready  ## The life of a session with the true Claude Code, against a fake of its API.
	INTERLOCK_CLAUDE=$$(ls $(CURDIR)/$(CLAUDE)/lib/python*/site-packages/claude_agent_sdk/_bundled/claude) \
		$(BIN)/python -m pytest tests/apps/sessions/agents/test_claude.py -n 2

# In an environment of its own: the package has 162 MB, and nothing else here needs it.
$(CLAUDE)/ready: pyproject.toml
	$(PYTHON) -m venv $(CLAUDE)
	$(CLAUDE)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'claude-agent-sdk>=0.2.182,<0.3'
	@touch $@

browser:  ## Chromium for the tests of pages, from the system's packages where that can be; else those are skipped.
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "installing chromium for the tests of pages" && \
		  (apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium \
		   fonts-inter fonts-jetbrains-mono fonts-noto-core) >/dev/null 2>&1; } || \
		echo "no Chromium here: the tests of pages in a browser are skipped"

check: setup  ## Lint, types, layers.
	$(BIN)/ruff check src tests bench examples docs/site
	$(BIN)/ruff format --check src tests bench examples docs/site
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(DOCS)  ## The documentation as a site in build/docs/html, with a reference of the library made of docstrings.
	$(PYTHON) -m docs.site build/docs
	cd build/docs && $(CURDIR)/$(VENV)/docs/bin/zensical build --strict --config-file zensical.toml
	@echo "to read it: $(PYTHON) -m http.server --bind 127.0.0.1 --directory build/docs/html 8421"

# Only what builds the site: it reads the code without importing it, so it needs neither the product nor `make setup`.
$(DOCS): pyproject.toml
	$(PYTHON) -m venv $(VENV)/docs
	$(VENV)/docs/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(VENV)/docs/bin/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $(DOCS)

bench: $(PEERS)  ## Work items per second, against raw SQL and other systems in the same run; how it grows; how it rests.
	$(BIN)/python -m bench

$(PEERS): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group bench
	@touch $(PEERS)

screenshots: setup browser  ## Pages of the demo that the documentation shows, into docs/images.
	$(BIN)/python -m bench.screenshots

soak: setup  ## What is too long for every day: random kills, the model, the wild machine, every case on PostgreSQL.
	INTERLOCK_SOAK=1 $(BIN)/python -m pytest -n auto -m "soak or longer"

clean:
	rm -rf $(VENV) data build .pytest_cache .mypy_cache .ruff_cache .hypothesis
