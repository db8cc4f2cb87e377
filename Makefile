.DEFAULT_GOAL := help

help: ## Show this help
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-13s %s\n", $$1, $$2}'

build: ## Build ./resumed and ./resumed-hub
	CGO_ENABLED=0 go build -trimpath -o ./ ./cmd/resumed ./cmd/resumed-hub

test: ## Run the tests, also those of what the page shows, which go test ./... leaves to CI
	LOOKS=1 go test ./...

race: ## Run the tests in random order, with the race detector
	LOOKS=1 go test -race -shuffle=on ./...

lint: ## Everything that CI checks without running the program
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0 run

fix: ## Format, and rewrite what Go says in a newer way
	go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.0 fmt
	go fix ./...

cover: ## Show the coverage of each package
	rm -rf .coverage && mkdir .coverage # the binary under test writes there too
	LOOKS=1 COVERAGE_DIR=$(CURDIR)/.coverage go test -cover -covermode=atomic -coverpkg=./... ./... -args -test.gocoverdir=$(CURDIR)/.coverage
	go tool covdata textfmt -i=.coverage -o coverage.out
	go tool covdata percent -i=.coverage | sed 's/of statements//'
	go tool cover -func=coverage.out | tail -n 1

# It takes eight minutes and, in $TMPDIR, 2.6 GB for a hundred thousand sessions, which are
# left out where there is no room. What single parts cost is told by go test -bench . ./internal/…
bench: ## Measure the built daemon, and write docs/performance.md (SESSIONS=10,100)
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/ ./cmd/resumed-hub
	cd bench && PATH="$(CURDIR)/bin:$$PATH" go run . -out docs/performance.md -sessions "$${SESSIONS:-10,100,1000,10000,100000}"

bench-hub: ## Let a hundred hosts of a hundred sessions share a limit, and say what that costs (HOSTS=100)
	HUB_TEST_HOSTS="$${HOSTS:-100}" go test -count=1 -v -run ManyHosts ./internal/hub

# The only way in which the tests install and start real agents. E2E names them
# (claude-code,codex,opencode,kilo,copilot,gemini,qwen-code,kimi,pi) or says all; E2E_CACHE is where
# they are installed, ~/.cache/resumed-e2e without it; E2E_SHORT plays a sample of
# the rows about what a session was started with, as CI does; with E2E_KEEP set their
# homes stay, to be looked at; E2E_RUN names rows, as go test -run does.
e2e: ## Try the daemon with the real agents (E2E=claude-code,codex for some)
	E2E="$${E2E:-all}" go test -count=1 -v -parallel 64 -timeout 30m -run "$${E2E_RUN:-.}" ./e2e

# A failing run prints its seed; SOAK_SEED throws the same dice again.
soak: ## Kill the daemon all the time and check what it did (SOAK=10m, SOAK_WORLDS=8, SOAK_FAULTS=clock, STEPS=10000000, HISTORIES=1000000)
	SOAK="$${SOAK:-10m}" SOAK_FAULTS="$${SOAK_FAULTS-clock}" go test -count=1 -v -timeout 0 ./soak
	go test -count=1 -v -timeout 0 -run Histories ./internal/simulation -steps "$${STEPS:-10000000}" -first "$${SOAK_SEED:-$$(date +%s)}"
	go test -count=1 -v -timeout 0 -run Histories ./internal/fleet -histories "$${HISTORIES:-1000000}" -first "$${SOAK_SEED:-$$(date +%s)}"
	RESUMED_RACES=100 go test -count=1 -v -timeout 0 -run SameTime ./internal/deliver
	.ci/loaded 4 go test -count=1 ./...

faults: ## Break one promise at a time, and see that a test notices (NAME=claim-is-not-synced for one; 15 minutes for all)
	tests/faults/run $(NAME)

fuzz: ## Fuzz every parser for a while (FUZZTIME=30s each)
	.ci/fuzz "$${FUZZTIME:-30s}"

learn: ## Learn the weights of words from the examples of refusals, and say how they do on sources left out
	go test -count=1 -v -run TestTheWeightsAreThoseOfTheExamples ./internal/limit -learn

systemd-test: ## Boot a systemd and run the units under it (root, two minutes)
	systemd/test.sh

pictures: ## Take the pictures of the README anew (needs chromium)
	go test ./cmd/resumed -run TestPicturesOfTheReadme -count=1 -pictures ../../docs/pictures

docs: ## Write the parts of the documents that the code says
	go test ./tests/repo -run TestDocumentsSayWhatTheCodeSays -update

packages: ## Build all packages, archives and images into dist/ (the first time ten minutes, for goreleaser)
	packaging/build

packages-test: ## Install what is in dist/ on trees of their own, and run it (root, ten minutes)
	packaging/test --full

release: ## Build the packages of the tag that is checked out, and of nothing else
	packaging/release

.PHONY: docs pictures help build test race lint fix cover bench bench-hub e2e soak faults fuzz learn systemd-test packages packages-test release
