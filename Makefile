# Every command of the project. Needs GNU make, npm with Node 20 or newer, and Go 1.26 or newer; all else is fetched or
# built, pinned, and kept in node_modules or in the tools' cache.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# npm puts node_modules/.bin first on PATH, so that every script runs in the Node that package.json pins.
RUN := npm run --silent
# The Node of package.json where packages are installed; the targets that publish need none.
NODE := $(firstword $(wildcard node_modules/.bin/node) node)
ARGS ?=
# What takes longest to build; the suites themselves build what is missing here.
KUBERNETES_TOOLS := etcd kube-apiserver helm helm4 helm-unittest kube-score crane cosign kubelet kubectl coredns
# What quick leaves out: whole programs, random requests, long faults.
LONG_TESTS := $(patsubst %,test/%/**,bench cli console demo pages probe prometheus recipients release \
	runtime/debug runtime/nats/copy runtime/preview runtime/recipient) \
	$(patsubst %,**/*%*,counted-faults disk-full ended-early exactness fuzz operational-events peer-partials \
	shared-lanes shared-quotas streams-lost upkeep victoria-metrics)

.PHONY: help install check quick test e2e default-requests chaos soak console image api-up api-down cluster-up cluster-load cluster-test cluster-down demo bench generate clean
.PHONY: manifests sbom kit release release-check release-login release-push release-sign release-verify release-npm release-page
.PHONY: node-ready go-ready

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: node_modules/.package-lock.json ## Install the pinned packages, when package-lock.json is newer

check: install go-ready ## Types, lint, audit and unit tests (under a minute)
	@echo "== types" && $(RUN) types
	@echo "== lint" && $(RUN) lint
	@echo "== audit of dependencies" && $(RUN) audit
	@echo "== unit tests" && $(RUN) test:unit

quick: check ## check, and the short files of the suites with nats-server and Prometheus (built once, six minutes)
	@echo "== tools: nats-server and Prometheus" && $(RUN) tools -- nats-server prometheus promtool
	@echo "== suites with servers" && $(RUN) test -- --project nats --project store \
		$(foreach files,$(LONG_TESTS),--exclude '$(files)')

test: check ## Everything, also a real API server and, as root on Linux, a real cluster (built once, minutes)
	@echo "== tools: nats-server, Prometheus and what asks them" && \
		$(RUN) tools -- nats-server prometheus promtool prometheus-client victoria-metrics vmalert thanos otlp-receiver \
			cloudevents-client
	@status=0; failed() { echo "FAILED: $$1"; status=1; }; \
		echo "== suites with nats-server and Prometheus (Kubernetes and its tools are built meanwhile)"; \
		nice -n 19 $(RUN) tools -- $(KUBERNETES_TOOLS) > /dev/null 2>&1 & \
		$(RUN) test -- --project nats --project store || failed "suites with nats-server and Prometheus"; \
		echo "== tools: Kubernetes"; $(RUN) tools -- $(KUBERNETES_TOOLS) > /dev/null || failed "tools: Kubernetes"; \
		echo "== suites with an API server"; $(RUN) test -- --project kube || failed "suites with an API server"; \
		echo "== suites in a real cluster (skipped, and counted so, where there can be none)"; \
		$(RUN) test -- --project cluster || failed "suites in a real cluster"; exit $$status

e2e: install go-ready ## The product in a real cluster, as a user installs it (ten minutes, as root on Linux)
	@$(RUN) test -- --project cluster test/e2e

default-requests: export HELIOGRAPH_SOAK = 1
default-requests: install go-ready ## Memory of the pods at 1,000 partners and 200 events a second, as root on Linux (six minutes)
	@$(RUN) test -- --project cluster test/e2e/default-requests

chaos: install go-ready ## Random faults of servers, pods, disks, clocks and partners under load (ten minutes)
	@HELIOGRAPH_CHAOS_SECONDS=$${HELIOGRAPH_CHAOS_SECONDS:-600} $(RUN) test -- --project nats test/chaos

