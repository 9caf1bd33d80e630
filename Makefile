# abxdash: `make run` opens the dashboard, `make test` runs the tests, `make help` lists the rest.
SHELL := /bin/bash
BIN   := bin/abxdash
TOOL  := go tool -modfile=.ci/tools/go.mod
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help run build test lint vet bench e2e fuzz mutants images gen clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/abxdash
	@mkdir -p bin
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) .

run: build ## open the dashboard; without a terminal, do the main job in plain lines
	@if [ -t 0 ] && [ -t 1 ]; then exec ./$(BIN); else exec ./$(BIN) try; fi

# The race detector needs a C compiler. Without one the tests run without it and
# say so; CI sets RACE=require, which turns that into a failure.
test: ## run the tests, with the race detector where a C compiler is present
	@if command -v "$${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1; then \
	  CGO_ENABLED=1 go test -race $(TESTFLAGS) ./...; \
	elif [ "$(RACE)" = require ]; then \
	  echo "make test: the race detector needs a C compiler and none was found" >&2; exit 1; \
	else \
	  echo "make test: no C compiler found, so the race detector is off"; \
	  go test $(TESTFLAGS) ./...; \
	fi

vet: ## vet for linux, darwin and windows
	@for os in linux darwin windows; do echo "vet $$os"; GOOS=$$os go vet ./... || exit 1; done

lint: vet ## gofumpt, vet on three systems, golangci-lint
	@out=$$($(TOOL) gofumpt -l .); if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	$(TOOL) golangci-lint run ./...

bench: ## run the benchmarks that hold the speed budgets
	go test -run '^$$' -bench . -benchmem $(BENCHFLAGS) ./...
	cd .ci/bench && go test -count=1 -v -bench . $(BENCHFLAGS) ./...

e2e: build ## drive the real program in a terminal
	go test -count=1 -run 'E2E' -v $(TESTFLAGS) ./...

# `make fuzz FUZZTIME=10m` looks longer.
FUZZTIME ?= 15s
FUZZ := ui/term:FuzzTerminal ui/term:FuzzEncode ui/attach:FuzzScanner ui/record:FuzzOpen

fuzz: ## fuzz the terminal and the recordings, FUZZTIME each
	@for t in $(FUZZ); do \
	  echo "fuzz $$t $(FUZZTIME)"; \
	  grep -q "^func $${t#*:}(" ./$${t%:*}/*_test.go || { echo "there is no $$t"; exit 1; }; \
	  go test -run '^$$' -fuzz "^$${t#*:}\$$" -fuzztime $(FUZZTIME) ./$${t%:*} || exit 1; \
	done

mutants: ## break the promises about killing one by one; each must turn a test red
	ABXDASH_MUTANTS=1 go test -count=1 -timeout 60m -run '^TestMutants$$' -v ./views/present/viewtest

images: ## draw the screens of the real program to docs/images
	go test -count=1 -run '^TestE2EImages$$' ./views/e2e -args -images $(CURDIR)/docs/images

gen: ## regenerate committed code
	go generate ./...

clean: ## remove build results
	rm -rf bin
