# Short names for what CONTRIBUTING.md describes. CI is .ci/run; it does not use this file.
.DEFAULT_GOAL := help
.PHONY: help build bin/divvy-bench quick test race lint bench profile demo screenshots faults failovers man release wheel ci

GOLANGCI_VERSION := $(shell sed -n 's/^golangci_version=//p' .ci/lib.sh)
RACE := ./dispatcher/... ./generator/... ./internal/pilot/... ./api/... ./internal/door/... ./internal/relay/... ./internal/pg/...

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the static binary, bin/divvy
	CGO_ENABLED=0 go build -trimpath -o bin/divvy ./cmd/divvy

quick: ## most of what breaks, in a minute: gofmt, go vet, rules of the house, packages whose tests need no database
	go vet ./...
	go test ./internal/house -run 'Gofmt|Contract|Floors|Knows|Point|Pur|Rooms|Rules|NoStatements|Links'
	go test $$(go list -f '{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}' ./... | grep -v internal/pgtest | cut -d ' ' -f 1)

test: ## all tests
	go test ./...

race: ## the tests of the concurrent packages with the race detector
	go test -race $(RACE)

lint: ## gofmt, go vet, golangci-lint (built once)
	@files=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$files" ] || { echo "gofmt -w $$files"; exit 1; }
	go vet ./...
	@[ -x bin/golangci-lint ] || GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	bin/golangci-lint run ./...

bin/divvy-bench:
	go build -trimpath -o bin/divvy-bench ./cmd/divvy-bench

bench: bin/divvy-bench ## S1 to S12 of docs/performance.md (half an hour on an idle machine; bin/divvy-bench --quick: minutes)
	bin/divvy-bench

profile: bin/divvy-bench ## CPU, mutex and block profiles of claims and their flame graphs, in profile/ (a minute; needs pgbench)
	bin/divvy-bench --only S1,S2 --ready 300000 --held 30000 --profile profile
	go tool pprof -top -cum -nodecount 40 profile/cpu.pprof

demo: ## the main job: real processes shared out by a tree, checked in the end
	go run ./cmd/divvy demo

man: build ## manual pages and completions of shells, in man/ and completions/
	bin/divvy man man --completions completions

release: ## all that a release consists of, in dist/: archives for Linux and macOS, .deb, SBOMs, checksums; VERSION=v1.2.3
	.ci/release $(VERSION)

wheel: ## the Python client, dist/divvy-*.whl; VERSION=v1.2.3
	.ci/wheel $(VERSION)

screenshots: ## pictures of the page for the README, light and dark, in docs/ (needs Chromium)
	DIVVY_SCREENSHOTS=$(CURDIR)/docs go test -count=1 -tags browser ./cmd/divvy/serve -run TestBrowserScreenshots

faults: ## every fault twice, and docs/faults.csv from it (a quarter of an hour on an idle machine)
	rm -f faults.jsonl
	DIVVY_LONG=1 DIVVY_FAULTS=$(CURDIR)/faults.jsonl go test -count=2 -tags chaos -timeout 60m -parallel 1 -run 'TestChaos|TestDatabaseClock|TestPilotClock' ./internal/e2e
	go run .ci/faults.go faults.jsonl docs/faults.csv

failovers: ## PostgreSQL under Patroni: primary and standby killed, a switchover, etcd frozen, three times each, here and as root with Debian 13's PostgreSQL 17, and docs/failovers.csv (twenty minutes)
	rm -f failovers.jsonl
	DIVVY_LONG=1 DIVVY_FAILOVERS=$(CURDIR)/failovers.jsonl go test -count=3 -tags chaos -timeout 40m -run TestPatroni ./internal/e2e
	DIVVY_LONG=1 DIVVY_FAILOVERS=$(CURDIR)/failovers.jsonl .ci/trixie go test -count=3 -tags chaos -timeout 40m -run TestPatroni ./internal/e2e
	go run .ci/faults.go failovers.jsonl docs/failovers.csv

ci: ## what CI runs
	.ci/run
