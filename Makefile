# Commands for developers. Each sets up what it needs: Node 24 comes with the first one, by npm ci.
.DEFAULT_GOAL := help
SHELL := /bin/bash

help: ## Lists these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Reinstalled only when the lock file changed, so that the second call of a verb costs nothing.
node_modules/.hookline-installed: package-lock.json
	@echo "Installing dependencies, Node 24 among them ..." >&2
	@npm ci --loglevel=error >&2
	@touch $@

setup: node_modules/.hookline-installed

demo: setup ## Shows the whole flow once on a real Kafka, and cleans up
	@npm run -s demo

test: setup ## All tests but those of the verbs below, on a real Kafka and a real schema registry (5 min)
	@npm run -s test -- $(ARGS)

test-campaigns: setup ## The short forms of faults, control-faults and hostile (4 min)
	@npm run -s test-campaigns -- $(ARGS)

test-bench: setup ## Tests that make bench measures what is stored, in a very short run (wrk)
	@npm run -s test-bench -- $(ARGS)

test-bodies: setup ## Bodies of 50 MB in an object store that fails, on topics of 1 and 8 MiB; ingress killed 50 times; two S3 stores (Linux; 8 min)
	@npm run -s test-bodies -- $(ARGS)

test-console: setup ## The console in Chromium (CHROMIUM, or one on the machine): each page and action, accessibility, hostile values (3 min)
	@npm run -s test-console -- $(ARGS)

console-pictures: setup ## Takes the pictures of the console in docs/images again (Chromium; 2 min)
	@npm run -s console-pictures -- $(ARGS)

test-contracts: setup ## Judges the data contracts, and topics by them, with datacontract-cli; registers them in Apicurio (Python, Maven; 5 min)
	@npm run -s test-contracts -- $(ARGS)

test-readers: setup ## Other people's readers of the events, every topic and schema version, 50 MB among them: Java, Python, Go, Node, kcat, Flink SQL, Iceberg (JDK, Maven, Go, Python, kcat; 4 min)
	@npm run -s test-readers -- $(ARGS)

test-move: setup ## Moves a whole installation to another Kafka cluster with MirrorMaker, by docs/another-cluster.md; and loses a cluster (JDK, Maven, kcat; 5 min)
	@npm run -s test-move -- $(ARGS)

test-clusters: setup ## The main flows on Kafka HOOKLINE_STACK_KAFKA and registry HOOKLINE_STACK_REGISTRY; an upgrade of three brokers meanwhile (JDK, Maven; 6 min)
	@npm run -s test-clusters -- $(ARGS)

test-deploy: setup ## Tests the chart with Helm and kubectl-validate, the alerts with promtool; builds them with Go if they are not on the PATH
	@npm run -s test-deploy -- $(ARGS)

image: ## Builds the images hookline:test and hookline-sandbox:test
	@docker build -q --network host -f deploy/Dockerfile -t hookline:test .
	@docker build -q --network host -f deploy/Dockerfile --target sandbox -t hookline-sandbox:test .

test-image: setup image ## Runs the image: not as root, read-only, a webhook into Kafka, a stop at SIGTERM
	@npm run -s test-image -- $(ARGS)

release: setup ## Builds image, chart, SBOMs, provenance and signatures of this commit into .local/release (Docker engine, Go; 3 min, the first time 10)
	@npm run -s release -- $(ARGS)

verify-release: setup ## Verifies what make release built, or a folder (ARGS="--dir FOLDER --key cosign.pub"), without a network
	@npm run -s verify-release -- $(ARGS)

test-release: setup ## Builds a release twice, compares them, and changes one bit of each file (Docker engine, Go; 3 min, the first time 10)
	@npm run -s test-release -- $(ARGS)

test-compose: setup image ## Runs all of deploy/compose.yaml in a Docker engine: a webhook, Prometheus, Grafana
	@docker tag hookline:test hookline:latest && docker tag hookline-sandbox:test hookline-sandbox:latest
	@npm run -s test-compose -- $(ARGS)

