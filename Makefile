# `make help` lists the targets. Nothing but Go is needed for run and build; test needs a C compiler for the race detector.

# Pinned, as every dependency; they are run, not linked.
SQLC        := github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

.PHONY: run build test bench lint generate help

run: build ## Serve on http://127.0.0.1:8080 from ./data, polling all sources
	bin/hazardd serve

build: ## Make bin/hazardd, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/hazardd ./cmd/hazardd

test: ## Run all tests with the race detector; with HAZARDD_SHARED set, those on recordings and vectors too
	CGO_ENABLED=1 go test -race -timeout 30m ./...

bench: ## Measure against baselines: prints ratios (needs nginx for one of them)
	go run ./bench/active
	go run ./bench/store
	$(if $(HAZARDD_SHARED),go run ./bench/import,@echo 'bench/import reads recordings: set HAZARDD_SHARED')

lint: ## Find faults: gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go run $(STATICCHECK) ./...

generate: ## Make internal/store/db from the SQL, and the picture of all symbols, after a change of them
	cd internal/store && go run $(SQLC) generate
	go run ./internal/symbol/sheet docs/symbols.png

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
