#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Records samples/office-server.nbdkit.log.zst: a real ext4 file system under
# the load of workload.py, on a block device that nbdkit serves and logs.
#
#   workload.py -> ext4 -> /dev/loopN (direct I/O) -> nbdfuse -> nbdkit log
#                                        filter -> nbdkit file plugin -> image
#
# Needs root, /dev/fuse, /dev/loop-control and about 3 GB of free disk.
# Everything it starts it also ends, however it leaves; every wait is bounded.
set -u -o pipefail

usage() {
    cat <<'USAGE'
usage: record.sh [-s SECONDS] [-r RATE] [-n SEED] [-c SCALE] [-w WORKDIR] [-o OUTPUT]
  -s  length of the recorded load in seconds            (default 840)
  -r  multiplies the intensity of the load              (default 1.0)
  -n  seed of the load                                  (default 20261120)
  -c  multiplies the amount of data prepared            (default 1.0)
  -w  an existing directory on a disk with 3 GB free    (default ${TMPDIR:-/var/tmp})
  -o  where to write the compressed log   (default ./office-server.nbdkit.log.zst)
USAGE
}

seconds=840 rate=1.0 seed=20261120 scale=1.0
base=${TMPDIR:-/var/tmp}
output=office-server.nbdkit.log.zst
while getopts s:r:n:c:w:o:h opt; do
    case $opt in
        s) seconds=$OPTARG ;;
        r) rate=$OPTARG ;;
        n) seed=$OPTARG ;;
        c) scale=$OPTARG ;;
        w) base=$OPTARG ;;
        o) output=$OPTARG ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
case $seconds in
    ''|*[!0-9]*) echo "record.sh: -s needs a whole number of seconds" >&2; exit 2 ;;
esac

