# `make help` lists the targets. They need Go, and Node.js for the map; race and test-all need a C compiler too.
# `go build ./cmd/hazardd` does without Node.js, and makes a binary without the map.

# Pinned, as every dependency; they are run, not linked.
SQLC        := github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# By npx: it needs an older TypeScript than the map.
OPENAPI_TYPES := openapi-typescript@7.13.0
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

# Program, linters and tests are compiled in one way, and so once. Only the race detector needs C.
export GOFLAGS     := $(GOFLAGS) -trimpath
export CGO_ENABLED := 0
# Compilers, linkers and tests have little garbage: they take a fifth less of the processor when they collect it less often, and no more memory.
build test race test-postgres lint check: export GOGC ?= 400

# What the map is made of; it is built again only when this has changed.
MAP_SOURCES := $(wildcard internal/lang/words/*.json) $(shell find web -path web/src/words.types.ts -prune -o -path web/node_modules -prune -o -path web/dist -prune -o -path web/e2e -prune -o -path web/basemap/dist -prune -o -path web/maplibre -prune -o -type f ! -name '*.go' -print)

.PHONY: run demo build web check needs test test-all race test-postgres test-web soak bench lint generate tables release test-package help

run: build ## Serve on http://127.0.0.1:8080 from ./data, polling all sources
	bin/hazardd serve

demo: build ## Serve a throw-away store with a drill in it, to look around; needs no network
	@bin/hazardd demo

build: web ## Make bin/hazardd, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/hazardd ./cmd/hazardd

web: web/dist/index.html ## Make the map, web/dist

web/dist/index.html: $(MAP_SOURCES) web/node_modules/.package-lock.json
	npm --prefix web run build
	@touch $@

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	@command -v npm >/dev/null || { echo 'the map needs Node.js 20.19 or later, with npm; go build ./cmd/hazardd makes a binary without the map' >&2; exit 1; }
	PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm --prefix web ci
	@touch $@

check: lint ## Find faults within a minute, once caches are warm: format, vet, staticcheck, types, the tests that take less than a second
	go run ./.ci/short

needs: ## Say what this machine lacks for the tests, and what installs it
	@.ci/needs

# Each test says where it runs: see the package internal/test.
test: export HAZARDD_PROGRAM := $(CURDIR)/bin/hazardd
test: build ## Run the tests that a change needs (5 minutes on two idle processors); what this machine lacks is skipped, and named at the end
	npm --prefix web test
	npm --prefix web run e2e
	go test -p 4 -vet=off -timeout 15m ./internal/serve ./... # the longest first; make lint vets
	@.ci/needs

test-all: export HAZARDD_TESTS := all
test-all: build .ci/lighthouse/node_modules/.package-lock.json clients/others/arcgis/node_modules/.package-lock.json clients/others/duckdb/node_modules/.package-lock.json clients/others/inspector/node_modules/.package-lock.json clients/others/nodered/node_modules/.package-lock.json race ## Run all tests, before a release: kills, clusters, all recordings, long histories, transfers, every width, PostgreSQL, generators, Lighthouse
	npm --prefix web test
	npm --prefix web run e2e
	go test -p 3 -timeout 60m ./...
	HAZARDD_TEST_DATABASE=postgres go test -timeout 30m ./internal/serve ./internal/store ./internal/edit ./internal/tell/subscription
	.ci/unchanged
	.ci/described
	.ci/portable
	.ci/vulnerable
	@.ci/needs

race: ## Run the tests of packages that start goroutines under the race detector: short ones, or all with HAZARDD_TESTS=all (needs a C compiler)
	.ci/race $(if $(filter all,$(HAZARDD_TESTS)),-p 3 -timeout 60m,-short)

test-postgres: ## Run the tests of the store, of editing, and of everybody's last word on PostgreSQL
	HAZARDD_TEST_DATABASE=postgres go test -timeout 15m ./internal/store ./internal/edit
	HAZARDD_TEST_DATABASE=postgres go test -timeout 15m -run LastWord ./internal/tell/subscription

.ci/lighthouse/node_modules/.package-lock.json: .ci/lighthouse/package.json .ci/lighthouse/package-lock.json
	npm --prefix .ci/lighthouse ci --ignore-scripts
	@touch $@

clients/others/arcgis/node_modules/.package-lock.json: clients/others/arcgis/package.json clients/others/arcgis/package-lock.json
	npm --prefix clients/others/arcgis ci --ignore-scripts
	@touch $@

clients/others/duckdb/node_modules/.package-lock.json: clients/others/duckdb/package.json clients/others/duckdb/package-lock.json
	npm --prefix clients/others/duckdb ci --ignore-scripts
	@touch $@

clients/others/inspector/node_modules/.package-lock.json: clients/others/inspector/package.json clients/others/inspector/package-lock.json
	npm --prefix clients/others/inspector ci --ignore-scripts
	@touch $@

clients/others/nodered/node_modules/.package-lock.json: clients/others/nodered/package.json clients/others/nodered/package-lock.json
	npm --prefix clients/others/nodered ci --ignore-scripts
	@touch $@

test-web: build ## Run the tests of the map, in Chromium too (Debian's package chromium, or the program that CHROMIUM names)
	npm --prefix web test
	npm --prefix web run e2e

soak: ## Break two things at once in a cluster of three nodes, again and again (30 minutes; needs PostgreSQL 15 and nginx, as bench/nodes does)
	HAZARDD_TESTS=all HAZARDD_CLUSTER_SOAK=30m go test -timeout 60m -run TestPairs -v ./internal/test/cluster

bench: build ## Measure against baselines: prints ratios (needs nginx for one of them, PostgreSQL for another; filling a store of a million takes minutes)
	go run ./bench/active
	go run ./bench/store
	go run ./bench/search
	go run ./bench/push
	go run ./bench/abuse
	go run ./bench/backup
	go run ./bench/poll
	go run ./bench/reach
	go run ./bench/notify
	npm --prefix web run measure
	go run ./bench/nodes
	$(if $(HAZARDD_SHARED),go run ./bench/import,@echo 'bench/import reads recordings: set HAZARDD_SHARED')
	$(if $(HAZARDD_SHARED),go run ./bench/exposure,@echo 'bench/exposure makes a raster of a recorded one: set HAZARDD_SHARED')

lint: web/node_modules/.package-lock.json ## Find faults: gofmt, go vet, staticcheck; format, oxlint and types of the map
	@bad=$$(gofmt -l .); test -z "$$bad" || { echo "gofmt would change: $$bad" >&2; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	npm --prefix web run --silent lint
	web/node_modules/.bin/tsc --noEmit --strict --target es2022 --module nodenext --lib es2023,dom --types '' clients/typescript/test/types.mts

generate: ## Make internal/store/sqlc from the SQL; the picture of all symbols; what the map knows of internal/hazard and the OpenAPI document
	cd internal/store && go run $(SQLC) generate
	go run ./internal/atlas/symbol/sheet docs/symbols.png
	go run ./internal/atlas/symbol/vocabulary web/src
	npx --yes $(OPENAPI_TYPES) internal/serve/openapi/openapi.yaml --immutable --output web/src/openapi.types.ts

tables: ## Write the tables in docs/sources.md, after a change of a source's description
	go test ./internal/app -run TablesOfSources -update

release: web ## Make binaries and packages of VERSION in dist
	deploy/release.sh $(VERSION) dist

test-package: web ## Build the Debian package twice, compare, and install, use, upgrade and remove it in a container (root, mmdebstrap, systemd-nspawn; 5 minutes)
	deploy/release.sh 0.0.1 dist/before linux/amd64
	deploy/release.sh 0.0.2 dist/after linux/amd64
	deploy/release.sh 0.0.2 dist/again linux/amd64
	diff dist/after/SHA256SUMS dist/again/SHA256SUMS
	CGO_ENABLED=0 go build -o dist/pebble github.com/letsencrypt/pebble/v2/cmd/pebble
	CGO_ENABLED=0 go build -o dist/peers ./deploy/package/peers
	GOBIN=$(CURDIR)/dist CGO_ENABLED=0 go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
	PEBBLE=dist/pebble PEERS=dist/peers S3=dist/versitygw deploy/package/test.sh dist/before/*_amd64.deb dist/after/*_amd64.deb

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
