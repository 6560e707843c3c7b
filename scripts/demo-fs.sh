#!/usr/bin/env bash
# SCMFS, live: `make demo-fs`. Act one: a pool is mounted, and git clones this repository onto it. Act two: the process
# of the mount is killed in the middle of a copy; the pool is sound, and the clone is whole. Act three: how fast the
# library and the mount are beside tmpfs. Takes the program. As an ordinary user it needs fusermount3.
set -euo pipefail
esker=$(realpath "$1")
source=$PWD
memory=/dev/shm
[[ -w $memory ]] || memory=${TMPDIR:-/tmp}
folder=$(mktemp -d "$memory/demo-fs.XXXXXX")
owner=""
finish() {
    if [[ -n $owner ]]; then kill -KILL "$owner" 2> /dev/null || true; fi
    "$esker" fs unmount "$folder/mnt" > /dev/null 2>&1 || true
    rm -rf "$folder"
}
trap finish EXIT
cd "$folder"
mkdir mnt

say() { printf '\n%s\n' "$*"; }
run() {
    printf '  $ esker %s\n' "$*"
    "$esker" --quiet "$@"
}
if [[ ! -e /dev/fuse ]] || { [[ $(id -u) != 0 ]] && ! command -v fusermount3 > /dev/null; }; then
    echo "demo-fs: mounting needs /dev/fuse and, as an ordinary user, fusermount3 (Debian: fuse3)" >&2
    exit 1
fi
serve() {
    echo "  \$ esker fs mount home.pool mnt --foreground &"
    "$esker" --quiet fs mount home.pool mnt --foreground &
    owner=$!
    for _ in $(seq 100); do mountpoint -q mnt && return; sleep 0.1; done
    echo "demo-fs: the pool is not mounted after ten seconds" >&2
    exit 1
}

say "Act one: a pool of memory that stays, mounted. git clones this repository onto it."
run fs mkfs home.pool --size 1GiB
serve
git clone --quiet --no-hardlinks "file://$source" mnt/clone
git -C mnt/clone fsck --no-progress && echo "  git fsck finds the clone sound."

say "Act two: kill -9 of the process that serves it, while files are copied."
(while cp -r mnt/clone/crates "mnt/copy-$RANDOM"; do :; done) > /dev/null 2>&1 &
copies=$!
sleep 1
kill -KILL "$owner"
wait "$owner" "$copies" 2> /dev/null || true
owner=""
run fs unmount mnt
run fs check home.pool
serve
git -C mnt/clone fsck --no-progress
echo "  git fsck finds the clone sound; $(ls -d mnt/copy-* | wc -l) copies had begun."

say "Act three: 4 KiB at a time in GB/s, on this machine: by the mount, on tmpfs, and by the library."
run fs bench mnt "$folder" --library "$folder" --work transfer --record 4KiB --file 64MiB --runs 3
kill -TERM "$owner"
wait "$owner" || true
owner=""
say "Unmounted. The pool was $folder/home.pool, and is deleted now."
