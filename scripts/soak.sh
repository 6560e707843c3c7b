#!/usr/bin/env bash
# A million mutated inputs for every trace format and for both sides of NBD; the same ones on every machine. Give
# another number or seed to look elsewhere: scripts/soak.sh 1000000 2. Then through the whole program: a tenth of that
# number of traces per format, a hundredth of it of experiments. Then twenty times as many cases as usual of the
# properties of flash, engines and NBD, which draw anew each time, plans against other solvers, ten thousand seeds of
# whole volumes that lose power, the faults that the tests of engines and volumes have to find, the reference traces
# that take longest to study, where they are at hand, and every design of the sample's report, run again from its
# configuration; and the full tournament of placement policies, if TRACES names the folder of the traces.
set -eu
cd "$(dirname "$0")/.."
cases="${1:-1000000}"
seed="${2:-1}"
cargo run --release --locked --quiet -p esker-trace --example fuzz -- "$cases" "$seed"
cargo run --release --locked --quiet -p esker-nbd --example fuzz -- "$cases" "$seed"
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-nbd
export ESKER_SOAK_SEED="$seed"
ESKER_SOAK_BOMB_MIB=8192 ESKER_SOAK_TRACES=$((cases / 10)) cargo test --locked --quiet -p esker-cli --test hostile
ESKER_SOAK_EXPERIMENTS=$((cases / 100)) cargo test --locked --quiet -p esker-cli --test it random_experiments
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-nand -p esker-ftl -p esker-flash
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-tier --lib
# Twenty times as many small plans against all counts, and plans against HiGHS where its wheel for Python is at hand.
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-plan
cargo test --locked --quiet -p esker-plan --test it -- --ignored --nocapture highs::
# Ten thousand seeds of whole volumes that lose power.
ESKER_SOAK="${ESKER_SOAK:-30}" cargo test --locked --quiet -p esker-dst
ESKER_SOAK="${ESKER_SOAK:-20}" cargo test --locked --quiet -p esker-volume --test it kill
ESKER_SOAK_KILLS=100 cargo test --locked --quiet -p esker-cli --test it kills::
# All sequences of one and two operations on SCMFS, and two thousand of ten, that lose power.
ESKER_SOAK=1 cargo test --release --locked --quiet -p esker-scm --test it -- --nocapture ace::
# Ten million random operations that leak nothing, 200,000 files of which a thousand are open, a million operations on
# one file, and a pool whose pages are overwritten a thousand times each; then what wear-levelling costs.
ESKER_SOAK=1 cargo test --release --locked --quiet -p esker-scm --test it -- --nocapture long:: exerciser:: wear::
cargo bench --locked --quiet -p esker-scm --bench wear
# The library under Miri, where a nightly toolchain has it.
if cargo +nightly miri --version >/dev/null 2>&1; then scripts/miri.sh; fi
# Fifty kills of a mounted pool under SQLite, and under Postmark with kills of clients, PostgreSQL, git and cargo on the
# mount and with the library of clients, POSIX tests, a million random operations of fsx either way, and what fio
# verifies, as root, where FUSE and the tools are at hand (their scripts say how they are installed). xfstests takes
# hours, and is run by scripts/xfstests.sh alone.
if [ "$(id -u)" = 0 ] && [ -c /dev/fuse ]; then
    make --silent build
    scripts/scmfs-kills.sh 50
    if command -v postmark >/dev/null; then scripts/scmfs-postmark.sh 50; fi
    if command -v fio >/dev/null; then scripts/scmfs-fio.sh; fi
    scripts/scmfs-programs.sh mount
    scripts/scmfs-programs.sh run
    if [ -x target/tools/bin/pjdfstest ]; then scripts/pjdfstest.sh; fi
    if [ -x target/tools/bin/fsx ]; then scripts/fsx.sh 1000000 "$seed"; fi
    if [ -x target/tools/bin/fsx ]; then scripts/fsx.sh 1000000 "$seed" target/release/esker run; fi
fi
# What is advised for Ceph, on a real cluster of five OSDs, as root and where its packages are at hand.
if [ "$(id -u)" = 0 ] && command -v ceph-osd >/dev/null; then scripts/ceph-advice.sh; fi
# That the tests of the engines find faults, one after the other.
cargo xtask mutants
# Parameter files of drives, a tenth of that number.
PROPTEST_CASES=$((cases / 10)) cargo test --release --locked --quiet -p esker-disk --test disk no_file_makes
# Damaged samples and dumps of clusters, as many as inputs of a parser.
PROPTEST_CASES="$cases" cargo test --release --locked --quiet -p esker-fleet --test it damaged_
ESKER_SOAK=1 cargo test --locked --quiet -p esker-cli --test it reference
ESKER_SOAK=1 cargo test --locked --quiet -p esker-study --test repeats
# That nothing cheaper than what is recommended keeps the budgets, and that ten seeds agree.
ESKER_SOAK=2 cargo test --release --locked --quiet -p esker-study --lib
# Hybrids and caches beside the best fixed settings: more loads, longer runs, and a large volume.
ESKER_SOAK=2 cargo test --release --locked --quiet -p esker-sim --test it
# Every placement policy on every pair of devices, at all sizes and with five seeds: a day. A missed claim is a result.
if [ -n "${TRACES:-}" ]; then
    cargo run --release --locked --quiet --bin esker -- \
        reproduce tournament/full --traces "$TRACES" -o tournament.html || test $? = 1
fi
# That a volume over emulated devices does what its simulation says, in real time.
cargo test --release --locked --quiet -p esker-cli --test it -- --ignored live::
