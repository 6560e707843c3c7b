#!/usr/bin/env bash
# Runs pjdfstest, a suite of POSIX tests, on a mounted pool and on tmpfs. Each test that tmpfs passes has to pass. Needs
# root, and the program: cargo install pjdfstest --version 0.2.2 --locked --root target/tools
set -eu
cd "$(dirname "$0")/.."
esker="$(realpath "${1:-target/release/esker}")"
tool="${2:-target/tools/bin/pjdfstest}"
folder="$(mktemp -d /dev/shm/pjdfstest.XXXXXX)"
end() {
    "$esker" fs unmount "$folder/mnt" 2>/dev/null || umount -l "$folder/mnt" 2>/dev/null || true
    umount -l "$folder/tmpfs" "$folder/other" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
cat >"$folder/settings.toml" <<'SETTINGS'
[features]
posix_fallocate = {}
rename_ctime = {}
utimensat = {}
utime_now = {}

[settings]
naptime = 0.02
allow_remount = false

[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
SETTINGS
mkdir "$folder/mnt" "$folder/tmpfs" "$folder/other"
mount -t tmpfs none "$folder/tmpfs"
mount -t tmpfs none "$folder/other"
"$esker" fs mkfs "$folder/pool" --size 512MiB
"$esker" fs mount "$folder/pool" "$folder/mnt"
passed() {
    "$tool" -c "$folder/settings.toml" -p "$1" -s "$folder/other" 2>/dev/null | awk '$2 == "ok" { print $1 }' | sort
}
passed "$folder/tmpfs" >"$folder/expected"
passed "$folder/mnt" >"$folder/found"
test "$(wc -l <"$folder/expected")" -gt 300
if comm -23 "$folder/expected" "$folder/found" | grep .; then
    echo "pjdfstest: tmpfs passes these, and SCMFS does not" >&2
    exit 1
fi
echo "pjdfstest: SCMFS passes all $(wc -l <"$folder/expected") tests that tmpfs passes"