test-kubernetes: setup ## Tests the chart on the cluster of KUBECONFIG with the images HOOKLINE_IMAGE (hookline:test) and HOOKLINE_SANDBOX_IMAGE; Linux, Java, Helm or Go
	@npm run -s test-kubernetes -- $(ARGS)

faults: setup ## Injects faults into three real brokers; shows what was acknowledged and what was lost (30 min)
	@npm run -s faults -- $(ARGS)

simulate: setup ## Simulates ingress, control and all around them in virtual time, and judges every promise (ARGS="--minutes 60"; 1 min)
	@npm run -s simulate -- $(ARGS)

simulate-agreement: setup ## Holds the simulation's model of Kafka against real brokers, request by request, while connections break and brokers die (Java; 15 min)
	@npm run -s simulate-agreement -- $(ARGS)

simulate-mutants: setup ## Simulates small sabotages of the code: each must be found (15 min)
	@npm run -s simulate-mutants -- $(ARGS)

hostile: setup ## Attacks one ingress, with honest senders beside each attack; hostile commands and provider, fuzzing (20 min)
	@npm run -s hostile -- $(ARGS)

control-faults: setup ## Kills control at each point of a command's flow while the provider fails (20 min)
	@npm run -s control-faults -- $(ARGS)

night-drill: setup ## Provokes each alert, follows the runbook, and sees the alert resolved; some of them with the console alone (Prometheus or Go, Chromium; 9 min)
	@npm run -s night-drill -- $(ARGS)

token-faults: setup ## Load at 500 webhooks a second while sessions and access tokens end, and while their issuer is stopped (16 min; MINUTES=1 for a short form)
	@npm run -s token-faults -- $(ARGS)

disk-faults: setup ## Simulates power cuts, failing and full disks under the spool; SCALE=10 for longer. Needs Linux and cc
	@npm run -s disk-faults -- $(ARGS)

bench: setup ## Measures CPU per event, throughput and latency, compared with a naive receiver and bare Fastify (wrk; 10 min)
	@npm run -s bench -- $(ARGS)

bench-peers: setup ## Measures beside Redpanda Connect too, its latencies at steady rates, and bare node:http (wrk, Go; 35 min)
	@npm run -s bench -- --rounds 5 --connections 128,256 --system floor,bare-http,naive,hookline,redpanda,redpanda-batched --rates 30,60,90 $(ARGS)

bench-scale: setup ## Measures CPU per event of 1, 2 and 4 ingress, with 6 to 600 partitions, and at few events a second (wrk, Go; 6 min)
	@npm run -s bench-scale -- $(ARGS)

bench-console: setup ## Measures a console beside 1,000,000 events and 10,000 dead-letter records: search, pages, memory (4 min)
	@npm run -s bench-console -- $(ARGS)

bench-start: setup ## Measures how soon ingress and control are ready, and their idle memory (4 min)
	@npm run -s bench-start -- $(ARGS)

bench-large: setup ## Measures bodies of 50 MB: memory, stalls, small webhooks beside them; a million small ones (wrk; 18 min)
	@npm run -s bench-large -- $(ARGS)

check: setup ## Types, lint, format, the import rules, the documentation
	@npm run -s check

check-supply: setup ## Bill of materials (.local/sbom.json) and known vulnerabilities by npm audit (exit code 1: found, 2: could not run)
	@mkdir -p .local
	@npm run -s check-supply -- $(ARGS)

up: setup ## Starts Kafka and a schema registry, leaves them running, prints where they are
	@npm run -s up -- $(ARGS)

down: setup ## Stops what make up started
	@npm run -s down -- $(ARGS)

fix: setup ## Formats, and applies the linter's fixes
	@npm run -s fix

docs: setup ## Writes what is generated from the code: tables of docs/, chart values, asyncapi.yaml, data contracts
	@npm run -s docs

charts: setup ## Draws the charts of docs/analytics.md again, from two made-up days
	@npm run -s charts

.PHONY: $(shell grep -oE '^[a-z-]+:' $(firstword $(MAKEFILE_LIST)) | tr -d ':')
