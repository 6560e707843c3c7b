#!/bin/sh
# Stands before rustc in `.ci/run` (RUSTC_WORKSPACE_WRAPPER): builds tests, benchmarks and examples without
# optimisation. To cargo, a crate's unit tests are the whole crate once more, and optimising them all took a third of
# the gate. What they call in other crates, and the program, are as fast as ever.
case ${CARGO_PKG_NAME:-} in
# What these tests run is in their own crate: not optimised, they take longer by more than building them saves.
esker-assign | esker-cache | esker-cluster | esker-curves | esker-dst | esker-ftl) exec "$@" ;;
esker-nand | esker-plan | esker-scm | esker-tier | esker-volume) exec "$@" ;;
esac
for word in "$@"; do
    case $word in
    --test | */benches/*.rs | */examples/*.rs) exec "$@" -C opt-level=0 ;;
    esac
done
exec "$@"
