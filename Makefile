# Every command of the project. Needs GNU make, npm with Node 20 or newer, and Go 1.26 or newer; all else is fetched or
# built, pinned, and kept in node_modules or in the tools' cache.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# npm puts node_modules/.bin first on PATH, so that every script runs in the Node that package.json pins.
RUN := npm run --silent
ARGS ?=

.PHONY: help install check quick test e2e soak image api-up api-down cluster-up cluster-test cluster-down demo bench generate clean node-ready go-ready

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## Install the pinned packages, when package-lock.json is newer

check: install go-ready ## Types, lint, audit and unit tests (under a minute)
	@echo "== types" && $(RUN) types
	@echo "== lint" && $(RUN) lint
	@echo "== audit of dependencies" && $(RUN) audit
	@echo "== unit tests" && $(RUN) test:unit

quick: check ## check, and the suites with a real nats-server and Prometheus (built once, minutes)
	@echo "== tools: nats-server and Prometheus" && $(RUN) tools -- nats-server prometheus promtool
	@echo "== suites with servers" && $(RUN) test -- --project nats --project store

test: check ## Everything, also a real API server and, as root on Linux, a real cluster (built once, minutes)
	@echo "== tools: nats-server, Prometheus and Kubernetes" && \
		$(RUN) tools -- nats-server prometheus promtool etcd kube-apiserver
	@status=0; \
		echo "== suites with servers"; $(RUN) test -- --project nats --project store --project kube || status=1; \
		echo "== suites in a real cluster (skipped, and counted so, where there can be none)"; \
		$(RUN) test -- --project cluster || status=1; exit $$status

e2e: install go-ready ## The product in a real cluster, as a user installs it (ten minutes, as root on Linux)
	@$(RUN) test -- --project cluster test/e2e

soak: export HELIOGRAPH_SOAK = 1
soak: test ## test with all runs of the random tests, five times as many, and an hour of the probe (two hours)

image: install ## Build the image into dist/image.tar: make image ARGS="--tag NAME --base IMAGE"
	@$(RUN) image -- $(ARGS)

api-up: install go-ready ## Start etcd and an API server with the three kinds, and print the kubeconfig
	@$(RUN) api -- up

api-down: install ## End them and remove all of it
	@$(RUN) api -- down

cluster-up: install go-ready ## Start a real Kubernetes and print its kubeconfig: CLUSTER=kind, node (as root) or kubeconfig
	@$(RUN) cluster -- up

cluster-down: install ## End that cluster and remove all of it
	@$(RUN) cluster -- down

cluster-test: install go-ready ## Suites in a real cluster, as root on Linux (built once, minutes)
	@$(RUN) test -- --project cluster

demo: install ## Run the whole product on this machine: make demo ARGS=--once
	@$(RUN) demo -- $(ARGS)

bench: install ## Measure speed and memory: each program in test/bench prints a ratio to a reference
	@set -e; for file in test/bench/*.bench.ts; do \
		[ -e "$$file" ] || { echo "There is no program in test/bench."; exit 1; }; \
		echo "== $$file"; node_modules/.bin/node "$$file" $(ARGS); \
	done

generate: install ## Write again what is generated from the CRDs
	@$(RUN) generate

clean: ## Remove what can be made again; built tools stay in ~/.cache/heliograph
	rm -rf dist node_modules

node_modules/.package-lock.json: package-lock.json | node-ready
	@echo "== packages (about half a minute)" && npm ci --loglevel=error
	@node_modules/.bin/node --version > /dev/null 2>&1 || { \
		rm -f $@; \
		echo "npm skipped the install script of the package node, which fetches Node 24: allow it with 'npm config set ignore-scripts false' and run 'make install' again."; \
		exit 1; }

node-ready:
	@command -v npm > /dev/null 2>&1 && command -v node > /dev/null 2>&1 || { \
		echo "There is no npm on PATH: install Node.js 20 or newer with npm (https://nodejs.org)."; exit 1; }
	@node -e 'process.exit(parseInt(process.versions.node, 10) < 20 ? 1 : 0)' || { \
		echo "Node.js $$(node --version) is too old: install version 20 or newer (https://nodejs.org)."; exit 1; }

go-ready:
	@command -v go > /dev/null 2>&1 || { \
		echo "There is no Go on PATH: install Go 1.26 or newer (https://go.dev/dl); the servers of the tests are built with it."; exit 1; }
	@(cd test/tools/nats-server && go list -m > /dev/null 2>&1) || { \
		echo "$$(go version) is too old: install Go 1.26 or newer (https://go.dev/dl)."; exit 1; }