say() { printf '%s  %s\n' "$(date -u +%H:%M:%S)" "$*"; }
die() { echo "record.sh: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die "needs root (loop devices and mount)"
need() { command -v "$1" >/dev/null 2>&1 || die "needs the command '$1' (Debian package $2)"; }
need nbdkit nbdkit
need nbdfuse libnbd-bin
need fusermount3 fuse3
need losetup mount
need mkfs.ext4 e2fsprogs
need python3 python3
need zstd zstd
need timeout coreutils
need setsid util-linux
[ -e /dev/fuse ] || die "/dev/fuse is missing (modprobe fuse)"
[ -e /dev/loop-control ] || die "/dev/loop-control is missing (modprobe loop)"
[ -d "$base" ] || die "no such directory: $base"
python3 -c 'import sqlite3' 2>/dev/null || die "python3 lacks the sqlite3 module"
nbdkit --dump-plugin file >/dev/null 2>&1 || die "nbdkit lacks the file plugin"
free_kb=$(df --output=avail -k "$base" | tail -n 1)
[ "$free_kb" -gt 3000000 ] || die "less than 3 GB free in $base"

here=$(cd "$(dirname "$0")" && pwd) || exit 1
output=$(realpath -m "$output")
[ -d "$(dirname "$output")" ] || die "no such directory: $(dirname "$output")"
work=$(mktemp -d "$base/record-sample.XXXXXX") || die "cannot make a directory in $base"
mkdir "$work/fs" "$work/nbd"

loop='' nbdkit_pid='' nbdfuse_pid='' load_pid='' mounted='' fuse=''

# Waits until "$@" succeeds, at most $1 tenths of a second.
wait_for() {
    local left=$1; shift
    until "$@" 2>/dev/null; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || return 1
        sleep 0.1
    done
}
gone() { ! kill -0 "$1" 2>/dev/null; }
end_process() {      # PID NAME: ask, then insist
    [ -n "$1" ] || return 0
    kill "$1" 2>/dev/null || return 0
    wait_for 100 gone "$1" && return 0
    echo "record.sh: $2 ($1) does not end, killing it" >&2
    kill -9 "$1" 2>/dev/null
    wait_for 50 gone "$1"
}

detach() {
    local bad=0
    if [ -n "$mounted" ]; then
        timeout 120 umount "$work/fs" || timeout 30 umount -l "$work/fs" || bad=1
        mounted=''
    fi
    if [ -n "$loop" ]; then
        timeout 60 losetup -d "$loop" || bad=1
        loop=''
        sleep 0.5
    fi
    if [ -n "$fuse" ]; then
        timeout 30 fusermount3 -u "$work/nbd" || timeout 30 fusermount3 -u -z "$work/nbd" || bad=1
        fuse=''
        wait_for 100 gone "$nbdfuse_pid" || end_process "$nbdfuse_pid" nbdfuse
    fi
    nbdfuse_pid=''
    end_process "$nbdkit_pid" nbdkit
    nbdkit_pid=''
    rm -f "$work/sock" "$work/nbdkit.pid" "$work/nbdfuse.pid"
    return $bad
}

cleanup() {
    local rc=$?
    trap '' INT TERM HUP
    trap - EXIT
    # The load has a session of its own: its id is the id of its process group.
    [ -n "$load_pid" ] && kill -- "-$load_pid" 2>/dev/null && sleep 1
    [ -n "$load_pid" ] && kill -9 -- "-$load_pid" 2>/dev/null
    detach || rc=1
    rm -rf --one-file-system "$work"
    exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# attach LOGFILE: image -> nbdkit -> nbdfuse -> loop device
attach() {
    TZ=UTC setsid nbdkit -f -U "$work/sock" -P "$work/nbdkit.pid" --filter=log \
        file "$work/disk.img" cache=none logfile="$1" \
        </dev/null >>"$work/nbdkit.err" 2>&1 &
    nbdkit_pid=$!
    wait_for 100 test -s "$work/nbdkit.pid" || { cat "$work/nbdkit.err" >&2; die "nbdkit does not start"; }
    setsid nbdfuse -P "$work/nbdfuse.pid" "$work/nbd" --unix "$work/sock" \
        </dev/null >>"$work/nbdfuse.err" 2>&1 &
    nbdfuse_pid=$!
    fuse=1
    wait_for 100 test -e "$work/nbd/nbd" || { cat "$work/nbdfuse.err" >&2; die "nbdfuse does not start"; }
    loop=$(timeout 30 losetup --find --show --direct-io=on "$work/nbd/nbd") || die "losetup failed"
    wait_for 50 test -b "$loop" || die "$loop does not appear"
}
mount_fs() {
    timeout 60 mount -t ext4 -o discard,relatime "$loop" "$work/fs" || die "mount failed"
    mounted=1
}
# load SECONDS ARGS...: runs workload.py in a session of its own, bounded
load() {
    local limit=$1; shift
    setsid timeout -k 10 "$limit" python3 "$here/workload.py" "$@" </dev/null &
    load_pid=$!
    wait "$load_pid" || { local rc=$?; load_pid=''; die "workload.py failed ($rc)"; }
    load_pid=''
}

truncate -s 8G "$work/disk.img" || die "cannot make the image"

say "preparing the file system (not recorded)"
attach "$work/prepare.log"
timeout 120 mkfs.ext4 -q -F -L office -E lazy_itable_init=0,lazy_journal_init=0 "$loop" || die "mkfs.ext4 failed"
mount_fs
load 600 prepare --dir "$work/fs" --seed "$seed" --scale "$scale"
df -h "$work/fs" | tail -n 1 | awk '{print "          " $3 " in use of " $2}'
detach || die "cannot take the device down after the preparation"

say "recording $seconds s"
attach "$work/record.log"
losetup --list --noheadings --output NAME,DIO,LOG-SEC "$loop" |
    sed 's/^/          loop device, direct I\/O, sector size: /'
sed 's/^/          scheduler: /' "/sys/block/${loop#/dev/}/queue/scheduler"
mount_fs
load $((seconds + 120)) run --dir "$work/fs" --seconds "$seconds" --seed "$seed" --rate "$rate"
detach || die "cannot take the device down after the recording"

say "checking"
timeout 600 python3 "$here/check.py" "$work/record.log" || die "the log does not check"

say "compressing"
timeout 1800 zstd -q -f -19 --long=23 "$work/record.log" -o "$output" || die "zstd failed"
say "done: $(stat -c %s "$work/record.log") bytes of log, $(stat -c %s "$output") compressed"
