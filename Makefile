# One entry per task. `make demo` and `make test` install what they need and say so.
SHELL := bash
.DEFAULT_GOAL := help
ESKER := target/release/esker
QUICK := target/quick/esker
SAMPLE := samples/office-server.nbdkit.log.zst

.PHONY: help demo demo-fs demo-live test check bench bench-smoke soak reproduce docs setup setup-test build

help: ## What there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: setup ## Build, study the bundled sample, say where the report is
	cargo build --profile quick --locked --quiet --bin esker
	@$(QUICK) study $(SAMPLE) -o report.html
	@echo
	@echo "The report is $(CURDIR)/report.html: open it in a browser."
	@echo "The program is $(QUICK); make build makes a faster one, $(ESKER)."

demo-fs: setup ## SCMFS at work: git on a mounted pool, kill -9, and its speed beside tmpfs; half a minute
	cargo build --profile quick --locked --quiet --bin esker
	@scripts/demo-fs.sh $(QUICK)

demo-live: setup ## A volume over two emulated devices under load, live, and a study of its recording; about a minute
	cargo build --profile quick --locked --quiet --bin esker
	@scripts/demo-live.sh $(QUICK) live.html

test: setup setup-test ## Everything the tests need, then all tests
	@scripts/test.sh

check: ## Formatting, the rules of crates/xtask, lints as errors, documentation as errors
	cargo fmt --all --check
	cargo xtask tidy
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

bench: setup ## All benchmarks: rates per second of processor time, best of three
	cargo bench --workspace --locked --quiet --benches

bench-smoke: setup ## Every benchmark once, to see that it runs: built like the tests, whose artefacts it shares
	ESKER_BENCH_SMOKE=1 cargo bench --profile dev --workspace --locked --quiet --benches

soak: setup ## Long runs: a million mutated inputs per parser, more property cases (TRACES=folder: the full tournament)
	TRACES="$(TRACES)" scripts/soak.sh

reproduce: setup build ## The papers' tables and figures, and reproduction.html (TRACES=folder for those on traces)
	$(ESKER) reproduce --all -o reproduction.html $(if $(TRACES),--traces $(TRACES))

docs: setup ## Reference pages, man pages and API documentation
	scripts/generate-docs.sh
	@# With the flags of `make check`, so that neither of the two builds it again.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

build: ## The program at full speed, and the library of `esker fs run`
	cargo build --release --locked --quiet --bin esker
	cargo build --release --locked --quiet --package esker-scm-preload

setup:
	@scripts/setup.sh build

setup-test:
	@scripts/setup.sh test
