#!/usr/bin/env bash
# Has fio write a mounted pool at random, through the kernel and with the library of clients, read everything again, and
# verify it: scripts/scmfs-fio.sh [MIB [ESKER]]. By read and write, by mappings, and asynchronously past the page cache.
# What one way wrote the next one verifies, too. Needs root, and Debian's fio.
set -eu
cd "$(dirname "$0")/.."
mib="${1:-64}"
esker="$(realpath "${2:-target/release/esker}")"
command -v fio >/dev/null || { echo "fio is not installed"; exit 2; }
folder="$(mktemp -d /dev/shm/scmfs-fio.XXXXXX)"
end() {
    "$esker" fs unmount "$folder/mnt" 2>/dev/null || umount -l "$folder/mnt" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
mkdir "$folder/mnt"
"$esker" fs mkfs "$folder/pool" --size "$((mib * 4 + 64))MiB"
"$esker" fs mount "$folder/pool" "$folder/mnt"
cd "$folder"
verify() {
    $1 fio --name=verify --directory=mnt --size="${mib}m" --numjobs=2 --randseed="$3" --verify=crc32c --verify_fatal=1 \
        --fallocate=none --ioengine="$2" $5 --rw="$4" >fio.log 2>&1 || { cat fio.log >&2; exit 1; }
}
for way in mount run; do
    if [ "$way" = run ]; then with="$esker fs run --"; else with=""; fi
    for engine in psync mmap libaio; do
        case "$engine" in
        libaio) options="--bsrange=4k-64k --blockalign=4k --direct=1 --iodepth=8" ;;
        mmap) options="--bsrange=4k-64k --blockalign=4k" ;;
        *) options="--bsrange=512-64k --blockalign=512" ;;
        esac
        verify "$with" "$engine" 1 randwrite "$options"
        # The same by the other way.
        if [ "$way" = run ]; then other=""; else other="$esker fs run --"; fi
        verify "$other" psync 1 randwrite "$options --direct=0 --iodepth=1 --verify_only"
        rm -f mnt/verify.*
        echo "$way, $engine: verified by both ways"
    done
done
"$esker" fs unmount mnt
"$esker" fs check pool
