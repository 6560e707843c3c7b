#!/usr/bin/env bash
# A million mutated inputs for every trace format; the same ones on every machine. Give another number or seed to look
# elsewhere: scripts/soak.sh 1000000 2. Then twenty times as many cases as usual of the properties of the flash crate,
# which draw anew each time, the reference traces that take longest to study, where they are at hand, and every design of
# the sample's report, run again from its configuration.
set -eu
cd "$(dirname "$0")/.."
cargo run --release --locked --quiet -p esker-trace --example fuzz -- "${1:-1000000}" "${2:-1}"
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-flash
ESKER_SOAK=1 cargo test --locked --quiet -p esker-cli --test it reference
ESKER_SOAK=1 cargo test --locked --quiet -p esker-study --test repeats
