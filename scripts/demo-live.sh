#!/usr/bin/env bash
# A volume over two emulated devices, live: `make demo-live`. Act one: under load, extents move until both devices
# answer alike. Act two: the recording of what the clients did goes through a study. Takes the program, and where the
# report goes.
set -euo pipefail
esker=$(realpath "$1")
report=$(realpath -m "$2")
folder=$(mktemp -d)
processes=()
finish() {
    for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
    wait
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"

say() { printf '\n%s\n' "$*"; }
run() {
    printf '  $ esker %s\n' "$*"
    "$esker" --quiet "$@"
}

# A device that takes this long for every request.
device() {
    cat > "$1.toml" << END
[device.$1]
kind = "constant"
service_time = "$2"
capacity = "96MiB"
END
    "$esker" --quiet emulate "$1.toml" &
    processes+=($!)
    for _ in $(seq 100); do [[ -S $1.nbd && -S $1.control ]] && return; sleep 0.1; done
    echo "$1 is not served" >&2
    exit 1
}

# Number of reads that a device has served so far, and the sum of their response times.
reads() {
    "$esker" emulate status "$1.control" --json | tr -d ' \n' |
        sed -nE 's/.*"reads":\{"count":([0-9]+),"mean_us":([0-9.]+).*/\1 \2/p' | awk '{ print $1, $1 * $2 }'
}

say "Two devices are emulated: one answers 2,000 requests a second, the other 1,000."
device fast 500us
device slow 1ms

say "A volume over both, served while a load runs; what its clients do is recorded."
uri() { echo "nbd+unix:///$1?socket=$folder/$1.nbd"; }
run volume create live.volume --policy wardrop --set capacity=64MiB --set extent=64KiB \
    --device slow="$(uri slow)" --device fast="$(uri fast)" > /dev/null
# Filled beforehand: the long response times of that would hide small differences from the policy.
"$esker" --quiet volume replay live.volume --fill --overwrite --set "synthetic={requests=1}" > /dev/null
echo "  \$ esker volume serve live.volume --record live.esker"
"$esker" --quiet volume serve live.volume --record live.esker &
server=$!
processes+=("$server")
for _ in $(seq 100); do [[ -S live.volume.nbd ]] && break; sleep 0.1; done

volume="nbd+unix:///live?socket=$folder/live.volume.nbd"
load() {
    "$esker" --quiet volume replay "$volume" --overwrite --depth 16 \
        --set "synthetic={requests=$1,read_fraction=0.7}"
}

say "Act one: 16 requests always under way, 70 % of them reads. Extents move until both devices answer alike."
printf '%12s %14s %16s %16s\n' "requests/s" "used of slow" "slow answers in" "fast answers in"
# Of two looks at both devices, in a line: the mean response times in between, in ms.
between='{ slow = ($6 - $2) / ($5 - $1) / 1000; fast = ($8 - $4) / ($7 - $3) / 1000 }'
before="$(reads slow) $(reads fast)"
for _ in $(seq 12); do
    rate=$(load 8000 | sed -nE '2s/ requests.*//p')
    used=$("$esker" volume status live.volume | awk '$1 == "slow" { print $4, $5 }')
    after="$(reads slow) $(reads fast)"
    echo "$before $after" | awk -v rate="$rate" -v used="$used" \
        "$between { printf \"%12s %14s %13.2f ms %13.2f ms\\n\", rate, used, slow, fast }"
    alike=$(echo "$before $after" |
        awk "$between { print (slow < 1.2 * fast && fast < 1.2 * slow) ? \"yes\" : \"no\" }")
    before=$after
    [[ $alike == yes ]] && break
done
if [[ $alike == yes ]]; then
    echo "Both answer within 20 % of each other."
else
    echo "After twelve rounds they do not answer within 20 % of each other."
fi
kill -TERM "$server"
wait "$server"

say "Act two: the recording is a trace like any other."
run trace info live.esker | sed -n '3,6p'
run study live.esker --output "$report" --force | sed -n '1,4p'
say "The report is $report: open it in a browser."
