# Verbs of Hookline. Each sets up what it needs: Node 24 comes with the first one, by npm ci.
.DEFAULT_GOAL := help
SHELL := /bin/bash
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

help: ## Lists the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Reinstalled only when the lock file changed, so that the second call of a verb costs nothing.
node_modules/.hookline-installed: package-lock.json
	@echo "Installing dependencies, Node 24 among them ..."
	@npm ci --loglevel=error
	@touch $@

setup: node_modules/.hookline-installed

# kafkajs sets one timer to a time in the past; Node mends that and says so.
quiet := NODE_OPTIONS=--disable-warning=TimeoutNegativeWarning

demo: setup ## Everything once, on a real Kafka: set up, run, shown, cleaned up
	@$(quiet) node test/demo/main.ts

check: setup ## Types, lint, format, and the rules of the house
	@tsc --noEmit
	@biome check --error-on-warnings .
	@vitest run --project unit test/imports.test.ts

test: setup ## All tests, on a real Kafka and a real registry
	@$(quiet) vitest run $(ARGS)

up: setup ## Starts Kafka and a schema registry and leaves them running
	@$(quiet) node test/support/stack/main.ts up $(ARGS)

down: setup ## Stops what make up started
	@$(quiet) node test/support/stack/main.ts down

fix: setup ## Formats, and mends what the linter can mend
	@biome check --write .

.PHONY: help setup demo check test up down fix
