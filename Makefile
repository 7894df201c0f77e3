# `make play` and `make test` are all it takes: each sets the project up first (scripts/setup), which takes no time once done.

WORLD ?= gym:FrozenLake-v1?is_slippery=false&map_seed=7&size=8 demo:maze
MIND ?= induce
ARGS ?=
BENCH ?= $(filter-out bench/reference.py,$(wildcard bench/[a-z]*.py))
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help play test test-local check torture bench pictures setup lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile | expand -t 18
	@echo "For example: make play WORLD=demo:twins ARGS='--seed 3'"

play: setup ## play two worlds with the built-in mind, live (WORLD=..., MIND=..., ARGS='...')
	@for world in $(foreach world,$(WORLD),'$(world)'); do $(BIN)/lawbook play "$$world" --mind $(MIND) $(ARGS) || exit; done

# Every check runs even after one has failed. What measures time is tested first and alone (5: ARGS leave nothing of it to test);
# the other tests come last, so that pytest's summary ends the output.
CHECKS = failed=; \
	for check in 'ruff check .' 'ruff format --check .' mypy; do \
		echo "== $$check"; $(BIN)/$$check || failed="$$failed '$$check'"; \
	done; \
	echo "== pytest, what measures time"; \
	$(BIN)/pytest -m 'timing and not torture $(1)' $(ARGS) || [ $$? = 5 ] || failed="$$failed 'pytest -m timing'"; \
	echo "== pytest"; \
	$(BIN)/pytest -m 'not timing and not torture $(1)' -n 2 --dist loadfile --durations=20 $(ARGS) || failed="$$failed 'pytest'"; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

test: setup ## everything continuous integration checks: ruff, strict types, all tests
	@scripts/browser
	@scripts/agents
	@scripts/ale
	@$(call CHECKS)

test-local: setup ## a real small language model, on this machine, plays a small world (fetches 200 MB once)
	@scripts/local-model
	@LAWBOOK_LOCAL_MODEL=1 $(BIN)/pytest tests/e2e/test_local_model.py $(ARGS)

check: setup ## the same without the slow tests
	@$(call CHECKS,and not slow)

torture: setup ## kill and hinder runs at random, 300 times (ARGS='--kills 1000 --seed 7'); properties with other examples each time
	@$(BIN)/python tests/support/torture.py $(ARGS)
	@HYPOTHESIS_PROFILE=torture $(BIN)/pytest -m 'hypothesis or torture' -n 2 --dist loadfile

bench: setup ## measure (BENCH=bench/verify.py for one, ARGS='...' for its options)
	@for bench in $(BENCH); do echo "== $$bench $(ARGS)"; $(BIN)/python $$bench $(ARGS) || exit 1; done

pictures: setup ## play the runs and take the pictures that README and docs show
	@scripts/browser
	@$(BIN)/python scripts/pictures $(ARGS)

setup: ## make .venv with everything in it, and nothing more
	@scripts/setup

lock: setup ## solve requirements.lock anew from pyproject.toml (ARGS=--upgrade for newer releases)
	@$(BIN)/uv pip compile pyproject.toml --quiet --system-certs --universal --python-version 3.12 --extra all --group dev \
		--generate-hashes --custom-compile-command 'make lock' $(ARGS) --output-file requirements.lock
	@$(BIN)/uv pip compile tests/local-model.in --quiet --system-certs --universal --python-version 3.12 --no-deps \
		--generate-hashes --custom-compile-command 'make lock' $(ARGS) --output-file tests/local-model.txt
	@$(BIN)/uv pip compile tests/ale.in --quiet --system-certs --universal --python-version 3.12 --no-deps \
		--generate-hashes --custom-compile-command 'make lock' $(ARGS) --output-file tests/ale.txt
	@scripts/setup

clean: ## remove everything but your runs
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	@find . -name __pycache__ -prune -exec rm -rf {} +
