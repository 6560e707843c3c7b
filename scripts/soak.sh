#!/usr/bin/env bash
# A million mutated inputs for every trace format; the same ones on every machine. Give another number or seed to look
# elsewhere: scripts/soak.sh 1000000 2
set -eu
cd "$(dirname "$0")/.."
cargo run --release --locked --quiet -p esker-trace --example fuzz -- "${1:-1000000}" "${2:-1}"
