#!/usr/bin/env bash
# Studies every reference trace alone with default budgets, and prints the rows of the table of verdicts
# (docs/studies.md), each with bytes a day, life and price recomputed by check-verdicts.py.
#
#   scripts/verdicts.sh TRACES [RESULTS]     RESULTS keeps the studies (default: target/verdicts)
#
# ESKER is the program to run (default: target/release/esker).
set -eu
root="$(cd "$(dirname "$0")/.." && pwd)"
traces=${1:?the folder with the reference traces}
results=${2:-$root/target/verdicts}
esker=${ESKER:-$root/target/release/esker}
mkdir -p "$results"
studies=()
for trace in "$root"/samples/office-server.nbdkit.log.zst "$traces"/{Financial1-first10k.spc,WebSearch1-first25k.spc,\
msr-prxy_0-first20k.csv,cloudphysics-2h.vscsi,hplajw-1week.srt,hplajw-1week.msr.csv,diskmon-sys1.diskmon,\
diskmon-mayun2.diskmon,disksim-sample-100k.disksim,msps-dtrs-8h.ssdsim,iozone-100k.disksim,postmark-62k.disksim,\
llm-opt7b-offload.mqsim,sqlite-wal-ext4-5k.wiscsee,tpcc-small.mqsim,ycsb-rocksdb-10k.blkparse,fio-randwrite.iolog}.zst
do
    name=$(basename "$trace" .zst)
    "$esker" study "$trace" --quiet --no-cost "--json=$results/$name.json" -o "$results/$name.html" \
        > "$results/$name.txt"
    studies+=("$results/$name.json")
done
echo "| trace | data with room, budget for p99 | recommended, over 5 years | p99 | written a day | life of the flash |"
echo "|---|---|---|--:|--:|--:|"
python3 "$root/scripts/check-verdicts.py" "${studies[@]}"
