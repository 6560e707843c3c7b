#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The load behind samples/office-server.nbdkit.log.zst.

A small office server: an order database (SQLite, WAL, synchronous=FULL), a
mail spool (queue plus Maildirs) and a system log, on one file system.  Only
the Python standard library is needed.

    workload.py prepare --dir MOUNT [--seed N] [--scale F]
    workload.py run     --dir MOUNT --seconds S [--seed N] [--rate F]

`prepare` fills the file system; `run` plays one compressed "day" on it.
All choices (which account, which mailbox, which size, which think time) come
from generators seeded with --seed, one per process.  The interleaving of the
processes is real and differs from run to run.
"""

import argparse
import math
import multiprocessing as mp
import os
import random
import signal
import sqlite3
import sys
import time

MIB = 1 << 20

# One day: (name, share of the run, load at its start, load at its end).
# A load of 1 is an ordinary busy hour; think times are divided by it.
DAY = [
    ("warm-up",   0.12, 0.15, 0.70),
    ("morning",   0.26, 0.90, 1.10),
    ("lunch",     0.14, 0.010, 0.006),
    ("afternoon", 0.16, 0.60, 0.90),
    ("peak",      0.12, 2.00, 2.60),
    ("evening",   0.08, 0.05, 0.01),
    ("backup",    0.12, 0.12, 0.08),
]

MAILBOXES = 60
BRANCHES = 40


class Clock:
    """Where in the day we are."""

    def __init__(self, start, seconds, rate):
        self.start, self.seconds, self.rate = start, seconds, rate
        self.spans, at = [], 0.0
        total = sum(share for _, share, _, _ in DAY)
        for name, share, a, b in DAY:
            width = share / total
            self.spans.append((name, at, at + width, a, b))
            at += width

    def now(self):
        return time.monotonic() - self.start

    def done(self):
        return self.now() >= self.seconds

    def phase(self):
        x = self.now() / self.seconds
        for name, a, b, _, _ in self.spans:
            if a <= x < b:
                return name
        return "end"

    def phase_start(self, name):
        for n, a, _, _, _ in self.spans:
            if n == name:
                return a * self.seconds
        raise KeyError(name)

    def load(self):
        x = self.now() / self.seconds
        for _, a, b, lo, hi in self.spans:
            if a <= x < b:
                return (lo + (hi - lo) * (x - a) / (b - a)) * self.rate
        return 0.01

    def sleep(self, seconds):
        end = min(self.now() + seconds, self.seconds)
        while True:
            left = end - self.now()
            if left <= 0:
                return
            time.sleep(min(left, 1.0))

    def think(self, rng, mean):
        """An exponential think time; short slices, so that a new phase is felt."""
        work = rng.expovariate(1.0 / mean)
        while work > 0 and not self.done():
            load = max(self.load(), 0.001)
            step = min(work / load, 0.5)
            time.sleep(step)
            work -= step * load


def zipf(rng, n, s=0.95):
    """A rank in [0, n), Zipf-like with exponent s (inverse of the continuous CDF)."""
    e = 1.0 - s
    return min(n - 1, int(((n ** e - 1.0) * rng.random() + 1.0) ** (1.0 / e)) - 1)


def scatter(rank, n):
    """Spread hot ranks over the key space in small neighbourhoods of 8."""
    groups = n // 8
    g, r = divmod(rank, 8)
    return ((g * 7919) % groups) * 8 + r + 1


def noise(seed):
    return random.Random(seed).randbytes(4 * MIB)


def mail_size(rng):
    """Mostly text, lognormal around 9 KB, held to 2..100 KB; 2 % attachments."""
    if rng.random() < 0.02:
        return rng.randint(150, 1200) * 1024
    return max(2048, min(100 * 1024, int(rng.lognormvariate(math.log(9000), 0.9))))


# ---------------------------------------------------------------- database

def db_path(root):
    return os.path.join(root, "db", "orders.sqlite")


def db_open(root):
    con = sqlite3.connect(db_path(root), timeout=30, isolation_level=None)
    con.execute("PRAGMA journal_mode=WAL")
    con.execute("PRAGMA synchronous=FULL")
    con.execute("PRAGMA cache_size=-4096")
    con.execute("PRAGMA mmap_size=0")
    con.execute("PRAGMA temp_store=MEMORY")
    return con


def db_prepare(root, seed, scale):
    rng = random.Random(seed)
    os.makedirs(os.path.dirname(db_path(root)), exist_ok=True)
    con = db_open(root)
    con.execute("PRAGMA synchronous=OFF")
    con.execute("CREATE TABLE account(id INTEGER PRIMARY KEY, branch INTEGER NOT NULL,"
                " balance INTEGER NOT NULL, note BLOB NOT NULL)")
    con.execute("CREATE TABLE history(id INTEGER PRIMARY KEY, account INTEGER NOT NULL,"
                " amount INTEGER NOT NULL, at REAL NOT NULL, memo BLOB NOT NULL)")
    con.execute("CREATE TABLE size(accounts INTEGER NOT NULL)")
    accounts = int(900_000 * scale) // 8 * 8
    pad = noise(seed)

    def blob(n):
        at = rng.randrange(len(pad) - n)
        return pad[at:at + n]

    con.execute("BEGIN")
    con.executemany("INSERT INTO account VALUES(?,?,?,?)",
                    ((i, rng.randrange(BRANCHES), rng.randrange(10**6), blob(170))
                     for i in range(1, accounts + 1)))
    con.execute("INSERT INTO size VALUES(?)", (accounts,))
    con.executemany("INSERT INTO history(account,amount,at,memo) VALUES(?,?,?,?)",
                    ((scatter(zipf(rng, accounts), accounts), rng.randrange(-5000, 5000),
                      float(i), blob(60)) for i in range(int(700_000 * scale))))
    con.execute("CREATE INDEX history_account ON history(account)")
    con.execute("COMMIT")
    con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    con.close()


def db_client(root, clock, seed, events):
    """Lookups and short read-modify-write transactions, Zipf over the accounts."""
    rng = random.Random(seed)
    pad = noise(seed)
    con = db_open(root)
    (n,) = con.execute("SELECT accounts FROM size").fetchone()

    def account():
        if rng.random() < 0.15:
            return rng.randint(1, n)
        return scatter(zipf(rng, n), n)

    while not clock.done():
        clock.think(rng, 0.075)
        if clock.done():
            break
        try:
            if rng.random() < 0.45:
                for _ in range(rng.randint(1, 6)):
                    a = account()
                    con.execute("SELECT balance, note FROM account WHERE id=?", (a,)).fetchone()
                    con.execute("SELECT amount, at FROM history WHERE account=?"
                                " ORDER BY id DESC LIMIT 4", (a,)).fetchall()
            else:
                con.execute("BEGIN IMMEDIATE")
                for _ in range(rng.choice((1, 1, 2, 2, 3, 6))):
                    a = account()
                    amount = rng.randrange(-5000, 5000)
                    con.execute("UPDATE account SET balance=balance+? WHERE id=?", (amount, a))
                    at = rng.randrange(len(pad) - 400)
                    con.execute("INSERT INTO history(account,amount,at,memo) VALUES(?,?,?,?)",
                                (a, amount, time.time(), pad[at:at + rng.randint(30, 400)]))
                con.execute("COMMIT")
            events.value += 1
        except sqlite3.OperationalError:          # busy for longer than the timeout
            if con.in_transaction:
                con.execute("ROLLBACK")
    con.close()


def db_report(root, clock, seed, events):
    """Every minute or two outside the quiet hours: totals over part of a table."""
    rng = random.Random(seed)
    con = db_open(root)
    turn = 0
    clock.sleep(min(25, clock.seconds / 6))
    while not clock.done():
        if clock.phase() not in ("lunch", "evening", "backup"):
            (hi,) = con.execute("SELECT max(id) FROM history").fetchone()
            if turn % 3 == 2:
                con.execute("SELECT branch, count(*), sum(balance) FROM account"
                            " WHERE id BETWEEN ? AND ? GROUP BY branch",
                            (hi // 4, hi // 2)).fetchall()
            else:
                con.execute("SELECT account, sum(amount), sum(length(memo)) FROM history"
                            " WHERE id > ? GROUP BY account % 97", (hi - hi // 3,)).fetchall()
            events.value += 1
            turn += 1
            if turn % 2 == 0:
                con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        clock.sleep(rng.uniform(60, 110))
    con.close()


# -------------------------------------------------------------------- mail

def box(root, i):
    return os.path.join(root, "mail", "user%02d" % i)


def fsync_dir(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_file(path, data, sync=True):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for at in range(0, len(data), 65536):
            os.write(fd, data[at:at + 65536])
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def mail_prepare(root, seed, scale):
    rng = random.Random(seed + 1)
    pad = noise(seed + 1)
    os.makedirs(os.path.join(root, "queue"), exist_ok=True)
    for i in range(MAILBOXES):
        for sub in ("tmp", "new", "cur"):
            os.makedirs(os.path.join(box(root, i), sub), exist_ok=True)
    for k in range(int(14_000 * scale)):
        size = mail_size(rng)
        at = rng.randrange(len(pad) - size)
        name = "%08d.old" % k
        sub, tail = ("cur", ":2,S") if rng.random() < 0.9 else ("new", "")
        write_file(os.path.join(box(root, zipf(rng, MAILBOXES, 0.7)), sub, name + tail),
                   pad[at:at + size], sync=False)


def mail_deliver(root, clock, seed, events, who):
    """Queue file, fsync; then Maildir delivery: tmp/, fsync, rename into new/."""
    rng = random.Random(seed)
    pad = noise(seed)
    serial = 0
    next_burst = rng.uniform(40, 100)
    burst = 0
    while not clock.done():
        if burst > 0:
            burst -= 1
            clock.sleep(rng.expovariate(1 / 0.008))
        else:
            clock.think(rng, 0.30)
            if clock.now() >= next_burst:
                next_burst = clock.now() + rng.uniform(90, 150)
                if clock.phase() not in ("lunch", "evening"):
                    burst = rng.randint(100, 260)      # a mailing to everybody
        if clock.done():
            break
        size = mail_size(rng) if burst == 0 else 6000 + rng.randrange(600)
        at = rng.randrange(len(pad) - size)
        name = "%08d.%s" % (serial, who)
        serial += 1
        queued = os.path.join(root, "queue", name)
        write_file(queued, pad[at:at + size])
        home = box(root, zipf(rng, MAILBOXES, 0.7) if burst == 0 else burst % MAILBOXES)
        tmp = os.path.join(home, "tmp", name)
        write_file(tmp, pad[at:at + size])
        os.rename(tmp, os.path.join(home, "new", name))
        fsync_dir(os.path.join(home, "new"))
        os.unlink(queued)
        events.value += 2


def mail_read(root, clock, seed, events):
    """Readers: fetch what is new, mark it seen, now and then reread or delete."""
    rng = random.Random(seed)
    while not clock.done():
        clock.think(rng, 0.6)
        if clock.done():
            break
        home = box(root, zipf(rng, MAILBOXES, 0.7))
        new, cur = os.path.join(home, "new"), os.path.join(home, "cur")
        try:
            fresh = sorted(os.listdir(new))[:8]
            for name in fresh:
                with open(os.path.join(new, name), "rb") as f:
                    f.read()
                os.rename(os.path.join(new, name), os.path.join(cur, name + ":2,S"))
            old = os.listdir(cur)
            rng.shuffle(old)
            for name in old[:rng.randint(0, 5)]:
                with open(os.path.join(cur, name), "rb") as f:
                    f.read()
                if rng.random() < 0.3:
                    os.unlink(os.path.join(cur, name))
            events.value += 1
        except FileNotFoundError:                      # another reader was faster
            pass


def mail_expunge(root, clock, seed, events):
    """Once at midday a little, at the start of the evening a lot."""
    rng = random.Random(seed)
    for phase, share in (("lunch", 0.06), ("evening", 0.35)):
        clock.sleep(clock.phase_start(phase) + 4 - clock.now())
        for i in range(MAILBOXES):
            if clock.done():
                return
            cur = os.path.join(box(root, i), "cur")
            for name in sorted(os.listdir(cur)):
                if rng.random() < share:
                    try:
                        os.unlink(os.path.join(cur, name))
                    except FileNotFoundError:
                        pass
            events.value += 1
            if phase == "evening":
                clock.sleep(0.25)


# ----------------------------------------------------- log, memory, backup

def log_append(root, clock, seed, events):
    """Append one line per event; fsync each second in which there were any."""
    os.makedirs(os.path.join(root, "log"), exist_ok=True)
    path = os.path.join(root, "log", "messages")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    seen, rotated = 0, False
    while not clock.done():
        clock.sleep(1)
        now = events.value
        if now != seen:
            for k in range(min(now - seen, 2000)):
                os.write(fd, b"%.6f host daemon[%d]: event %d done, status ok, nothing to report\n"
                         % (time.time(), os.getpid(), seen + k))
            os.fsync(fd)
            seen = now
        if not rotated and clock.phase() == "evening":
            os.close(fd)
            os.rename(path, path + ".1")
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            rotated = True
    os.close(fd)


def forget(path, start=0, length=0):
    try:
        fd = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.posix_fadvise(fd, start, length, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def small_memory(root, clock, seed):
    """A stand-in for a machine with little memory.

    Every few seconds under load, tell the kernel to forget clean cached pages:
    a random fifth of the database file and the read mail of a dozen users.
    """
    rng = random.Random(seed)
    while not clock.done():
        clock.sleep(4)
        if clock.load() < 0.1 * clock.rate:
            continue
        path = db_path(root)
        for at in range(0, os.path.getsize(path), MIB):
            if rng.random() < 0.20:
                forget(path, at, MIB)
        for _ in range(12):
            cur = os.path.join(box(root, rng.randrange(MAILBOXES)), "cur")
            for name in os.listdir(cur):
                forget(os.path.join(cur, name))


def backup(root, clock, seed):
    """Read everything from front to back, at 48 MiB/s at most, past the cache."""
    clock.sleep(clock.phase_start("backup") + 2 - clock.now())
    paths = []
    for top, _, names in os.walk(root):
        paths += [os.path.join(top, n) for n in names]
    begun, done = clock.now(), 0
    for path in sorted(paths):
        forget(path)
        try:
            with open(path, "rb", buffering=0) as f:
                while not clock.done():
                    piece = f.read(256 * 1024)
                    if not piece:
                        break
                    done += len(piece)
                    ahead = done / (48.0 * MIB) - (clock.now() - begun)
                    if ahead > 0.05:
                        clock.sleep(ahead)
        except FileNotFoundError:
            pass
        if clock.done():
            return


# -------------------------------------------------------------------- main

def child(fn, args):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        fn(*args)
    except BaseException as e:
        print("workload: %s: %r" % (fn.__name__, e), file=sys.stderr, flush=True)
        raise


def run(root, seconds, seed, rate):
    clock = Clock(time.monotonic(), seconds, rate)
    ev = [mp.Value("q", 0, lock=False) for _ in range(16)]

    class Sum:
        @property
        def value(self):
            return sum(e.value for e in ev)

    jobs = [(db_client, (root, clock, seed + 10 + i, ev[i])) for i in range(3)]
    jobs += [(mail_deliver, (root, clock, seed + 20 + i, ev[4 + i], "mx%d" % i)) for i in range(2)]
    jobs += [(mail_read, (root, clock, seed + 30 + i, ev[6 + i])) for i in range(2)]
    jobs += [(db_report, (root, clock, seed + 40, ev[8])),
             (mail_expunge, (root, clock, seed + 41, ev[9])),
             (log_append, (root, clock, seed + 42, Sum())),
             (small_memory, (root, clock, seed + 43)),
             (backup, (root, clock, seed + 44))]
    ctx = mp.get_context("fork")
    procs = [ctx.Process(target=child, args=job, name=job[0].__name__, daemon=True)
             for job in jobs]
    for p in procs:
        p.start()
    name = None
    while not clock.done():
        if clock.phase() != name:
            name = clock.phase()
            print("%7.1f s  %s" % (clock.now(), name), flush=True)
        time.sleep(0.5)
    failed = False
    end = time.monotonic() + 60
    for p in procs:
        p.join(max(0.1, end - time.monotonic()))
        if p.exitcode is None:
            p.terminate()
            p.join(5)
        if p.exitcode != 0:
            print("workload: %s ended with %s" % (p.name, p.exitcode), file=sys.stderr)
            failed = True
    print("%7.1f s  end, %d events" % (clock.now(), Sum().value), flush=True)
    return 1 if failed else 0


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("what", choices=("prepare", "run"))
    ap.add_argument("--dir", required=True, help="the mounted file system")
    ap.add_argument("--seconds", type=float, default=840, help="length of the day")
    ap.add_argument("--seed", type=int, default=20261120)
    ap.add_argument("--scale", type=float, default=1.0, help="how much data to prepare")
    ap.add_argument("--rate", type=float, default=1.0, help="multiplies the load")
    a = ap.parse_args()
    if a.what == "prepare":
        db_prepare(a.dir, a.seed, a.scale)
        mail_prepare(a.dir, a.seed, a.scale)
        return 0
    return run(a.dir, a.seconds, a.seed, a.rate)


if __name__ == "__main__":
    sys.exit(main())
