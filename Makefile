.DEFAULT_GOAL := help

help: ## Show this help
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: ## Build ./resumed
	CGO_ENABLED=0 go build -trimpath -o resumed ./cmd/resumed

test: ## Run the tests
	go test ./...

race: ## Run the tests in random order, with the race detector
	go test -race -shuffle=on ./...

lint: ## Everything that CI checks without running the program
	go vet ./...
	test -z "$$(gofmt -l .)"
	go fix -diff ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.7.0 ./...
	@command -v golangci-lint >/dev/null && golangci-lint run || echo "golangci-lint is not installed: skipped"

fix: ## Format, and rewrite what Go says in a newer way
	gofmt -w .
	go fix ./...

cover: ## Show the coverage of each package
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -n 1

bench: ## Run the benchmarks, the peers beside them
	go test -run '^$$' -bench . ./internal/...
	cd internal/backoff/bench && go test -run '^$$' -bench .

# The only way in which the tests install and start real agents. E2E names them
# (claude-code,codex,opencode,gemini,qwen-code) or says all; E2E_CACHE is where
# they are installed, ~/.cache/resumed-e2e without it; E2E_SHORT plays a sample of
# the rows about what a session was started with, as CI does; with E2E_KEEP set their
# homes stay, to be looked at.
e2e: ## Try the daemon with the real agents (E2E=claude-code,codex for some)
	E2E="$${E2E:-all}" go test -count=1 -v -parallel 64 -timeout 30m ./e2e

# A failing run prints its seed; SOAK_SEED throws the same dice again.
soak: ## Kill the daemon all the time and check what it did (SOAK=10m, STEPS=10000000)
	SOAK="$${SOAK:-10m}" go test -count=1 -v -timeout 0 ./soak
	go test -count=1 -v -timeout 0 -run Histories ./internal/simulation -steps "$${STEPS:-10000000}" -first "$${SOAK_SEED:-$$(date +%s)}"

fuzz: ## Fuzz every parser for a while (FUZZTIME=30s each)
	.ci/fuzz "$${FUZZTIME:-30s}"

learn: ## Learn the weights of words from the examples of refusals, and say how they do on sources left out
	go run ./internal/limit/learn

systemd-test: ## Boot a systemd and run the units under it (root, two minutes)
	systemd/test.sh

.PHONY: help build test race lint fix cover bench e2e soak fuzz learn systemd-test
