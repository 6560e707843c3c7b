#!/usr/bin/env bash
# Builds and runs all tests: two programs of tests at a time. Those of one crate often leave a core idle, as its last
# tests run alone, or wait for servers. What a program prints comes in one piece, once it has ended.
set -euo pipefail
cd "$(dirname "$0")/.."
tests() { cargo test --workspace --locked --quiet "$@"; }
# All in one build: with a part of the targets, features might differ. Cargo prints a line of JSON for each program.
find='.*"manifest_path":"([^"]*)/Cargo.toml".*"overflow_checks":[a-z]*,"test":true\},.*"executable":"([^"]*)".*'
programs=$(tests --no-run --message-format=json-render-diagnostics | sed -nE "s|$find|\1\t\2|p" | sort)
[ -n "$programs" ] || { echo "no program of tests was built" >&2; exit 1; }
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# Runs a program as cargo does, in its crate's folder.
run() { # results crate<tab>program
    local results=$1 crate=${2%$'\t'*} program=${2#*$'\t'} status=0
    local output=$results/${program##*/}
    cd "$crate"
    CARGO_MANIFEST_DIR=$crate "$program" --quiet >"$output" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        echo "${crate##*/}: ${program##*/} ended with exit status $status" | tee -a "$output" >>"$results/failed"
    fi
    { echo; echo "== ${crate##*/}: ${program##*/}"; cat "$output"; } | flock "$results" cat
}
export -f run
xargs -d '\n' -n 1 -P 2 bash -c 'run "$@"' run "$results" <<<"$programs"
tests --no-fail-fast --doc || echo "tests in documentation failed" >>"$results/failed"
[ ! -e "$results/failed" ] || { cat "$results/failed"; exit 1; }
