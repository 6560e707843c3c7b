#!/usr/bin/env bash
# Kills the process of a mounted pool while four processes write SQLite databases, and a shell makes and renames files;
# then checks the pool, mounts it again, and has SQLite check its databases: scripts/scmfs-kills.sh [KILLS [ESKER]].
# A clone of this repository on the mount has to stay as it is. Needs root, git, and Python with its sqlite3.
set -eu
cd "$(dirname "$0")/.."
kills="${1:-50}"
esker="$(realpath "${2:-target/release/esker}")"
source="$PWD"
. scripts/mounted-pool.sh
cat >write.py <<'PYTHON'
import os, random, sqlite3, sys
mode, path = sys.argv[1:]
database = sqlite3.connect(path, timeout=60, isolation_level=None)
for setting in (f"journal_mode={mode}", "mmap_size=67108864", "synchronous=full"):
    database.execute(f"pragma {setting}")
database.execute("create table if not exists t(id integer primary key, v text)")
rng = random.Random(os.getpid())
while True:
    database.execute("begin immediate")
    for _ in range(rng.randint(1, 20)):
        database.execute("insert into t(v) values(?)", ("x" * rng.randint(1, 3000),))
    database.execute("delete from t where id in (select id from t order by random() limit 12)")
    database.execute("commit")
PYTHON
cat >check.py <<'PYTHON'
import sqlite3, sys
for path in sys.argv[1:]:
    found = sqlite3.connect(path, timeout=60).execute("pragma integrity_check").fetchone()
    assert found == ("ok",), f"{path}: {found}"
PYTHON
names() {
    while mkdir "mnt/names-$1-$RANDOM" && echo "$1" >"mnt/names-$1" && mv "mnt/names-$1" "mnt/moved-$1"; do :; done
}
"$esker" fs mkfs pool --size 1GiB
begin
git clone -q "$source" mnt/clone
expected="$(contents mnt/clone)"
for number in $(seq "$kills"); do
    writers=""
    for mode in wal wal delete delete; do
        python3 write.py "$mode" "mnt/$mode.db" 2>/dev/null &
        writers="$writers $!"
    done
    names "$number" 2>/dev/null &
    writers="$writers $!"
    sleep "1.$((RANDOM % 10))"
    killed $writers
    check
    begin
    python3 check.py mnt/*.db
    test "$(contents mnt/clone)" = "$expected"
done
echo "$kills kills: the pool was sound, the databases whole, and the clone as it was"
