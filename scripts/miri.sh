#!/usr/bin/env bash
# Runs SCMFS under Miri, on the memory that records stores: layout, log, space, names and calls, but no mapping. Needs a
# nightly toolchain: rustup toolchain install nightly --component miri,rust-src
set -eu
cd "$(dirname "$0")/.."
# Mapped memory is the system's, which Miri does not have.
cargo +nightly miri test --locked --quiet -p esker-scm --lib -- layout:: log:: persist::recording:: space:: system::
cargo +nightly miri test --locked --quiet -p esker-scm --test it -- random::the_file_system_is_the_model
