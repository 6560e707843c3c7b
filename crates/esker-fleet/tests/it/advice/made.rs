//! Made-up clusters of several OSDs in each host, with pairs that are there already and OSDs that are nearly full.

use std::collections::BTreeMap;

use esker_core::Bytes;
use esker_fleet::advice::AdviceSettings;
use esker_results::advice::Advised;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::judge;
use super::reference::{Items, items_of, mapped, put, run};

const DAY_S: i64 = 86_400;
const LAST_S: i64 = 1_790_000_000;
const TB: u64 = 1_000_000_000_000;
const OSD_KIB: u64 = 2_000_000_000;

/// A cluster, and where CRUSH puts its placement groups.
struct MadeCluster {
    files: BTreeMap<&'static str, Value>,
    raw: BTreeMap<String, Vec<i64>>,
    hosts: i64,
}

/// Numbers that look random (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// OSD `n` is in host `n % hosts`.
fn make(seed: u64, hosts: i64, per_host: i64) -> MadeCluster {
    let mut numbers = Numbers(seed | 1);
    let osds = hosts * per_host;
    let (mut raw, mut items, mut first, mut last) = (BTreeMap::new(), Items::new(), Vec::new(), Vec::new());
    let mut written = vec![0u64; osds as usize];
    for number in 0..48u64 {
        let pg = format!("3.{number:x}");
        let mut homes: Vec<i64> = Vec::new();
        while homes.len() < 3 {
            let osd = numbers.below(osds as u64) as i64;
            if homes.iter().all(|home| home % hosts != osd % hosts) {
                homes.push(osd);
            }
        }
        if numbers.below(4) == 0 {
            let from = homes[numbers.below(3) as usize];
            let to = from % hosts + hosts * numbers.below(per_host as u64) as i64;
            if to != from {
                items.insert(pg.clone(), vec![(from, to)]);
            }
        }
        let none = Vec::new();
        let now = mapped(&homes, items.get(&pg).unwrap_or(&none));
        // Few are written most of all.
        let gib = 4_000 / (number + 1) + numbers.below(20);
        now.iter().for_each(|osd| written[*osd as usize] += gib << 30);
        let bytes = (20 + numbers.below(20)) << 30;
        for (list, kib) in [(&mut first, 1_000), (&mut last, 1_000 + (gib << 20))] {
            let sum = json!({"num_bytes": bytes, "num_write_kb": kib});
            let state = "active+clean+scrubbing";
            list.push(json!({"pgid": pg, "state": state, "up": now, "acting": now, "stat_sum": sum}));
        }
        raw.insert(pg, homes);
    }
    let dump = |day: &str, stats: Vec<Value>| {
        let stamp = format!("2026-09-{day}T00:00:00.000000+0000");
        json!({"pg_map": {"stamp": stamp, "pg_stats": stats}})
    };
    let mut files = BTreeMap::from([
        ("first", dump("01", first)),
        ("last", dump("15", last)),
        ("tree", tree(hosts, osds, &mut numbers)),
        ("rules", rules()),
        ("map", map(osds)),
    ]);
    let mut devices = Vec::new();
    let samples: Vec<Value> =
        (0..osds).flat_map(|osd| drive(osd, written[osd as usize], &mut numbers, &mut devices)).collect();
    files.insert("samples", Value::Array(samples));
    files.insert("devices", Value::Array(devices));
    let mut pg_dump = files["last"].clone();
    let mut osd_map = files["map"].clone();
    put(&items, &raw, &mut osd_map, &mut pg_dump);
    files.insert("map", osd_map);
    files.insert("last", pg_dump);
    MadeCluster { files, raw, hosts }
}

fn rules() -> Value {
    let steps = json!([{"op": "set_chooseleaf_tries", "num": 5},
        {"op": "take", "item": -100, "item_name": "default~ssd"},
        {"op": "chooseleaf_firstn", "num": 0, "type": "host"}, {"op": "emit"}]);
    json!([{"rule_id": 7, "steps": steps}])
}

