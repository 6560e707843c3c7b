#!/usr/bin/env bash
# Runs generic tests of xfstests on mounted pools: scripts/xfstests.sh FOLDER [TEST...], where FOLDER has xfstests built
# (git clone https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git; make). Without tests named it runs the group
# generic/auto. ESKER names another program than target/release/esker. With ESKER_TMPFS=1 it runs them on tmpfs instead,
# for what to compare with. Needs root: while it runs, mount(8) finds `esker fs mount` as /sbin/mount.fuse.scmfs.
set -eu
cd "$(dirname "$0")/.."
tests="$(realpath "${1:?the folder of xfstests}")"
shift
esker="$(realpath "${ESKER:-target/release/esker}")"
[ -x "$tests/ltp/fsstress" ] || { echo "$tests: not built; run make there"; exit 2; }
folder="$(mktemp -d /dev/shm/xfstests.XXXXXX)"
# Tests become other users.
chmod 755 "$folder"
helper=/sbin/mount.fuse.scmfs
[ ! -e "$helper" ] || { echo "$helper exists; remove it first"; exit 2; }
end() {
    umount -l "$folder/test" "$folder/scratch" 2>/dev/null || true
    rm -rf "$folder"
    rm -f "$helper"
}
trap end EXIT
mkdir "$folder/test" "$folder/scratch" "$folder/results" "$folder/bin"
if [ "${ESKER_TMPFS:-0}" = 1 ]; then
    cat >"$folder/config" <<CONFIG
export FSTYP=tmpfs TEST_DEV=esker-test SCRATCH_DEV=esker-scratch
export TMPFS_MOUNT_OPTIONS="-o size=2g" TEST_FS_MOUNT_OPTS="-o size=2g"
CONFIG
    mount -t tmpfs -o size=2g esker-test "$folder/test"
else
    # umount(8) returns before the process of the mount has let go of the pool.
    cat >"$helper" <<HELPER
#!/bin/sh
for try in \$(seq 50); do
    said="\$("$esker" fs mount "\$1" "\$2" 2>&1)" && exit 0
    case "\$said" in *"another process uses"*) sleep 0.1 ;; *) break ;; esac
done
echo "\$said" >&2
exit 1
HELPER
    chmod 755 "$helper"
    # It asks df for the type, and knows none but fuse.
    printf '#!/bin/sh\n"%s" "$@" | sed "s/ fuse\\.scmfs / fuse /"\n' "$(command -v df)" >"$folder/bin/df"
    chmod 755 "$folder/bin/df"
    for pool in test scratch; do "$esker" fs mkfs "$folder/$pool.pool" --size 2GiB; done
    cat >"$folder/config" <<CONFIG
export FSTYP=fuse FUSE_SUBTYP=.scmfs TEST_DEV=$folder/test.pool SCRATCH_DEV=$folder/scratch.pool
CONFIG
    "$esker" fs mount "$folder/test.pool" "$folder/test"
fi
cat >>"$folder/config" <<CONFIG
export TEST_DIR=$folder/test SCRATCH_MNT=$folder/scratch RESULT_BASE=$folder/results
CONFIG
[ $# -gt 0 ] || set -- -g generic/auto
cd "$tests"
PATH="$folder/bin:$PATH" HOST_OPTIONS="$folder/config" ./check "$@" || true
umount "$folder/test" 2>/dev/null || true
umount "$folder/scratch" 2>/dev/null || true
if [ "${ESKER_TMPFS:-0}" != 1 ]; then
    for pool in test scratch; do
        # A mount that was taken away is served until its last file is closed.
        for _ in $(seq 100); do "$esker" fs check "$folder/$pool.pool" >"$folder/found" 2>&1 && break || sleep 0.1; done
        cat "$folder/found"
    done
fi
