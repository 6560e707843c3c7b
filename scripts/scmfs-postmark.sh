#!/usr/bin/env bash
# Kills the process of a mounted pool while Postmark works there, through the kernel and with the library of clients by
# turns, and clients of `esker fs run` in the middle of their calls: scripts/scmfs-postmark.sh [KILLS [ESKER]]. After
# each kill of the owner the pool has to be sound, and files that were there before have to be as they were. After each
# kill of clients the owner must keep nothing of them: others write the same files at once, and it unmounts. Needs root,
# Python, and Debian's postmark.
set -eu
cd "$(dirname "$0")/.."
kills="${1:-50}"
esker="$(realpath "${2:-target/release/esker}")"
command -v postmark >/dev/null || { echo "postmark is not installed"; exit 2; }
. scripts/mounted-pool.sh
# Files of 4 to 40 KB in a hundred directories, as the paper has them, for longer than it is let live.
load() {
    printf 'set location %s\nset number 2000\nset subdirectories 100\nset size 4000 40000\n' "$1"
    printf 'set transactions 100000000\nset seed %s\nrun\nquit\n' "$2"
}
# What is killed has to be a process of its own: its children would go on.
postmark_on() {
    mkdir -p "$1"
    load "$1" "$2" >"$1.load"
    if [ "$3" = run ]; then exec "$esker" fs run -- postmark "$1.load"; else exec postmark "$1.load"; fi
}
cat >store.py <<'PYTHON'
import os, random, sys
file = os.open(sys.argv[1], os.O_RDWR)
while True:
    os.pwrite(file, b"x" * random.randint(1, 65536), random.randint(0, 1 << 19))
    os.pread(file, 65536, random.randint(0, 1 << 19))
PYTHON

"$esker" fs mkfs pool --size 512MiB
begin
mkdir mnt/kept
for number in $(seq 200); do head -c "$((number * 311))" /dev/urandom >"mnt/kept/$number"; done
expected="$(contents mnt/kept)"
files=0
for number in $(seq "$kills"); do
    way=mount
    if [ $((number % 2)) = 0 ]; then way=run; fi
    rm -rf mnt/postmark
    (postmark_on mnt/postmark "$number" "$way") >postmark.log 2>&1 &
    load=$!
    sleep "1.$((RANDOM % 10))"
    kill -0 "$load" || { cat postmark.log >&2; exit 1; }
    killed "$load"
    check
    begin
    test "$(contents mnt/kept)" = "$expected"
    files=$((files + $(find mnt/postmark -type f | wc -l)))
done
echo "$kills kills of the owner under Postmark: sound each time, $files of its files found afterwards"
test "$files" -gt "$((kills * 100))"

# Clients are killed in the middle of their calls, two at a time. A third goes on.
head -c 1048576 /dev/zero >mnt/same
rm -rf mnt/postmark*
(postmark_on mnt/others 1 run) >others.log 2>&1 &
others=$!
for number in $(seq "$kills"); do
    (postmark_on "mnt/client-$number" "$number" run) >postmark.log 2>&1 &
    first=$!
    # Stores into pages of a file that both it and the next one have mapped, under the file's lock.
    (exec "$esker" fs run -- python3 "$folder/store.py" mnt/same) 2>store.log &
    second=$!
    sleep "0.$((RANDOM % 5 + 5))"
    kill -0 "$first" && kill -0 "$second" || { cat postmark.log store.log >&2; exit 1; }
    kill -KILL "$first" "$second"
    wait "$first" "$second" 2>/dev/null || true
    rm -rf mnt/client-*
    kill -0 "$others" || { cat others.log >&2; exit 1; }
    kill -0 "$mount" || { cat mount.log >&2; exit 1; }
    # A lock that it held is broken after two seconds.
    timeout 20 dd if=/dev/urandom of=mnt/same bs=64k count=16 conv=notrunc status=none
    test "$(contents mnt/kept)" = "$expected"
done
kill -KILL "$others"
wait "$others" 2>/dev/null || true
# Nothing of a client is left: the pool can be unmounted, and what they had is free.
rm -rf mnt/others* mnt/postmark*
"$esker" fs unmount mnt
wait "$mount"
mount=""
check
"$esker" fs stat pool >/dev/null
echo "$kills times two clients were killed: others went on, and the pool is sound"
