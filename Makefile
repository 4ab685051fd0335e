# Everything a person needs: `make run`, `make test`, `make check`. Only Python 3.11+ is expected on the machine.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# Bytecode is kept, whatever the environment says: pytest rewrites every assert where it finds none.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run test suite lint types contracts check bench fixtures matrix clean third-party

run: $(STAMP)
	$(BIN)/geode-tui $(ARGS)

# The types are checked while the tests run: those wait for real processes about as long as they compute.
test: $(STAMP) lint contracts
	@$(MAKE) -j2 types suite

# The first line makes the bytecode once; else each of the four would make its own, 15 s of a core each. What it finds
# wrong the second line tells.
suite: $(STAMP)
	@$(BIN)/python -m pytest --collect-only $(ARGS) >/dev/null 2>&1 || true
	$(BIN)/python -m pytest -m "not long" -n 4 --dist worksteal $(ARGS)

check: test
	$(BIN)/python -m pytest -m long $(ARGS)
	$(BIN)/python -m pytest -m "not long" -n 2 --hypothesis-profile wide tests/core tests/log tests/view tests/context \
	  tests/routes tests/providers tests/tui/test_cells.py tests/tui/conversation

# Measurements beside their limits: ARGS='--quick', ARGS='--only first-paint,attach', ARGS=--json.
bench: $(STAMP)
	@$(BIN)/python -m tests.bench $(ARGS)

# The large stores that they read, kept in the system's temporary folder.
fixtures: $(STAMP)
	@$(BIN)/python -m tests.bench --fixtures

# Every wire times every scenario times every server that is installed, beside what is expected: ARGS='--server lab'.
matrix: $(STAMP)
	@$(BIN)/python -m tests.lab.matrix $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check geode_tui tests
	$(BIN)/ruff format --check geode_tui tests

types: $(STAMP)
	$(BIN)/mypy

contracts: $(STAMP)
	$(BIN)/lint-imports --no-cache

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("geode-tui needs Python 3.11 or newer: set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

# What only the long tests need: tmux, for the one that closes a terminal for good, and servers that others wrote: two
# for the matrix, and MCP servers. Those that run on Node.js are skipped where there is none.
third-party: $(STAMP)
	@if command -v tmux >/dev/null; then echo "tmux is here already"; \
	elif command -v brew >/dev/null; then brew install tmux; \
	elif command -v apt-get >/dev/null; then apt-get install --yes tmux; \
	else echo "install tmux with your package manager"; exit 1; fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
	  --editable '.[dev,third-party]'
	@if command -v npm >/dev/null; then \
	  npm install --silent --no-audit --no-fund --no-save --prefix .third-party @copilotkit/aimock@1.43.0 \
	    @modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31; \
	else echo "aimock and two MCP servers need Node.js: what uses them is skipped"; fi

clean:
	rm -rf $(VENV) .third-party .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist build
