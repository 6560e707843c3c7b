#!/usr/bin/env bash
# Writes what is made from the code: the pages of formats and of experiment keys, the JSON Schemas, man pages.
set -eu
cd "$(dirname "$0")/.."
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-trace --test reference_page
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-sim --test reference
target/release/esker schema study >docs/schema/study-1.json
target/release/esker schema trace >docs/schema/trace-1.json
target/release/esker man target/man
echo "docs/formats.md, docs/experiments.md, docs/schema/*.json and target/man/*.1 are written"
