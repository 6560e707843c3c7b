#!/usr/bin/env bash
# Runs the tests of SCMFS's library under Miri, on the memory that records stores: all of it but mappings, and a part of
# the random operations beside the model. Inputs are smaller there (`cfg!(miri)`). Needs a nightly toolchain:
# rustup toolchain install nightly --component miri,rust-src
set -eu
cd "$(dirname "$0")/.."
# Benchmarks of the library ask for the time.
export MIRIFLAGS="${MIRIFLAGS:--Zmiri-disable-isolation}"
cargo +nightly miri test --locked --quiet -p esker-scm --lib
cargo +nightly miri test --locked --quiet -p esker-scm --test it -- random::the_file_system_is_the_model