fn map(osds: i64) -> Value {
    let list: Vec<Value> = (0..osds).map(|osd| json!({"osd": osd, "up": 1, "in": 1})).collect();
    json!({"fsid": "1b2c", "epoch": 900, "flags": "sortbitwise", "require_min_compat_client": "luminous",
        "nearfull_ratio": 0.85, "osds": list, "pg_upmap": [], "pg_upmap_items": [],
        "pools": [{"pool": 3, "pool_name": "vms", "type": 1, "size": 3, "crush_rule": 7, "pg_num": 48}]})
}

fn tree(hosts: i64, osds: i64, numbers: &mut Numbers) -> Value {
    let mut nodes = vec![json!({"id": -100, "name": "default", "type": "root", "reweight": -1,
        "children": (0..hosts).map(|host| -1 - host).collect::<Vec<_>>()})];
    for host in 0..hosts {
        let inside: Vec<i64> = (0..osds).filter(|osd| osd % hosts == host).collect();
        nodes.push(json!({"id": -1 - host, "name": format!("h{host}"), "type": "host", "children": inside}));
    }
    for osd in 0..osds {
        // Some have room for two or three more placement groups, some for none.
        let used = if numbers.below(3) == 0 { OSD_KIB / 100 * 85 - numbers.below(120 << 20) } else { OSD_KIB / 3 };
        nodes.push(json!({"id": osd, "name": format!("osd.{osd}"), "type": "osd", "device_class": "ssd",
            "reweight": 1.0, "kb": OSD_KIB, "kb_used": used}));
    }
    json!({"nodes": nodes, "stray": []})
}

/// Two samples of a drive, which is written 1.5 times what its placement groups are, and has used some of its life.
fn drive(osd: i64, written: u64, numbers: &mut Numbers, devices: &mut Vec<Value>) -> Vec<Value> {
    let serial = format!("S{osd}");
    devices.push(json!({"devid": format!("ACME_X_{serial}"), "daemons": [format!("osd.{osd}")]}));
    let rate = written / 14 / 2 * 3;
    let before = (1 + numbers.below(24)) * 100 * TB;
    let hours = before / rate.max(1) * 24;
    let sample = |day: i64| {
        let total = before + rate * day as u64;
        json!({"json_format_version": [1, 0], "smartctl": {"version": [7, 3]}, "model_name": "ACME X",
            "local_time": {"time_t": LAST_S + (day - 14) * DAY_S}, "serial_number": serial,
            "device": {"name": "/dev/nvme0n1", "protocol": "NVMe"}, "nvme_total_capacity": OSD_KIB * 1024,
            "nvme_smart_health_information_log": {"data_units_written": total / 512_000, "power_on_hours": hours}})
    };
    vec![sample(0), sample(14)]
}

impl MadeCluster {
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.files.iter().map(|(name, value)| (name.to_string(), value.to_string().into_bytes())).collect()
    }

    fn places(&self, items: &Items) -> BTreeMap<String, Vec<i64>> {
        let none = Vec::new();
        let place = |(pg, raw): (&String, &Vec<i64>)| (pg.clone(), mapped(raw, items.get(pg).unwrap_or(&none)));
        self.raw.iter().map(place).collect()
    }

    /// What a placement group holds, in KiB.
    fn kib(&self, pg: &str) -> u64 {
        let stats = self.files["last"]["pg_map"]["pg_stats"].as_array().unwrap();
        stats.iter().find(|stat| stat["pgid"] == pg).unwrap()["stat_sum"]["num_bytes"].as_u64().unwrap() >> 10
    }

    /// Has moves take room where they have come to.
    fn fill(&mut self, before: &Items, after: &Items) {
        let (before, after) = (self.places(before), self.places(after));
        let kib: BTreeMap<String, u64> = self.raw.keys().map(|pg| (pg.clone(), self.kib(pg))).collect();
        for node in self.files.get_mut("tree").unwrap()["nodes"].as_array_mut().unwrap() {
            let Some(used) = node["kb_used"].as_u64() else { continue };
            let osd = node["id"].as_i64().unwrap();
            let come = after.iter().filter(|(pg, now)| now.contains(&osd) && !before[*pg].contains(&osd));
            node["kb_used"] = json!(used + come.map(|(pg, _)| kib[pg]).sum::<u64>());
        }
    }

    /// Whether hosts, room and the budget are kept after `items`.
    fn check(&self, items: &Items, budget: Bytes) -> Result<(), String> {
        let (before, after) = (self.places(&items_of(&self.files["map"])), self.places(items));
        let (mut come, mut copied) = (BTreeMap::<i64, u64>::new(), 0);
        for (pg, now) in &after {
            let mut hosts: Vec<i64> = now.iter().map(|osd| osd % self.hosts).collect();
            hosts.sort_unstable();
            hosts.dedup();
            if hosts.len() != 3 {
                return Err(format!("{pg} is twice in a host: {now:?}"));
            }
            for osd in now.iter().filter(|osd| !before[pg].contains(osd)) {
                *come.entry(*osd).or_default() += self.kib(pg);
                copied += self.kib(pg) << 10;
            }
        }
        if copied > budget.0 {
            return Err(format!("{copied} bytes are copied"));
        }
        let nodes = self.files["tree"]["nodes"].as_array().unwrap();
        for (osd, kib) in come {
            let used = nodes.iter().find(|node| node["id"] == osd).unwrap()["kb_used"].as_u64().unwrap();
            if used + kib > OSD_KIB * 85 / 100 {
                return Err(format!("osd.{osd} becomes too full"));
            }
        }
        Ok(())
    }
}

