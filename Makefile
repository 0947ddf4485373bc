# Verbs of Hookline. Each sets up what it needs: Node 24 comes with the first one, by npm ci.
.DEFAULT_GOAL := help
SHELL := /bin/bash

help: ## Lists the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Reinstalled only when the lock file changed, so that the second call of a verb costs nothing.
node_modules/.hookline-installed: package-lock.json
	@echo "Installing dependencies, Node 24 among them ..." >&2
	@npm ci --loglevel=error >&2
	@touch $@

setup: node_modules/.hookline-installed

demo: setup ## Everything once, on a real Kafka: set up, run, shown, cleaned up
	@npm run -s demo

test: setup ## All tests, on a real Kafka and a real schema registry
	@npm run -s test -- $(ARGS)

test-bench: setup ## That make bench measures what is stored, in a run as short as can be (wrk)
	@npm run -s test-bench -- $(ARGS)

test-deploy: setup ## The chart by Helm, the alerts by promtool; both are built by Go where they are not on the PATH
	@npm run -s test-deploy -- $(ARGS)

image: ## Builds the image hookline:test
	@docker build -q --network host -f deploy/Dockerfile -t hookline:test .

test-image: setup image ## Runs the image: not as root, nothing to write to, a webhook into Kafka, an end at SIGTERM
	@npm run -s test-image -- $(ARGS)

test-compose: setup image ## deploy/compose.yaml whole in a Docker engine with compose: a webhook through it, Prometheus, Grafana
	@docker tag hookline:test hookline:latest
	@npm run -s test-compose -- $(ARGS)

test-kubernetes: setup ## The chart on the cluster of KUBECONFIG, which has the image HOOKLINE_IMAGE (hookline:test); Linux, Java, Helm or Go
	@npm run -s test-kubernetes -- $(ARGS)

faults: setup ## Faults of every kind against three real brokers: what was acknowledged, and what was lost (30 min)
	@npm run -s faults -- $(ARGS)

hostile: setup ## Attacks of every kind on one ingress, honest senders beside each; hostile commands, provider, fuzzing (20 min)
	@npm run -s hostile -- $(ARGS)

control-faults: setup ## Control killed at each point of a command's flow, the payment service failing under it (20 min)
	@npm run -s control-faults -- $(ARGS)

night-drill: setup ## Each alert provoked, seen firing at a Prometheus, mended by the runbook, seen resolved (Prometheus or Go; 6 min)
	@npm run -s night-drill -- $(ARGS)

disk-faults: setup ## Power cuts, failing and full disks under the spool; SCALE=10 for longer. Needs Linux and cc
	@npm run -s disk-faults -- $(ARGS)

bench: setup ## CPU per event, throughput and latency beside a naive receiver and bare Fastify (wrk; 10 min)
	@npm run -s bench -- $(ARGS)

bench-pods: setup ## One ingress alone and two beside one another: CPU per event (wrk; 2 min)
	@npm run -s bench-pods -- $(ARGS)

bench-large: setup ## Bodies of 50 MB: memory, stalls, small webhooks beside them; a million small ones (wrk; 18 min)
	@npm run -s bench-large -- $(ARGS)

check: setup ## Types, lint, format, the import rules, the documentation
	@npm run -s check

check-supply: setup ## What runs in production: its bill of materials (.local/sbom.json), known holes by npm audit (1: there are, 2: it could not run)
	@mkdir -p .local
	@npm run -s check-supply -- $(ARGS)

up: setup ## Starts Kafka and a schema registry, leaves them running, prints where they are
	@npm run -s up -- $(ARGS)

down: setup ## Stops what make up started
	@npm run -s down -- $(ARGS)

fix: setup ## Formats, and mends what the linter can mend
	@npm run -s fix

docs: setup ## Writes what is generated from the code: tables of docs/, chart values, asyncapi.yaml
	@npm run -s docs

.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d ':')
