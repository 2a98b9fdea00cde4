# The commands of this repository. `make demo` needs Go alone, `make test` Go and Node.

GOFUMPT     = mvdan.cc/gofumpt@v0.12.0
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
BIN         = bin/tandem

# Without C the binary is static, which starts sooner. The race detector needs it.
export CGO_ENABLED = 0

.PHONY: demo test test-editors build build-others lint race bench live mutate stress security nightly generate install clean

# The main job on the embedded model: an edit lands while somebody types, is shown as a diff and undone.
demo:
	go run ./cmd/tandem demo

# Everything but the tests that drive editors. The ripgrep that searches are compared with is installed into a cache folder first. Property
# tests draw the same cases each time, so that a change passes or fails by itself; make nightly draws others. Only packages with such tests
# know the flag.
DRAWN = $$(.ci/drawn)
PLAIN = $$(go list ./... | grep -v /editors/ | grep -vxF "$$(.ci/drawn)")
SEED ?= 7919

# Tests wait for disks and other processes much of their time: twice as many packages as processors are tested at once.
AT_ONCE ?= $$(( 2 * $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) ))

test: build
	@.ci/ripgrep
	go vet ./...
	go test -p $(AT_ONCE) $(PLAIN)
	go test -p $(AT_ONCE) $(DRAWN) -rapid.seed=$(SEED)

# Real editors; installs them into a cache folder first.
test-editors: build
	editors/test/run.sh

build:
	go build -trimpath -o $(BIN) ./cmd/tandem

# Other systems are not supported, but everything builds there; the files *_other.go say what is not promised.
build-others:
	@for system in darwin windows; do echo "$$system"; GOOS=$$system go build ./... && GOOS=$$system go vet ./... || exit 1; done

install:
	go install ./cmd/tandem

lint:
	go vet ./...
	@files=$$(go run $(GOFUMPT) -l .); test -z "$$files" || { echo "not formatted (go run $(GOFUMPT) -w .):"; echo "$$files"; exit 1; }
	go run $(STATICCHECK) ./...
	.ci/deadcode

# The tests with the race detector. Sweeps and properties try fewer cases than in make test; .ci/nightly race runs all tests.
RACE = CGO_ENABLED=1 go test -race -short -p $(AT_ONCE) -timeout 40m

race:
	@.ci/ripgrep
	$(RACE) $(PLAIN)
	$(RACE) $(DRAWN) -rapid.seed=$(SEED)

# Writes everything that is generated from the code: docs, schemas, golden files of documentation.
generate:
	go test ./lspserver/protocol -run 'Generated' -update
	go test ./agent/config -run 'Schema|Page' -update
	go test ./lspserver/conformance -run Transcripts -update
	node editors/vscode/scripts/settings.mjs
	go test . -run "TestCoverage|TestFindings|TestRooms" -update

# Measures everything beside what it is compared with and writes docs/benchmarks.md. Its output is what benchstat reads:
# make bench COUNT=8 > new.txt
COUNT ?= 1
bench:
	@go run ./cmd/bench -count $(COUNT) -o docs/benchmarks.md

# Has a real model do the small tasks in cmd/live/tasks and says what came of them. It needs a key in the environment and costs
# money; with TANDEM_MODEL=ollama/NAME it asks a model on this machine. ONLY names some tasks.
ONLY ?=
live:
	@go run ./cmd/live -only '$(ONLY)'

# Measures the sandbox: what outlives a command, what a start costs, what a flood of output takes, which
# planted files are found. TIMES=100 is what is written down.
TIMES ?= 5
security:
	@go test -count=1 -v -timeout 120m -run '^TestFigures' ./sandbox ./sandbox/effects/autorun -times=$(TIMES)
	@go test -count=1 -run '^$$' -bench '^BenchmarkAudit$$' ./agent/store

# Changes code one place at a time and wants a room's own tests to notice it. ROOMS names some rooms.
ROOMS ?=
mutate:
	.ci/mutate $(ROOMS)

# Runs everything many times on a busy machine: what fails is flaky. ONLY names packages (./tools/run) and suites (nvim, vscode).
stress:
	.ci/stress $(ONLY)

# Long sweeps, some hours of them; .ci/nightly takes the names of sections to run a part.
nightly:
	.ci/nightly

clean:
	rm -rf bin
