# make help lists the targets.
.DEFAULT_GOAL := help
.PHONY: help check security floods test ratio ratios golden fuzz bench compare rivals baseline attack failover soak growth run demo build screenshots release manifests vuln clean

FUZZTIME ?= 30s
BENCHTIME  ?= 100ms
BENCHCOUNT ?= 5
# What is shipped is built with this Go: docs/adr/0043.
SHIP_GO  ?= go1.26.9
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

check: security ## gofmt, vet, staticcheck, security, a tidy go.mod, all tests with the race detector
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	go mod tidy -diff
	go -C e2e mod tidy -diff && go -C e2e vet ./...
	go test -race -shuffle=on -timeout=25m ./...
	go -C e2e test -race -shuffle=on -timeout=25m ./peers ./protocols

security: ## gitleaks, gosec and govulncheck, pinned in tools/pinned; and what the binary links
	scripts/security.sh

floods: ## what floods over HTTP/2 cost a running gateway, as a table (some 90 s)
	go -C e2e test ./wire -count=1 -run 'TestFloods|TestHeaderTableCrash' -v | grep -v '^=== '

test: ## all tests
	go test ./... && go -C e2e test ./...

ratio: ## lines of a package's own tests for one of its code
	@go run ./tools/ratio

golden: ## rewrite the golden transcripts; read the diff before you commit it
	go test ./internal/app/gateway -run TestGolden -update

fuzz: ## every fuzz target for FUZZTIME (30s)
	@set -e; for package in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$package); \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package; \
		done; \
	done

bench: ## all benchmarks, beside the baseline of testdata/bench (some 5 min)
	go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) ./... | tee bench.txt
	go tool benchstat testdata/bench/baseline.txt bench.txt

compare: ## what a turn costs here, beside BASE=<commit> and, where it is there, a floor (SCENARIOS="S1 S4": a minute each)
	go -C e2e run ./compare -base "$(BASE)" $(if $(SCENARIOS),-scenarios "$(SCENARIOS)") $(if $(ROUNDS),-rounds $(ROUNDS))

ratios: ## what keys, tokens, limits and TLS cost a turn, over a gateway without them (some 5 min; wants a quiet machine)
	go test ./cmd/sluice -run '^$$' -bench '^BenchmarkRatio' -benchtime 1x -timeout 15m

rivals: ## ten tool nodes in a row, beside LangGraph and ADK for Go (some 3 min)
	scripts/rivals-install.sh
	go test ./internal/app/gateway -run '^$$' -bench '^BenchmarkRow$$' -benchtime 10x -count $(BENCHCOUNT)

baseline: ## make the last run of bench the baseline
	mkdir -p testdata/bench
	grep -E '^(goos|goarch|pkg|cpu|Benchmark)' bench.txt >testdata/bench/baseline.txt

attack: ## do to the gateway what has once broken it (some 3 min)
	scripts/attack.sh

failover: ## kill gateways and their Redis while they work (some 5 min)
	scripts/failover.sh

soak: ## a gateway under load for 30 min: what clients saw and what it counted agree (SOAK="-length 60s")
	scripts/soak.sh $(SOAK)

growth: ## what a unit costs the more there are, as tables (GROWTH="-rounds 9 chunks"; some 6 min)
	scripts/growth.sh $(GROWTH)

run: ## the gateway on :8080
	go run ./cmd/sluice

demo: ## what the gateway is for, in five tours without a key
	go run ./cmd/sluice demo

build: ## a static binary, dist/sluice
	GOTOOLCHAIN=$(SHIP_GO) CGO_ENABLED=0 go build -trimpath -tags grpcnotrace -ldflags "-s -w -X main.version=$(VERSION)" -o dist/sluice ./cmd/sluice

release: ## a version for all platforms in dist/, published nowhere (VERSION=v1.2.3, else a snapshot)
	scripts/release-install.sh
	GOTOOLCHAIN=$(SHIP_GO) go run ./tools/release $(if $(filter command environment,$(firstword $(origin VERSION))),-version $(VERSION)) $(if $(RELEASE_URL),-url $(RELEASE_URL))

manifests: ## the manifests of deploy/kubernetes and the chart, rendered, and checked against Kubernetes' schemas
	scripts/release-install.sh
	scripts/manifests.sh

screenshots: ## the pictures of the documents, from the page as it is; needs Chromium (scripts/browser-install.sh)
	mkdir -p docs/images
	SLUICE_SCREENSHOTS=$(CURDIR)/docs/images go -C e2e test ./browser -count=1 -run '^TestScreenshots$$'

vuln: ## known vulnerabilities in what we call; needs the network
	go tool -modfile=tools/pinned/go.mod govulncheck ./...

clean: ## remove what the other targets write
	rm -rf dist sluice bench.txt
	find . -path ./.git -prune -o -type f \( -name '*.test' -o -name '*.out' -o -name '*.prof' \) -exec rm -f {} +
