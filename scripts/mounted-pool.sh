# A folder in memory with a pool that is mounted and killed, for scripts that source this with `esker` set: `begin`
# mounts `pool` at `mnt`, `killed` kills its process and takes the mount away, `check` checks the pool, and `contents`
# is a sum of all files of a folder. At the end of the script nothing of it is left.
folder="$(mktemp -d /dev/shm/scmfs.XXXXXX)"
mount=""
end() {
    if [ -n "$mount" ]; then kill -KILL "$mount" 2>/dev/null || true; fi
    umount -l "$folder/mnt" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
cd "$folder"
mkdir mnt
begin() {
    "$esker" fs mount pool mnt --foreground 2>mount.log &
    mount=$!
    for _ in $(seq 200); do mountpoint -q mnt && return; sleep 0.05; done
    cat mount.log >&2
    exit 1
}
# Also waits for the processes that are named, which work there.
killed() {
    kill -KILL "$mount"
    wait "$mount" 2>/dev/null || true
    if [ $# -gt 0 ]; then
        kill -KILL "$@" 2>/dev/null || true
        wait "$@" 2>/dev/null || true
    fi
    mount=""
    umount -l mnt
}
check() { "$esker" fs check pool >found.log || { cat found.log >&2; exit 1; }; }
contents() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 md5sum | md5sum); }
