#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks a log of nbdkit's log filter in full and prints what is in it.

    check.py FILE        (a plain log, or one ending in .zst if zstd is there)

Fails if a line is unknown, a request lacks its completion, a completion its
request, a request failed, or time goes back by more than 0.1 s.
"""

import collections
import datetime
import re
import subprocess
import sys

STAMP = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}) "
ENTER = re.compile(STAMP + r"connection=(\d+) (Read|Write|Zero|Trim|Flush|Cache|Extents) "
                   r"id=(\d+)((?: \w+=\S+)*) \.\.\.$")
LEAVE = re.compile(STAMP + r"connection=(\d+) \.\.\.(Read|Write|Zero|Trim|Flush|Cache|Extents) "
                   r"id=(\d+) (.*)$")
OTHER = re.compile(STAMP + r"(?:connection=(\d+) )?(\.*[A-Z]\w+)(?: (.*))?$")


def lines(path):
    if path.endswith(".zst"):
        with subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE, text=True) as p:
            yield from p.stdout
        if p.returncode:
            sys.exit("zstd failed")
    else:
        with open(path) as f:
            yield from f


def stamp(text):
    return datetime.datetime.fromisoformat(text + "+00:00").timestamp()


def quantile(sorted_values, q):
    return sorted_values[min(len(sorted_values) - 1, int(q * len(sorted_values)))]


def main():
    path = sys.argv[1]
    open_requests, used, faults = {}, set(), []
    kinds = collections.defaultdict(lambda: {"sizes": [], "took": []})
    shapes, others = collections.Counter(), []
    starts = []
    last = first = None
    back = worst = depth = total = unordered = 0
    for n, line in enumerate(lines(path), 1):
        line = line.rstrip("\n")
        total = n
        m = ENTER.match(line)
        kind = "enter"
        if not m:
            m, kind = LEAVE.match(line), "leave"
        if not m:
            m, kind = OTHER.match(line), "other"
        if not m:
            faults.append("line %d: unknown: %r" % (n, line))
            continue
        at = stamp(m.group(1))
        if first is None:
            first = at
        if last is not None and at < last:
            back += 1
            worst = max(worst, last - at)
        last = at if last is None else max(last, at)
        shapes[re.sub(r"\b(0x[0-9a-f]+|\d+)\b", "N", line[27:])] += 1
        if kind == "enter":
            _, conn, act, rid, rest = m.groups()
            fields = dict(p.split("=", 1) for p in rest.split())
            key = (conn, rid)
            if key in used:
                faults.append("line %d: id used twice" % n)
            used.add(key)
            open_requests[key] = (act, at, int(fields.get("count", "0"), 16))
            depth = max(depth, len(open_requests))
            starts.append(at)
        elif kind == "leave":
            _, conn, act, rid, rest = m.groups()
            was = open_requests.pop((conn, rid), None)
            if was is None:
                faults.append("line %d: completion without a request" % n)
                continue
            if was[0] != act or not rest.startswith("return=0"):
                faults.append("line %d: %s ended as %r" % (n, was[0], line[27:]))
            if at < was[1]:
                unordered += 1
            kinds[act]["sizes"].append(was[2])
            kinds[act]["took"].append(at - was[1])
        else:
            others.append(line)
    for key in list(open_requests)[:5]:
        faults.append("request %s never completed" % (key,))
    if worst > 0.1:
        faults.append("time goes back by %.6f s" % worst)

    if first is None:
        sys.exit("no line is understood")
    print("lines %d, requests %d, duration %.3f s" % (total, len(used), last - first))
    print("lines stamped earlier than one before them: %d, by %.6f s at most; "
          "completions before their request: %d; most requests open at once: %d"
          % (back, worst, unordered, depth))
    starts.sort()
    gaps = sorted((b - a for a, b in zip(starts, starts[1:])), reverse=True)
    print("gaps between requests over 1 s: %d, over 3 s: %d, longest %.1f s"
          % (sum(g > 1 for g in gaps), sum(g > 3 for g in gaps), gaps[0] if gaps else 0))
    print("%-8s %9s %10s %10s %9s %9s %9s %9s" % ("kind", "count", "MiB", "mean B",
                                               "p50 ms", "p90 ms", "p99 ms", "max ms"))
    for act in sorted(kinds):
        took = sorted(kinds[act]["took"])
        size = sum(kinds[act]["sizes"])
        print("%-8s %9d %10.1f %10.0f %9.3f %9.3f %9.3f %9.1f" % (
            act, len(took), size / 2**20, size / len(took), 1e3 * quantile(took, .5),
            1e3 * quantile(took, .9), 1e3 * quantile(took, .99), 1e3 * took[-1]))
    if starts:
        print("requests per tenth of the time:", end="")
        tenths = collections.Counter(min(9, int(10 * (s - first) / (last - first))) for s in starts)
        print("".join(" %d" % tenths[i] for i in range(10)))
    print("line shapes:")
    for shape, count in shapes.most_common(40):
        print("%9d  %s" % (count, shape))
    print("lines that are not requests:")
    for line in others[:40]:
        print("  " + line)
    for f in faults[:20]:
        print("FAULT " + f, file=sys.stderr)
    return 1 if faults or not used else 0


if __name__ == "__main__":
    sys.exit(main())
