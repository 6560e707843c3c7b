#!/usr/bin/env bash
# Runs fsx, which reads and writes a file in all ways at random and compares, on a mounted pool, through the kernel
# (mount) or with the library of `esker fs run` (run): scripts/fsx.sh [OPERATIONS [SEED [ESKER [mount|run]]]]. With the
# library it maps nothing: a file that was mapped would be the kernel's until it is opened again. Nor does it copy
# ranges, for which it makes a system call of its own. Needs root, and the program:
# cargo install fsx --version 0.3.2 --locked --root target/tools
set -eu
cd "$(dirname "$0")/.."
operations="${1:-100000}"
seed="${2:-1}"
esker="$(realpath "${3:-target/release/esker}")"
tool="$(realpath target/tools/bin/fsx)"
with="" maps=10 copies=1
if [ "${4:-mount}" = run ]; then with="$esker fs run --" maps=0 copies=0; fi
folder="$(mktemp -d /dev/shm/fsx.XXXXXX)"
end() {
    "$esker" fs unmount "$folder/mnt" 2>/dev/null || umount -l "$folder/mnt" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
mkdir "$folder/mnt"
"$esker" fs mkfs "$folder/pool" --size 64MiB
"$esker" fs mount "$folder/pool" "$folder/mnt"
cat >"$folder/fsx.toml" <<SETTINGS
[weights]
close_open = 1
read = 10
write = 10
mapread = $maps
mapwrite = $maps
invalidate = 1
truncate = 1
fsync = 1
fdatasync = 1
posix_fallocate = 1
punch_hole = 1
copy_file_range = $copies
SETTINGS
# In rounds, each with the next seed: the program unmaps nothing that it has read, a process has 65,530 mappings, and
# the more of them there are, the longer each truncation takes, which has to look at all.
each=5000 cut=0
for ((done = 0; done < operations; done += each)); do
    round=$((operations - done < each ? operations - done : each))
    $with "$tool" -f "$folder/fsx.toml" -N "$round" -S "$((seed + done / each))" -P "$folder" "$folder/mnt/file" \
        >"$folder/fsx.log" 2>&1 && continue
    # It draws lengths of 0, too, which posix_fallocate refuses on every file system: the round ends there.
    tail -1 "$folder/fsx.log" | grep -q 'POSIX_FALLOCATE.*(    0x0 bytes)' || { cat "$folder/fsx.log" >&2; exit 1; }
    cut=$((cut + 1))
done
echo "$operations operations in rounds of $each, of which $cut ended early: each read what was written"
"$esker" fs unmount "$folder/mnt"
"$esker" fs check "$folder/pool"
