#!/usr/bin/env bash
# Runs programs on a mounted pool, through the kernel or with the library of `esker fs run`:
# scripts/scmfs-programs.sh mount|run [SECONDS [ESKER]]. PostgreSQL under pgbench is killed and recovers, git
# clones esker's own source, and cargo builds a crate of it offline. What is not installed is left out, and named.
# Needs root.
set -eu
cd "$(dirname "$0")/.."
way="${1:?mount or run}"
seconds="${2:-20}"
esker="$(realpath "${3:-target/release/esker}")"
source="$PWD"
folder="$(mktemp -d /dev/shm/scmfs-programs.XXXXXX)"
chmod 755 "$folder"
case "$way" in
mount) with="" ;;
run) with="$esker fs run --" ;;
*) echo "the way is mount or run" >&2; exit 2 ;;
esac
server=""
end() {
    if [ -n "$server" ]; then kill -KILL "$server" 2>/dev/null || true; fi
    "$esker" fs unmount "$folder/mnt" 2>/dev/null || umount -l "$folder/mnt" 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
mkdir "$folder/mnt"
"$esker" fs mkfs "$folder/pool" --size 3GiB
"$esker" fs mount "$folder/pool" "$folder/mnt"
cd "$folder/mnt"

# PostgreSQL refuses to run as root. Its processes are killed, not its owner: stores survive that, and it recovers.
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$folder/mnt/db" PGHOST="$folder/mnt/db")
as_user() { "${nobody[@]}" "$@"; }
postgres="$(command -v postgres || ls -d /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -1 || true)"
if [ -n "$postgres" ] && command -v setpriv >/dev/null; then
    bin="$(dirname "$(realpath "$postgres")")"
    mkdir db && chown 65534:65534 db
    as_user $with "$bin/initdb" -D db/data -A trust -U pool --data-checksums >db.log
    begin() {
        # The socket lies where the kernel has it.
        (exec "${nobody[@]}" $with "$bin/postgres" -D db/data -k "$folder/mnt/db" -c listen_addresses= 2>>db.log) &
        server=$!
        for _ in $(seq 600); do
            as_user "$bin/psql" -U pool postgres -qc 'select 1' >/dev/null 2>&1 && return
            sleep 0.1
        done
        tail db.log >&2
        exit 1
    }
    begin
    as_user "$bin/pgbench" -U pool -i -s 5 -q postgres 2>/dev/null
    for round in 1 2 3; do
        as_user "$bin/pgbench" -U pool -n -c 4 -T "$seconds" postgres >bench.log 2>&1 &
        bench=$!
        sleep "$((seconds / 2)).5"
        kill -KILL "$server" $(pgrep -P "$server")
        wait "$server" "$bench" 2>/dev/null || true
        rm -f db/.s.PGSQL.*
        begin
        # Each transaction adds the same number to three tables, and notes it in a fourth.
        sums="$(as_user "$bin/psql" -U pool postgres -Atc 'select (select sum(abalance) from pgbench_accounts),
            (select sum(bbalance) from pgbench_branches), (select sum(tbalance) from pgbench_tellers),
            (select coalesce(sum(delta), 0) from pgbench_history), (select count(*) from pgbench_history)')"
        IFS='|' read -r accounts branches tellers history count <<<"$sums"
        test "$accounts" = "$branches" && test "$branches" = "$tellers" && test "$tellers" = "$history"
        echo "PostgreSQL killed and recovered: $count transactions, all sums alike"
    done
    kill -INT "$server"
    wait "$server" || true
    server=""
    as_user "$bin/pg_checksums" --check -D db/data | tail -1
else
    echo "left out: PostgreSQL is not installed"
fi

if command -v git >/dev/null && command -v cargo >/dev/null; then
    $with git clone -q "$source" clone
    $with git -C clone fsck --strict >/dev/null 2>&1
    cd clone
    export CARGO_TARGET_DIR="$folder/mnt/built"
    $with cargo test --offline --locked --quiet -p esker-core >build.log 2>&1 || { tail build.log; exit 1; }
    echo "git cloned, and cargo built and tested a crate"
else
    echo "left out: git or cargo is not installed"
fi

cd /
"$esker" fs unmount "$folder/mnt"
"$esker" fs check "$folder/pool"
