#!/usr/bin/env bash
# Runs what `esker cluster advise` writes on a real Ceph cluster: a monitor, a manager and five OSDs on files, on
# this machine alone, loaded unevenly: scripts/ceph-advice.sh [ESKER]. All groups have to become active and clean,
# each object keeps its checksum and its three hosts, as many bytes move as was said (within a tenth), the same load
# then writes to each OSD what follows from the advice (the deviation within a fifth), a second advice wants nothing,
# and the script that takes back restores the map. Such OSDs have no drives: samples of them are made up. Takes some
# five minutes, 2 GB of memory and 2 GB of the temporary folder. Needs root, Python, and:
# apt-get install --no-install-recommends ceph-mon ceph-mgr ceph-osd ceph-common
set -eu
cd "$(dirname "$0")/.."
esker="$(realpath "${1:-target/release/esker}")"
drives="$(realpath scripts/ceph-drives.py)"
folder="$(mktemp -d /tmp/ceph-advice.XXXXXX)"
end() {
    [ $? = 0 ] || tail -5 "$folder/setup.log" >&2 || true
    for file in "$folder"/*.pid; do [ -s "$file" ] && kill -KILL "$(cat "$file")" 2>/dev/null; done
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM
cd "$folder"
port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
fsid="$(cat /proc/sys/kernel/random/uuid)"
cat >ceph.conf <<CONF
[global]
fsid = $fsid
mon host = v1:127.0.0.1:$port
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
keyring = $folder/keyring
run dir = $folder
log file = $folder/\$name.log
admin socket = $folder/\$name.asok
pid file = $folder/\$name.pid
mon data = $folder/mon.\$id
mgr data = $folder/mgr.\$id
osd data = $folder/osd.\$id
osd pool default size = 3
osd pool default min size = 2
osd crush update on start = false
osd class update on start = false
osd memory target = 939524096
bluestore block size = 12884901888
bluestore cache autotune = false
bluestore cache size = 67108864
mgr initial modules =
ms bind msgr2 = false
CONF
export CEPH_CONF="$folder/ceph.conf"
# A busy monitor sometimes refuses a command that it takes a second later.
ceph() {
    for _ in 1 2 3 4; do command ceph "$@" && return; sleep 1; done
    command ceph "$@"
}
ceph-authtool --create-keyring keyring --gen-key -n mon. --cap mon 'allow *' >/dev/null
ceph-authtool keyring --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
monmaptool --create --addv a "[v1:127.0.0.1:$port]" --fsid "$fsid" monmap >/dev/null
mkdir -p mon.a mgr.x
ceph-mon --mkfs -i a --monmap monmap --keyring keyring
ceph-mon -i a
ceph-mgr -i x
for osd in 0 1 2 3 4; do
    uuid="$(cat /proc/sys/kernel/random/uuid)"
    mkdir "osd.$osd"
    ceph osd new "$uuid" "$osd" >/dev/null
    ceph osd crush add-bucket "host$osd" host
    ceph osd crush move "host$osd" root=default
    ceph-osd -i "$osd" --mkfs --osd-uuid "$uuid"
    ceph osd crush add "osd.$osd" 1.0 root=default "host=host$osd"
    ceph osd crush set-device-class ssd "osd.$osd"
    ceph-osd -i "$osd"
done >setup.log 2>&1
ceph osd set-require-min-compat-client luminous >>setup.log 2>&1
ceph balancer off
ceph osd pool create rbd 32 32 replicated >>setup.log 2>&1
ceph osd pool application enable rbd rbd >>setup.log 2>&1

is_clean() { ceph pg stat -f json 2>/dev/null | python3 -c '
import json, sys
states = json.load(sys.stdin)["pg_summary"]["num_pg_by_state"]
sys.exit([state["name"] for state in states] != ["active+clean"])'; }
wait_for_clean() {
    sleep 8
    for _ in $(seq 90); do is_clean && return; sleep 2; done
    ceph -s >&2
    exit 1
}
# The manager hears of the OSDs every few seconds.
dump() {
    sleep 12
    mkdir "$1"
    for what in "osd dump" "osd df tree" "pg dump" "osd crush rule dump"; do
        # shellcheck disable=SC2086
        ceph $what -f json >"$1/$what.json" 2>/dev/null
    done
}
counters() {
    mkdir "$1"
    for osd in 0 1 2 3 4; do ceph daemon "$folder/osd.$osd.asok" perf dump osd >"$1/osd.$osd.json"; done
}
sums() { for object in $(seq 0 127); do rados -p rbd get "o$object" - | md5sum; done; }
write() { for object in "$@"; do rados -p rbd put "o$object" bytes; done; }

wait_for_clean
head -c 1048576 /dev/urandom >bytes
# shellcheck disable=SC2046
write $(seq 0 127)
dump first
hot=""
for object in $(seq 0 127); do
    if ceph osd map rbd "o$object" -f json | python3 -c 'import json, sys
sys.exit(0 not in json.load(sys.stdin)["up"])'; then hot="$hot $object"; fi
done
load() {
    for _ in 1 2 3 4 5 6; do
        # shellcheck disable=SC2086
        write $hot
    done
}
load
dump second
before="$(sums)"
"$drives" prepare first second advice
advise() { "$esker" cluster advise "$1" --rated LAB=100GB --price LAB=100 --budget 1GiB "${@:2}"; }
advise advice --script move.sh --json=advice.json
recovered() { ceph pg dump -f json 2>/dev/null | python3 -c 'import json, sys
print(json.load(sys.stdin)["pg_map"]["pg_stats_sum"]["stat_sum"]["num_bytes_recovered"])'; }
copied="$(recovered)"
sh move.sh >>setup.log 2>&1
wait_for_clean
dump third
"$drives" check third advice.json "$copied" "$(recovered)"
test "$(sums)" = "$before"
counters idle
load
counters loaded
"$drives" forecast advice.json idle loaded
test "$(sums)" = "$before"
"$drives" prepare first third again
advise again --script nothing.sh >again.log
if [ -e nothing.sh ]; then cat again.log >&2; exit 1; fi
sh move.sh.undo >>setup.log 2>&1
wait_for_clean
dump fourth
"$drives" same second fourth
test "$(sums)" = "$before"
echo "Ceph: the script moved what was said, nothing more was wanted, and the map was restored"
