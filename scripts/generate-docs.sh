#!/usr/bin/env bash
# Writes what is made from the code: the pages of formats and of experiment keys, tables of
# presets and policies, counts, the list of an example, the JSON Schemas, man pages.
set -eu
cd "$(dirname "$0")/.."
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-trace --test it formats
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-sim --test it is_current
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-flash --test device the_documents
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-cli --test it the_published_schemas
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-cli --test it the_counts_of_documents
ESKER_UPDATE_DOCS=1 cargo test --locked --quiet -p esker-repro --test documented
cargo run --locked --quiet --bin esker -- man target/man
echo "docs/formats.md, docs/experiments.md, docs/flash-model.md, docs/hybrids.md, docs/reproduction.md, \
docs/tournament.md, docs/schema/*.json, the counts of README.md and docs/catalogue.md, examples/cache-ranking.toml and \
target/man/*.1 are written"
