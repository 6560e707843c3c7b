#!/usr/bin/env bash
# Builds and runs all tests. Those of one crate often leave a core idle: its last ones run alone, or wait for servers.
# So unit tests run beside integration tests, and what they print comes at the end.
set -eu
cd "$(dirname "$0")/.."
tests() { cargo test --workspace --locked --quiet "$@"; }
# All in one build: with a part of the targets, features might differ.
tests --no-run
units=$(mktemp)
echo "Unit tests run beside integration tests, and say what they found after them."
# With job control, the tests in the background are a group of processes of their own, which Ctrl-C ends, too.
set -m
tests --no-fail-fast --lib --bins -- --test-threads=$((($(nproc) + 1) / 2)) >"$units" 2>&1 &
unit_tests=$!
set +m
trap 'kill -- "-$unit_tests" 2>/dev/null || true; rm -f "$units"' EXIT
failed=0
tests --no-fail-fast --test '*' || failed=1
wait "$unit_tests" || failed=1
# Nothing is left to end, and the number may soon be another process's.
trap 'rm -f "$units"' EXIT
cat "$units"
tests --no-fail-fast --doc || failed=1
exit "$failed"
