#!/usr/bin/env python3
"""Parts of scripts/ceph-advice.sh: makes samples of drives up, and compares dumps of a cluster.

prepare FIRST LAST INTO      dumps for an advice: the first `pg dump` DAYS days before the last, and samples of drives
check DUMPS ADVICE OLD NEW   groups are where the advice wants them, on three hosts, and it said how much moves
forecast ADVICE OLD NEW      each OSD was written what follows from the advice; its own counters before and after
same ONE OTHER               both have the same places and the same pairs
"""
import datetime
import json
import pathlib
import statistics
import sys

# Between the two samples that are made up.
DAYS = 30


def load(folder, what):
    return json.loads((pathlib.Path(folder) / f"{what}.json").read_text())


def groups(folder):
    return {group["pgid"]: group for group in load(folder, "pg dump")["pg_map"]["pg_stats"]}


def prepare(first, last, into):
    into = pathlib.Path(into)
    into.mkdir()
    for what in ("osd dump", "osd df tree", "osd crush rule dump"):
        (into / f"{what}.json").write_text(json.dumps(load(last, what)))
    old, new = load(first, "pg dump"), load(last, "pg dump")
    form = "%Y-%m-%dT%H:%M:%S.%f%z"
    now = datetime.datetime.strptime(new["pg_map"]["stamp"], form)
    then = now - datetime.timedelta(days=DAYS)
    old["pg_map"]["stamp"] = then.strftime(form)
    (into / "pgs-1.json").write_text(json.dumps(old))
    (into / "pgs-2.json").write_text(json.dumps(new))
    before, written = groups(first), {osd: 0 for osd in range(5)}
    for name, group in groups(last).items():
        kib = group["stat_sum"]["num_write_kb"] - before[name]["stat_sum"]["num_write_kb"]
        # What was written before a move went to the places of then.
        for osd in before[name]["up"]:
            written[osd] += 1.35 * 1024 * kib
    devices = []
    for osd in range(5):
        name, serial = f"ACME_LAB-FLASH-12G_LAB{osd:04}", f"LAB{osd:04}"
        devices.append({
            "devid": name, "daemons": [f"osd.{osd}"],
            "location": [{"host": f"host{osd}", "dev": f"nvme{osd}n1", "path": f"/dev/disk/by-path/{osd}"}],
        })
        total, samples = (70e9 if osd == 0 else 20e9), {}
        for at, bytes_written in ((then, total), (now, total + written[osd])):
            log = {"critical_warning": 0, "available_spare": 100, "available_spare_threshold": 10,
                   "percentage_used": round(bytes_written / 1e9), "data_units_written": round(bytes_written / 512e3),
                   "power_on_hours": 40000}
            samples[at.strftime("%Y%m%d-%H%M%S")] = {
                "json_format_version": [1, 0], "smartctl": {"version": [7, 3], "exit_status": 0},
                "local_time": {"time_t": round(at.timestamp())},
                "device": {"name": f"/dev/nvme{osd}n1", "type": "nvme", "protocol": "NVMe"},
                "model_name": "ACME LAB-FLASH-12G", "serial_number": serial, "nvme_total_capacity": 12884901888,
                "smart_status": {"passed": True}, "nvme_smart_health_information_log": log,
            }
        (into / f"drive-{osd}.json").write_text(json.dumps(samples))
    (into / "device ls.json").write_text(json.dumps(devices))


def check(dumps, advice, old, new):
    wanted = json.loads(pathlib.Path(advice).read_text())["cluster"]
    assert wanted["moves"], "the advice moves nothing"
    found = groups(dumps)
    for group in found.values():
        assert len(set(group["up"])) == 3, f"{group['pgid']} is on {group['up']}"
    for move in wanted["moves"]:
        up = found[move["pg"]]["up"]
        assert move["to"] in up and move["from"] not in up, f"{move} but it is on {up}"
    said, moved = wanted["copied_bytes"], int(new) - int(old)
    assert abs(moved - said) <= said / 10, f"{said} bytes were said, {moved} moved"
    print(f"Ceph: {len(wanted['moves'])} groups moved, {moved} bytes; {said} were said")


def forecast(advice, old, new):
    advice = json.loads(pathlib.Path(advice).read_text())
    factor, moves = advice["cluster"]["written_per_client_byte"], advice["cluster"]["moves"]
    said = {drive["name"]: drive["written_bytes_per_day"]["likely"] / factor * DAYS for drive in advice["drives"]}
    until_now = dict(said)
    for move in moves:
        said[f"osd.{move['from']}"] -= move["written_bytes_per_day"] * DAYS
        said[f"osd.{move['to']}"] += move["written_bytes_per_day"] * DAYS
    counted = {f"osd.{osd}": written(new, osd) - written(old, osd) for osd in range(5)}
    for name in sorted(said):
        before, after, now = (round(each[name] / 2**20) for each in (until_now, said, counted))
        print(f"Ceph: {name} was written {before} MiB; {after} MiB were to be expected after the moves, and are {now}")
    spreads = [statistics.pstdev(each.values()) for each in (until_now, said, counted)]
    print("Ceph: standard deviation {:.1f} MiB; {:.1f} expected, {:.1f} counted".format(*(one / 2**20 for one in spreads)))
    assert abs(spreads[2] - spreads[1]) <= spreads[1] / 5, "the spread is not the one that was to be expected"


def written(folder, osd):
    """What the OSD itself has counted: writes of clients and of other OSDs for clients."""
    counters = json.loads((pathlib.Path(folder) / f"osd.{osd}.json").read_text())["osd"]
    return counters["op_w_in_bytes"] + counters["subop_w_in_bytes"]


def same(one, other):
    places = [{name: group["up"] for name, group in groups(folder).items()} for folder in (one, other)]
    assert places[0] == places[1], "groups are elsewhere"
    pairs = [load(folder, "osd dump")["pg_upmap_items"] for folder in (one, other)]
    assert pairs[0] == pairs[1], f"{pairs[1]} instead of {pairs[0]}"


if __name__ == "__main__":
    {"prepare": prepare, "check": check, "forecast": forecast, "same": same}[sys.argv[1]](*sys.argv[2:])