soak: export HELIOGRAPH_SOAK = 1
soak: test ## test with all runs of the random tests, an hour of the probe, of chaos, half an hour of memory (three hours)
	@echo "== chaos, an hour" && HELIOGRAPH_CHAOS_SECONDS=3600 $(RUN) test -- --project nats test/chaos

console: install ## Build the page of /console into dist/console
	@$(RUN) console

image: install ## Build the image into dist/image.tar: make image ARGS="--tag NAME --base IMAGE"
	@$(RUN) image -- $(ARGS)

manifests: install go-ready ## Render the chart for kubectl apply -k: make manifests ARGS="--namespace NAME --values FILE"
	@$(NODE) test/release/main.ts manifests $(ARGS)

sbom: install ## List the packages of the product in dist/sbom.cdx.json
	@$(NODE) test/release/main.ts sbom

kit: install ## Build the recipients' package into dist
	@$(NODE) test/release/main.ts kit

release: install go-ready ## Build all that a release publishes into dist/release
	@$(NODE) test/release/main.ts build $(ARGS)

release-check: install ## Check that versions, notes, repository and tag of a release agree
	@$(NODE) test/release/main.ts check

release-login: go-ready ## Log in to the registry with REGISTRY_USER and REGISTRY_TOKEN, for the three targets below
	@crane=$$($(NODE) test/tools/resolve.ts crane) && printf '%s' "$$REGISTRY_TOKEN" | \
		"$$crane" auth login ghcr.io --username "$$REGISTRY_USER" --password-stdin

release-push: go-ready ## Push the image and the chart: make release-push ARGS="--registry HOST/FOLDER"
	@$(NODE) test/release/publish.ts push $(ARGS)

release-sign: go-ready ## Sign what was pushed, keyless in the workflow or with ARGS="--key FILE"
	@$(NODE) test/release/publish.ts sign $(ARGS)

release-verify: go-ready ## Verify these signatures, keyless or with ARGS="--key FILE"
	@$(NODE) test/release/publish.ts verify $(ARGS)

release-npm: ## Publish the npm packages: make release-npm ARGS=--dry-run
	@for archive in dist/release/files/heliograph-dev-*.tgz; do npm publish "./$$archive" --access public $(ARGS) || exit 1; done

release-page: ## Publish the release's page as a draft, with the program gh; GH=echo prints the command
	@$(or $(GH),gh) release create "v$$($(NODE) -p 'require("./package.json").version')" --draft --verify-tag \
		--notes-file dist/release/notes.md dist/release/files/*

api-up: install go-ready ## Start etcd and an API server with the three kinds, and print the kubeconfig
	@$(RUN) api -- up

api-down: install ## End them and remove all of it
	@$(RUN) api -- down

cluster-up: install go-ready ## Start a real Kubernetes and print its kubeconfig: CLUSTER=kind, node (as root) or kubeconfig
	@$(RUN) cluster -- up

cluster-load: install go-ready ## cluster-up, and hand it the images of the product, NATS and Prometheus
	@$(RUN) cluster -- load

cluster-down: install ## End that cluster and remove all of it
	@$(RUN) cluster -- down

cluster-test: install go-ready ## Suites in a real cluster, as root on Linux (built once, minutes)
	@$(RUN) test -- --project cluster

demo: install dist/console/index.html ## Run the whole product on this machine: make demo ARGS=--once
	@$(RUN) demo -- $(ARGS)

bench: install ## Measure speed and memory on a quiet machine: make bench ARGS="PART ... --rounds N"
	@node_modules/.bin/node test/bench/run-bench.ts $(ARGS)

generate: install ## Write again what is generated from the CRDs
	@$(RUN) generate

clean: ## Remove what can be made again; built tools stay in ~/.cache/heliograph
	rm -rf dist node_modules

dist/console/index.html: package-lock.json $(shell find console -type f) | install
	@$(RUN) console

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
