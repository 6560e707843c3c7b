#!/usr/bin/env bash
# Writes what is made from the code: the pages of formats and of experiment keys, tables of
# presets, the JSON Schemas, man pages.
set -eu
cd "$(dirname "$0")/.."
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-trace --test reference_page
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-sim --test reference
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-flash --test device the_documents
target/release/esker schema study >docs/schema/study-2.json
target/release/esker schema trace >docs/schema/trace-1.json
target/release/esker man target/man
echo "docs/formats.md, docs/experiments.md, docs/flash-model.md, docs/schema/*.json and target/man/*.1 are written"
