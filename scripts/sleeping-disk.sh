#!/usr/bin/env bash
# What flushes take on a volume of flash and a disk that sleeps, with the map on both and with it on the flash alone:
#
#   scripts/sleeping-disk.sh [target/release/esker]
#
# The disk is emulated, and stops 4 s after its last request. Five times, with 7 s between them, fio writes 1 MiB in
# pieces of 4 KiB to new extents, with a flush after each sixteenth. Everything is in a folder that is removed. Takes
# two minutes. Needs fio with its engine for NBD.
set -eu
esker="$(realpath "${1:-target/release/esker}")"
folder="$(mktemp -d)"
started=()
finish() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    wait
    rm -r "$folder"
}
trap finish EXIT
cd "$folder"
cat >disk.toml <<'END'
[device.disk]
preset = "nearline-7200-20t"

[device.disk.power]
active = "9.4W"
idle = "5.4W"
standby = "1W"
spin_down_after = "4s"
spin_down_time = "1s"
spin_up_time = "3s"
spin_up_energy = "300J"

[run]
target = "disk"
END
"$esker" emulate disk.toml --listen unix:disk.sock --quiet &
started+=($!)
until [ -S disk.sock ]; do sleep 0.1; done

# Arguments: the name of the volume, and options for its creation.
measure() {
    volume="$1"
    shift
    "$esker" volume create "$volume" --device flash="$volume.img,24GiB" \
        --device "disk=nbd+unix:///?socket=$folder/disk.sock" --policy fast-first --set extent=1MiB --force \
        "$@" >/dev/null
    "$esker" volume serve "$volume" --listen unix:volume.sock --quiet &
    server=$!
    started+=("$server")
    until [ -S volume.sock ]; do sleep 0.1; done
    "$esker" volume set "$volume" --asleep-after disk=2s >/dev/null
    for turn in 1 2 3 4 5; do
        sleep 7
        fio --name=writes --ioengine=nbd --uri="nbd+unix:///?socket=$folder/volume.sock" --rw=randwrite --bs=4k \
            --size=64m --io_size=1m --iodepth=1 --fsync=16 --offset="$((turn * 64))m" --output-format=json \
            --output=fio.json
        python3 -c 'import json
flushes = json.load(open("fio.json"))["jobs"][0]["sync"]["lat_ns"]
print("  flushes: %.2f ms, %.2f ms at most" % (flushes["mean"] / 1e6, flushes["max"] / 1e6))'
    done
    kill "$server"
    wait "$server" || true
}

echo "the map on flash and disk"
measure both.volume
echo "the map on the flash alone"
measure flash.volume --keeps-map flash