fn made_settings(budget: Bytes) -> AdviceSettings {
    AdviceSettings {
        budget: Some(budget),
        ratings: vec![("ACME X".into(), Bytes(3_000 * TB))],
        prices: vec![("acme x".into(), 400.0)],
        horizon_years: 4.0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_planned_keeps_hosts_room_and_budget_and_can_be_taken_back(
        seed in any::<u64>(), hosts in 4i64..7, per_host in 2i64..4, gib in 40u64..2_000,
    ) {
        let mut made = make(seed, hosts, per_host);
        let budget = Bytes(gib << 30);
        let advice = judge(&made.files(), &made_settings(budget)).unwrap();
        let Some(scripts) = &advice.scripts else { return Ok(()) };
        let before = items_of(&made.files["map"]);
        let mut items = before.clone();
        run(&scripts.apply, &mut items).unwrap();
        prop_assert_eq!(made.check(&items, budget), Ok(()));
        prop_assert!(made.places(&items) != made.places(&before));
        run(&scripts.undo, &mut items).unwrap();
        prop_assert_eq!(&items, &before);
        // Once the moves are made, nothing more has to move.
        run(&scripts.apply, &mut items).unwrap();
        let (mut map, mut last) = (made.files["map"].clone(), made.files["last"].clone());
        put(&items, &made.raw, &mut map, &mut last);
        made.files.insert("map", map);
        made.files.insert("last", last);
        made.fill(&before, &items);
        let rest = Bytes(budget.0 - advice.cluster.unwrap().copied_bytes);
        let second = judge(&made.files(), &made_settings(rest)).unwrap();
        prop_assert!(second.scripts.is_none(), "{:?}", second.cluster);
    }
}

/// That the property above has something to look at.
#[test]
fn made_clusters_have_all_that_matters() {
    let mut counts = [0; 4];
    for seed in 1..=60u64 {
        let made = make(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), 4, 2);
        let advice = judge(&made.files(), &made_settings(Bytes::gib(1_000))).unwrap();
        let index = [Advised::Balance, Advised::NothingToDo, Advised::Unclear]
            .iter()
            .position(|one| *one == advice.verdict.advised);
        counts[index.unwrap_or(3)] += 1;
        if let Some(scripts) = advice.scripts {
            // A twin without what keeps hosts apart is found.
            let one = &advice.cluster.unwrap().moves[0];
            let before = items_of(&made.files["map"]);
            if before.contains_key(&one.pg) {
                continue;
            }
            let home = made.places(&before)[&one.pg].iter().copied().find(|osd| *osd != one.from as i64).unwrap();
            let beside = (home + made.hosts) % (2 * made.hosts);
            let mut items = before.clone();
            run(&format!("ceph osd pg-upmap-items {} {} {beside}", one.pg, one.from), &mut items).unwrap();
            run(&scripts.apply, &mut before.clone()).unwrap();
            if beside != one.from as i64 {
                assert!(made.check(&items, Bytes::gib(1_000)).is_err(), "{} {beside}", one.pg);
            }
        }
    }
    assert!(counts[0] >= 5 && counts[1] >= 5 && counts[3] == 0, "{counts:?}");
}
